// Choices that are kept in this browser.
import { PageHead, Panel } from "../components/bits";
import { change, settings, version, me } from "../state";
import { browserZone, validZone } from "../time";
import { keyList } from "../keys";

export function Settings() {
  const s = settings.value;
  return (
    <>
      <PageHead title="Settings" sub={<span class="muted">kept in this browser</span>} />
      <div class="grid-two">
        <Panel title="Looks">
          <div class="field">
            <label for="theme">Theme</label>
            <select id="theme" value={s.theme} onChange={(e) => change({ theme: e.currentTarget.value as typeof s.theme })}>
              <option value="system">as the system</option>
              <option value="light">light</option>
              <option value="dark">dark</option>
            </select>
          </div>
          <div class="field">
            <label for="density">Density</label>
            <select id="density" value={s.density} onChange={(e) => change({ density: e.currentTarget.value as typeof s.density })}>
              <option value="normal">normal</option>
              <option value="dense">dense</option>
            </select>
          </div>
        </Panel>
        <Panel title="Time">
          <div class="field">
            <label for="zone">Time zone</label>
            <input id="zone" list="zones" value={s.zone === "browser" ? "" : s.zone} placeholder={`${browserZone()} (the browser's)`} onChange={(e) => change({ zone: e.currentTarget.value.trim() === "" ? "browser" : e.currentTarget.value.trim() })} />
            <datalist id="zones">
              {["UTC", "Europe/Berlin", "Europe/London", "America/New_York", "America/Los_Angeles", "Asia/Kathmandu", "Asia/Tokyo", "Australia/Sydney"].map((z) => (
                <option key={z} value={z} />
              ))}
            </datalist>
            {s.zone !== "browser" && !validZone(s.zone) && <p class="bad-text small">This browser knows no zone of that name. The browser's zone is used.</p>}
            <p class="hint">One choice for texts, charts and filters. Empty: the browser's.</p>
          </div>
          <label class="check">
            <input type="checkbox" checked={s.live} onChange={(e) => change({ live: e.currentTarget.checked })} /> Update live
          </label>
        </Panel>
        <Panel title="Keys">
          <label class="check">
            <input type="checkbox" checked={s.keys} onChange={(e) => change({ keys: e.currentTarget.checked })} /> Single-key shortcuts
          </label>
          <dl class="keys">
            {keyList.map(([key, what]) => (
              <>
                <dt>
                  {key.split(" ").map((k) => (
                    <kbd key={k}>{k}</kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </>
            ))}
          </dl>
        </Panel>
        <Panel title="About">
          <dl class="facts">
            <dt>Page</dt>
            <dd>{version}</dd>
            <dt>Dashboard</dt>
            <dd>{me.value?.versions.dashboard ?? "–"}</dd>
            <dt>Library</dt>
            <dd>{me.value?.versions.library ?? "–"}</dd>
            <dt>Server</dt>
            <dd>{me.value?.versions.server ?? "–"}</dd>
            <dt>Preloaded</dt>
            <dd>{me.value ? (me.value.preloaded ? "yes" : "no: rates and live waits are off") : "–"}</dd>
          </dl>
        </Panel>
      </div>
    </>
  );
}
