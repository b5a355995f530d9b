// Shows what the desk sends, and opens the page it leads to. It fetches nothing and stores nothing:
// who looks at the page has to be signed in there.
"use strict";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let message = {};
  try {
    message = event.data.json();
  } catch {
    // a push without a payload still has to show something
  }
  const shown = {
    body: message.body || "Something waits for you.",
    // what came of a matter takes the place of what asked for it, and makes no sound
    tag: message.tag || "mcpdesk",
    silent: Boolean(message.over),
    renotify: !message.over,
    data: { url: message.url || "/inbox/" },
  };
  event.waitUntil(self.registration.showNotification(message.title || "mcpdesk", shown));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const target = new URL(event.notification.data.url, self.location.origin);
  // never to another origin, whatever a message says
  const path = target.origin === self.location.origin ? target.href : "/inbox/";
  event.waitUntil(self.clients.openWindow(path));
});
