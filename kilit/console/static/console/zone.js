// Sends the browser's time zone to the server in a cookie; a zone that the user chooses takes precedence.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && /^[A-Za-z0-9_+\-/]+$/.test(zone)) {
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `kilit_browser_zone=${zone}; path=/; max-age=31536000; SameSite=Lax${secure}`;
  }
})();
