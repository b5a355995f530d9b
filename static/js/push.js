// The profile's notifications page: lets the desk send to this browser. Without it the page can
// still be read, and browsers be forgotten.
(function () {
  "use strict";

  const list = document.getElementById("browsers");
  const form = document.getElementById("push-form");
  if (!list || !form) return;
  const note = form.querySelector("[data-push-note]");
  const button = form.querySelector("button");

  function say(words) {
    note.textContent = words;
  }

  if (!("serviceWorker" in navigator) || !("PushManager" in window)) {
    button.disabled = true;
    say("This browser cannot be told: it has no push, or this page is not served over https.");
    return;
  }

  // "Firefox on Linux": enough to tell one's own browsers apart
  function name() {
    const agent = navigator.userAgent;
    const browsers = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]];
    const systems = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Windows", "Windows"], ["Mac OS", "macOS"], ["Linux", "Linux"]];
    const first = (pairs, other) => (pairs.find(([mark]) => agent.includes(mark)) || [null, other])[1];
    return `${first(browsers, "A browser")} on ${first(systems, "some system")}`;
  }

  function bytes(text) {
    const padded = text.replace(/-/g, "+").replace(/_/g, "/") + "=".repeat((4 - (text.length % 4)) % 4);
    return Uint8Array.from(atob(padded), (char) => char.charCodeAt(0));
  }

  async function subscription() {
    await navigator.serviceWorker.register(list.dataset.pushWorker, { scope: "/" });
    const registration = await navigator.serviceWorker.ready;
    const wanted = { userVisibleOnly: true, applicationServerKey: bytes(list.dataset.pushKey) };
    try {
      return await registration.pushManager.subscribe(wanted);
    } catch (error) {
      // subscribed to a desk that had another key
      const old = await registration.pushManager.getSubscription();
      if (!old) throw error;
      await old.unsubscribe();
      return registration.pushManager.subscribe(wanted);
    }
  }

  form.addEventListener("submit", async (event) => {
    if (form.elements.endpoint.value) return; // filled in below: let it go
    event.preventDefault();
    if ((await Notification.requestPermission()) !== "granted") {
      say("This browser does not allow it: its settings for this page can change that.");
      return;
    }
    try {
      const made = (await subscription()).toJSON();
      form.elements.endpoint.value = made.endpoint;
      form.elements.p256dh.value = made.keys.p256dh;
      form.elements.auth.value = made.keys.auth;
      form.elements.browser.value = name();
      form.requestSubmit();
    } catch {
      say("This browser could not subscribe: its push service cannot be reached, or refuses.");
    }
  });
})();
