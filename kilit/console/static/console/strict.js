// Keeps htmx within the page's policy: it evaluates nothing, and brings neither scripts nor styles of its own.
"use strict";

if (window.htmx) {
  Object.assign(window.htmx.config, { allowEval: false, allowScriptTags: false, includeIndicatorStyles: false });
}
