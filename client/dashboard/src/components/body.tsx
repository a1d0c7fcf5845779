// A stored body: the first 16 kB, more on request, all of it as a download. JSON is shown as a tree,
// what is not JSON as text.
import { useMemo, useState } from "preact/hooks";
import { ApiError, base, get, type Body } from "../api";
import { bytes as sizeOf, visibleLines } from "../format";
import { tryJson } from "../json";
import { me, tell } from "../state";
import { CopyButton } from "./sql";
import { JsonTree } from "./json_tree";

export function BodyView({ body, path, label }: { body: Body; path: string; label: string }) {
  const [more, setMore] = useState<{ text: string; bytes: number } | null>(null);
  const [raw, setRaw] = useState(false);
  const [busy, setBusy] = useState(false);
  const text = more?.text ?? body.text;
  const size = more?.bytes ?? body.bytes;
  const whole = text !== null && new TextEncoder().encode(text).length >= size;
  const tree = useMemo(() => (text !== null && whole ? tryJson(text) : null), [text, whole]);
  if (text === null) {
    if (body.bytes > 0) return <p class="muted">{me.value?.bodies === "none" ? "Bodies are not shown by this dashboard." : "Bodies are shown with level operator only."}</p>;
    return <p class="muted">None.</p>;
  }
  const readOn = async (): Promise<void> => {
    setBusy(true);
    try {
      const slice = await get<{ text: string; bytes: number }>(`${path}?offset=0&length=${new TextEncoder().encode(text).length + 65536}`);
      setMore(slice);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      tell("bad", error.message);
    }
    setBusy(false);
  };
  return (
    <div class="body">
      <div class="body-head">
        <span class="muted">{sizeOf(size)}</span>
        {tree && (
          <button type="button" class="button small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
            {raw ? "Tree" : "Text"}
          </button>
        )}
        <CopyButton text={text} />
        <a class="button small" href={`${base}/api/v1${path}?download=1`} download>
          Download
        </a>
      </div>
      {tree && !raw ? (
        <JsonTree root={tree} />
      ) : (
        <pre class="text" tabIndex={0} aria-label={label}>
          {visibleLines(text)}
        </pre>
      )}
      {!whole && (
        <p>
          <span class="muted">
            The first {sizeOf(text.length)} of {sizeOf(size)}.{" "}
          </span>
          <button type="button" class="button small" disabled={busy} onClick={() => void readOn()}>
            Show more
          </button>
        </p>
      )}
    </div>
  );
}
