// Before anything is painted: the look that the reader chose last.
document.documentElement.dataset.script = "";
try {
  const chosen = localStorage.getItem("fivesentences-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* a browser may forbid storage; then the system's preference holds */ }
