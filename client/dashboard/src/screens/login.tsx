// Login by token, or by a role of PostgreSQL. Leads back to the link that asked for it.
import { useEffect, useState } from "preact/hooks";
import { ApiError, base } from "../api";
import { go, logIn, loginMode, queryOf } from "../state";

function back(): void {
  const next = queryOf("next");
  go(base + (/^\/(?!\/)/.test(next) ? next : "/"), true);
}

/** The token of a link such as `…/#token=…`, which is removed from the address at once. */
export function takeToken(): string | null {
  const m = /^#token=([\w-]+)$/.exec(location.hash);
  if (!m) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return m[1]!;
}

export function Login({ token }: { token: string | null }) {
  const mode = loginMode;
  const [text, setText] = useState("");
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (body: Record<string, string>): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      await logIn(body);
      setPassword("");
      back();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setProblem(error.status === 429 ? "Too many failed logins. Wait a minute before you try again." : error.status === 401 ? "The login was refused." : error.problem.message);
    }
    setBusy(false);
  };
  useEffect(() => {
    if (token !== null) void submit({ token });
  }, []);
  return (
    <main class="login" id="main">
      <form
        class="panel login-box"
        onSubmit={(e) => {
          e.preventDefault();
          void submit(mode === "token" ? { token: text.trim().replace(/^.*#token=/, "") } : { user, password });
        }}
      >
        <h1>
          <span class="brand-mark" aria-hidden="true" /> belay
        </h1>
        <p class="muted">Log in to see the hubs of this database.</p>
        {mode === "proxy" ? (
          <p>
            The proxy in front of this dashboard logs users in. If you came through it, it named a role that does not exist here or that this dashboard may not act for; log in there as
            another user and reload.
          </p>
        ) : mode === "token" ? (
          <div class="field">
            <label for="token">Token</label>
            <input id="token" type="password" autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value)} />
            <p class="hint">
              <code>belay dashboard</code> prints a link with it when it starts.
            </p>
          </div>
        ) : (
          <>
            <div class="field">
              <label for="user">Role</label>
              <input id="user" autocomplete="username" value={user} onInput={(e) => setUser(e.currentTarget.value)} />
            </div>
            <div class="field">
              <label for="password">Password</label>
              <input id="password" type="password" autocomplete="current-password" value={password} onInput={(e) => setPassword(e.currentTarget.value)} />
            </div>
          </>
        )}
        {problem && (
          <p class="callout bad" role="alert">
            {problem}
          </p>
        )}
        {mode === "proxy" ? (
          <button type="button" class="button primary wide" onClick={() => location.assign(`${base}/`)}>
            Try again
          </button>
        ) : (
          <button type="submit" class="button primary wide" disabled={busy}>
            {busy ? "Logging in …" : "Log in"}
          </button>
        )}
      </form>
    </main>
  );
}
