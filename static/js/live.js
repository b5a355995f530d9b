// Live updates. The socket says *what* changed (ids); every region that shows it asks its own view
// again, and the view decides what this person may see. docs/live-pages.md has the whole convention:
//
//   <div id="x" data-live="operation:<id> operations" hx-get="..." hx-trigger="live" hx-swap="outerHTML">
//
// Topics: operation:<id>, approval:<id>, server:<id>, and the lists: operations, inbox, servers.
// data-live-every="5" asks again every 5 s as well, for what changes without an event.
// data-live-apart="30": asked at most every 30 s, for what is costly.
(function () {
  "use strict";

  const BATCH_MS = 120; // changes that come together are one refresh
  const APART_MS = 400; // a region is not asked more often than this, or than it says itself
  const BACK_OFF_MS = { first: 500, most: 15000 };
  const QUIET_MS = 75000; // the desk says something every 30 s: after this the line is dead
  const GONE = {
    4401: ["signed out", "You are signed out. This page shows what it knew before."],
    4403: ["no longer in this team", "You are no longer in this team. This page stays as it was."],
    4409: ["team changed", "You look at another team now. This page stays as it was."],
  };

  let socket = null;
  let again = null; // the next attempt
  let heard = 0; // when the socket last said something (ms)
  let shown = ["wait", "connecting"];
  let failures = 0;
  let everConnected = false;
  let changed = new Set();
  let batch = null;
  let gone = false; // this person may not ask any more
  // by the region's id, since each answer replaces its element
  const nextAsk = new Map(); // when it may be asked again (ms)
  const later = new Set(); // which are asked then

  // --- the dot
  function show(state, word) {
    shown = [state, word];
    const dot = document.querySelector("[data-live-dot]"); // going back brings another one
    if (!dot || (dot.dataset.liveDot === state && dot.textContent.trim() === word)) return;
    dot.dataset.liveDot = state;
    dot.querySelector("[data-live-word]").textContent = word;
  }

  function sayGone(sentence) {
    const note = document.createElement("div");
    note.className = "alert alert-warning desk-message";
    note.setAttribute("role", "alert");
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "Open it anew";
    const words = document.createElement("div");
    words.append(`${sentence} `, link);
    note.append(words);
    document.getElementById("main").prepend(note);
  }

  // --- regions
  const regions = () => document.querySelectorAll("[data-live]");
  const topicsOf = (region) => region.dataset.live.split(/\s+/);

  // Someone is typing in it, or has typed and not sent: it waits. What stays as it is when the
  // region is replaced says so (data-kept).
  function busy(region) {
    const active = document.activeElement;
    const typing = region.contains(active) && active.matches("input:not([data-kept]), textarea, select");
    return typing || region.matches("[data-typed]") || region.querySelector("[data-typed]") !== null;
  }

  function refresh(region) {
    if (gone) return;
    if (busy(region)) {
      region.dataset.liveStale = "yes";
      return;
    }
    delete region.dataset.liveStale;
    const wait = (nextAsk.get(region.id) || 0) - Date.now();
    if (wait > 0) {
      askLater(region.id, wait);
      return;
    }
    nextAsk.set(region.id, Date.now() + (Number(region.dataset.liveApart) * 1000 || APART_MS));
    htmx.trigger(region, "live");
  }

  function askLater(id, wait) {
    if (later.has(id)) return;
    later.add(id);
    setTimeout(() => {
      later.delete(id);
      refreshById(id);
    }, wait);
  }

  function refreshById(id) {
    const region = document.getElementById(id);
    if (region && region.matches("[data-live]")) refresh(region);
  }

  function refreshAll() {
    regions().forEach(refresh);
  }

  function flush() {
    batch = null;
    const topics = changed;
    changed = new Set();
    for (const region of regions()) {
      if (topicsOf(region).some((topic) => topics.has(topic))) refresh(region);
    }
  }

  function take(message) {
    if (message.operation) changed.add(`operation:${message.operation}`).add("operations");
    if (message.approval) changed.add(`approval:${message.approval}`).add("inbox");
    if (message.server) changed.add(`server:${message.server}`).add("servers");
    if (batch === null) batch = setTimeout(flush, BATCH_MS);
  }

  // --- what was typed stays: a form that was touched holds its region back until it is sent
  document.addEventListener("input", (event) => {
    const form = event.target.closest("[data-live] form");
    if (form) form.dataset.typed = "yes";
  });
  document.addEventListener("reset", (event) => delete event.target.dataset.typed);
  document.addEventListener("focusout", () => {
    setTimeout(() => document.querySelectorAll("[data-live-stale]").forEach(refresh), 0);
  });
  // an answer that arrives while someone has begun to type is not shown either
  document.addEventListener("htmx:beforeSwap", (event) => {
    const region = event.detail.target;
    if (!region.matches) return;
    if (region.matches("[data-live]") && busy(region)) {
      region.dataset.liveStale = "yes";
      event.detail.shouldSwap = false;
    } else {
      remember(region);
    }
  });

  // A region that asks by itself never takes the page elsewhere: the desk says so, and the page stays.
  document.addEventListener("htmx:configRequest", (event) => {
    const asking = event.detail.triggeringEvent;
    if (asking && asking.type === "live") event.detail.headers["Desk-Live"] = "region";
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.xhr.getResponseHeader("Desk-Live") === "signed-out") goneFor(4401);
  });

  // --- no jump: what was opened stays open, the focus stays where it was
  const opened = new Map();
  const focused = new Map(); // what has an id gets it back from htmx
  function remember(region) {
    // elsewhere another item may come: what it folds was opened by nobody
    if (region.matches("[data-live]")) {
      const ids = [...region.querySelectorAll("details[open][id]")].map((details) => details.id);
      opened.set(region.id, ids);
    }
    const active = document.activeElement;
    if (!region.contains(active) || active.id) return;
    const kind = kindOf(active);
    focused.set(region.id, { kind, number: ofKind(region, kind).indexOf(active) });
  }

  // what it does, since its words may change: where it leads, what it opens, what it sends
  function kindOf(element) {
    const near = (selector, name) => element.closest(selector)?.getAttribute(name);
    const own = ["href", "name", "value"].map((name) => element.getAttribute(name));
    return [element.tagName, ...own, near("details", "id"), near("form", "action")].join(" ");
  }
  function ofKind(region, kind) {
    const all = region.querySelectorAll("a, button, summary, input, [tabindex]");
    return [...all].filter((element) => kindOf(element) === kind);
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    const region = event.target;
    for (const id of opened.get(region.id) || []) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
    opened.delete(region.id);
    const had = focused.get(region.id);
    focused.delete(region.id);
    if (!had || document.activeElement !== document.body) return;
    ofKind(region, had.kind)[had.number]?.focus({ preventScroll: true });
  });

  // --- the socket
  function connect() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const mine = new WebSocket(`${scheme}//${location.host}${document.body.dataset.liveSocket}`);
    socket = mine;
    heard = Date.now();
    mine.addEventListener("message", (event) => {
      if (socket !== mine) return;
      heard = Date.now();
      const message = JSON.parse(event.data);
      if (message.type === "ready") nowLive();
      else if (message.type !== "here") take(message);
    });
    mine.addEventListener("close", (event) => {
      if (socket === mine) closed(event.code);
    });
  }

  // A phone that lost its network hears no close: the line is given up here.
  function drop() {
    if (gone || socket === null) return;
    const dead = socket;
    socket = null;
    dead.close();
    closed(0);
  }

  function nowLive() {
    failures = 0;
    everConnected = true;
    show("on", "live");
    refreshAll(); // what changed while nobody listened, also between the page's making and now
  }

  function goneFor(code) {
    if (gone) return;
    gone = true;
    show("gone", GONE[code][0]);
    sayGone(GONE[code][1]);
  }

  function closed(code) {
    socket = null;
    if (code in GONE) goneFor(code);
    if (gone) return;
    failures += 1;
    show(failures > 3 ? "off" : "wait", failures > 3 ? "not live" : "reconnecting");
    const most = Math.min(BACK_OFF_MS.most, BACK_OFF_MS.first * 2 ** (failures - 1));
    again = setTimeout(connect, most * (0.5 + Math.random() / 2));
  }

  window.addEventListener("offline", drop);
  window.addEventListener("online", () => {
    if (gone || socket !== null) return;
    clearTimeout(again);
    connect();
  });
  // htmx brings a whole page back: its dot and its regions are as old as that page
  document.addEventListener("htmx:historyRestore", () => {
    show(...shown);
    if (everConnected) refreshAll();
  });

  // --- what changes without an event
  setInterval(() => {
    if (socket !== null && Date.now() - heard > QUIET_MS) drop();
    if (document.hidden) return;
    for (const region of document.querySelectorAll("[data-live-every]")) {
      const asked = Number(region.dataset.liveAsked || 0);
      const now = Date.now();
      if (!asked) region.dataset.liveAsked = String(now);
      else if (now - asked >= Number(region.dataset.liveEvery) * 1000) {
        region.dataset.liveAsked = String(now);
        refresh(region);
      }
    }
  }, 1000);
  // a page that was asleep may have missed the close
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && everConnected) refreshAll();
  });

  show("wait", "connecting");
  connect();
})();
