// A list: searches as one types, counts the ticked rows, and shows in a tooltip what is cut short. Lists are refreshed, so
// nothing here holds on to a row.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const form = document.getElementById("changelist-form");
  const search = document.getElementById("changelist-search");
  const box = document.getElementById("searchbar");
  const boxes = () => [...form.querySelectorAll("input.action-select")];

  // What is empty is no filter.
  const query = () => {
    const values = [...new FormData(search)].filter(([, value]) => value.trim());
    return values.length ? `?${new URLSearchParams(values)}` : window.location.pathname;
  };
  let timer = 0;
  box?.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => {
      window.history.replaceState(null, "", query());
      document.dispatchEvent(new Event("kilit:refresh"));
    }, 250);
  });
  search?.addEventListener("submit", (event) => {
    event.preventDefault();
    window.location.assign(query());
  });

  const count = () => {
    const all = boxes();
    const ticked = all.filter((each) => each.checked).length;
    const counter = form.querySelector(".action-counter");
    const toggle = document.getElementById("action-toggle");
    if (counter) counter.textContent = `${ticked} ${counter.dataset.text}`;
    if (toggle) {
      toggle.checked = ticked > 0 && ticked === all.length;
      toggle.indeterminate = ticked > 0 && ticked < all.length;
    }
  };
  let last = null;
  form.addEventListener("click", (event) => {
    const clicked = event.target;
    const isToggle = clicked.id === "action-toggle";
    if (isToggle) boxes().forEach((each) => { each.checked = clicked.checked; });
    else if (!clicked.matches("input.action-select")) return;
    else if (event.shiftKey && last?.isConnected) {
      const all = boxes();
      const [from, to] = [all.indexOf(last), all.indexOf(clicked)].sort((a, b) => a - b);
      all.slice(from, to + 1).forEach((each) => { each.checked = clicked.checked; });
    }
    if (!isToggle) last = clicked;
    count();
  });
  form.addEventListener("mouseover", (event) => {
    const cell = event.target.closest("td, th");
    if (cell && cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent.trim();
  });
  count();
});
