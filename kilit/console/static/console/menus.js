// A menu closes with Escape, and when something else is clicked; when it opens, its field with data-focus has the focus.
"use strict";

(() => {
  const menus = () => document.querySelectorAll("details.kilit-menu[open]");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menus().forEach((menu) => { menu.open = false; menu.querySelector("summary").focus(); });
  });
  document.addEventListener("click", (event) => {
    menus().forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  });
  // This event does not bubble.
  document.addEventListener("toggle", (event) => {
    if (event.target.open) event.target.querySelector?.("[data-focus]")?.focus();
  }, true);
})();
