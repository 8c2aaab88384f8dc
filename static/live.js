// Keeps what is marked data-live up to date: asks for news while somebody can see it.
// The server answers 204 while there is none. No part of a page needs this file to work.
(() => {
  "use strict";

  const SECONDS = 10;
  const REMEMBERED_AS = "naiply-live";
  let timer = null;

  // A browser may refuse storage; the choice then lasts as long as the page.
  let paused = remembered() === "paused";

  function remembered() {
    try { return localStorage.getItem(REMEMBERED_AS); } catch { return null; }
  }

  function remember(value) {
    try { localStorage.setItem(REMEMBERED_AS, value); } catch { /* see above */ }
  }

  // A swap would throw a selection away; the next turn will do.
  function isSelecting() {
    const selection = document.getSelection();
    return selection !== null && selection.type === "Range";
  }

  function ask() {
    if (document.hidden || paused || isSelecting()) return;
    document.querySelectorAll("[data-live]").forEach((part) => htmx.trigger(part, "live"));
  }

  // One timer for the page, whatever is swapped in and out, and none while it is hidden.
  function sync() {
    clearInterval(timer);
    timer = document.hidden || paused ? null : setInterval(ask, SECONDS * 1000);
  }

  function showPause() {
    document.querySelectorAll("[data-pause]").forEach((button) => {
      button.textContent = paused ? button.dataset.resumeText : button.dataset.pauseText;
      button.hidden = false;
    });
  }

  function setPaused(value) {
    paused = value;
    showPause();
    sync();
    ask();
  }

  document.addEventListener("visibilitychange", () => { sync(); ask(); });
  window.addEventListener("storage", (event) => {
    if (event.key === REMEMBERED_AS) setPaused(event.newValue === "paused");
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-pause]")) return;
    setPaused(!paused);
    remember(paused ? "paused" : "running");
  });

  // Going back shows the page as it was left, from the browser's memory or from its cache.
  window.addEventListener("pageshow", (event) => {
    const [navigation] = performance.getEntriesByType("navigation");
    if (event.persisted || navigation?.type === "back_forward") ask();
  });
  document.addEventListener("htmx:historyRestore", showPause);

  // Says who is first when that changes, and nothing else: a live table would be read out whole.
  let first = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const isNews = event.detail.requestConfig?.triggeringEvent?.type === "live";
    first = isNews ? event.detail.target.dataset.first : null;
  });
  document.addEventListener("htmx:afterSwap", () => {
    const part = document.querySelector("[data-first]");
    if (first && part && part.dataset.first !== first) {
      document.getElementById("news").textContent = part.dataset.firstNews;
    }
    first = null;
  });

  showPause();
  sync();
})();
