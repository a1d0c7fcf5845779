// What the tests against the real server share: its address, SQL, a client of its HTTP interface.
import { execFileSync } from "node:child_process";

export const [base, token] = process.env.BELAY_DASHBOARD_URL.split("/#token=");
export const server = { url: base };
export const sql = (text) => execFileSync("psql", ["-XqAt", "-v", "ON_ERROR_STOP=1", "-c", text]).toString().trim();
export const hub = (path) => `/h/app/${path}`;

/** Waits until it is so; says what was waited for if that takes two minutes. */
export async function until(what, condition) {
  const end = Date.now() + 120_000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what}: not within two minutes`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** A logged-in client. */
export async function client() {
  const origin = new URL(base).origin;
  const headers = { "Content-Type": "application/json", Origin: origin };
  const login = await fetch(`${base}/api/v1/session`, { method: "POST", headers, body: JSON.stringify({ token }) });
  if (!login.ok) throw new Error(`login: ${login.status}`);
  const { csrf } = await login.json();
  const cookie = login.headers.get("set-cookie").split(";")[0];
  const answer = async (path, options) => {
    const response = await fetch(`${base}/api/v1${path}`, options);
    const body = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${body}`);
    return JSON.parse(body);
  };
  return {
    get: (path) => answer(path, { headers: { Cookie: cookie } }),
    post: (path, body) => answer(path, { method: "POST", headers: { ...headers, Cookie: cookie, "X-Belay-CSRF": csrf }, body: JSON.stringify(body) }),
  };
}
