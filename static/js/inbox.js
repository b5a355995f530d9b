// The inbox with JavaScript: keys, folding, drafts, and a form that stops when its question moves on.
// Without it every link and every form of these pages works as well.
(function () {
  "use strict";

  const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]";
  const byId = (id) => document.getElementById(id);

  // --- which row is opened
  function markRow() {
    const opened = document.querySelector("#inbox-detail [data-item]");
    for (const row of document.querySelectorAll("[data-row]")) {
      const on = opened !== null && row.dataset.row === opened.dataset.item;
      row.classList.toggle("on", on);
      if (on) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  // --- long values are read before anything is approved
  function unread() {
    return document.querySelector("#item [name=opened][form=item-form]:not(:checked)") !== null;
  }

  function holdApproval() {
    const button = document.querySelector("#item-form [data-key=a]");
    if (!button) return;
    const hold = unread();
    button.disabled = hold;
    byId("open-first").hidden = !hold;
  }

  document.addEventListener(
    "toggle",
    (event) => {
      if (event.target.open && event.target.matches("details[data-must-open]")) {
        const tick = event.target.querySelector("[name=opened]");
        if (tick) tick.checked = true;
        holdApproval();
      }
    },
    true, // toggle does not bubble
  );

  document.addEventListener("change", (event) => {
    if (event.target.name === "opened") holdApproval();
  });

  // --- a question that moved on under somebody's hands: nothing is sent, nothing is lost
  function touched(form) {
    return form.dataset.typed === "yes" || form.contains(document.activeElement);
  }

  function stop(form, live) {
    const note = byId("form-stop");
    const why = live.querySelector(".item-banner").textContent.trim().replace(/\s+/g, " ");
    note.textContent = `${why} Nothing can be sent from this form any more; what you typed stays here to be read.`;
    note.hidden = false;
    form.dataset.stopped = "yes";
    if (byId("draft-saver")) htmx.trigger("#draft-saver", "save");
    byId("item-actions").disabled = true;
    for (const field of form.querySelectorAll("input, textarea")) field.readOnly = true;
  }

  function followLive() {
    const form = byId("item-form");
    const live = byId("item-live");
    if (!live || (form && form.classList.contains("htmx-request"))) return;
    const canAct = live.dataset.canAct === "yes";
    if (!form) {
      if (canAct && !wrote()) reload(); // somebody's claim ended
      return;
    }
    const current = canAct && live.dataset.version === form.dataset.version;
    if (current || form.dataset.stopped) return;
    if (touched(form) || wrote()) stop(form, live);
    else reload();
  }

  // a comment or a note that is not sent yet
  function wrote() {
    const typed = (area) => area.value !== area.defaultValue || area === document.activeElement;
    return [...document.querySelectorAll("#item textarea")].some(typed);
  }

  function reload() {
    const item = byId("item");
    htmx.ajax("GET", `/inbox/${item.dataset.item}/`, { target: "#inbox-detail", swap: "innerHTML" });
  }

  document.addEventListener("input", (event) => {
    const form = event.target.closest("#item-form");
    if (form) form.dataset.typed = "yes";
  });

  // --- after a swap
  function toProblem(problem) {
    const field = document.querySelector("#item-form [aria-invalid=true]");
    // after htmx has scrolled to the top, which it does for what is swapped in
    requestAnimationFrame(() => {
      (field || problem).focus({ preventScroll: true });
      (field ? field.closest(".control, .card-body") : problem).scrollIntoView({ block: "center" });
    });
  }

  function itemSwapped() {
    const opened = byId("item") || byId("several");
    byId("inbox").classList.toggle("split-with-item", opened !== null);
    markRow();
    holdApproval();
    const problem = byId("form-errors");
    if (problem) toProblem(problem);
    else (byId("item-title") || byId("main")).focus({ preventScroll: true });
  }

  document.addEventListener("htmx:afterSettle", (event) => {
    const id = event.detail.target && event.detail.target.id;
    if (id === "inbox-detail") itemSwapped();
    else if (id === "inbox-list") markRow();
    else if (id === "item-live") followLive();
  });

  // --- the row of what is opened already: what is typed there is not fetched away
  document.addEventListener("htmx:beforeRequest", (event) => {
    const row = event.target;
    const item = byId("item");
    if (!row.matches("[data-row]") || !item || row.dataset.row !== item.dataset.item) return;
    const form = byId("item-form");
    if (item.offsetParent === null || (form && form.dataset.stopped)) return; // not seen, or over
    event.preventDefault();
    if (location.href !== row.href) history.pushState({ htmx: true }, "", row.href);
    byId("item-title").focus();
  });

  // --- an answer that is on its way to the desk says so
  const FORMS = "#item-form, #several-form";

  function sending(form, button) {
    if (button) button.setAttribute("aria-busy", "true");
    byId("form-sending").textContent = "Sending… Nothing is decided until the desk says so.";
    byId("form-stop").hidden = true;
    form.dataset.sending = "yes";
  }

  function notSending() {
    const form = document.querySelector(FORMS);
    if (!form || !form.dataset.sending) return;
    delete form.dataset.sending;
    byId("form-sending").textContent = "";
    for (const button of form.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!event.target.matches(FORMS)) return;
    const trigger = event.detail.requestConfig.triggeringEvent;
    sending(event.target, trigger && trigger.submitter);
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.target.matches(FORMS)) notSending();
  });

  // --- a request that failed: an answer may be pressed again, the desk takes it once
  function failed(event, what) {
    if (event.detail.target.id !== "inbox-detail") return;
    const note = byId("form-stop");
    if (event.detail.requestConfig.verb === "get" || !note) {
      location.assign(event.detail.pathInfo.finalRequestPath); // a page of its own says why
      return;
    }
    note.textContent = `${what} What you typed is still here. Try again: nothing is sent twice.`;
    note.hidden = false;
  }

  document.addEventListener("htmx:sendError", (event) => failed(event, "The desk could not be reached."));
  document.addEventListener("htmx:responseError", (event) => failed(event, "The desk could not take this."));

  document.addEventListener("htmx:historyRestore", begin);

  // --- keys
  function keysAreOn() {
    try {
      return localStorage.getItem("inbox-keys") !== "off";
    } catch {
      return true; // storage can be switched off
    }
  }

  const rowsOfList = () => [...document.querySelectorAll("[data-row]")];

  // the row that has the focus, or else that of the opened item
  function current(rows) {
    const line = document.activeElement.closest(".row-line");
    const focused = rows.findIndex((row) => line !== null && line.contains(row));
    return focused === -1 ? rows.findIndex((row) => row.classList.contains("on")) : focused;
  }

  function move(step) {
    const rows = rowsOfList();
    if (rows.length === 0) return;
    const from = current(rows);
    const to = from === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, from + step));
    rows[to].focus();
  }

  document.addEventListener("keydown", (event) => {
    const filter = byId("inbox-filter");
    if (event.key !== "Escape" || !filter.open || !filter.contains(event.target)) return;
    filter.open = false;
    filter.querySelector("summary").focus();
  });

  function openFilter() {
    byId("inbox-filter").open = true;
    byId("filter-text").focus();
  }

  function pick() {
    const rows = rowsOfList();
    const row = rows[current(rows)];
    const box = row && row.closest(".row-line").querySelector("[data-pick]");
    if (!box) return;
    box.click();
    row.focus();
  }

  // what is asked about several comes first, then what is picked, then the opened item
  function place(key) {
    if (byId("several")) return `#several [data-key=${key}]`;
    const picks = document.querySelector(".picked-bar-on") && key !== "c";
    return picks ? `#inbox-picked [data-picked=${key}]` : `#item [data-key=${key}]`;
  }

  function press(key) {
    const button = document.querySelector(place(key));
    if (button) button.click();
  }

  const KEYS = {
    j: () => move(1),
    k: () => move(-1),
    a: () => press("a"),
    d: () => press("d"),
    c: () => press("c"),
    x: pick,
    "/": openFilter,
    "?": () => byId("keys").showModal(),
  };

  document.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
    if (!plain || event.repeat || event.target.closest(TYPING) || byId("keys").open) return;
    if (!(event.key in KEYS) || (event.key !== "?" && !keysAreOn())) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  document.addEventListener("change", (event) => {
    if (event.target.id !== "keys-on") return;
    try {
      localStorage.setItem("inbox-keys", event.target.checked ? "on" : "off");
    } catch {
      // the choice is then forgotten: the keys stay on
    }
  });

  function begin() {
    byId("keys-on").checked = keysAreOn();
    holdApproval();
    markRow();
  }
  begin();
})();
