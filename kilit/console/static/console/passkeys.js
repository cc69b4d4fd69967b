// A button that has the browser make or use a passkey: data-passkey is "create" or "get", the options are in the element
// whose id is in data-options, and the answer is sent in the field "credential" of the button's form.
"use strict";

(() => {
  const run = async (button) => {
    const failed = document.getElementById(button.dataset.failed);
    failed.hidden = true;
    const name = button.form.elements.name;
    if (name && !name.reportValidity()) {
      return;
    }
    try {
      const options = JSON.parse(document.getElementById(button.dataset.options).textContent);
      const answer = await window.webauthnJSON[button.dataset.passkey](options);
      button.form.elements.credential.value = JSON.stringify(answer);
      button.form.submit();
    } catch (error) {
      failed.hidden = false; // cancelled, timed out, or not offered here
      failed.focus();
    }
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-passkey]");
    if (button) {
      event.preventDefault();
      run(button);
    }
  });
})();
