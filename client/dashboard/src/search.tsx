// Search for exact ids, prefixes, queues, schedules and keys.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, hubPath, type Answer, type Found } from "./api";
import { visible } from "./format";
import { go, hub, hubLink } from "./state";

export function target(found: Found): string {
  switch (found.what) {
    case "task":
    case "key":
      return hubLink(["tasks", found.id]);
    case "instance":
      return hubLink(["instances", found.id]);
    case "flow":
      return hubLink(["flows", found.id]);
    case "queue":
      return hubLink(["queues", found.id]);
    case "schedule":
      return hubLink(["schedules"]);
    case "dead letter":
      return hubLink(["dead-letters"]);
    default:
      return hubLink([]);
  }
}

export function Search() {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const name = hub.value;

  useEffect(() => {
    setFound(null);
    setProblem(null);
    const q = text.trim();
    if (q === "" || name === null) return;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      get<Answer & { rows: Found[] }>(hubPath(name, ["find"], { text: q }), controller.signal).then(
        (answer) => {
          setFound(answer.rows);
          setAt(0);
        },
        (error: unknown) => {
          if (controller.signal.aborted) return;
          if (!(error instanceof ApiError)) throw error;
          setProblem(error.problem.message);
        },
      );
    }, 200);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text, name]);

  const close = (): void => {
    setText("");
    setFound(null);
  };
  const open = (f: Found): void => {
    close();
    document.querySelector<HTMLInputElement>("#search")?.blur();
    go(target(f));
  };
  const shown = text.trim() !== "" && (found !== null || problem !== null);
  if (name === null) return <div class="search" />;
  return (
    <div
      class="search"
      ref={box}
      onFocusOut={(e) => {
        if (!box.current?.contains(e.relatedTarget as Node | null)) setFound(null);
      }}
    >
      <input
        id="search"
        type="search"
        role="combobox"
        aria-expanded={shown}
        aria-controls="search-results"
        aria-autocomplete="list"
        {...(shown && found && found[at] ? { "aria-activedescendant": `found-${at}` } : {})}
        aria-label="Search: id, prefix, queue, key"
        placeholder="Search id, prefix, queue, key"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Escape") close();
          if (!found) return;
          if (e.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
          else if (e.key === "ArrowUp") setAt(Math.max(0, at - 1));
          else if (e.key === "Enter" && found[at]) open(found[at]);
          else return;
          e.preventDefault();
        }}
      />
      <kbd class="search-key" aria-hidden="true">
        /
      </kbd>
      <div id="search-results" role="listbox" aria-label="Found" class={`search-results ${shown ? "" : "off"}`}>
        {found?.map((f, i) => (
          <div
            key={`${f.what} ${f.id}`}
            id={`found-${i}`}
            role="option"
            aria-selected={i === at}
            class={`found ${i === at ? "current" : ""}`}
            onMouseDown={(e) => {
              e.preventDefault();
              open(f);
            }}
          >
            <span class="what">{f.what}</span> <span class="id">{visible(f.id)}</span> <span class="muted ellipsis">{visible(f.label)}</span>
          </div>
        ))}
        {found?.length === 0 && (
          <div class="found" role="option" aria-selected={false}>
            <span class="muted">Nothing has this id, prefix, name or key.</span>
          </div>
        )}
        {problem && (
          <div class="found" role="option" aria-selected={false}>
            <span class="bad-text">{problem}</span>
          </div>
        )}
      </div>
    </div>
  );
}
