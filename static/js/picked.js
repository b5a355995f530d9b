// Items picked to be decided together. A pick survives what the list brings by itself; without
// JavaScript the boxes and the buttons below the list do the same.
(function () {
  "use strict";

  const MOST = 50; // bulk.MAX_ITEMS
  const picked = new Set(); // ids of items

  const boxes = () => [...document.querySelectorAll("[data-pick]")];

  function show() {
    for (const box of boxes()) {
      box.checked = picked.has(box.value);
      box.closest(".row-line").classList.toggle("row-picked", box.checked);
    }
    const bar = document.getElementById("inbox-picked");
    if (!bar) return;
    bar.classList.toggle("picked-bar-on", picked.size > 0);
    const most = picked.size === MOST ? ", which is the most at once" : "";
    document.getElementById("picked-count").textContent = picked.size ? `${picked.size} picked${most}` : "";
  }

  // what has left the list is picked no more
  function follow() {
    const listed = new Set(boxes().map((box) => box.value));
    for (const id of picked) if (!listed.has(id)) picked.delete(id);
    show();
  }

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (!box.matches("[data-pick]")) return;
    if (!box.checked) picked.delete(box.value);
    else if (picked.size < MOST) picked.add(box.value);
    show();
  });

  document.addEventListener("click", (event) => {
    if (event.target.id !== "picked-none") return;
    picked.clear();
    show();
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target && event.detail.target.id === "inbox-list") follow();
  });
  document.addEventListener("htmx:historyRestore", follow);

  for (const box of boxes()) if (box.checked) picked.add(box.value); // kept by the browser
  show();
})();
