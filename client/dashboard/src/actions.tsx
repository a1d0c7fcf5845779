// Actions on objects, one at a time or many. What they do, their SQL and their words come from the
// server's table; nothing here knows how to change anything by itself.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, hubPath, idempotencyKey, post, type ActionResult, type BulkDryRun, type BulkJob, type DryRun } from "./api";
import { Dialog } from "./components/dialog";
import { Menu } from "./components/menu";
import { Sql } from "./components/sql";
import { Time } from "./components/bits";
import { count, number, plural, visible } from "./format";
import { away, go, hub, hubLink, may, me, rights, tell } from "./state";
import { errorWords } from "./words";

export interface Field {
  name: string;
  label: string;
  type: "text" | "number" | "json" | "select" | "checkbox";
  value: string;
  options?: [string, string][];
  hint?: string;
}

export interface ActionCall {
  action: string;
  args: Record<string, unknown>;
  /** What it is done to, for people. */
  target: string;
  fields?: Field[];
  label?: string;
  onDone?: () => void;
}

const pending = signal<ActionCall | null>(null);

export function labelOf(action: string): string {
  return me.value?.actions[action]?.label ?? action;
}

/** The class of a button for the action: what destroys something is red everywhere. */
export function toneOf(action: string): string {
  return me.value?.actions[action]?.kind === "destructive" ? "danger-quiet" : "";
}

/** The action with its object, for people. */
function named(call: ActionCall, separator: string): string {
  const label = call.label ?? labelOf(call.action);
  return call.target === "" ? label : label + separator + visible(call.target);
}

/** Asks, if its kind wants that, and does it. */
export function act(call: ActionCall): void {
  const info = me.value?.actions[call.action];
  if (!info) {
    tell("bad", `This server knows no action ${call.action}.`);
    return;
  }
  if (info.kind === "safe" && !call.fields) void run(call, call.args, "", idempotencyKey());
  else pending.value = call;
}

async function run(call: ActionCall, args: Record<string, unknown>, reason: string, key: string): Promise<boolean> {
  const name = hub.value;
  if (name === null) return false;
  try {
    const answer = await post<ActionResult>(hubPath(name, ["actions"]), { action: call.action, args, reason, key, dry_run: false });
    tell(answer.effective ? "ok" : "note", `${named(call, ", ")}: ${answer.message}`, answer.result, answer.sql);
    call.onDone?.();
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // An action that was cut off by its time limit was rolled back.
    if (error.status === 0 || (error.status === 504 && error.sqlstate !== "57014")) {
      tell("bad", `${named(call, ", ")}: the outcome is not known.`, "The connection broke before the answer. The page reads the object again; look at its state before you repeat it.");
      call.onDone?.();
      return true;
    }
    const { message, detail, hint, sqlstate } = error.problem;
    tell("bad", `${named(call, ", ")}: ${message}${sqlstate ? ` (${sqlstate})` : ""}`, [detail, hint].filter(Boolean).join("\n"));
    call.onDone?.();
    return false;
  }
}

/** The value of a field as an argument. */
function argument(field: Field, text: string): unknown {
  if (field.type === "number") return text === "" ? null : Number(text);
  if (field.type === "checkbox") return text === "true";
  return text;
}

export function FieldInput({ field, value, onChange }: { field: Field; value: string; onChange: (text: string) => void }) {
  const id = `field-${field.name}`;
  if (field.type === "checkbox") {
    return (
      <label class="check">
        <input type="checkbox" checked={value === "true"} onChange={(e) => onChange(String(e.currentTarget.checked))} /> {field.label}
      </label>
    );
  }
  return (
    <div class="field">
      <label for={id}>{field.label}</label>
      {field.type === "select" ? (
        <select id={id} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
          {field.options?.map(([v, label]) => (
            <option value={v} key={v}>
              {label}
            </option>
          ))}
        </select>
      ) : field.type === "json" ? (
        <textarea id={id} rows={3} class="mono" value={value} spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)} />
      ) : (
        <input id={id} type={field.type} value={value} onInput={(e) => onChange(e.currentTarget.value)} />
      )}
      {field.hint && <p class="hint">{field.hint}</p>}
    </div>
  );
}

export function ActionDialog() {
  const call = pending.value;
  return call ? <ActionForm call={call} key={`${call.action} ${call.target}`} /> : null;
}

