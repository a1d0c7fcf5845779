// A real table with rows that can be selected, opened and walked with keys.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { visible } from "../format";
import { go } from "../state";

export interface Column<Row> {
  key: string;
  label: string;
  cell: (row: Row) => ComponentChildren;
  num?: boolean;
  /** 2 and 3 are left out where there is little room. */
  rank?: 1 | 2 | 3;
  grow?: boolean;
  /** Breaks into lines. */
  wrap?: boolean;
}

interface Props<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string;
  rowHref?: (row: Row) => string;
  selected?: ReadonlySet<string>;
  onSelect?: (next: ReadonlySet<string>) => void;
  rowClass?: (row: Row) => string;
  label?: (row: Row) => string;
}

/** The table that keys go to: the last one that was drawn. */
export const keyed = signal<{ move: (by: number) => void; open: () => void; select: () => void } | null>(null);

export function Table<Row>({ caption, columns, rows, rowKey, rowHref, selected, onSelect, rowClass, label }: Props<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const current = useRef<string | null>(null);
  const now = useRef({ rows, rowKey, rowHref, selected, onSelect });
  now.current = { rows, rowKey, rowHref, selected, onSelect };

  useEffect(() => {
    const mark = (): void => {
      for (const tr of body.current?.rows ?? []) tr.classList.toggle("cursor", tr.dataset["key"] === current.current);
    };
    const mine = {
      move(by: number): void {
        const { rows: all, rowKey: keyOf } = now.current;
        if (all.length === 0) return;
        const at = all.findIndex((row) => keyOf(row) === current.current);
        const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by));
        current.current = keyOf(all[next]!);
        mark();
        const tr = [...(body.current?.rows ?? [])].find((r) => r.dataset["key"] === current.current);
        tr?.scrollIntoView({ block: "nearest" });
        tr?.querySelector<HTMLElement>("a, button")?.focus({ preventScroll: true });
      },
      open(): void {
        const row = now.current.rows.find((r) => now.current.rowKey(r) === current.current);
        if (row && now.current.rowHref) go(now.current.rowHref(row));
      },
      select(): void {
        const { selected: set, onSelect: tell } = now.current;
        if (!set || !tell || current.current === null) return;
        const next = new Set(set);
        if (!next.delete(current.current)) next.add(current.current);
        tell(next);
      },
    };
    if (rowHref) keyed.value = mine;
    return () => {
      if (keyed.value === mine) keyed.value = null;
    };
  }, []);

  const allSelected = selected !== undefined && rows.length > 0 && rows.every((row) => selected.has(rowKey(row)));
  return (
    <div class="table-scroll" role="group" aria-label={caption} tabIndex={0}>
      <table class="table">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {selected && onSelect && (
              <th class="select" scope="col">
                <label class="tick">
                  <input
                    type="checkbox"
                    checked={allSelected}
                    onChange={(e) => onSelect(e.currentTarget.checked ? new Set([...selected, ...rows.map(rowKey)].slice(0, 500)) : new Set())}
                  />
                  <span class="hidden">Select all rows of this page</span>
                </label>
              </th>
            )}
            {columns.map((c) => (
              <th key={c.key} scope="col" class={`${c.num ? "num" : ""} r${c.rank ?? 1} ${c.grow ? "grow" : ""}`}>
                {c.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row) => {
            const key = rowKey(row);
            return (
              <tr
                key={key}
                data-key={key}
                class={`${rowClass?.(row) ?? ""} ${selected?.has(key) ? "selected" : ""} ${current.current === key ? "cursor" : ""} ${rowHref ? "opens" : ""}`}
                onClick={(e) => {
                  // A click anywhere opens the row; on a control, or with text selected, it does not.
                  if (!rowHref || (e.target as Element).closest("a,button,input,label,summary")) return;
                  if (String(window.getSelection()) !== "") return;
                  go(rowHref(row));
                }}
              >
                {selected && onSelect && (
                  <td class="select">
                    <label class="tick">
                      <input
                        type="checkbox"
                        checked={selected.has(key)}
                        onChange={(e) => {
                          const next = new Set(selected);
                          if (e.currentTarget.checked) next.add(key);
                          else next.delete(key);
                          onSelect(next);
                        }}
                      />
                      <span class="hidden">Select {visible(label?.(row) ?? key)}</span>
                    </label>
                  </td>
                )}
                {columns.map((c) => (
                  <td key={c.key} class={`${c.num ? "num" : ""} r${c.rank ?? 1} ${c.grow ? "grow" : ""} ${c.wrap ? "wraps" : ""}`}>
                    {c.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
