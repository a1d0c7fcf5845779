// Runs before the first paint, so that the chosen theme does not flash.
(() => {
  try {
    const chosen = JSON.parse(localStorage.getItem("belay:settings") ?? "{}");
    if (chosen.theme === "light" || chosen.theme === "dark") document.documentElement.setAttribute("data-theme", chosen.theme);
    if (chosen.density === "dense") document.documentElement.setAttribute("data-density", "dense");
  } catch {
    // Storage is not allowed: the system's theme it is.
  }
})();
