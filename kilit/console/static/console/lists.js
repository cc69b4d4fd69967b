// Counts the ticked rows of a list. Lists are refreshed, so nothing here holds on to a row.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const form = document.getElementById("changelist-form");
  const toggle = document.getElementById("action-toggle");
  const boxes = () => [...form.querySelectorAll("input.action-select")];

  const count = () => {
    const all = boxes();
    const ticked = all.filter((box) => box.checked).length;
    const counter = form.querySelector(".action-counter");
    if (counter) counter.textContent = `${ticked} ${counter.dataset.text}`;
    if (toggle) {
      toggle.checked = ticked > 0 && ticked === all.length;
      toggle.indeterminate = ticked > 0 && ticked < all.length;
    }
  };
  let last = null;
  form?.addEventListener("click", (event) => {
    const box = event.target;
    if (box === toggle) boxes().forEach((each) => { each.checked = toggle.checked; });
    else if (!box.matches("input.action-select")) return;
    else if (event.shiftKey && last?.isConnected) {
      const all = boxes();
      const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
      all.slice(from, to + 1).forEach((each) => { each.checked = box.checked; });
    }
    if (box !== toggle) last = box;
    count();
  });
  if (form) count();
});
