// Keys. None of them changes data by itself, and all of them can be switched off.
import { keyed } from "./components/table";
import { browserZone } from "./time";
import { change, go, hub, hubLink, settings } from "./state";

export const keyList: [string, string][] = [
  ["?", "this help"],
  ["/", "search"],
  ["g o", "overview"],
  ["g q", "queues"],
  ["g i", "orchestrations"],
  ["g t", "tasks"],
  ["g f", "flows"],
  ["g s", "schedules"],
  ["g d", "dead letters"],
  ["g e", "events"],
  ["g w", "workers"],
  ["g h", "health"],
  ["j k", "next and previous row"],
  ["x", "select the row"],
  ["Enter", "open the row"],
  [".", "actions"],
  ["l", "live updates on and off"],
  ["z", "UTC or the browser's zone"],
  ["Esc", "close, leave"],
];

const screens: Record<string, string[]> = {
  o: [],
  q: ["queues"],
  i: ["instances"],
  t: ["tasks"],
  f: ["flows"],
  s: ["schedules"],
  d: ["dead-letters"],
  e: ["events"],
  w: ["workers"],
  h: ["health"],
};

export function startKeys(help: () => void): void {
  let prefix = 0;
  document.addEventListener("keydown", (e) => {
    const target = e.target as HTMLElement;
    const typing = target.matches("input:not([type=checkbox]), textarea, select");
    if (e.key === "Escape" && typing) {
      target.blur();
      return;
    }
    if (!settings.value.keys || typing || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const after = performance.now() - prefix < 1500;
    prefix = 0;
    if (after && hub.value !== null) {
      const screen = screens[e.key];
      if (screen) {
        e.preventDefault();
        go(hubLink(screen));
        return;
      }
    }
    switch (e.key) {
      case "?":
        help();
        break;
      case "/":
        document.querySelector<HTMLInputElement>("#search")?.focus();
        break;
      case "g":
        prefix = performance.now();
        return;
      case "j":
        keyed.value?.move(1);
        break;
      case "k":
        keyed.value?.move(-1);
        break;
      case "x":
        keyed.value?.select();
        break;
      case "Enter":
        if (target.closest("a, button, summary, [role=button]")) return;
        keyed.value?.open();
        break;
      case ".":
        document.querySelector<HTMLElement>("[data-actions] button")?.focus();
        break;
      case "l":
        change({ live: !settings.value.live });
        break;
      case "z":
        change({ zone: settings.value.zone === "UTC" || browserZone() === "UTC" ? "browser" : "UTC" });
        break;
      default:
        return;
    }
    e.preventDefault();
  });
}
