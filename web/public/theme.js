// Before the first paint: the theme that was chosen here, else the system's.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "paper" || chosen === "night") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing follows the system.
}
