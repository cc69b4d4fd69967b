// Select2 names its fields after what was chosen: without a choice, screen readers hear no name. The label's is added.
"use strict";

(() => {
  const addNames = () => document.querySelectorAll(".select2-selection__rendered").forEach((shown) => {
    const select = shown.closest(".select2-container")?.previousElementSibling;
    const label = select?.labels?.[0]?.textContent.trim().replace(/[\s:*]+$/, "");
    if (label) shown.setAttribute("aria-label", label);
  });
  document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector(".admin-autocomplete")?.form;
    if (form) new MutationObserver(addNames).observe(form, { childList: true, subtree: true });
  });
})();
