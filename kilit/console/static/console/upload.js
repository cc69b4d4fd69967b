// Uploads of large files: refuses what is too large before it is sent, and shows how much has arrived.
//
// The form has `data-most` (bytes), `data-too-large` and `data-failed` (sentences), a <progress> and an element with
// role="alert" for the sentences. A file that is chosen is sent at once. Without this script the server refuses what is
// too large, and a button sends the file. What was found in a file is for the site that was chosen: once another one is,
// or while a file is checked, its buttons are disabled, and what it sends names the site that the page shows.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const form = document.querySelector("form[data-most]");
  if (!form) return;
  const bar = form.querySelector("progress");
  const message = form.querySelector("[data-upload-message]");
  const show = (text) => {
    message.textContent = text;
    message.hidden = !text;
  };

  const report = () => document.getElementById("report");
  const disableReport = () => {
    for (const button of report()?.querySelectorAll("button") ?? []) button.disabled = true;
  };
  document.addEventListener("submit", (event) => {
    if (report()?.contains(event.target)) event.target.elements.site.value = form.elements.site.value;
  });

  form.addEventListener("change", () => {
    disableReport();
    if ([...form.querySelectorAll("input[type=file]")].some((input) => input.files.length)) form.requestSubmit();
  });
  form.addEventListener("htmx:beforeRequest", (event) => {
    disableReport();
    const files = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]);
    const isTooLarge = files.some((file) => file.size > Number(form.dataset.most));
    show(isTooLarge ? form.dataset.tooLarge : "");
    if (isTooLarge) event.preventDefault();
  });
  form.addEventListener("htmx:xhr:progress", (event) => {
    const { loaded, total } = event.detail;
    bar.hidden = !total || loaded >= total;
    if (total) Object.assign(bar, { max: total, value: loaded });
  });
  for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    form.addEventListener(name, (event) => {
      bar.hidden = true;
      show(event.detail.xhr?.status === 413 ? form.dataset.tooLarge : form.dataset.failed);
    });
  }
});
