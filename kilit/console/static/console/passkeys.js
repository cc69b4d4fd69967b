// A form that has the browser make or use a passkey when it is submitted: data-passkey is "create" or "get", and the answer
// is sent in the field "credential".
"use strict";

(() => {
  const run = async (form) => {
    const failed = document.getElementById("passkey-failed");
    failed.hidden = true;
    try {
      const options = JSON.parse(document.getElementById("passkey-options").textContent);
      const answer = await window.webauthnJSON[form.dataset.passkey](options);
      form.elements.credential.value = JSON.stringify(answer);
      form.submit(); // fires no second event
    } catch (error) {
      failed.hidden = false; // cancelled, timed out, or not offered here
      failed.focus();
    }
  };

  document.addEventListener("submit", (event) => {
    if (event.target.matches("[data-passkey]")) {
      event.preventDefault();
      run(event.target);
    }
  });
})();
