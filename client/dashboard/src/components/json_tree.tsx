// JSON as a tree that keeps digits, order and duplicate keys. Nothing in it becomes a link or HTML.
import { useMemo, useState } from "preact/hooks";
import { size, treeLines, type JsonNode } from "../json";
import { number, visible } from "../format";

function Value({ node }: { node: JsonNode }) {
  switch (node.kind) {
    case "string":
      return <span class="j-string">"{visible(node.text).replace(/"/g, '\\"')}"</span>;
    case "number":
      return <span class="j-number">{node.text}</span>;
    case "word":
      return <span class="j-word">{node.text}</span>;
    case "object":
      return <span class="j-mark">{"{}"}</span>;
    case "array":
      return <span class="j-mark">[]</span>;
  }
}

export function JsonTree({ root }: { root: JsonNode }) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [limit, setLimit] = useState(1000);
  // Open to depth 2 unless toggled.
  const lines = useMemo(() => treeLines(root, (path, depth) => depth < 2 !== toggled.has(path), limit), [root, toggled, limit]);
  const toggle = (path: string): void => {
    const next = new Set(toggled);
    if (!next.delete(path)) next.add(path);
    setToggled(next);
  };
  return (
    <div class="json" role="group" aria-label="JSON">
      {lines.map((line) => {
        if (line.part === "more") {
          return (
            <button key="more" type="button" class="button small" onClick={() => setLimit(limit + 1000)}>
              Show 1,000 more lines
            </button>
          );
        }
        const mark = line.node.kind === "object" ? ["{", "}"] : ["[", "]"];
        const folds = line.part === "open" || line.part === "closed";
        return (
          <div key={line.path} class={`j-line d${Math.min(line.depth, 24)}`}>
            {folds ? (
              <button type="button" class="j-fold" aria-expanded={line.part === "open"} aria-label={`${line.part === "open" ? "Fold" : "Unfold"} ${line.key ?? "value"}`} onClick={() => toggle(line.path)}>
                {line.part === "open" ? "▾" : "▸"}
              </button>
            ) : (
              <span class="j-fold" aria-hidden="true" />
            )}
            {line.key !== null && (
              <>
                <span class="j-key">"{visible(line.key)}"</span>
                <span class="j-mark">: </span>
              </>
            )}
            {line.part === "value" && <Value node={line.node} />}
            {line.part === "open" && <span class="j-mark">{mark[0]}</span>}
            {line.part === "closed" && (
              <span class="j-mark">
                {mark[0]} {number(size(line.node))} {line.node.kind === "object" ? "keys" : "items"} {mark[1]}
              </span>
            )}
            {line.part === "end" && <span class="j-mark">{mark[1]}</span>}
            {line.comma && (line.part === "value" || line.part === "closed" || line.part === "end") && <span class="j-mark">,</span>}
          </div>
        );
      })}
    </div>
  );
}