function ActionForm({ call }: { call: ActionCall }) {
  const [values, setValues] = useState<Record<string, string>>(() => Object.fromEntries((call.fields ?? []).map((f) => [f.name, f.value])));
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const [dry, setDry] = useState<DryRun | null>(null);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const key = useRef(idempotencyKey());
  const name = hub.value ?? "";

  const args = (): Record<string, unknown> => {
    const all: Record<string, unknown> = { ...call.args };
    for (const field of call.fields ?? []) all[field.name] = argument(field, values[field.name] ?? "");
    return all;
  };

  useEffect(() => {
    let old = false;
    const timer = setTimeout(() => {
      post<DryRun>(hubPath(name, ["actions"]), { action: call.action, args: args(), reason, key: key.current, dry_run: true }).then(
        (answer) => {
          if (old) return;
          setDry(answer);
          setProblem(null);
        },
        (error: unknown) => {
          if (old) return;
          if (!(error instanceof ApiError)) throw error;
          setProblem(error);
        },
      );
    }, dry ? 300 : 0);
    return () => {
      old = true;
      clearTimeout(timer);
    };
  }, [JSON.stringify(values), reason]);

  // Its fields come with the answer: the first of them gets the focus, unless the user has moved on.
  useEffect(() => {
    if (document.activeElement?.matches("dialog, dialog .icon-button")) document.querySelector<HTMLElement>("dialog .dialog-body :is(input, select, textarea)")?.focus();
  }, [dry === null]);

  const close = (): void => {
    pending.value = null;
  };
  const label = call.label ?? labelOf(call.action);
  const destructive = dry?.kind === "destructive";
  const ready =
    dry !== null && dry.allowed && !busy && away.value === null && problem === null && (dry.reason !== "required" || reason.trim() !== "") && (dry.confirm === null || typed === dry.confirm);

  const submit = async (): Promise<void> => {
    if (!ready) return;
    setBusy(true);
    const done = await run(call, args(), reason, key.current);
    setBusy(false);
    if (done) close();
    else {
      // The next try is another request.
      key.current = idempotencyKey();
      close();
    }
  };

  return (
    <Dialog title={named(call, ": ")} onClose={close} tone={destructive ? "bad" : undefined}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void submit();
        }}
      >
        <div class="dialog-body">
          {problem ? (
            <p class="callout bad" role="alert">
              {problem.problem.message} {problem.problem.detail ?? ""} {problem.problem.hint ?? ""}
            </p>
          ) : dry ? (
            <p>{dry.effect}</p>
          ) : (
            <p class="muted">Asking what this would do …</p>
          )}
          {call.fields?.map((field) => (
            <FieldInput key={field.name} field={field} value={values[field.name] ?? ""} onChange={(text) => setValues({ ...values, [field.name]: text })} />
          ))}
          {dry?.next_ms && dry.next_ms.length > 0 && (
            <div class="field">
              <span class="label">Next times</span>
              <ul class="plain">
                {dry.next_ms.map((ms) => (
                  <li key={ms}>
                    <Time ms={ms} both />
                  </li>
                ))}
              </ul>
            </div>
          )}
          {dry && dry.reason !== "none" && (
            <div class="field">
              <label for="reason">Reason{dry.reason === "required" ? " (required)" : ""}</label>
              <input id="reason" type="text" maxLength={1000} value={reason} required={dry.reason === "required"} onInput={(e) => setReason(e.currentTarget.value)} />
              <p class="hint">It is stored in the event of this action.</p>
            </div>
          )}
          {dry && (
            <details>
              <summary>{dry.command === "" ? "SQL" : "SQL and command"}</summary>
              <Sql text={dry.sql} />
              {dry.command !== "" && <Sql text={dry.command} label="Command" />}
            </details>
          )}
          {dry?.confirm && (
            <div class="field">
              <label for="typed">
                Type <code>{visible(dry.confirm)}</code> to confirm
              </label>
              <input id="typed" type="text" autocomplete="off" spellcheck={false} value={typed} onInput={(e) => setTyped(e.currentTarget.value)} />
            </div>
          )}
          {dry && !dry.allowed && <p class="callout warn">This needs level {dry.level}.</p>}
        </div>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={close}>
            Close
          </button>
          <button type={destructive ? "button" : "submit"} class={`button ${destructive ? "danger" : "primary"}`} disabled={!ready} onClick={destructive ? () => void submit() : undefined}>
            {busy ? "Working …" : label}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Buttons of the actions that the role may use; a line if it may use none. menu: what destroys is in a menu behind them. */
export function Actions({ calls, quiet, menu }: { calls: (ActionCall | null)[]; quiet?: boolean; menu?: boolean }) {
  const all = calls.filter((c): c is ActionCall => c !== null);
  const shown = all.filter((c) => may(c.action));
  if (all.length === 0) return null;
  if (shown.length === 0) {
    if (quiet || !me.value) return null;
    const level = me.value.actions[all[0]!.action]?.level ?? "operator";
    const why = me.value.read_only ? "This dashboard is read-only." : me.value.standby ? "Read-only: standby." : away.value ? "Actions are off while the database is away." : `Actions need level ${level}.`;
    return <p class="muted small no-actions">{why}</p>;
  }
  const hidden = menu ? shown.filter((c) => me.value?.actions[c.action]?.kind === "destructive") : [];
  return (
    <div class="actions" data-actions>
      {shown
        .filter((call) => !hidden.includes(call))
        .map((call) => (
          <button key={call.action + (call.label ?? "")} type="button" class={`button ${toneOf(call.action)}`} onClick={() => act(call)}>
            {call.label ?? labelOf(call.action)}
          </button>
        ))}
      {hidden.length > 0 && (
        <Menu label="⋯" title="more actions" button="button">
          {(close) => (
            <ul class="menu-list">
              {hidden.map((call) => (
                <li key={call.action}>
                  <button
                    type="button"
                    class={toneOf(call.action)}
                    onClick={() => {
                      close();
                      act(call);
                    }}
                  >
                    {call.label ?? labelOf(call.action)}
                  </button>
                </li>
              ))}
            </ul>
          )}
        </Menu>
      )}
    </div>
  );
}

