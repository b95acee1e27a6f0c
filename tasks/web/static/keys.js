// One key for one press: whatever says in `aria-keyshortcuts` that a key stands for it is pressed, or written into.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // Letters by their place: a Korean keyboard need not be switched.
  const key = event.code.startsWith("Key") ? event.code.slice(3) : event.key;
  const found = document.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
  if (!found) return;
  event.preventDefault();
  if (found.matches("textarea")) found.focus();
  else found.click();
});
