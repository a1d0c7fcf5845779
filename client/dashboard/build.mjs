// Builds the dashboard's assets: node build.mjs [OUTPUT]
//
// OUTPUT (default: build/dashboard of the checkout) gets index.html, with @assets@ where the server puts the
// address of the assets, and assets/. The file `hash` names their content: it is part of that address.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const output = resolve(process.argv[2] ?? join(here, "../../build/dashboard"));
const assets = join(output, "assets");
rmSync(assets, { recursive: true, force: true });
mkdirSync(assets, { recursive: true });

// The page compares it with the server's: see `hello`. The same sources give the same version.
const sources = createHash("sha256");
const filesBelow = (folder) => readdirSync(join(here, folder), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)]));
for (const name of ["package-lock.json", "build.mjs", ...filesBelow("src")].sort()) {
  sources.update(name).update("\0").update(readFileSync(join(here, name)));
}
const version = sources.digest("hex").slice(0, 12);

const { metafile } = await build({
  absWorkingDir: here,
  metafile: true,
  entryPoints: { app: "src/main.tsx" },
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  target: ["es2021"],
  outdir: assets,
  chunkNames: "[name]-[hash]",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { BELAY_VERSION: JSON.stringify(version) },
  legalComments: "none",
  logLevel: "warning",
});
await build({ absWorkingDir: here, entryPoints: ["src/theme.js"], minify: true, target: ["es2021"], outdir: assets, logLevel: "warning" });
cpSync(join(here, "src/icon.svg"), join(assets, "icon.svg"));
cpSync(join(here, "src/index.html"), join(output, "index.html"));

// The licenses of what was bundled ask to be passed on with it.
const texts = ["preact", "@preact/signals", "@preact/signals-core", "uplot", "@dagrejs/dagre", "@dagrejs/graphlib"].map((name) => {
  const folder = join(here, "node_modules", name);
  return `${name} ${JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8")}`;
});
writeFileSync(join(assets, "licenses.txt"), texts.join("\n----\n\n"));

// What the first page needs: not what is loaded when a screen is opened.
const first = new Set(["app.css", "theme.js", "icon.svg"]);
const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]));
const need = (name) => {
  if (first.has(name)) return;
  first.add(name);
  for (const imported of outputs.get(name).imports) if (imported.kind === "import-statement") need(basename(imported.path));
};
need("app.js");

const hash = createHash("sha256");
let sum = 0;
for (const name of readdirSync(assets).sort()) {
  const content = readFileSync(join(assets, name));
  hash.update(name).update("\0").update(content);
  const packed = gzipSync(content, { level: 9 }).length;
  if (first.has(name)) sum += packed;
  console.log(`${name} ${content.length} bytes, ${packed} gzipped`);
}
writeFileSync(join(output, "version"), version);
writeFileSync(join(output, "hash"), hash.digest("hex").slice(0, 16));
console.log(`first load ${sum} bytes gzipped`);
if (sum > 100_000) {
  console.error("more than 100,000 bytes: with what it asks for, the first page would be too large");
  process.exit(1);
}
