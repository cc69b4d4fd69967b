// The focus where a person types next: in a menu that opens, the field with data-focus; on a page, that with autofocus.
// A menu closes with Escape, and when something else is clicked.
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
  // The page is hidden until Alpine has started, and what is hidden gets no focus.
  window.addEventListener("load", () => {
    if (document.activeElement === document.body) document.querySelector("[autofocus]")?.focus();
  });
  // This event does not bubble.
  document.addEventListener("toggle", (event) => {
    if (event.target.open) event.target.querySelector?.("[data-focus]")?.focus();
  }, true);
  // The sidebar stays where it was scrolled to; unfold moves it on load unless the current item is in sight.
  const sidebar = () => document.querySelector("#nav-sidebar-apps .simplebar-content-wrapper");
  window.addEventListener("pagehide", () => sessionStorage.setItem("kilit-sidebar", sidebar()?.scrollTop ?? 0));
  window.addEventListener("load", () => {
    if (sidebar()) sidebar().scrollTop = Number(sessionStorage.getItem("kilit-sidebar"));
  }, true);
})();
