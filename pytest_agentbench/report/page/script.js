"use strict";
// Everything here is put into the page as text: el() makes elements, and strings become text nodes.
(async () => {
  const main = document.getElementById("main");

  async function load() {
    const holder = document.getElementById("data");
    if (holder.type === "application/json") return JSON.parse(holder.textContent);
    const bytes = Uint8Array.from(atob(holder.textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function el(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "on") for (const [type, heard] of Object.entries(value)) made.addEventListener(type, heard);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children.flat(9)) {
      if (child !== null && child !== undefined && child !== false) made.append(child);
    }
    return made;
  }

  // Characters that would turn or hide text are shown by their number.
  const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu;
  const plain = (value) => String(value).replace(HIDDEN, (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));
  const none = (value) => value === null || value === undefined;
  const number = (value, digits = 3) => (none(value) ? "–" : value.toFixed(digits));
  const percent = (value) => (none(value) ? "–" : (100 * value).toFixed(0) + " %");
  const money = (value) => (none(value) ? "?" : "$" + value.toFixed(4));
  const whole = (value) => (none(value) ? "?" : Math.round(value).toLocaleString("en-US"));
  const seconds = (value) => (none(value) ? "?" : value.toFixed(1) + " s");
  const range = (interval) => (interval ? "[" + number(interval.low) + ", " + number(interval.high) + "]" : "");
  const measured = (measure, shown) => shown(measure.mean) + (measure.known < measure.trials && measure.known ? "*" : "");

  const data = await load();
  const at = Object.fromEntries(data.columns.map((name, place) => [name, place]));
  const trials = data.trials.map((values, place) => {
    const trial = { place };
    for (const name of data.columns) trial[name] = values[at[name]];
    trial.facts = data.scenarios[trial.scenario];
    trial.name = trial.facts[0] + " · " + data.rows[trial.row].name + " · trial " + trial.index;
    return trial;
  });

  // ---- tables ----------------------------------------------------------------------------------

  // A column: head, cell (text or nodes), sort (a value to order by), number (aligned right).
  function table(caption, columns, rows, options = {}) {
    let sorted = null, down = false, shown = options.most || Infinity;
    const body = el("tbody");
    const heads = columns.map((column) => {
      const label = column.sort ? el("button", { type: "button", on: { click: () => order(column) } }, column.head) : column.head;
      return el("th", { scope: "col", class: column.number ? "number" : null }, label);
    });
    const more = el("p", { hidden: true }, el("button", { type: "button", on: { click: () => { shown = Infinity; fill(); } } }, "Show all"));
    let current = rows;
    function order(column) {
      down = sorted === column ? !down : Boolean(column.number);
      sorted = column;
      heads.forEach((head, place) => {
        if (columns[place] === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      fill();
    }
    function fill() {
      let list = current.map((row, place) => ({ row, place }));
      if (sorted) {
        const key = sorted.sort;
        list.sort((a, b) => {
          const x = key(a.row), y = key(b.row);
          if (none(x) || none(y)) return none(x) - none(y) || a.place - b.place;
          const order = x < y ? -1 : x > y ? 1 : 0;
          return (down ? -order : order) || a.place - b.place;
        });
      }
      body.replaceChildren(...list.slice(0, shown).map(({ row }) => el("tr", null, columns.map((column, place) =>
        el(place === 0 ? "th" : "td", { scope: place === 0 ? "row" : null, class: column.number ? "number" : column.text ? "text" : null }, column.cell(row))))));
      more.hidden = list.length <= shown;
      if (options.counted) options.counted(list.length);
    }
    fill();
    const made = el("div", null,
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        el("table", { class: options.kind || null }, el("caption", null, caption), el("thead", null, el("tr", null, heads)), body)),
      more);
    made.show = (list) => { current = list; fill(); };
    return made;
  }

  const text = (head, of, sort) => ({ head, cell: (row) => plain(of(row)), sort: sort === false ? null : of, text: true });
  const figure = (head, of, shown = number) => ({ head, cell: (row) => shown(of(row)), sort: of, number: true });
  const rowName = (row) => (data.rows.length > 1 ? data.rows.indexOf(row) + 1 + " " : "") + plain(row.name);
  const labels = (list) => list.map((label) => el("span", { class: "label" }, plain(label)));

  function span(interval, value) {
    if (none(value)) return null;
    const bar = el("i"), mark = el("b");
    const low = interval ? interval.low : value, high = interval ? interval.high : value;
    bar.style.left = 100 * low + "%";
    bar.style.width = 100 * (high - low) + "%";
    mark.style.left = "calc(" + 100 * value + "% - 1.5px)";
    return el("span", { class: "span", "aria-hidden": "true" }, bar, mark);
  }

  // ---- charts ----------------------------------------------------------------------------------

  let charts = [];
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function chart(title, said, options, points) {
    const holder = el("div", { role: "img", "aria-label": title + ". " + said });
    const made = el("figure", null, el("figcaption", null, title), holder);
    charts.push(() => {
      holder.replaceChildren();
      const axis = { stroke: color("--soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
      const axes = options.axes.map((label) => ({ ...axis, label, labelSize: 22, size: 48 }));
      axes[0].size = 36;
      if (options.whole) axes[0].incrs = [1, 2, 5, 10, 20, 50, 100];
      new uPlot({
        width: Math.max(280, holder.clientWidth), height: 260, axes,
        scales: { x: { time: false, range: options.x }, y: { range: options.y || [0, 1] } },
        cursor: { drag: { x: false, y: false } },
        series: [{ label: options.axes[0] }, ...options.series.map((series) => series())],
      }, points, holder);
    });
    return made;
  }

  const SERIES = 8;
  const dash = (place) => [[], [6, 4], [2, 3], [10, 4, 2, 4]][Math.floor(place / SERIES) % 4];
  function line(label, place) {
    return () => ({ label, stroke: color("--c" + (place % SERIES)), width: 2, dash: dash(place), spanGaps: true, points: { show: true, size: 6 } });
  }

  function reliability(rows) {
    const shown = rows.map((row, place) => ({ row, place })).filter(({ row }) => Object.keys(row.pass_at).length).slice(0, SERIES);
    if (!shown.length) return null;
    const most = Math.max(...shown.map(({ row }) => row.trials));
    const ks = Array.from({ length: most }, (_, place) => place + 1);
    const numbers = (field) => ks.map((k) => shown.map(({ row }) => (row[field][k] ? row[field][k].value : null)));
    const drawn = (title, field) => chart(title, "The numbers are in the table below.", {
      axes: ["k", title], whole: true, x: [0.8, most + 0.2], series: shown.map(({ row }, place) => line(rowName(row), place)),
    }, [ks, ...shown.map((_, place) => numbers(field).map((values) => values[place]))]);
    const list = rows.flatMap((row) => Object.keys(row.pass_at).map((k) => ({ row, k: Number(k) })));
    const estimate = (field) => ({
      head: { pass_at: "pass@k", pass_all: "pass^k", strict_all: "strict^k" }[field], number: true,
      cell: ({ row, k }) => { const found = row[field][k]; return found ? [el("span", { class: "cell" }, number(found.value)), el("span", { class: "range" }, range(found.interval))] : "–"; },
      sort: ({ row, k }) => row[field][k] && row[field][k].value,
    });
    return section("Reliability over k", "pass@k: at least one of k trials passes. pass^k: all k pass. strict^k: all k pass every check.",
      el("div", { class: "charts" }, drawn("pass@k", "pass_at"), drawn("pass^k", "pass_all")),
      rows.length > SERIES ? note("The charts show the first " + SERIES + " rows.") : null,
      el("details", { open: list.length <= 12 }, el("summary", null, "Numbers"), table("Reliability by k", [
        { head: "row", cell: ({ row }) => rowName(row), sort: ({ row }) => rowName(row) },
        figure("k", ({ k }) => k, (k) => String(k)), estimate("pass_at"), estimate("pass_all"), estimate("strict_all"),
        figure("scenarios", ({ row, k }) => row.pass_at[k].scenarios, whole), figure("left out", ({ row, k }) => row.pass_at[k].left_out, whole)], list)));
  }

  function effort(points, title, shown) {
    if (!points.length) return null;
    const xs = [...new Set(points.map((point) => point[1]))].sort((a, b) => a - b);
    const best = new Map(points.filter((point) => point[3]).map((point) => [point[1], point[2]]));
    const others = xs.map((x) => points.filter((point) => point[1] === x && !point[3]).map((point) => point[2]));
    const most = Math.max(1, ...others.map((values) => values.length));
    const dots = Array.from({ length: most }, (_, place) => others.map((values) => (values[place] === undefined ? null : values[place])));
    const dot = () => ({ label: "others", stroke: color("--c1"), paths: () => null, points: { show: true, size: 9, fill: color("--c1") } });
    const front = () => ({ label: "Pareto front", stroke: color("--c0"), width: 2, spanGaps: true, points: { show: true, size: 10, fill: color("--c0") } });
    const edge = (xs[xs.length - 1] - xs[0] || xs[0] || 1) * 0.08;
    return el("div", null,
      chart(title + " and score", "The numbers are in the table below.", {
        axes: [title, "score"], x: [Math.max(0, xs[0] - edge), xs[xs.length - 1] + edge], series: [front, ...dots.map(() => dot)],
      }, [xs, xs.map((x) => (best.has(x) ? best.get(x) : null)), ...dots]),
      table(title + " against score", [
        { head: "row", cell: (point) => rowName(data.rows[point[0]]), sort: (point) => rowName(data.rows[point[0]]) },
        figure(title, (point) => point[1], shown), figure("score", (point) => point[2]),
        { head: "on the Pareto front", cell: (point) => (point[3] ? "yes" : "no"), sort: (point) => !point[3] }], points));
  }

  // ---- sections --------------------------------------------------------------------------------

  const note = (words) => el("p", { class: "note" }, words);
  let sections = 0;
  function section(title, about, ...content) {
    const id = "section-" + ++sections;
    return el("section", { "aria-labelledby": id }, el("h2", { id }, title), about ? note(about) : null, content);
  }

  function headline() {
    const level = Math.round(100 * data.intervals.level);
    return section("Scores", "Score: mean over graded trials, with the " + level + " % interval over scenarios (families kept together; Wilson, or " + data.intervals.resamples + " resamples with seed " + data.intervals.seed + "). Lower: every other supported trial counts as 0. Coverage: graded of supported trials; faults of the harness or of a provider are never scored.",
      table("Score, interval and coverage", [
        { head: "row", cell: (row) => [el("span", { class: "cell" }, rowName(row)), el("span", { class: "range" }, plain(row.policy) + " scoring, " + row.scenarios + " × " + row.trials)], sort: rowName },
        { head: "score", number: true, sort: (row) => row.score, cell: (row) => [el("span", { class: "cell" }, number(row.score)), el("span", { class: "range" }, range(row.interval)), span(row.interval, row.score)] },
        figure("lower", (row) => row.lower), figure("pass@1", (row) => row.pass_at[1] && row.pass_at[1].value),
        figure("strict", (row) => row.strict),
        { head: "coverage", number: true, sort: (row) => row.coverage, cell: (row) => [el("span", { class: "cell" }, percent(row.coverage)), el("span", { class: "range" }, row.graded + " of " + row.supported)] },
        { head: "tokens", number: true, sort: (row) => row.tokens.mean, cell: (row) => measured(row.tokens, whole) },
        { head: "cost", number: true, sort: (row) => row.cost_usd.mean, cell: (row) => measured(row.cost_usd, money) },
        { head: "time", number: true, sort: (row) => row.seconds.mean, cell: (row) => measured(row.seconds, seconds) },
        { head: "what to know", cell: (row) => labels([...row.labels, ...(row.scripted ? ["scripted model"] : []), ...(row.replayed ? ["replayed answers"] : []), ...Object.keys(row.sandboxes).map((name) => "sandbox " + name)]) },
      ], data.rows),
      note("* mean of those trials only for which it is known; ? is unknown, not 0. " + (data.strays ? data.strays + " records of trials that are not planned any more count nowhere." : "")));
  }

  function matrix() {
    const of = (row) => plain(row.runtime + (row.versions.length ? " " + row.versions.join(", ") : ""));
    const column = (row) => plain([row.model || "no model", row.mode, ...(policies > 1 ? [row.policy] : [])].join(" · "));
    const policies = new Set(data.rows.map((row) => row.policy)).size;
    const runtimes = [...new Set(data.rows.map(of))], columns = [...new Set(data.rows.map(column))];
    const found = (runtime, name) => data.rows.find((row) => of(row) === runtime && column(row) === name);
    return section("Runtimes and versions by model and mode", "Score with its interval.", table("Score by runtime and version, model and mode", [
      { head: "runtime and version", cell: (runtime) => runtime, sort: (runtime) => runtime },
      ...columns.map((name) => ({
        head: name, number: true, sort: (runtime) => { const row = found(runtime, name); return row && row.score; },
        cell: (runtime) => { const row = found(runtime, name); return row ? [el("span", { class: "cell" }, number(row.score)), el("span", { class: "range" }, range(row.interval))] : "–"; },
      }))], runtimes));
  }

  function dimensions() {
    const names = [...new Set(data.rows.flatMap((row) => row.dimensions.map((d) => d.name)))];
    if (!names.length) return null;
    const of = (row, name) => row.dimensions.find((d) => d.name === name);
    return section("Dimensions", "Score, and below it pass@1 and the number of graded trials.", table("Score by dimension", [
      { head: "row", cell: rowName, sort: rowName },
      ...names.map((name) => ({
        head: name, number: true, sort: (row) => of(row, name) && of(row, name).score,
        cell: (row) => { const d = of(row, name); return d ? [el("span", { class: "cell" }, number(d.score)), el("span", { class: "range" }, number(d.pass_at_1) + " of " + d.graded)] : "–"; },
      }))], data.rows));
  }

  // Modes with a skill against the baseline; null is unknown, "infinite" and "never" are words.
  const RESOURCES = [["tokens", "tokens"], ["cost_usd", "cost"], ["seconds", "time"]];
  const signed = (value) => (value <= -0.0005 ? "−" : "+") + Math.abs(value).toFixed(3);
  const worded = (value, shown) => (none(value) ? "?" : typeof value === "string" ? value : shown(value));
  const ratio = (value) => worded(value, (known) => known.toFixed(2));
  const ordered = (value) => (value === "infinite" || value === "never" ? Infinity : typeof value === "string" ? null : value);

  function gain(head, of) {
    return { head, number: true, sort: (s) => of(s) && of(s).change, cell: (s) => {
      const found = of(s);
      if (!found) return "–";
      const interval = found.interval;
      const bar = span(interval && { low: (interval.low + 1) / 2, high: (interval.high + 1) / 2 }, (found.change + 1) / 2);
      bar.append(el("u"));
      return [el("span", { class: "cell" }, signed(found.change)), el("span", { class: "range" }, interval ? "[" + signed(interval.low) + ", " + signed(interval.high) + "]" : "no interval"), el("span", { class: "range" }, number(found.before) + " → " + number(found.after)), bar];
    } };
  }

  function skills() {
    const list = data.skills || [];
    if (!list.length) return null;
    const name = (s) => rowName(data.rows[s.row]);
    const first = { head: "row", cell: name, sort: name };
    const effort = ([field, head]) => ({ head, number: true, sort: (s) => (s.resources[field] ? ordered(s.resources[field].execution) : null), cell: (s) => {
      const found = s.resources[field] || {};
      const known = Math.min(found.scenarios, found.whole_scenarios);
      const star = known && known < s.scenarios ? "*" : "";
      return [el("span", { class: "cell" }, ratio(found.execution) + " / " + ratio(found.end_to_end) + star)];
    } });
    const staged = list.filter((s) => RESOURCES.some(([field]) => s.resources[field] && Object.keys(s.resources[field].amortised).length));
    const seen = (field) => ({ head: field, number: true, cell: (s) => (s.given ? (s.given.known ? s.given[field] + " of " + s.given.known : "?") : "–"), sort: (s) => s.given && s.given[field] });
    return section("Skills", "Modes against the baseline of the same runtime and model, over the scenarios with a graded trial of both. Intervals: 90 %, paired by scenario, families kept together; the bar goes from −1 to +1.",
      table("What a skill adds to the score", [
        first, { head: "skill", cell: (s) => s.kind, sort: (s) => s.kind }, gain("score", (s) => s.score),
        { head: "R", number: true, sort: (s) => ordered(s.ratio), cell: (s) => ratio(s.ratio) },
        gain("loose", (s) => s.loose), gain("strict", (s) => s.strict), gain("second run over first", (s) => s.first_to_second),
        { head: "pairs", number: true, cell: (s) => s.scenarios + " of " + (s.scenarios + s.left_out), sort: (s) => s.scenarios }], list),
      table("Whether the content of the skill helped", [
        first, { head: "verdict", sort: (s) => s.attribution && s.attribution.reason, cell: (s) => (s.attribution ? el("span", { class: s.attribution.supported ? "passed" : "other" }, s.attribution.supported ? "supported" : "not shown") : s.kind === "control" ? "control" : "no skill") },
        text("what the data say", (s) => (s.attribution ? s.attribution.sentence : s.kind === "control" ? "has all of a skill but its content" : "there is no skill in it"), false)], list),
      table("Effort of the baseline over that of the mode: graded run alone / all runs of a trial", [
        first, ...RESOURCES.map(effort),
        { head: "points per million tokens more", number: true, sort: (s) => ordered(s.points_per_million), cell: (s) => worded(s.points_per_million, (value) => value.toFixed(1)) }], list),
      note("Above 1 the mode takes less than the baseline. * of those scenarios alone for which it is known; ? is unknown, not 0."),
      staged.length ? [el("div", { class: "charts" }, RESOURCES.map(([field, head]) => amortised(staged, field, head))), table("All that a skill took after some uses, over as many direct runs", [
        { ...first, cell: ([s]) => name(s), sort: ([s]) => name(s) }, { head: "of", cell: ([, , head]) => head, sort: ([, , head]) => head },
        { head: "break-even", number: true, sort: ([s, field]) => ordered(s.resources[field].break_even), cell: ([s, field]) => worded(s.resources[field].break_even, String) },
        ...[1, 2, 5, 10].map((uses) => ({ head: uses + (uses === 1 ? " use" : " uses"), number: true, sort: ([s, field]) => ordered(s.resources[field].amortised[uses]), cell: ([s, field]) => ratio(s.resources[field].amortised[uses]) })),
      ], staged.flatMap((s) => RESOURCES.map(([field, head]) => [s, field, head]))),
        note("Below 1 the skill has paid for itself; break-even is the number of uses from which on it has.")] : null,
      table("Skills that were made, seen and changed", [
        first, { head: "made", number: true, cell: (s) => (s.made ? s.made.skills + " in " + s.made.with_skill + " of " + s.made.trials : "–"), sort: (s) => s.made && s.made.skills },
        figure("form (heuristic)", (s) => s.made && s.made.quality), ...["shown", "opened", "used"].map(seen),
        { head: "changed", number: true, cell: (s) => s.violations.mutated + " of " + s.violations.guarded, sort: (s) => s.violations.mutated }, figure("wrote results early", (s) => s.violations.wrote, whole),
        text("the first violations", (s) => s.violations.samples.join("\n"), false)], list));
  }

  function rubrics() {
    const list = data.rubrics || [];
    if (!list.some((r) => r.scenarios)) return null;
    const name = (r) => rowName(data.rows[r.row]);
    const first = { head: "row", cell: name, sort: name };
    const titles = [...new Set(list.flatMap((r) => r.categories.map((c) => c.title)))];
    const category = (title) => {
      const found = (r) => r.categories.find((c) => c.title === title);
      return { head: title, number: true, sort: (r) => found(r) && found(r).loose, cell: (r) => (found(r) ? number(found(r).loose) + " / " + number(found(r).strict) : "–") };
    };
    return section("Rubrics", "Criteria on what was delivered (completion) and on the way there (process, only where the agent had a skill). Loose: the share of criteria that hold; strict: whether all do. Gains are over the baseline of the same runtime and model; intervals: 90 %, paired by scenario.",
      table("Scores", [
        first, figure("completion loose", (r) => r.completion_loose), figure("completion strict", (r) => r.completion_strict),
        figure("process loose", (r) => r.process_loose), figure("process strict", (r) => r.process_strict), figure("gated", (r) => r.gated),
        gain("loose gained", (r) => r.loose_gain), gain("strict gained", (r) => r.strict_gain),
        { head: "decided", number: true, cell: (r) => r.trials - r.undecided + " of " + r.trials, sort: (r) => r.trials - r.undecided },
        figure("steps", (r) => r.steps, (v) => number(v, 1)), figure("calls", (r) => r.tool_calls, (v) => number(v, 1)),
        text("missed most", (r) => r.missed.map((m) => m.scenario + " › " + m.criterion + " (" + m.missed + " of " + m.trials + ")").join("\n"), false), text("judges", (r) => r.judges.join(", "), false)], list),
      titles.length ? table("Categories, loose / strict", [first, ...titles.map(category)], list) : null);
  }

  function amortised(rows, field, head) {
    const uses = [1, 2, 5, 10];
    const shown = rows.slice(0, SERIES - 1);
    const values = shown.map((s) => uses.map((n) => { const value = s.resources[field].amortised[n]; return typeof value === "number" ? value : null; }));
    const known = values.flat().filter((value) => !none(value));
    if (!known.length) return null;
    const direct = () => ({ label: "direct runs", stroke: color("--soft"), width: 1, dash: [4, 4], points: { show: false } });
    return chart(head + " after some uses, over that of direct runs", "The numbers are in the table below.", {
      axes: ["uses", "ratio"], whole: true, x: [0.5, 10.5], y: [0, 1.1 * Math.max(1, ...known)],
      series: [...shown.map((s, place) => line(rowName(data.rows[s.row]), place)), direct],
    }, [uses, ...values, uses.map(() => 1)]);
  }

  function failures() {
    const families = data.rows.flatMap((row) => row.families.map((family) => ({ row, ...family })));
    const faults = data.rows.flatMap((row) => row.faults.map((fault) => ({ row, ...fault })));
    const costly = data.rows.flatMap((row) => row.costly.map((check) => ({ row, ...check })));
    const first = { head: "row", cell: ({ row }) => rowName(row), sort: ({ row }) => rowName(row) };
    return [
      families.length ? section("Failure families", "Failed checks by what they ask, each failure in each trial counted; after Tables 44 and 45 of ClawProBench.", table("Failure families", [
        { head: "family", cell: (f) => f.name, sort: (f) => f.name }, { ...first }, figure("failed checks", (f) => f.checks, whole), figure("scenarios", (f) => f.scenarios, whole),
        text("main dimensions", (f) => f.dimensions.join(", ")), text("first: scenario › check", (f) => f.scenario + " › " + f.check, false), text("what it said", (f) => f.detail, false)], families)) : null,
      costly.length ? section("Failed checks that cost most", "The part of the overall score that a check cost.", table("Failed checks that cost most", [
        text("scenario › check", (c) => c.scenario + " › " + c.check), { ...first }, figure("cost", (c) => c.lost), text("kind", (c) => c.category + ", " + c.severity),
        { head: "failed in", number: true, cell: (c) => c.times + " of " + c.trials, sort: (c) => c.times }, text("what it said", (c) => c.detail, false)], costly, { most: 20 })) : null,
      faults.length ? section("Trials without a score", "Faults are shown beside the score and are never part of it.", table("Trials without a score", [
        { head: "status", cell: (f) => f.status, sort: (f) => f.status }, { ...first }, { head: "counts as", cell: (f) => f.counts, sort: (f) => f.counts }, figure("trials", (f) => f.times, whole), text("first message", (f) => f.message, false)], faults)) : null,
    ];
  }

  const verdict = (trial) => (none(trial.passed) ? trial.status : trial.passed ? "passed" : "failed");
  const shownVerdict = (trial) => el("span", { class: none(trial.passed) ? "other" : verdict(trial) }, verdict(trial).replaceAll("_", " "));

  function choice(label, values, on) {
    const made = el("select", { on: { change: on } }, el("option", { value: "" }, "all"), values.map(([value, name]) => el("option", { value }, name)));
    return { label: el("label", null, label, made), get value() { return made.value; } };
  }

  function browser() {
    const count = el("p", { role: "status", class: "note" });
    const words = el("input", { type: "search", on: { input: filter } });
    const dimension = choice("Dimension", [...new Set(data.scenarios.map((s) => s[2]).filter(Boolean))].map((d) => [d, plain(d)]), filter);
    const row = choice("Row", data.rows.map((r, place) => [String(place), rowName(r)]), filter);
    const state = choice("Result", [...new Set(trials.map(verdict))].sort().map((v) => [v, v.replaceAll("_", " ")]), filter);
    const scenarios = table("Scenarios", [
      { head: "scenario", sort: (s) => s.facts[0], cell: (s) => el("button", { type: "button", on: { click: () => { words.value = s.facts[0]; filter(); trialTable.scrollIntoView(); } } }, plain(s.facts[0])) },
      text("name", (s) => s.facts[1]), text("dimension", (s) => s.facts[2]),
      { head: "difficulty", cell: (s) => plain(s.facts[3]), sort: (s) => ["easy", "medium", "hard", "expert"].indexOf(s.facts[3]) },
      figure("mean", (s) => s.mean), { head: "lowest – highest", number: true, sort: (s) => s.low, cell: (s) => (none(s.low) ? "–" : number(s.low) + " – " + number(s.high)) },
      { head: "passed", number: true, sort: (s) => (s.graded ? s.passed / s.graded : null), cell: (s) => s.passed + " of " + s.graded }, figure("without score", (s) => s.trials - s.graded, whole)], [], { most: 200 });
    const trialTable = table("Trials", [
      { head: "trial", sort: (t) => t.facts[0] + String(t.index).padStart(6, "0"), cell: (t) => el("a", { href: "#trial/" + t.place }, plain(t.facts[0]) + " · " + t.index) },
      { head: "row", cell: (t) => rowName(data.rows[t.row]), sort: (t) => t.row }, { head: "result", cell: shownVerdict, sort: verdict },
      figure("score", (t) => t.score), figure("steps", (t) => t.steps, whole), figure("calls", (t) => t.calls, whole), figure("tokens", (t) => t.tokens, whole),
      figure("cost", (t) => t.cost, money), figure("time", (t) => t.seconds, seconds), text("message", (t) => t.message || "", false)], [], { most: 200, counted: (n) => { count.textContent = n + " of " + trials.length + " trials"; } });
    function filter() {
      const asked = words.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      const kept = trials.filter((t) => {
        if (dimension.value && t.facts[2] !== dimension.value) return false;
        if (row.value && t.row !== Number(row.value)) return false;
        if (state.value && verdict(t) !== state.value) return false;
        if (!asked.length) return true;
        const said = [t.facts[0], t.facts[1], t.facts[2], t.facts[3], ...t.facts[5], t.status, ...(t.flags || []), t.message || ""].join(" ").toLowerCase();
        return asked.every((word) => said.includes(word));
      });
      const groups = new Map();
      for (const t of kept) {
        const s = groups.get(t.scenario) || { facts: t.facts, trials: 0, graded: 0, passed: 0, sum: 0, low: null, high: null };
        s.trials += 1;
        if (!none(t.score)) {
          s.graded += 1; s.passed += t.passed ? 1 : 0; s.sum += t.score;
          s.low = none(s.low) ? t.score : Math.min(s.low, t.score); s.high = none(s.high) ? t.score : Math.max(s.high, t.score);
        }
        s.mean = s.graded ? s.sum / s.graded : null;
        groups.set(t.scenario, s);
      }
      scenarios.show([...groups.values()]);
      trialTable.show(kept);
    }
    filter();
    return section("Scenarios and trials", null,
      el("div", { class: "filters" }, el("label", null, "Words in name, tag, status, flag, message", words), dimension.label, row.label, state.label), count,
      scenarios, el("h3", null, "Trials"), trialTable);
  }

  // ---- one trial -------------------------------------------------------------------------------

  const block = (title, words) => (words ? [el("h2", null, title), el("pre", { tabindex: "0", role: "region", "aria-label": title }, plain(words))] : null);
  function diff(words) {
    if (!words) return null;
    const kind = (l) => (l.startsWith("+") ? "plus" : l.startsWith("-") ? "minus" : l.startsWith("@@") ? "hunk" : null);
    return [el("h2", null, "What it changed in its workspace"), el("pre", { tabindex: "0", role: "region", "aria-label": "Workspace diff" }, words.split("\n").map((l) => el("span", { class: kind(l) }, plain(l) + "\n")))];
  }

  function onePage(trial) {
    const found = data.evidence[trial.place] || {};
    const facts = [["scenario", trial.facts[1]], ["dimension", trial.facts[2]], ["difficulty", trial.facts[3]], ["family", trial.facts[4]],
      ["status", trial.status + " (" + trial.counts + ")"], ["message", trial.message], ["key", trial.key + "…"],
      ["score", none(trial.score) ? "" : number(trial.score) + " (C " + number(trial.correctness) + ", P " + number(trial.process) + ", gate " + number(trial.gate) + ", penalty " + number(trial.penalty) + ")"],
      ["effort", none(trial.steps) ? "" : trial.steps + " steps, " + trial.calls + " tool calls, " + whole(trial.tokens) + " tokens, " + money(trial.cost) + ", " + seconds(trial.seconds)],
      ["flags", (trial.flags || []).join(", ")]];
    const subs = Object.entries(trial.sub || {});
    const step = (place, words) => (trials[place] ? el("a", { href: "#trial/" + place }, words) : null);
    return [
      el("nav", { "aria-label": "Trials" }, el("a", { href: "#" }, "← All trials"), step(trial.place - 1, "Previous"), step(trial.place + 1, "Next")),
      el("h1", null, plain(trial.name)), el("p", null, shownVerdict(trial)),
      el("dl", null, facts.filter(([, value]) => value).map(([name, value]) => [el("dt", null, name), el("dd", null, plain(value))])),
      subs.length ? [el("h2", null, "Sub-problems"), table("Scores of sub-problems", [text("sub-problem", (s) => s[0]), figure("score", (s) => (typeof s[1] === "number" ? s[1] : null))], subs)] : null,
      found.checks ? [el("h2", null, "Checks"), table("Checks with what was expected and found", [
        text("check", (c) => c[0]), { head: "result", cell: (c) => el("span", { class: c[6] ? "passed" : "failed" }, c[6] ? "passed" : "failed"), sort: (c) => c[6] },
        { head: "points", number: true, cell: (c) => c[4] + " of " + c[5], sort: (c) => c[4] - c[5] }, text("kind", (c) => [c[1], c[2], ...(c[2] === "safety" ? [c[3]] : []), ...c[10]].join(", ")),
        text("detail", (c) => c[7], false), text("expected", (c) => c[8], false), text("found", (c) => c[9], false)], found.checks)] : null,
      found.criteria ? [el("h2", null, "Rubric"), table("Criteria of the rubric with what was found", [
        text("criterion", (c) => c[0]), { head: "credit", cell: (c) => el("span", { class: none(c[3]) ? "other" : c[3] ? "passed" : "failed" }, none(c[3]) ? "does not apply" : c[3] ? "yes" : "no"), sort: (c) => c[3] },
        figure("level", (c) => (none(c[3]) ? null : c[4]), (value) => (none(value) ? "–" : value.toFixed(2))), text("kind", (c) => [c[1], c[2].replaceAll("_", " "), ...c[7]].join(", ")),
        text("reason", (c) => c[5], false), text("quotes", (c) => c[6], false)], found.criteria)] : null,
      (trial.attempts || []).length ? [el("h2", null, "Attempts that did not count"), table("Attempts that did not count", [text("status", (a) => a[0]), text("message", (a) => a[1])], trial.attempts)] : null,
      block("Prompt", found.prompt),
      found.events ? [el("h2", null, "Timeline"), table("What was said and called, with seconds since the start", [
        figure("s", (e) => e[0], (value) => (none(value) ? "?" : value.toFixed(2))), text("what", (e) => e[1], false), text("tool", (e) => e[2] || "", false), text("status", (e) => (none(e[3]) ? "" : String(e[3])), false), text("text", (e) => e[4], false)], found.events, { kind: "timeline", most: 500 })] : null,
      diff(found.diff), block("Standard error (its end)", found.stderr), block("Standard output (its end)", found.stdout),
      found.cut ? note("Left out to keep the page small: " + found.cut.join("; ") + ". The folder of the run has all of it.") : null,
      Object.keys(found).length ? null : note("There is no evidence of this trial in the page."),
    ];
  }

  function overview() {
    const cost = effort(data.efforts.cost_usd, "cost per trial in $", money), steps = effort(data.efforts.steps, "steps per trial", (v) => number(v, 1));
    return [
      el("h1", null, plain(data.profile ? "Benchmark " + data.profile : "Benchmark run")),
      note(trials.length + " trials of " + data.scenarios.length + " scenarios in " + data.rows.length + (data.rows.length === 1 ? " row" : " rows") + "; primary view: " + plain(data.view.replaceAll("_", " ")) + "; pytest-agentbench " + plain(data.agentbench) + "."),
      headline(), matrix(), skills(), rubrics(), dimensions(), reliability(data.rows),
      cost || steps ? section("Effort and score", "On the front: no other row of its scoring policy has a higher score for as little effort.", el("div", { class: "charts" }, cost, steps)) : null,
      failures(), browser(),
    ];
  }

  // ---- theme and pages -------------------------------------------------------------------------

  const theme = document.getElementById("theme");
  function dress(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    theme.textContent = dark ? "Light colours" : "Dark colours";
    charts.forEach((draw) => draw());
  }
  theme.addEventListener("click", () => dress(document.documentElement.dataset.theme !== "dark"));

  function show() {
    const asked = /^#trial\/(\d+)$/.exec(location.hash);
    if (location.hash === "#main") return;
    const trial = asked && trials[Number(asked[1])];
    charts = [];
    sections = 0;
    main.replaceChildren(...[trial ? onePage(trial) : overview()].flat(9).filter((child) => child));
    document.title = trial ? plain(trial.name) : "Agent benchmark report";
    charts.forEach((draw) => draw());
    window.scrollTo(0, 0);
    if (shown) main.focus({ preventScroll: true });
    shown = true;
  }
  let shown = false;
  window.addEventListener("hashchange", show);
  let waiting = 0;
  window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => charts.forEach((draw) => draw()), 150); });
  dress(matchMedia("(prefers-color-scheme: dark)").matches);
  show();
  document.documentElement.dataset.ready = "yes";
})();
