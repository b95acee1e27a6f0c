"""What tests in a real browser share: where it is, and what they ask of a page."""

from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize

CHROMIUM = Path("/usr/bin/chromium")
PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
IN_CHROMIUM = [pytest.mark.long, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}")]

# The texts and fields of a page that lie on one another, each line of a text by itself.
OVERLAPS = """() => {
  const says = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const shown = [...document.querySelectorAll("main *")].filter((one) => one.checkVisibility() &&
    !one.closest(".heard, caption, option") && (one.matches("input, select, textarea, button") || says(one)));
  const boxes = shown.flatMap((one) => [...one.getClientRects()].map((box) => ({ one, box })));
  const meets = (a, b) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return boxes.flatMap((first, index) => boxes.slice(index + 1)
    .filter((other) => !first.one.contains(other.one) && !other.one.contains(first.one) && meets(first.box, other.box))
    .map((other) => `${first.one.textContent.trim().slice(0, 40)} | ${other.one.textContent.trim().slice(0, 40)}`));
}"""

# The texts of each chart that meet, and the shapes that leave its card; half a pixel is a matter of rounding.
CHART_GEOMETRY = """() => {
  const meets = (a, b) =>
    a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
  const holds = (outer, inner) =>
    inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
  const found = { charts: 0, texts: 0, meeting: [], outside: [] };
  for (const figure of document.querySelectorAll("figure.chart")) {
    const card = figure.getBoundingClientRect();
    const texts = [...figure.querySelectorAll("svg text, h3, .legend li")]
      .filter((one) => one.textContent.trim())
      .map((one) => ({ text: one.textContent, box: one.getBoundingClientRect() }));
    texts.forEach((one, index) => texts.slice(index + 1).forEach((other) => {
      if (meets(one.box, other.box)) found.meeting.push(`${one.text} | ${other.text}`);
    }));
    for (const shape of figure.querySelectorAll(".drawing svg :is(rect, circle, path, line, text)")) {
      const box = shape.getBoundingClientRect();
      if (box.width && !holds(card, box)) found.outside.push(`${shape.tagName} ${shape.textContent}`);
    }
    found.charts += 1;
    found.texts += texts.length;
  }
  return found;
}"""
