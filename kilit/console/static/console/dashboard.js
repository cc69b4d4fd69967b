// Refreshes the dashboard while its tab is visible. Everything on it works without this file.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const EVERY = 10_000;
  const board = document.getElementById("dashboard");
  if (!board || !window.htmx) return;
  const stale = document.getElementById("dashboard-stale");
  const pause = document.getElementById("dashboard-pause");
  const refresh = document.getElementById("dashboard-refresh");
  let opened = [];
  let isPaused = false;

  const isMarking = () => {
    const marked = window.getSelection();
    return marked && !marked.isCollapsed && board.contains(marked.anchorNode);
  };
  const ask = () => window.htmx.trigger(board, "refresh");
  // A hidden tab does not refresh; it does so at once when it becomes visible.
  const askIfSeen = () => {
    if (!document.hidden && !isPaused && !isMarking()) ask();
  };

  window.setInterval(askIfSeen, EVERY);
  document.addEventListener("visibilitychange", askIfSeen);
  refresh.addEventListener("click", (event) => {
    event.preventDefault();
    ask();
  });
  pause.hidden = false;
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    [pause.textContent, pause.dataset.resume] = [pause.dataset.resume, pause.textContent];
    askIfSeen();
  });

  // Opened details stay open; htmx itself keeps the focus, by the ids of the links.
  board.addEventListener("htmx:beforeSwap", () => {
    opened = [...board.querySelectorAll("details[open][id]")].map((details) => details.id);
  });
  board.addEventListener("htmx:afterSwap", () => {
    opened.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
    stale.hidden = true;
  });
  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    board.addEventListener(failure, () => {
      stale.hidden = false;
    });
  }
});
