// Starts the page.
import { render } from "preact";
import { signal } from "@preact/signals";
import { App } from "./app";
import { base } from "./api";
import { startKeys } from "./keys";
import { startLive } from "./live";
import { takeToken } from "./screens/login";
import { applyLooks, askMe, go, link, route } from "./state";
import "uplot/dist/uPlot.min.css";
import "./style/index.css";

const help = signal(false);
const token = takeToken();

applyLooks();
startLive();
startKeys(() => {
  help.value = true;
});

// Links inside the page do not load it anew.
document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const a = (event.target as Element | null)?.closest?.("a[href]");
  if (!(a instanceof HTMLAnchorElement) || a.hasAttribute("download") || a.target !== "") return;
  if (a.origin !== location.origin || !a.pathname.startsWith(`${base}/`) || a.pathname.startsWith(`${base}/api/`)) return;
  if (a.hash !== "" && a.pathname === location.pathname) return;
  event.preventDefault();
  go(a.pathname + a.search);
});

function Root() {
  return <App token={token} help={help.value} onHelp={(open) => (help.value = open)} />;
}

if (token !== null) {
  // The link with a token is for its first page, wherever it points.
  go(link(["login"], { next: route.value.path[0] === "login" ? route.value.query.get("next") : location.pathname.slice(base.length) + location.search }), true);
} else {
  void askMe();
}
render(<Root />, document.getElementById("app")!);
