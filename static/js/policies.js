// The list of rules: Alt and an arrow key press the buttons that move a rule.
(function () {
  "use strict";

  document.addEventListener("keydown", (event) => {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const direction = { ArrowUp: "up", ArrowDown: "down" }[event.key];
    const rule = event.target.closest("[data-rules] > li");
    const button = direction && rule && rule.querySelector(`[data-move="${direction}"]`);
    if (!button) return;
    event.preventDefault();
    // the list comes back anew, with the focus where it was
    button.focus();
    button.click();
  });

  // a rule at the end stays there: the button keeps the focus, and says so
  document.addEventListener("click", (event) => {
    const button = event.target.closest('[data-move][aria-disabled="true"]');
    if (button) event.preventDefault();
  });
})();
