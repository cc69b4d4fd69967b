// Keeps htmx within the page's policy: it evaluates nothing, and adds no scripts or styles.
"use strict";

if (window.htmx) {
  Object.assign(window.htmx.config, { allowEval: false, allowScriptTags: false, includeIndicatorStyles: false });
}
