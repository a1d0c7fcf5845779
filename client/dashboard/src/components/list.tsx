// A list that is read page by page. Rows do not jump: new ones are announced, changed ones change in
// place, and those that left the list stay, greyed, until it is shown anew.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { base, hubPath, type Page, type Params } from "../api";
import { bulk, labelOf, mayBulk, toneOf } from "../actions";
import { about, number, plural } from "../format";
import { useApi, type Resource } from "../load";
import { hub, link, queryOf, route, setQuery } from "../state";
import { Empty, Show, SqlButton } from "./bits";
import { Table, type Column } from "./table";

export interface ListState<Row> {
  resource: Resource<Page<Row>>;
  rows: Row[];
  fresh: number;
  gone: ReadonlySet<string>;
  show: () => void;
  path: string;
}

export function useList<Row>(parts: string[], params: Params, idOf: (row: Row) => string, every = 4000): ListState<Row> {
  const after = queryOf("after");
  const path = hubPath(hub.value ?? "", parts, { ...params, after, limit: 50 });
  const resource = useApi<Page<Row>>(path, { every });
  const shown = useRef<{ path: string; rows: Row[]; from: Page<Row> | null }>({ path: "", rows: [], from: null });
  const [, redraw] = useState(0);
  let fresh = 0;
  const gone = new Set<string>();
  const page = resource.data;
  if (page !== null) {
    if (shown.current.path !== path) shown.current = { path, rows: page.rows, from: page };
    else if (shown.current.from !== page) {
      const now = new Map(page.rows.map((row) => [idOf(row), row]));
      shown.current = { path, from: page, rows: shown.current.rows.length === 0 ? page.rows : shown.current.rows.map((row) => now.get(idOf(row)) ?? row) };
    }
    const ids = new Set(shown.current.rows.map(idOf));
    const current = new Set(page.rows.map(idOf));
    fresh = page.rows.filter((row) => !ids.has(idOf(row))).length;
    // The end of a full page slides out of view; that is no leaving.
    const full = page.next !== null;
    if (!full || fresh === 0) for (const id of ids) if (!current.has(id)) gone.add(id);
  }
  return {
    resource,
    rows: shown.current.path === path ? shown.current.rows : [],
    fresh,
    gone,
    path,
    show: () => {
      if (page) shown.current = { path, rows: page.rows, from: page };
      redraw((n) => n + 1);
    },
  };
}

export function download(path: string): string {
  return `${base}/api/v1${path}${path.includes("?") ? "&" : "?"}format=jsonl`;
}

interface Props<Row> {
  list: ListState<Row>;
  caption: string;
  what: string;
  columns: Column<Row>[];
  idOf: (row: Row) => string;
  hrefOf?: (row: Row) => string;
  empty: ComponentChildren;
  bulkActions?: string[];
  filter?: Record<string, unknown>;
  filtered: boolean;
}