// ---- Many at once. ----

export interface BulkCall {
  action: string;
  /** Selected ids, or null for all that match. */
  ids: string[] | null;
  filter: Record<string, unknown>;
  upto: string | null;
  what: string;
}

const pendingBulk = signal<BulkCall | null>(null);

export function bulk(call: BulkCall): void {
  pendingBulk.value = call;
}

export function BulkDialog() {
  const call = pendingBulk.value;
  return call ? <BulkForm call={call} key={call.action} /> : null;
}

function BulkForm({ call }: { call: BulkCall }) {
  const [dry, setDry] = useState<BulkDryRun | null>(null);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(idempotencyKey());
  const name = hub.value ?? "";
  const request = (dryRun: boolean) => ({ action: call.action, ids: call.ids, filter: call.filter, upto: call.upto, reason, key: key.current, dry_run: dryRun });
  const close = (): void => {
    pendingBulk.value = null;
  };

  useEffect(() => {
    post<BulkDryRun>(hubPath(name, ["bulk"]), request(true)).then(setDry, (error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      setProblem(error);
    });
  }, []);

  const destructive = dry?.kind === "destructive";
  const mustType = dry !== null && (dry.count.n > 1000 || dry.kind === "destructive") ? String(dry.count.n) : null;
  const ready = dry !== null && dry.allowed && (dry.count.n > 0 || dry.count.capped) && !busy && away.value === null && (dry.reason !== "required" || reason.trim() !== "") && (mustType === null || typed === mustType);

  const submit = async (): Promise<void> => {
    if (!ready) return;
    setBusy(true);
    try {
      const job = await post<BulkJob>(hubPath(name, ["bulk"]), request(false));
      close();
      go(hubLink(["bulk", job.id]));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setProblem(error);
      setBusy(false);
    }
  };

  const title = `${labelOf(call.action)} ${call.ids ? plural(call.ids.length, call.what) : `all matching ${call.what}s`}`;
  return (
    <Dialog title={title} onClose={close} tone={destructive ? "bad" : undefined}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (!destructive) void submit();
        }}
      >
        <div class="dialog-body">
          {problem && (
            <p class="callout bad" role="alert">
              {errorWords(problem.problem, problem.status, name).title}: {problem.problem.message}
            </p>
          )}
          {!dry && !problem && <p class="muted">Counting what would be touched …</p>}
          {dry && (
            <>
              <p>{dry.effect}</p>
              <dl class="facts">
                <dt>Matching now</dt>
                <dd>
                  {count(dry.count)}
                  {dry.count.capped ? " (counted up to here)" : ""}
                </dd>
                {dry.skipped.map((s) => (
                  <>
                    <dt>Skipped</dt>
                    <dd>
                      {number(s.n)}: {s.reason}
                    </dd>
                  </>
                ))}
                <dt>Examples</dt>
                <dd>
                  <ul class="plain">
                    {dry.examples.map((e) => (
                      <li key={e.id}>
                        <code>{visible(e.id)}</code> {visible(e.label)}
                      </li>
                    ))}
                  </ul>
                </dd>
              </dl>
              {dry.count.n === 0 && dry.count.capped && <p class="hint">None of the rows that were looked at matches. The job goes on behind them.</p>}
              {call.ids === null && <p class="hint">Only what existed when the list was read is touched. It runs in portions of 500, each in its own transaction.</p>}
              <div class="field">
                <label for="bulk-reason">Reason{dry.reason === "required" ? " (required)" : ""}</label>
                <input id="bulk-reason" type="text" maxLength={1000} required={dry.reason === "required"} value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
              </div>
              <details>
                <summary>SQL</summary>
                <Sql text={dry.sql} />
              </details>
              {mustType && (
                <div class="field">
                  <label for="bulk-typed">
                    Type <code>{mustType}</code> to confirm
                  </label>
                  <input id="bulk-typed" type="text" inputMode="numeric" autocomplete="off" value={typed} onInput={(e) => setTyped(e.currentTarget.value)} />
                </div>
              )}
              {!dry.allowed && <p class="callout warn">This needs level {dry.level}.</p>}
            </>
          )}
        </div>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={close}>
            Close
          </button>
          <button type={destructive ? "button" : "submit"} class={`button ${destructive ? "danger" : "primary"}`} disabled={!ready} onClick={destructive ? () => void submit() : undefined}>
            {busy ? "Starting …" : `${labelOf(call.action)} ${dry ? count(dry.count) : ""}`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function mayBulk(actions: string[]): string[] {
  return actions.filter((a) => may(a) && rights.value?.bulk.includes(a));
}
