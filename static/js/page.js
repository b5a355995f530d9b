// Small comforts of every page. Nothing here is needed to read a page or to send a form.
(function () {
  "use strict";

  // --- menus made of <details>: a click outside or Escape closes them
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details[data-menu][open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector("details[data-menu][open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // --- where one is stands in sight, also where the places are more than a phone's width
  const here = document.querySelector(".rail-nav [aria-current]");
  if (here) {
    const places = here.parentElement;
    const hidden = here.getBoundingClientRect().right - places.getBoundingClientRect().right;
    if (hidden > 0) places.scrollLeft += hidden + 32; // and a piece of the next, where there is one
  }

  // --- light, dark, as the system
  function markTheme() {
    for (const button of document.querySelectorAll("button[data-theme-choice]")) {
      const chosen = button.dataset.themeChoice === window.deskTheme.current();
      button.setAttribute("aria-pressed", String(chosen));
      button.classList.toggle("active", chosen);
    }
  }

  document.addEventListener("click", (event) => {
    const theme = event.target.closest("button[data-theme-choice]");
    if (theme) {
      window.deskTheme.choose(theme.dataset.themeChoice);
      markTheme();
    }
    const dismiss = event.target.closest("[data-dismiss]");
    if (dismiss) dismiss.parentElement.remove();
  });

  document.addEventListener("change", (event) => {
    const field = event.target.closest("[data-autosubmit]");
    if (field) field.form.requestSubmit();
  });

  // --- a form is sent once: the second press of the same button does nothing
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    if (event.submitter) event.submitter.setAttribute("aria-busy", "true");
  });
  // coming back with the browser's Back button shows the form again, ready to be sent
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) {
      delete form.dataset.sent;
      for (const busy of form.querySelectorAll("[aria-busy]")) busy.removeAttribute("aria-busy");
    }
  });

  // --- ages and countdowns that move: <time data-moving="past|future|deadline" datetime="...">
  function words(seconds) {
    const s = Math.max(0, Math.round(seconds));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
    return `${Math.floor(s / 86400)} days`;
  }

  const MOVING = {
    past: (left) => `${words(-left)} ago`,
    future: (left) => (left > 0 ? `in ${words(left)}` : "now"),
    deadline: (left) => (left > 0 ? `${words(left)} left` : "time is up"),
  };

  function tick() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-moving]")) {
      const text = MOVING[time.dataset.moving]((Date.parse(time.dateTime) - now) / 1000);
      if (time.textContent !== text) time.textContent = text;
    }
    for (const time of document.querySelectorAll("time[data-age]")) {
      const text = words((now - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== text) time.textContent = text;
    }
  }

  function ready() {
    for (const element of document.querySelectorAll("[data-with-js]")) element.hidden = false;
    markTheme();
  }

  document.addEventListener("htmx:afterSettle", ready);
  ready();
  setInterval(tick, 1000);
})();
