// Light or dark, before the first paint: the remembered choice, else what the system prefers.
(function () {
  "use strict";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function remembered() {
    try {
      return localStorage.getItem("theme") || "auto";
    } catch {
      return "auto"; // storage can be switched off
    }
  }

  function apply() {
    const choice = remembered();
    const theme = choice === "auto" ? (dark.matches ? "dark" : "light") : choice;
    document.documentElement.setAttribute("data-bs-theme", theme);
    document.documentElement.setAttribute("data-theme-choice", choice);
  }

  window.deskTheme = {
    current: remembered,
    choose(choice) {
      try {
        localStorage.setItem("theme", choice);
      } catch {
        // the choice then lasts for this page only
      }
      apply();
    },
  };
  document.documentElement.classList.add("has-js");
  dark.addEventListener("change", apply);
  apply();
})();
