// A statement that can be copied.
import { useState } from "preact/hooks";
import { visibleLines } from "../format";

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState("");
  return (
    <button
      type="button"
      class="button small"
      onClick={() => {
        void copy(text).then((ok) => {
          setDone(ok ? "Copied" : "Not allowed");
          setTimeout(() => setDone(""), 1500);
        });
      }}
    >
      {done || label}
    </button>
  );
}

export function Sql({ text, label = "SQL" }: { text: string; label?: string }) {
  return (
    <div class="sql">
      <pre tabIndex={0} aria-label={label}>
        {visibleLines(text)}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}
