// Runs the unit tests: bundles test/unit/*.test.ts, since node 18 reads no TypeScript, and hands them to
// `node --test`.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "belay-dashboard-"));
const names = readdirSync(join(here, "unit")).filter((n) => n.endsWith(".test.ts"));
await build({ entryPoints: names.map((n) => join(here, "unit", n)), bundle: true, platform: "node", format: "esm", target: "node18", outdir: out, outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const run = spawnSync(process.execPath, ["--test", "--test-reporter=tap", ...process.argv.slice(2), ...names.map((n) => join(out, n.replace(/\.ts$/, ".mjs")))], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(run.status ?? 1);
