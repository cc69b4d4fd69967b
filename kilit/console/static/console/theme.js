// Gives the page of the API the theme that was chosen in the console, or that of the machine.
"use strict";

(() => {
  const chosen = JSON.parse(localStorage.getItem("adminTheme") || '"auto"');
  const isDark = chosen === "dark" || (chosen === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("dark-mode", isDark);
})();
