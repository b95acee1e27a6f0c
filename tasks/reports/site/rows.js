// Lists the rows of a day or a period that have what the form asks for. The fragment of the address holds the same choice
// (#failure_type=blocked&tenant="a"), so that a count anywhere leads to exactly its rows.
"use strict";
(() => {
  const AT_ONCE = 50;
  const data = JSON.parse(document.getElementById("row-data").textContent);
  const form = document.getElementById("row-filter");
  const list = document.getElementById("listed-rows");
  const more = document.getElementById("more-rows");
  const output = form.querySelector("output");
  const facets = new Map(data.facets.map((facet) => [facet.name, facet]));
  const isIn = (facet, row, place) =>
    facet.many ? Math.floor(facet.of[row] / 2 ** place) % 2 === 1 : facet.of[row] === place;
  const titles = (name, row) => {
    const facet = facets.get(name);
    return facet.titles.filter((_, place) => isIn(facet, row, place));
  };

  const element = (parent, tag, className, text) => {
    const made = parent.appendChild(document.createElement(tag));
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const time = (seconds) => [3600, 60, 1].map((unit) => String(Math.floor(seconds / unit) % 60).padStart(2, "0")).join(":");
  const day = (row) => data.days?.[data.day[row]];
  const points = (row) => (data.total[row] === null ? "채점하지 않음" : `${data.total[row].toFixed(1)}점`);

  const show = (row) => {
    const item = element(list, "li", "card");
    const meta = element(item, "p", "meta");
    const [sign, tone] = data.grades[facets.get(data.final).of[row]] ?? ["–", ""];
    element(meta, "span", `grade ${tone}`, sign);
    element(meta, "b", "", points(row));
    const parts = data.parts.filter((part) => part.of[row] !== null);
    element(meta, "span", "", parts.map((part) => `${part.title} ${part.of[row]}${part.grade ? `(${titles(part.grade, row)})` : ""}`).join(" · "));
    for (const title of titles("alert", row)) element(meta, "span", "tag", title);
    const kept = data.question[row] !== null;
    const question = element(item, "p", "question", kept ? data.question[row] || "(빈 질문)" : undefined);
    const lacking = data.total[row] === null ? "질문이나 답변이 없는 행" : data.days ? "글은 그날의 행에서 봅니다" : "글을 보관하지 않은 행";
    if (!kept) element(question, "em", "", lacking);
    if (data.answer[row] !== null) element(item, "p", "answer", data.answer[row] || "(빈 답변)");
    const facts = element(item, "p", "facts");
    if (day(row) && data.id[row]) element(facts, "a", "", day(row)).href = `${day(row)}-rows.html#text=${data.id[row]}`;
    else if (day(row)) element(facts, "span", "", day(row));
    element(facts, "span", "", time(data.time[row]));
    for (const name of ["tenant", ...data.told.slice(1)]) for (const title of titles(name, row)) element(facts, "span", "", title);
    if (data.cause[row]) element(facts, "span", "", `원인: ${data.cause[row]}`);
    element(facts, "code", "", data.id[row]);
  };

  const test = ([name, value]) => {
    if (name === "text") {
      const wanted = value.toLowerCase();
      return (row) => ["question", "answer", "id"].some((column) => (data[column][row] ?? "").toLowerCase().includes(wanted));
    }
    const facet = facets.get(name);
    const place = facet.values.indexOf(value);
    return (row) => isIn(facet, row, place);
  };

  let found = [];
  let shown = 0;
  const showMore = () => {
    const end = Math.min(shown + AT_ONCE, found.length);
    for (; shown < end; shown += 1) show(found[shown]);
    more.hidden = shown === found.length;
    more.textContent = `${Math.min(AT_ONCE, found.length - shown)}행 더 보기`;
  };
  const apply = () => {
    const wanted = [...new FormData(form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value);
    const tests = wanted.map(test);
    found = data.id.map((_, row) => row).filter((row) => tests.every((meets) => meets(row)));
    list.replaceChildren();
    shown = 0;
    showMore();
    output.textContent = `${data.id.length.toLocaleString("ko")}행 가운데 ${found.length.toLocaleString("ko")}행`;
    document.getElementById("no-rows").hidden = found.length > 0;
    history.replaceState(null, "", `#${new URLSearchParams(wanted)}`);
  };
  const read = () => {
    form.querySelectorAll("input, select").forEach((field) => { field.value = ""; });
    const asked = [...new URLSearchParams(location.hash.slice(1))];
    for (const [name, value] of asked) {
      const field = form.elements.namedItem(name);
      const facet = facets.get(name);
      const place = facet ? facet.values.indexOf(value) : -1;
      if (facet && place >= 0 && ![...field.options].some((option) => option.value === value)) field.add(new Option(facet.titles[place], value));
      if (field) field.value = value;
    }
    if (!asked.length) form.elements.flagged.selectedIndex = 1;
    apply();
  };

  // A cell that begins like a formula would be calculated by a spreadsheet.
  const cell = (value) => `"${String(value ?? "").replace(/^[=+\-@\t\r＝＋－＠]/, "'$&").replaceAll('"', '""')}"`;
  document.getElementById("row-export").addEventListener("click", () => {
    const named = [...facets.values()].filter((facet) => !["flagged", "hour"].includes(facet.name));
    const names = named.map((facet) => form.elements.namedItem(facet.name).labels[0].firstChild.data.trim());
    const lines = found.map((row) => [
      data.id[row], [day(row), time(data.time[row])].filter(Boolean).join(" "), data.total[row], ...named.map((facet) => titles(facet.name, row).join(", ")),
      data.question[row], data.answer[row],
    ]);
    const text = [["행 ID", "시각", "점수", ...names, "질문", "답변"], ...lines].map((line) => line.map(cell).join(",")).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    link.download = `${document.querySelector("h1").textContent}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  });

  more.addEventListener("click", showMore);
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  form.addEventListener("reset", () => setTimeout(apply));
  addEventListener("hashchange", read);
  read();
})();
