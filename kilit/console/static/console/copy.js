// Buttons that copy: the text of data-copy, or that of the element whose id is in data-copy-of. The server is notified
// at the address in data-copy-notes.
"use strict";

(() => {
  const SHOWN_FOR = 2000; // milliseconds

  // execCommand, because the clipboard API needs HTTPS, which an internal server may not have.
  const copy = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("readonly", "");
    area.className = "kilit-unseen";
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  };

  const notify = (address) => {
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    fetch(address, { method: "POST", headers: { "X-CSRFToken": token }, credentials: "same-origin", keepalive: true });
  };

  // Screen readers announce what appears here; a button whose word changes is not announced everywhere.
  const status = document.createElement("p");
  status.className = "kilit-unseen";
  status.setAttribute("role", "status");
  document.addEventListener("DOMContentLoaded", () => document.body.append(status));

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy], [data-copy-of]");
    if (!button) return;
    const source = button.dataset.copyOf && document.getElementById(button.dataset.copyOf);
    const copied = copy(source ? source.textContent : button.dataset.copy);
    button.focus();
    if (copied && button.dataset.copyNotes) notify(button.dataset.copyNotes);
    if (!copied || button.dataset.usual) return;
    const word = button.querySelector("[data-word]") || button;
    button.dataset.usual = word.textContent;
    word.textContent = button.dataset.copied;
    status.textContent = button.dataset.copied;
    setTimeout(() => {
      status.textContent = "";
      word.textContent = button.dataset.usual;
      delete button.dataset.usual;
    }, SHOWN_FOR);
  });
})();
