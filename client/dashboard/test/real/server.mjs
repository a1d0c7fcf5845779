// What the tests against the real server share: its address, SQL, a client of its HTTP interface.
import { execFileSync, spawn } from "node:child_process";
import { createServer as createPlainServer } from "node:net";

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

/** A port that nothing listens on. */
export async function freePort() {
  const probe = createPlainServer();
  await new Promise((done) => probe.listen(0, "127.0.0.1", done));
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  return port;
}

/** A `belay dashboard` with these options, which ends with the test. */
export async function startDashboard(t, options, env = {}) {
  const child = spawn(process.env.BELAY_PROGRAM, ["dashboard", ...options], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((done) => child.on("exit", done));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  t.after(stop);
  const line = await new Promise((done, fail) => {
    let text = "";
    child.stdout.on("data", (part) => {
      text += part;
      if (text.includes("\n")) done(text.slice(0, text.indexOf("\n")));
    });
    ended.then((code) => fail(new Error(`belay dashboard ended with ${code}`)));
  });
  const [place, token] = line.split("#token=");
  return { url: place.replace(/\/$/, ""), link: line, token, stop };
}

/** A page of this context, logged in. */
export async function logIn(context, dashboard) {
  const page = await context.newPage();
  await page.goto(dashboard.link ?? `${dashboard.url}/#token=${dashboard.token}`);
  await page.waitForSelector(".table, .empty");
  return page;
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
