// Draws every chart of the page from the data in the page, with Observable Plot. Colours come from the style sheet, so
// that light, dark and print need no second drawing.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const day = (text) => new Date(`${text}T00:00:00Z`);
  const shortDay = d3.utcFormat("%-m/%-d");
  const percent = (value, digits = 1) => `${+(value * 100).toFixed(digits)}%`;
  // A share as the texts of the page write it: rounded half away from zero, with the digits that tell it from 0 and 100 %.
  const share = (value, digits = 1) => {
    const scale = 10 ** digits;
    const shown = Math.round(+(value * 100 * scale).toPrecision(12)) / scale;
    const isEnd = shown === 0 || shown === 100;
    return isEnd && shown !== value * 100 && digits < 4 ? share(value, digits + 1) : `${shown.toFixed(digits)}%`;
  };
  const points = (value, digits = 1) => `${+value.toFixed(digits)}`;
  const whole = (value) => (Number.isInteger(value) ? value.toLocaleString("ko") : "");
  // Labels with as many digits as tell every two of an axis apart.
  const apart = (format) => (value, _, values) => {
    const differ = (digits) => new Set(values.map((one) => format(one, digits))).size === values.length;
    return format(value, [1, 2, 3, 4, 5].find(differ));
  };
  const color = (palette, index) => `var(--${palette === "level" ? "level" : "grade"}-${index})`;
  const muted = "var(--muted)";
  const bubble = { fill: "var(--card)", stroke: "var(--line)", lineHeight: 1.5, textPadding: 10 };

  // The days of an axis: whole days, as many labels as have room.
  const dayTicks = (first, last, width) => {
    const days = d3.utcDay.range(day(first), d3.utcDay.offset(day(last), 1));
    const step = Math.max(1, Math.ceil(days.length / Math.max(2, Math.floor(width / 64))));
    return days.filter((_, index) => (days.length - 1 - index) % step === 0);
  };

  const legend = (names, palette) => {
    const list = document.createElement("ul");
    list.className = "legend";
    list.setAttribute("aria-hidden", "true");
    names.forEach((name, index) => {
      const item = list.appendChild(document.createElement("li"));
      const sign = d3.select(item).append("svg").attr("viewBox", "0 0 10 10");
      sign.append("rect").attr("width", 10).attr("height", 10).attr("rx", 2).attr("fill", color(palette, index));
      item.append(name);
    });
    return list;
  };

  const kinds = {
    trend(chart, width) {
      const rows = chart.points.map((point) => ({ ...point, date: day(point.day) }));
      const format = chart.rate ? percent : points;
      const ends = rows.filter((row) => !row.few).flatMap((row) => [row.low, row.high]).concat(chart.target ?? []);
      const [low, high] = d3.extent(ends);
      const room = Math.max((high - low) * 0.12, chart.rate ? 0.004 : 0.5);
      const bound = chart.rate ? 1 : 100;
      const changes = chart.changes.map((change) => ({ ...change, date: d3.utcHour.offset(day(change.day), -12) }));
      return [Plot.plot({
        width, height: 230, marginLeft: 46, marginRight: 12, marginTop: 26, marginBottom: 26,
        x: { type: "utc", domain: [d3.utcHour.offset(day(chart.first), -12), d3.utcHour.offset(day(chart.last), 12)] },
        y: { domain: [Math.max(0, low - room), Math.min(bound, high + room)], nice: false, clamp: true },
        marks: [
          Plot.gridY({ ticks: 4, stroke: "var(--line)", strokeOpacity: 1 }),
          Plot.axisY({ ticks: 4, tickFormat: apart(format), tickSize: 0, label: null, color: muted }),
          Plot.axisX(dayTicks(chart.first, chart.last, width), { tickFormat: shortDay, tickSize: 3, label: null, color: muted }),
          Plot.areaY(rows, { x: "date", y1: "low", y2: "high", z: "segment", fill: "var(--band)", fillOpacity: 0.16 }),
          Plot.ruleY(chart.target === null ? [] : [chart.target], { stroke: "var(--missed)", strokeDasharray: "5 4", strokeWidth: 1.5 }),
          Plot.ruleX(changes, { x: "date", stroke: muted, strokeWidth: 1.5 }),
          Plot.text(changes, {
            x: "date", text: "label", frameAnchor: "top", textAnchor: width > 360 ? "start" : "middle", dx: 4, dy: -18,
            fill: muted,
          }),
          Plot.lineY(rows, { x: "date", y: "value", z: "segment", stroke: "var(--band)", strokeWidth: 2 }),
          Plot.dot(rows, {
            x: "date", y: "value", r: 3, fill: (row) => row.few ? "var(--card)" : "var(--band)",
            stroke: (row) => row.few ? "var(--band)" : "var(--card)", strokeWidth: 1, href: "href",
            ariaLabel: "label",
          }),
          Plot.tip(rows, Plot.pointerX({ x: "date", y: "value", title: "label", ...bubble })),
        ],
      })];
    },

    // A rate within its usual range; days that reported it carry a sign of another shape and colour.
    rates(chart, width) {
      const rows = chart.points.map((point) => ({ ...point, date: day(point.day), rate: point.rows ? point.count / point.rows : 0 }));
      const label = (row) => `${row.day}${row.reported ? ` · ${row.reported === "page" ? "긴급 알림" : "요약"}` : ""}\n${row.count.toLocaleString("ko")}/${row.rows.toLocaleString("ko")}행 (${share(row.rate)})\n평소 ${share(row.low)}~${share(row.high)}`;
      const reported = rows.filter((row) => row.reported);
      // The first days know so little of what is usual that their range would leave the others no room.
      const usual = Math.min(d3.max(rows, (row) => row.high), 2 * d3.median(rows, (row) => row.high));
      const tone = (row) => (row.reported === "page" ? "var(--missed)" : "var(--undecided)");
      const channels = { x: "date", y: "rate", z: "segment" };
      return [legendOfRates(chart.names), Plot.plot({
        width, height: 210, marginLeft: 46, marginRight: 12, marginTop: 8, marginBottom: 26,
        x: { type: "utc", domain: [d3.utcHour.offset(day(chart.first), -12), d3.utcHour.offset(day(chart.last), 12)] },
        y: { domain: [0, Math.min(1, Math.max(usual, d3.max(rows, (row) => row.rate)) * 1.1 || 0.01)], clamp: true },
        symbol: { domain: ["digest", "page"], range: ["square", "triangle"] },
        marks: [
          Plot.gridY({ ticks: 4, stroke: "var(--line)", strokeOpacity: 1 }),
          Plot.axisY({ ticks: 4, tickFormat: apart(percent), tickSize: 0, label: null, color: muted }),
          Plot.axisX(dayTicks(chart.first, chart.last, width), { tickFormat: shortDay, tickSize: 3, label: null, color: muted }),
          Plot.areaY(rows, { x: "date", y1: "low", y2: "high", z: "segment", fill: "var(--band)", fillOpacity: 0.16, curve: "step" }),
          Plot.lineY(rows, { ...channels, stroke: "var(--band)", strokeWidth: rows.length > 120 ? 1 : 1.5 }),
          Plot.dot(rows.length > 120 ? [] : rows, { x: "date", y: "rate", r: 2, fill: "var(--band)", href: "href", ariaLabel: label }),
          Plot.dot(reported, { x: "date", y: "rate", symbol: "reported", r: 5.5, fill: tone, stroke: "var(--card)", strokeWidth: 1.5, href: "href", ariaLabel: label }),
          Plot.tip(rows, Plot.pointerX({ x: "date", y: "rate", title: label, ...bubble })),
        ],
      })];
    },

    shares(chart, width) {
      const names = Object.values(chart.names);
      const rows = chart.rows.flatMap(({ day: text, href, counts }) => {
        const total = d3.sum(counts);
        return counts.map((count, index) => ({
          date: day(text), count, index: String(index), href,
          label: `${text}\n${names[index]} ${count.toLocaleString("ko")}행${chart.normalize && total ? ` (${share(count / total)})` : ""}`,
        }));
      });
      const keys = names.map((_, index) => String(index));
      const stack = { offset: chart.normalize ? "normalize" : null, order: chart.normalize ? [...keys].reverse() : keys };
      const channels = { x: "date", interval: "day", y: "count", z: "index", fill: (row) => color(chart.palette, row.index), insetLeft: 0.5, insetRight: 0.5 };
      return [legend(names, chart.palette), Plot.plot({
        width, height: 200, marginLeft: 46, marginRight: 12, marginTop: 8, marginBottom: 26,
        x: { type: "utc", domain: [day(chart.first), d3.utcDay.offset(day(chart.last), 1)] },
        y: chart.normalize ? { domain: [0, 1] } : { nice: true },
        marks: [
          Plot.axisY({ ticks: 4, tickFormat: chart.normalize ? percent : whole, tickSize: 0, label: null, color: muted }),
          Plot.axisX(dayTicks(chart.first, chart.last, width).map((noon) => d3.utcHour.offset(noon, 12)), { tickFormat: shortDay, tickSize: 0, label: null, color: muted }),
          Plot.rectY(rows, Plot.stackY(stack, { ...channels, href: "href" })),
          Plot.tip(rows, Plot.pointer(Plot.stackY(stack, { ...channels, title: "label", ...bubble }))),
        ],
      })];
    },

    bars(chart, width) {
      const rows = chart.bars.map((bar, index) => ({ ...bar, index }));
      const most = d3.max(rows, (row) => Math.max(row.share, row.usual ?? 0)) || 1;
      return [Plot.plot({
        width, height: 36 * rows.length + 8, marginLeft: 4, marginRight: 4, marginTop: 4, marginBottom: 4,
        x: { domain: [0, most], axis: null }, y: { axis: null, domain: rows.map((row) => row.label), padding: 0 },
        marks: [
          Plot.text(rows, { y: "label", text: "label", frameAnchor: "left", dy: -8, fill: "currentColor" }),
          Plot.text(rows, { y: "label", text: "shown", frameAnchor: "right", dy: -8, fill: muted }),
          Plot.barX(rows, { y: "label", x: () => most, fill: "var(--bg)", insetTop: 20, insetBottom: 6, rx: 3 }),
          Plot.barX(rows, { y: "label", x: "share", fill: (row) => color(chart.palette, row.index), insetTop: 20, insetBottom: 6, rx: 3 }),
          Plot.tickX(rows.filter((row) => row.usual !== null), { y: "label", x: "usual", stroke: "currentColor", strokeWidth: 2, insetTop: 17, insetBottom: 3 }),
        ],
      })];
    },

    interval(chart, width) {
      if (chart.value === null) return [];
      const format = chart.rate ? percent : points;
      const known = [chart.value, chart.low ?? chart.value, chart.high ?? chart.value, chart.target];
      const [low, high] = d3.extent(known);
      const room = (high - low || (chart.rate ? 0.05 : 2)) * 0.35;
      const tone = `var(--${chart.verdict})`;
      return [Plot.plot({
        width, height: 44, marginLeft: 2, marginRight: 2, marginTop: 4, marginBottom: 18,
        x: { domain: [Math.max(0, low - room), Math.min(chart.rate ? 1 : 100, high + room)], axis: null }, y: { axis: null },
        marks: [
          Plot.ruleY([0], { stroke: "var(--line)", strokeWidth: 2 }),
          Plot.link(chart.low === null ? [] : [chart], { x1: "low", x2: "high", y1: () => 0, y2: () => 0, stroke: tone, strokeOpacity: 0.45, strokeWidth: 9, strokeLinecap: "round" }),
          Plot.tickX([chart.target], { x: (value) => value, y: () => 0, stroke: "currentColor", strokeWidth: 2, insetTop: 1, insetBottom: 1 }),
          Plot.dot([chart], { x: "value", y: () => 0, r: 5.5, fill: tone, stroke: "var(--card)", strokeWidth: 1.5 }),
          Plot.text([chart.target], { x: (value) => value, text: () => `목표 ${format(chart.target, 9)}${chart.rate ? "" : "점"}`, frameAnchor: "bottom", dy: 15, fill: muted }),
        ],
      })];
    },

    rounds(chart, width) {
      const left = Math.min(140, Math.max(112, width * 0.28));
      const symbols = ["circle", "triangle", "square", "diamond", "star"];
      const names = chart.rounds.map((round) => `회차 ${round}`);
      return [legendOfSymbols(names, symbols), Plot.plot({
        width, height: 44 * chart.metrics.length + 34, marginLeft: left, marginRight: 46, marginTop: 6, marginBottom: 26,
        x: { domain: [0, 5] }, y: { domain: chart.metrics, padding: 0.2 },
        symbol: { domain: chart.rounds, range: chart.rounds.map((_, index) => symbols[index % symbols.length]) },
        marks: [
          Plot.gridX({ ticks: 5, stroke: "var(--line)", strokeOpacity: 1 }),
          Plot.axisX({ ticks: 5, tickSize: 0, label: null, color: muted }),
          Plot.axisY({ tickSize: 0, label: null, lineWidth: left / 18, color: "currentColor" }),
          Plot.link(chart.set.filter((row) => row.low !== null), { y: "metric", x1: "low", x2: "high", stroke: "var(--band)", strokeOpacity: 0.25, strokeWidth: 12, strokeLinecap: "round" }),
          Plot.tickX(chart.set, { y: "metric", x: "mean", stroke: "var(--band)", strokeWidth: 3, insetTop: 4, insetBottom: 4 }),
          Plot.dot(chart.means, { y: "metric", x: "mean", symbol: "round", r: 4.5, stroke: "currentColor", strokeWidth: 1.5, fill: "var(--card)", fillOpacity: 0.6, title: (row) => `${row.metric}\n회차 ${row.round}: ${row.shown}`, tip: bubble }),
          Plot.text(chart.set, { y: "metric", text: "shown", frameAnchor: "right", textAnchor: "start", dx: 14, fontWeight: 600, fill: "currentColor" }),
        ],
      })];
    },

    scores(chart, width) {
      const left = Math.min(140, Math.max(112, width * 0.28));
      const tones = ["var(--grade-0)", "var(--grade-1)", "var(--grade-2)", "var(--level-1)", "var(--grade-3)", "var(--grade-4)", "var(--line)"];
      const rows = chart.metrics.flatMap(({ metric, counts }) => counts.map((count, index) => ({ metric, count, index, share: count / d3.sum(counts) })));
      return [legendOfTones(chart.names, tones), Plot.plot({
        width, height: 40 * chart.metrics.length + 34, marginLeft: left, marginRight: 12, marginTop: 6, marginBottom: 26,
        x: { domain: [0, 1] }, y: { domain: chart.metrics.map((row) => row.metric), padding: 0.35 },
        marks: [
          Plot.axisX({ ticks: 4, tickFormat: percent, tickSize: 0, label: null, color: muted }),
          Plot.axisY({ tickSize: 0, label: null, lineWidth: left / 18, color: "currentColor" }),
          Plot.barX(rows, Plot.stackX({ y: "metric", x: "share", z: "index", order: "index", fill: (row) => tones[row.index], insetLeft: 0.5, insetRight: 0.5, title: (row) => `${row.metric}\n${chart.names[row.index]}: ${row.count.toLocaleString("ko")}건 (${share(row.share)})`, tip: bubble })),
        ],
      })];
    },

    // One metric over the runs of a test set, evenly spaced: several runs may fall on one day.
    history(chart, width) {
      const step = Math.max(1, Math.ceil(chart.days.length / Math.max(2, Math.floor(width / 56))));
      const orders = chart.days.map((_, order) => order);
      const sure = chart.points.filter((point) => point.low !== null);
      return [Plot.plot({
        width, height: 190, marginLeft: 28, marginRight: 16, marginTop: 12, marginBottom: 26,
        x: { type: "point", domain: orders, padding: 0.5 }, y: { domain: [0, 5] },
        marks: [
          Plot.gridY({ ticks: 5, stroke: "var(--line)", strokeOpacity: 1 }),
          Plot.axisY({ ticks: 5, tickSize: 0, label: null, color: muted }),
          Plot.axisX(orders.filter((order) => (orders.length - 1 - order) % step === 0), { tickFormat: (order) => chart.days[order], tickSize: 3, label: null, color: muted }),
          Plot.ruleX(sure, { x: "order", y1: "low", y2: "high", stroke: "var(--band)", strokeOpacity: 0.25, strokeWidth: 10, strokeLinecap: "round" }),
          Plot.lineY(chart.points, { x: "order", y: "value", z: "segment", stroke: "var(--band)", strokeWidth: 2 }),
          Plot.dot(chart.points, { x: "order", y: "value", r: 4, fill: "var(--band)", stroke: "var(--card)", strokeWidth: 1.5, href: "href", ariaLabel: "label" }),
          Plot.tip(chart.points, Plot.pointerX({ x: "order", y: "value", title: "label", ...bubble })),
        ],
      })];
    },

    // Bars and a box instead of dots: ten thousand executions take as much room as ten. No label is drawn that has no
    // room of its own.
    latency(chart, width) {
      const left = 12, right = 12;
      const pixels = (seconds) => (seconds / chart.end) * (width - left - right);
      const tones = { 5: 0, 4: 1, 3: 2, 2: 3, 1: 3, 0: 4 };
      const bands = chart.points.map((score, index) => ({
        low: index ? chart.cuts[index - 1] : 0, high: chart.cuts[index] ?? chart.end, score,
      }));
      const cuts = chart.cuts.reduce((kept, cut) => (
        pixels(cut - (kept[kept.length - 1] ?? -chart.end)) < 40 ? kept : [...kept, cut]
      ), []);
      const most = d3.max(chart.bins, (bin) => bin.n);
      const box = [chart.box], below = -0.16 * most;
      return [legendOfBox(chart.names), Plot.plot({
        width, height: 210, marginLeft: left, marginRight: right, marginTop: 24, marginBottom: 24,
        x: { domain: [0, chart.end] }, y: { axis: null, domain: [below * 2, most] },
        marks: [
          Plot.rectX(bands, { x1: "low", x2: "high", fill: (row) => color("grade", tones[row.score]), fillOpacity: (row) => row.score === 1 ? 0.3 : 0.18, insetRight: 1 }),
          Plot.text(bands.filter((row) => pixels(row.high - row.low) >= 28), { x: (row) => (row.low + row.high) / 2, text: (row) => `${row.score}점`, frameAnchor: "top", dy: -16, fill: muted }),
          Plot.axisX(cuts, { tickFormat: (cut) => `${cut}초`, tickSize: 3, label: null, color: muted }),
          Plot.rectY(chart.bins, { x1: "low", x2: "high", y: "n", fill: "currentColor", fillOpacity: 0.75, insetLeft: 0.5, insetRight: 0.5, title: "label", tip: bubble }),
          Plot.link(box, { x1: "p5", x2: "p95", y1: () => below, y2: () => below, stroke: "currentColor", strokeWidth: 1.5 }),
          Plot.rect(box, { x1: "p25", x2: "p75", y1: () => below * 1.6, y2: () => below * 0.4, fill: "var(--card)", stroke: "currentColor", strokeWidth: 1.5, rx: 2 }),
          Plot.link(box, { x1: "p50", x2: "p50", y1: () => below * 1.8, y2: () => below * 0.2, stroke: "currentColor", strokeWidth: 3 }),
        ],
      })];
    },
  };

  // The middle, the box around it and the line through it, in words.
  const legendOfBox = (names) => {
    const signs = ["M5,0V10", "M1,1H9V9H1Z", "M0,5H10"];
    const list = legend(names, "grade");
    list.querySelectorAll("svg").forEach((svg, index) => {
      d3.select(svg).selectAll("*").remove();
      d3.select(svg).append("path").attr("d", signs[index]).attr("fill", "none").attr("stroke", "currentColor")
        .attr("stroke-width", index ? 1.5 : 3);
    });
    return list;
  };

  const legendOfRates = (names) => {
    const tones = ["var(--band)", "var(--band)", "var(--undecided)", "var(--missed)"];
    const signs = ["M0,1H10V9H0Z", "M0,4H10V6H0Z", "M1,1H9V9H1Z", "M5,0L10,9H0Z"];
    const list = legend(names, "grade");
    list.querySelectorAll("svg").forEach((svg, index) => {
      d3.select(svg).selectAll("*").remove();
      d3.select(svg).append("path").attr("d", signs[index]).attr("fill", tones[index]).attr("fill-opacity", index ? 1 : 0.25);
    });
    return list;
  };

  const legendOfTones = (names, tones) => {
    const list = legend(names, "grade");
    list.querySelectorAll("rect").forEach((rect, index) => rect.setAttribute("fill", tones[index]));
    return list;
  };

  const legendOfSymbols = (names, symbols) => {
    const list = legend(names, "grade");
    list.querySelectorAll("svg").forEach((svg, index) => {
      const kind = { circle: d3.symbolCircle, triangle: d3.symbolTriangle, square: d3.symbolSquare, diamond: d3.symbolDiamond, star: d3.symbolStar };
      d3.select(svg).selectAll("*").remove();
      d3.select(svg).append("path").attr("transform", "translate(5,5)").attr("fill", "none").attr("stroke", "currentColor")
        .attr("d", d3.symbol(kind[symbols[index % symbols.length]], 36)());
    });
    return list;
  };

  const draw = (place) => {
    const chart = data[place.dataset.chart];
    const width = Math.floor(place.clientWidth);
    if (!width || place.drawnWidth === width) return;
    place.drawnWidth = width;
    const parts = kinds[chart.kind](chart, width);
    // Plot brings a style element along, which the page's policy refuses; site.css says the same.
    parts.forEach((part) => part.querySelector("style")?.remove());
    // A chart is one image with words; the table below it has its figures and links. A keyboard or a screen reader would
    // walk through hundreds of nameless ones.
    parts.forEach((part) => {
      part.setAttribute("aria-hidden", "true");
      part.querySelectorAll("a").forEach((link) => link.setAttribute("tabindex", "-1"));
    });
    place.replaceChildren(...parts);
  };

  const places = [...document.querySelectorAll("[data-chart]")];
  const observer = new ResizeObserver((entries) => requestAnimationFrame(() => entries.forEach((entry) => draw(entry.target))));
  places.forEach((place) => { draw(place); observer.observe(place); });
})();
