// The tree of a result: search in it, copy what it shows. Without this it is a tree that folds.
(function () {
  "use strict";

  const LEAVES = ".tree-name, .tree-string, .tree-number, .tree-boolean, .tree-null";

  function search(tree, wanted) {
    for (const old of tree.querySelectorAll(".tree-hit")) old.classList.remove("tree-hit");
    if (!wanted) return 0;
    let found = 0;
    for (const leaf of tree.querySelectorAll(LEAVES)) {
      if (!leaf.textContent.toLowerCase().includes(wanted)) continue;
      leaf.classList.add("tree-hit");
      for (let up = leaf.closest("details"); up && tree.contains(up); up = up.parentElement.closest("details")) {
        up.open = true;
      }
      if (found === 0) tree.scrollTop += leaf.getBoundingClientRect().top - tree.getBoundingClientRect().top - 24;
      found += 1;
    }
    return found;
  }

  document.addEventListener("input", (event) => {
    const field = event.target.closest("[data-tree-search]");
    if (!field) return;
    const wanted = field.value.trim().toLowerCase();
    const found = search(document.getElementById(field.dataset.treeSearch), wanted);
    const said = document.querySelector(`[data-tree-said="${field.dataset.treeSearch}"]`);
    said.textContent = wanted ? `${found} found${said.dataset.treeWhere}` : "";
  });

  // what is copied is what came, not what is shown: hidden letters are written out on the page
  async function copy(button) {
    const label = button.textContent;
    try {
      const answer = await fetch(button.dataset.copyFrom);
      if (!answer.ok) throw new Error(String(answer.status));
      await navigator.clipboard.writeText(await answer.text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
    setTimeout(() => (button.textContent = label), 2000);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy-from]");
    if (button) copy(button);
  });
})();
