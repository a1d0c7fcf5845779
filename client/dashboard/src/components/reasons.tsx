// Why something waits: sentences, until when, and the next step.
import { link, second } from "../state";
import { visible } from "../format";
import { serverNow } from "../time";
import { untilWords, type Sentence } from "../words";
import { SqlButton, Time } from "./bits";
import { Sign } from "./sign";

export function Reasons({ rows, sql }: { rows: Sentence[]; sql?: string }) {
  void second.value;
  const now = serverNow();
  return (
    <div class="reasons">
      <ul>
        {rows.map((s, i) => (
          <li key={i} class={s.calm ? "calm" : "stuck"}>
            {s.calm ? (
              <Sign tone="wait" />
            ) : (
              <span class="alarm" aria-hidden="true">
                ⚠
              </span>
            )}
            <div>
              <p>
                {visible(s.text)}
                {s.until !== null && (
                  <span class="muted">
                    {" · "}
                    {untilWords(s.until, now)}, until <Time ms={s.until} />
                  </span>
                )}
              </p>
              {s.links.length > 0 && (
                <ul class="inline-links">
                  {s.links.map((l) => (
                    <li key={l.label}>
                      <a href={link(l.path)}>{visible(l.label)}</a>
                    </li>
                  ))}
                </ul>
              )}
              {s.next && <p class="next">{s.next.path ? <a href={link(s.next.path)}>{visible(s.next.text)}</a> : visible(s.next.text)}</p>}
            </div>
          </li>
        ))}
      </ul>
      {sql && <SqlButton sql={sql} />}
    </div>
  );
}