export function List<Row>({ list, caption, what, columns, idOf, hrefOf, empty, bulkActions = [], filter = {}, filtered }: Props<Row>) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const allowed = mayBulk(bulkActions);
  const after = queryOf("after");
  return (
    <Show of={list.resource} rows={8}>
      {(page) => (
        <>
          {list.fresh > 0 && (
            <button type="button" class="fresh" onClick={list.show}>
              {number(list.fresh)} new, show
            </button>
          )}
          {selected.size > 0 && (
            <div class="bulk-bar" role="group" aria-label="Selected rows">
              <span>{number(selected.size)} selected</span>
              {allowed.map((action) => (
                <button key={action} type="button" class={`button small ${toneOf(action)}`} onClick={() => bulk({ action, ids: [...selected], filter, upto: page.upto, what })}>
                  {labelOf(action)}
                </button>
              ))}
              {page.next !== null && allowed.map((action) => (
                <button key={`all ${action}`} type="button" class={`button small ${toneOf(action)}`} onClick={() => bulk({ action, ids: null, filter, upto: page.upto, what })}>
                  {labelOf(action)} all that match
                </button>
              ))}
              <button type="button" class="button small" onClick={() => setSelected(new Set())}>
                Clear
              </button>
            </div>
          )}
          {list.rows.length === 0 ? (
            page.next !== null ? (
              <Empty title="Nothing found so far" text={`Searched ${number(page.scanned)} of ${about(page.estimate)}. The search goes on where it stopped.`} />
            ) : filtered ? (
              <Empty title={`No ${what} matches`} text="Nothing that is kept fits these filters.">
                <a class="button small" href={link(route.value.path)}>
                  Clear filters
                </a>
              </Empty>
            ) : (
              empty
            )
          ) : (
            <Table
              caption={caption}
              columns={columns}
              rows={list.rows}
              rowKey={idOf}
              {...(hrefOf ? { rowHref: hrefOf } : {})}
              {...(allowed.length > 0 ? { selected, onSelect: setSelected } : {})}
              rowClass={(row) => (list.gone.has(idOf(row)) ? "gone" : "")}
            />
          )}
          <div class="list-foot">
            <span class="muted">
              {plural(list.rows.length, "row")}
              {page.next !== null ? ` · searched ${number(page.scanned)} of ${about(page.estimate)}` : page.scanned > list.rows.length ? ` · searched ${number(page.scanned)}, the end` : " · the end"}
              {page.note ? ` · ${page.note}` : ""}
            </span>
            <span class="tools">
              {after !== "" && (
                <button type="button" class="button small" onClick={() => setQuery({ after: null })}>
                  First page
                </button>
              )}
              {page.next !== null && (
                <button type="button" class="button small" onClick={() => setQuery({ after: page.next })}>
                  {list.rows.length === 0 || (filtered && list.rows.length < 50) ? "Search on" : "Next page"}
                </button>
              )}
              <SqlButton sql={page.sql} took={page.took_ms} />
              {list.rows.length > 0 && (
                <a class="button small" href={download(list.path)} download>
                  Download
                </a>
              )}
            </span>
          </div>
        </>
      )}
    </Show>
  );
}

export interface FilterField {
  key: string;
  label: string;
  placeholder?: string;
  wide?: boolean;
  options?: [string, string][];
  type?: "text" | "datetime-local";
}

/** Filters in the address; a change of one begins at the first page. */
export function Filters({ fields }: { fields: FilterField[] }) {
  const [shown, setShown] = useState(fields.some((f) => queryOf(f.key) !== ""));
  const used = fields.filter((f) => queryOf(f.key) !== "").length;
  return (
    <div class="filters">
      <button type="button" class="button small filters-toggle" aria-expanded={shown} onClick={() => setShown(!shown)}>
        Filter{used > 0 ? ` (${used})` : ""}
      </button>
      {shown && (
        <form
          class="filter-fields"
          onSubmit={(e) => {
            e.preventDefault();
            const form = new FormData(e.currentTarget);
            setQuery({ ...Object.fromEntries(fields.map((f) => [f.key, String(form.get(f.key) ?? "").trim()])), after: null });
          }}
        >
          {fields.map((f) => (
            <div class={`field ${f.wide ? "wide" : ""}`} key={f.key}>
              <label for={`filter-${f.key}`}>{f.label}</label>
              {f.options ? (
                <select id={`filter-${f.key}`} name={f.key} value={queryOf(f.key)} onChange={(e) => setQuery({ [f.key]: e.currentTarget.value, after: null })}>
                  <option value="">any</option>
                  {f.options.map(([v, text]) => (
                    <option key={v} value={v}>
                      {text}
                    </option>
                  ))}
                </select>
              ) : (
                <input id={`filter-${f.key}`} name={f.key} type={f.type ?? "text"} value={queryOf(f.key)} placeholder={f.placeholder ?? ""} spellcheck={false} autocomplete="off" />
              )}
            </div>
          ))}
          <div class="filter-buttons">
            <button type="submit" class="button small primary">
              Apply
            </button>
            {used > 0 && (
              <button type="button" class="button small" onClick={() => setQuery({ ...Object.fromEntries(fields.map((f) => [f.key, null])), after: null })}>
                Clear
              </button>
            )}
          </div>
        </form>
      )}
    </div>
  );
}
