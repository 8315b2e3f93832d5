// report.html in headless Chromium. PAGES is the folder that pages.py filled.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";

const modules = createRequire(path.join(process.env.NODE_MODULES, "x.js"));
const { chromium } = modules("playwright-core");
const axe = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
const pages = process.env.PAGES;

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});
after(() => browser.close());

// Opens a page; `trouble` gathers what the console, the page and its policy complain of, and requests.
async function open(name, hash = "", colorScheme = "light", width = 1300) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: false });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && trouble.push(message.text()));
  page.on("pageerror", (error) => trouble.push(String(error)));
  page.on("dialog", (dialog) => { trouble.push("dialog"); dialog.dismiss(); });
  page.on("request", (request) => request.url().startsWith("file:") || trouble.push(request.url()));
  await page.goto("file://" + path.join(pages, name) + hash);
  await page.waitForSelector("html[data-ready]");
  return { page, trouble, close: () => context.close() };
}

async function violations(page) {
  // The page's policy lets no other script in; the debugger may.
  await page.evaluate(axe + "; 0");
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return found.violations
    .filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | "));
}

for (const name of ["hostile.html", "large.html", "skills.html"]) {
  for (const scheme of ["light", "dark"]) {
    for (const hash of ["", "#trial/1"]) {
      test(`${name}${hash} in ${scheme}: nothing serious, nothing on the console`, async () => {
        const { page, trouble, close } = await open(name, hash, scheme);
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
        assert.deepEqual(await violations(page), []);
        assert.deepEqual(trouble, []);
        await close();
      });
    }
  }
}

test("what an agent wrote is shown and never run", async () => {
  const { page, trouble, close } = await open("hostile.html");
  const count = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).trials.length);
  assert.equal(count, 42);
  for (const hash of ["#", ...Array.from({ length: count }, (_, place) => "#trial/" + place)]) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.waitForFunction((to) => (to === "#") === (document.title === "Agent benchmark report"), hash);
    const seen = await page.evaluate(() => ({
      title: document.title,
      images: document.images.length,
      scripts: document.scripts.length,
      frames: document.querySelectorAll("iframe, object, embed, form, base, svg").length,
      links: [...document.links].map((link) => link.getAttribute("href")).filter((href) => !href.startsWith("#")),
      handlers: [...document.querySelectorAll("*")].flatMap((e) => e.getAttributeNames()).filter((n) => n.startsWith("on")),
      text: document.getElementById("main").innerText,
    }));
    assert.doesNotMatch(seen.title, /^pwned/);
    assert.deepEqual([seen.images, seen.scripts, seen.frames, seen.links, seen.handlers], [0, 3, 0, [], []]);
    assert.match(seen.text, /<img src=x onerror=/);
    assert.match(seen.text, /<\/script><script>/);
    assert.match(seen.text, /\\u2028document\.title/);
    assert.match(seen.text, /\\u202egnp\.exe\\u001b\[31m\\u0000/);
    assert.doesNotMatch(seen.text, /[\u202e\u2028\u0000\u001b]/);
  }
  assert.deepEqual(trouble, []);
  await close();
});

test("a page of a trial shows checks, timeline, diff and streams", async () => {
  const { page, close } = await open("large.html", "#trial/0");
  const heads = await page.locator("h2").allTextContents();
  for (const head of ["Sub-problems", "Checks", "Prompt", "Timeline", "What it changed in its workspace", "Standard error (its end)"]) {
    assert.ok(heads.includes(head), head);
  }
  const timeline = page.locator("table.timeline tbody tr");
  assert.deepEqual((await timeline.allTextContents()).slice(0, 2), ["0.00askednothing", "0.50callreadpath=nothing"]);
  assert.ok(await page.locator("pre .plus").count() > 1);
  await page.getByRole("link", { name: "Next" }).click();
  await page.waitForFunction(() => document.title.includes("trial 2"));
  await close();
});

test("rubrics are shown by row and by criterion, as text", async () => {
  const { page, trouble, close } = await open("hostile.html");
  const section = page.locator("section", { has: page.getByRole("heading", { name: "Rubrics" }) });
  assert.deepEqual((await section.locator("caption").allTextContents()).map((text) => text.split(",")[0]), ["Scores", "Categories"]);
  assert.match(await section.locator("td").allTextContents().then((cells) => cells.join(" ")), /judge <img src=x onerror=/);
  await close();
  const trial = await open("hostile.html", "#trial/1");
  const rows = trial.page.locator("table", { hasText: "Criteria of the rubric" }).locator("tbody tr");
  assert.match((await rows.allTextContents())[0], /^cause <img src=x onerror=.*(yes|no).*gatekeeper/s);
  assert.deepEqual(trial.trouble, []);
  assert.deepEqual(trouble, []);
  await trial.close();
});

