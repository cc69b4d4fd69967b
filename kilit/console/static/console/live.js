// Keeps a page up to date while its tab is visible; everything works without this file.
//
// Live are elements with an id and `data-live`, and the rows of a list. The value of `data-live` is the address that
// returns them; without one it is the page's own. Elements with an id and `data-live-also` are refreshed with them.
// `data-live-every` is in seconds. `data-live-always` is for what changes without an event. `data-live-ended` stops
// the refreshing. Only pieces that differ are replaced, where a piece is an element with `data-live-key`, a row of a
// list, or the whole: selection, focus, open details and the scroll position stay.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const bar = document.getElementById("live-bar");
  if (!bar) return;
  const age = document.getElementById("live-age");
  const stop = document.getElementById("live-stop");
  const noDatabase = document.getElementById("banner-database");
  const SHOWN = ["href", "title", "value", "datetime", "height", "y", "max", "aria-current"];
  const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, dialog[open]";

  const regions = [...document.querySelectorAll("[data-live][id], [data-live-also][id]")];
  const own = regions.filter((region) => !("liveAlso" in region.dataset));
  const isLive = own.length > 0;
  // A search changes the address of a list as one types.
  const source = () => own.find((region) => region.dataset.live)?.dataset.live || window.location.href;
  const isWholePage = source() === window.location.href;
  const every = 1000 * Number(own.find((region) => region.dataset.liveEvery)?.dataset.liveEvery || 10);
  const isAlways = own.some((region) => "liveAlways" in region.dataset);
  let version = isWholePage ? bar.dataset.version : "none";
  let updatedAt = Date.now();
  let [isStopped, isEnded, isBusy, isStale] = [false, false, false, false];

  // Only children that say who they are can be replaced one by one.
  const piecesOf = (region) => {
    const pieces = [...region.children];
    const keys = pieces.map((piece) => piece.dataset.liveKey);
    const areKeyed = pieces.length && keys.every(Boolean) && new Set(keys).size === keys.length;
    return areKeyed ? new Map(keys.map((key, at) => [key, pieces[at]])) : null;
  };
  // What a reader sees: Alpine changes other attributes by itself, and each page has other tokens against forgery.
  const signature = (node) =>
    [node.textContent.replace(/\s+/g, " ").trim()]
      .concat([...node.querySelectorAll("[href], [title], [value], [datetime], [height], [aria-current]")]
        .filter((each) => each.name !== "csrfmiddlewaretoken")
        .map((each) => SHOWN.map((name) => each.getAttribute(name)).join(" ")))
      .join("\n");
  const isInUse = (piece) => {
    const marked = window.getSelection();
    const isMarked = marked && !marked.isCollapsed && piece.contains(marked.anchorNode);
    return isMarked || (piece.contains(document.activeElement) && document.activeElement.matches(TYPING)) || piece.querySelector("dialog[open]");
  };

  const fill = (piece, fresh) => {
    if (signature(piece) === signature(fresh) || isInUse(piece)) return;
    const opened = [...piece.querySelectorAll("details[open][id]")].map((details) => details.id);
    const focused = piece.contains(document.activeElement) ? document.activeElement : null;
    const ticked = new Map([...piece.querySelectorAll("input[type=checkbox]")].map((box) => [`${box.name} ${box.value}`, box]));
    const place = focused && [...piece.querySelectorAll("a, button, summary")].indexOf(focused);
    piece.replaceChildren(...document.importNode(fresh, true).childNodes);
    piece.className = fresh.className || piece.className;
    // The same boxes, with what listens to them.
    piece.querySelectorAll("input[type=checkbox]").forEach((box) => {
      const before = ticked.get(`${box.name} ${box.value}`);
      if (before) box.replaceWith(before);
    });
    opened.forEach((id) => document.getElementById(id)?.setAttribute("open", ""));
    if (focused && document.activeElement !== focused) {
      const again = focused.id ? document.getElementById(focused.id) : focused.isConnected ? focused : piece.querySelectorAll("a, button, summary")[place];
      again?.focus({ preventScroll: true });
    }
    window.htmx?.process(piece);
    document.dispatchEvent(new Event("kilit:filled"));
  };
  const update = (region, fresh) => {
    const [old, now] = [piecesOf(region), piecesOf(fresh)];
    if (!old || !now) return fill(region, fresh);
    old.forEach((piece, key) => !now.has(key) && !isInUse(piece) && piece.remove());
    let last = null;
    now.forEach((piece, key) => {
      const kept = old.get(key) || document.importNode(piece, true);
      if (old.has(key)) fill(kept, piece);
      const next = last ? last.nextElementSibling : [...old.values()].find((each) => each.isConnected) || null;
      // Moving what has the focus would lose it.
      if (kept !== next && !kept.contains(document.activeElement)) last ? last.after(kept) : next ? next.before(kept) : region.append(kept);
      last = kept;
    });
  };

  // Rows that become higher must not push what a person looks at off its place.
  const isOnScreen = (piece) => piece.getBoundingClientRect().bottom > 0 && piece.getBoundingClientRect().top < window.innerHeight;
  const holdPlace = (change) => {
    const pieces = regions.flatMap((region) => [...(piecesOf(region)?.values() || [region])]);
    const seen = window.scrollY > 0 ? pieces.filter(isOnScreen) : [];
    const held = seen.find((piece) => piece.contains(document.activeElement)) || seen[0];
    const top = held?.getBoundingClientRect().top;
    change();
    if (held?.isConnected) window.scrollBy({ top: held.getBoundingClientRect().top - top, behavior: "instant" });
  };

  const take = async (answer) => {
    const came = new DOMParser().parseFromString(await answer.text(), "text/html");
    holdPlace(() => regions.filter((region) => region.isConnected).forEach((region) => {
      const fresh = came.getElementById(region.id) || (region.dataset.live === answer.source ? came.body : null);
      if (fresh) update(region, fresh);
    }));
    isEnded ||= !!came.querySelector("[data-live-ended]");
  };
  const get = async (address, shown) => {
    const options = { cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(8000) };
    const answer = await fetch(address, { headers: { "If-None-Match": shown }, ...options });
    answer.source = address;
    noDatabase.hidden = answer.status !== 503;
    if (answer.status === 401 || answer.redirected) return window.location.reload();
    if (answer.status === 304) return shown;
    if (!answer.ok) throw new Error(answer.statusText);
    await take(answer);
    return answer.headers.get("ETag") || "none";
  };
  const ask = async () => {
    if (isBusy) return;
    isBusy = true;
    const address = source();
    try {
      if (isLive && !isEnded) version = await get(address, isAlways ? "none" : version);
      // Other pages only learn what all pages show.
      if (!isLive || isEnded || !isWholePage) await get(bar.dataset.banner, "none");
      [updatedAt, isStale] = [Date.now(), false];
    } catch {
      isStale = true;
    } finally {
      isBusy = false;
      tick();
      if (address !== source()) ask(); // somebody typed on
    }
  };
  const tick = () => {
    const seconds = Math.round((Date.now() - updatedAt) / 1000);
    const text = seconds < 60 ? bar.dataset.seconds.replace("#", seconds) : bar.dataset.minutes.replace("#", Math.floor(seconds / 60));
    age.textContent = isStale ? `${bar.dataset.stale} ${text}` : isEnded ? bar.dataset.ended : text;
    bar.classList.toggle("kilit-stale", isStale);
    bar.hidden = !isLive && !isStale;
    stop.hidden = !isLive || isEnded;
  };
  // A hidden tab does not refresh; it does so at once when it becomes visible.
  const askIfSeen = () => {
    if (!document.hidden && !isStopped) ask();
  };

  isEnded = !!document.querySelector("[data-live-ended]");
  window.setInterval(askIfSeen, every);
  window.setInterval(tick, 1000);
  document.addEventListener("visibilitychange", askIfSeen);
  document.addEventListener("kilit:refresh", ask);
  stop.addEventListener("click", () => {
    isStopped = !isStopped;
    [stop.title, stop.dataset.other] = [stop.dataset.other, stop.title];
    stop.setAttribute("aria-label", stop.title);
    stop.firstElementChild.textContent = isStopped ? "sync" : "sync_disabled";
    askIfSeen();
  });
  tick();
});
