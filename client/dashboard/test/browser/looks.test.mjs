// Pages for viewers who want no motion, choose their own colours, or print.
import { test } from "node:test";
import assert from "node:assert/strict";
import { axe, open, start, visit } from "./page.mjs";

const screens = (fake) => {
  const task = (state) => fake.data.tasks.find((x) => x.state === state).task_id;
  return ["", "/queues", "/tasks?tab=failed", `/tasks/${task("active")}`, "/instances/order-7", `/flows/${fake.data.flows[0].flow_id}`, "/dead-letters", "/health"].map((path) => `${fake.url}/h/app${path}`);
};

/** What moves by itself or would when it changes. */
const moving = (page) =>
  page.evaluate(() => [...document.querySelectorAll("*")].filter((el) => {
    const style = getComputedStyle(el);
    return style.animationName !== "none" || style.transitionDuration.split(", ").some((d) => parseFloat(d) > 0);
  }).map((el) => `${el.tagName} ${el.getAttribute("class")}`));

test("B22 reduced motion: nothing moves, not while it loads either", async (t) => {
  const { fake, context, troubles } = await start(t, { frozen: true }, { reducedMotion: "no-preference" });
  const page = await context.newPage();
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route("**/api/v1/h/app/tasks?*", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${fake.url}/h/app/tasks`);
  await page.waitForSelector(".skeleton");
  // The test of the test: others see it move.
  assert.ok((await moving(page)).some((what) => /bone/.test(what)), String(await moving(page)));
  await page.emulateMedia({ reducedMotion: "reduce" });
  assert.deepEqual(await moving(page), []);
  release();
  for (const url of screens(fake)) {
    await visit(page, url);
    assert.deepEqual(await moving(page), [], url);
  }
  assert.deepEqual(troubles, []);
});

test("B22 forced colours: states, the current place and the focus are told by more than a colour", async (t) => {
  const { fake, context, troubles } = await start(t, { frozen: true }, { forcedColors: "active" });
  const page = await context.newPage();
  await page.clock.setFixedTime(fake.zero);
  await open(page, fake.url);
  for (const url of screens(fake)) {
    await visit(page, url);
    // The other rules do not depend on colours.
    troubles.push(...(await axe(page, ["color-contrast", "link-in-text-block"])).map((v) => `${url} ${v}`));
    // Every state has its sign and its word.
    const bare = await page.evaluate(() => [...document.querySelectorAll(".state")].filter((s) => !s.querySelector("svg") || s.textContent.trim() === "").map((s) => s.outerHTML));
    assert.deepEqual(bare, [], url);
    // What is current, and what wants attention, has a line around it.
    const without = await page.evaluate(() => [...document.querySelectorAll(".side a.current, .tab.current, .badge, .chip, .callout, .banner, .button")].filter((el) => {
      const style = getComputedStyle(el);
      return el.getClientRects().length > 0 && parseFloat(style.outlineWidth) * (style.outlineStyle === "none" ? 0 : 1) + parseFloat(style.borderTopWidth) + parseFloat(style.borderBottomWidth) === 0;
    }).map((el) => `${el.className} ${el.textContent}`));
    assert.deepEqual(without, [], url);
  }
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  const focus = await page.evaluate(() => {
    const style = getComputedStyle(document.activeElement);
    return document.activeElement !== document.body && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  });
  assert.equal(focus, true);
  assert.deepEqual(troubles, []);
});

test("B22 a printed page of either theme: dark on white, all of it, without what only a screen can use", async (t) => {
  // A4 between its margins.
  const { fake, context, troubles } = await start(t, { frozen: true }, { viewport: { width: 720, height: 1000 } });
  const page = await context.newPage();
  await page.clock.setFixedTime(fake.zero);
  await open(page, fake.url);
  for (const url of screens(fake)) {
    await visit(page, url);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ media: "print", colorScheme });
      const found = await page.evaluate(() => {
        const light = (color) => {
          const [r, g, b] = color.match(/[\d.]+/g).map(Number);
          return (r * 299 + g * 587 + b * 114) / 1000;
        };
        const text = [...document.querySelectorAll("main h1, main h2, main p, main td, main th, main dd, main dt")].filter((el) => el.getClientRects().length > 0);
        return {
          // Browsers print no backgrounds: the text has to stand on white.
          pale: text.filter((el) => light(getComputedStyle(el).color) > 140).map((el) => el.textContent).slice(0, 3),
          buttons: [...document.querySelectorAll("nav, .tools, .actions, .filters, .foot, .top, .notices")].filter((el) => el.getClientRects().length > 0).map((el) => el.className),
          // Nothing is cut off at the bottom of a window or at the edge of the paper.
          cut: [document.documentElement, document.body, ...document.querySelectorAll("main, .panel, .table-scroll")].filter((el) => el.scrollWidth > el.clientWidth + 1 || (el.scrollHeight > el.clientHeight + 1 && getComputedStyle(el).overflowY !== "visible")).map((el) => `${el.tagName} ${el.className} ${el.scrollWidth} > ${el.clientWidth}, ${el.scrollHeight} > ${el.clientHeight}`),
          height: document.querySelector("main").getBoundingClientRect().height,
          content: Math.max(...text.map((el) => el.getBoundingClientRect().bottom)) - document.querySelector("main").getBoundingClientRect().top,
        };
      });
      assert.deepEqual([found.pale, found.buttons, found.cut], [[], [], []], `${url}, ${colorScheme}`);
      assert.ok(found.height >= found.content - 1, `${url}, ${colorScheme}: ${found.height} of ${found.content}`);
    }
    await page.emulateMedia({ media: "screen" });
  }
  assert.deepEqual(troubles, []);
});