test("scenarios and trials are filtered and sorted, with the keyboard alone", async () => {
  const { page, trouble, close } = await open("large.html");
  const status = page.getByRole("status");
  assert.equal(await status.textContent(), "1000 of 1000 trials");
  await page.getByLabel("Words in name, tag").focus();
  await page.keyboard.type("s007");
  assert.equal(await status.textContent(), "20 of 1000 trials");
  await page.getByLabel("Result").selectOption("failed");
  const left = Number((await status.textContent()).split(" ")[0]);
  const trials = page.locator("table", { has: page.locator("caption", { hasText: /^Trials$/ }) });
  const results = await trials.locator("tbody tr td:nth-child(3)").allTextContents();
  assert.ok(left > 0 && left === results.length && results.every((text) => text === "failed"), String(results));
  await page.getByLabel("Result").selectOption("");
  const score = trials.getByRole("button", { name: "score" });
  const scores = async () => (await trials.locator("tbody tr td:nth-child(4)").allTextContents()).filter((t) => t !== "–").map(Number);
  await score.focus();
  await page.keyboard.press("Enter");
  assert.equal(await trials.locator("th[aria-sort]").getAttribute("aria-sort"), "descending");
  assert.deepEqual(await scores(), (await scores()).sort((a, b) => b - a));
  await page.keyboard.press("Enter");
  assert.equal(await trials.locator("th[aria-sort]").getAttribute("aria-sort"), "ascending");
  assert.deepEqual(await scores(), (await scores()).sort((a, b) => a - b));
  assert.deepEqual(trouble, []);
  await close();
});

test("each chart has a table of the same numbers", async () => {
  const { page, close } = await open("large.html");
  assert.equal(await page.locator("figure canvas").count(), 4);
  const captions = await page.locator("caption").allTextContents();
  for (const caption of ["Reliability by k", "cost per trial in $ against score", "steps per trial against score"]) {
    assert.ok(captions.includes(caption), caption);
  }
  await close();
});

test("modes are compared with the baseline, and names of skills are text", async () => {
  const { page, trouble, close } = await open("skills.html");
  const captions = await page.locator("section", { has: page.getByRole("heading", { name: "Skills" }) }).locator("caption").allTextContents();
  assert.equal(captions.length, 5);
  const rows = (caption) => page.locator("table", { has: page.locator("caption", { hasText: caption }) }).locator("tbody tr");
  const added = await rows("What a skill adds").allTextContents();
  assert.match(added[0], /^2 demo · preskillwithin-task\+0\.\d{3}\[/);
  assert.match(added[3], /given\+1\.000no interval0\.000 → 1\.000infinite/);
  const said = await rows("Whether the content").allTextContents();
  assert.match(said[0], /supportedthe data support that the skill's content helped: \+0\.\d{3} \[/);
  assert.match(said[2], /controlhas all of a skill but its content$/);
  assert.match(said[3], /not shownthe data do not show/);
  const effort = await rows("Effort of the baseline").allTextContents();
  assert.match(effort[1], /\? \/ \?|\/ \?/);
  const after = await rows("All that a skill took").allTextContents();
  assert.match(after[0], /^2 demo · preskilltokens\d+(\d\.\d\d){4}$/);
  assert.match(after[1], /^2 demo · preskillcostnever/);
  assert.match(after[4], /^3 demo · postskillcost\?{5}$/);
  assert.match((await rows("Skills that were made").allTextContents())[0], /zero: added <img src=x onerror=/);
  assert.equal(await page.locator("section", { hasText: "What a skill adds" }).locator("figure canvas").count(), 3);
  assert.equal(await page.evaluate(() => document.images.length), 0);
  assert.doesNotMatch(await page.title(), /pwned/);
  assert.deepEqual(trouble, []);
  await close();
});

test("a page of baselines says nothing of skills", async () => {
  const { page, close } = await open("large.html");
  assert.equal(await page.getByRole("heading", { name: "Skills" }).count(), 0);
  await close();
});

test("colours change at a press, and charts with them", async () => {
  const { page, trouble, close } = await open("large.html");
  const picture = () => page.evaluate(() => document.querySelector("canvas").toDataURL());
  const before = await picture();
  await page.getByRole("button", { name: "Dark colours" }).press("Enter");
  assert.notEqual(await picture(), before);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(trouble, []);
  await close();
});

test("a narrow window does not scroll sideways", async () => {
  const { page, close } = await open("hostile.html", "", "light", 420);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await close();
});
