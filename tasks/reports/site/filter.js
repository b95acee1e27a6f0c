// Lists that people can narrow down: by text, and by what the selects of the form choose. A link may bring the choice
// along (?tier=S&grade=F), and a link to one row opens its details, one to a closed list opens that.
"use strict";
(() => {
  // Names of files from a Mac have their Hangul in parts, which nobody types.
  const folded = (text) => text.normalize("NFC").toLowerCase();
  const matches = (item, name, wanted) =>
    name === "text" ? folded(item.textContent).includes(folded(wanted))
      : (item.dataset[name] ?? "").split("|").includes(wanted);

  for (const form of document.querySelectorAll("form[data-filters]")) {
    const list = document.getElementById(form.dataset.filters);
    const items = [...list.children];
    const output = form.querySelector("output");
    const nothing = document.getElementById(`${list.id}-empty`);
    const apply = () => {
      const wanted = [...new FormData(form)].filter(([, value]) => value.trim());
      let shown = 0;
      for (const item of items) {
        item.hidden = !wanted.every(([name, value]) => matches(item, name, value.trim()));
        shown += item.hidden ? 0 : 1;
      }
      output.textContent = `${items.length}개 가운데 ${shown}개`;
      nothing.hidden = shown > 0;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
    form.addEventListener("reset", () => setTimeout(apply));
    for (const [name, value] of new URLSearchParams(location.search)) {
      const field = form.elements.namedItem(name);
      if (field) field.value = value;
    }
    addEventListener("pageshow", apply);  // by then a browser that comes back has chosen as it was left
  }

  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.hidden) {  // a link asks for it, whatever the form asks for
      target.hidden = false;
      target.scrollIntoView();
    }
    const details = target && (target.closest("details") ?? (target.matches("li, tr") && target.querySelector("details")));
    if (details) details.open = true;
  };
  addEventListener("hashchange", openTarget);
  addEventListener("pageshow", openTarget);
})();
