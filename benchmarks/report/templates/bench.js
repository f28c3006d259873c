"use strict";
// The explorer: what the filters leave is shown by the table and by both plots at once.
(() => {
const data = JSON.parse(document.getElementById("qpsvm-data").textContent);
const $ = (id) => document.getElementById(id);
const number = (v) => (v === null || v === undefined ? NaN : Number(v));
const PAGE = 50;
const DASHES = ["solid", "dash", "dot", "dashdot"];
const STROKES = ["", "7 4", "2 3", "7 3 2 3"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "cross", "star"];
const GLYPHS = ["●", "■", "◆", "▲", "✖", "✚", "★"];
const FACTORS = [1, 2, 5, 10, 100, Infinity];
const FIELDS = [
  ["family", "Family", (r) => data.programs[r.program].family],
  ["data", "Data", (r) => data.programs[r.program].data],
  ["C", "C", (r) => data.programs[r.program].C],
  ["kernel", "Kernel", (r) => data.programs[r.program].kernel],
  ["contestant", "Contestant", (r) => data.contestants[r.contestant]],
  ["outcome", "Outcome", (r) => r.outcome],
  ["reached", "Target reached", (r) => (reached(r) ? "yes" : "no")],
];
const state = { target: 0, kind: null, program: 0, lit: null, sort: null, shown: PAGE, paper: false };
const chosen = Object.fromEntries(FIELDS.map(([key]) => [key, new Set()]));
for (const row of data.rows) {
  row.family = data.programs[row.program].family;
  for (const key of ["C", "data", "kernel"]) row[key] = data.programs[row.program][key];
  row.name = data.contestants[row.contestant];
}
// A time is of a target, a program and a contestant.
const times = data.times.map((list) => {
  const of = data.programs.map(() => new Map());
  for (const t of list) of[t.program].set(t.contestant, t);
  return of;
});

// --- what is there ---------------------------------------------------------------------------

function reached(row) { return number(row.gap) <= data.targets[state.target]; }
function unique(values) { return [...new Set(values)]; }
function visible() {
  return data.rows.filter((r) => FIELDS.every(([key, , of]) => !chosen[key].size || chosen[key].has(String(of(r)))));
}

// --- writing ---------------------------------------------------------------------------------

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
function written(value, form) {
  if (value === null || value === undefined || value === "") return "-";
  if (form === "text") return String(value);
  const v = number(value);
  if (Number.isNaN(v)) return "-";
  if (!Number.isFinite(v)) return v > 0 ? "none" : "-none";
  if (form === "count") return v.toLocaleString("en");
  if (form === "residual") return v === 0 ? "0" : v.toExponential(1);
  if (form === "megabytes") return (v / 1e6).toFixed(0);
  return v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e5) ? v.toExponential(2) : String(Number(v.toPrecision(3)));
}
function plainTable(id, heads, rows) {
  const table = $(id);
  table.tHead.replaceChildren(element("tr", {}, ...heads.map((h, i) => element("th", { scope: "col", class: i ? "n" : "" }, h))));
  table.tBodies[0].replaceChildren(...rows.map((cells) => element("tr", {}, ...cells.map((c, i) =>
    i ? element("td", { class: "n" }, c) : element("th", { scope: "row" }, c)))));
}

// --- filters ---------------------------------------------------------------------------------

function order(values) {
  const numeric = values.every((v) => Number.isFinite(Number(v)) || v === "-");
  return [...values].sort((a, b) => (numeric ? number(a) - number(b) : String(a).localeCompare(String(b))));
}
function makeFilters() {
  for (const [key, title, of] of FIELDS) {
    const options = key === "reached" ? ["yes", "no"] : order(unique(data.rows.map((r) => String(of(r)))));
    const list = element("fieldset", {}, element("legend", {}, title));
    for (const option of options) {
      const box = element("input", { type: "checkbox", value: option, name: key });
      box.addEventListener("change", () => {
        if (box.checked) chosen[key].add(option); else chosen[key].delete(option);
        state.shown = PAGE;
        update();
      });
      list.append(element("label", {}, box, " ", option));
    }
    const fold = element("details", { class: "filter", id: `filter-${key}` }, element("summary", {}, title), list);
    fold.addEventListener("toggle", () => {
      if (fold.open) document.querySelectorAll(".filter").forEach((other) => { if (other !== fold) other.open = false; });
    });
    fold.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { fold.open = false; fold.firstChild.focus(); }
    });
    $("filters").insertBefore(fold, $("clear"));
  }
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".filter")) document.querySelectorAll(".filter").forEach((fold) => { fold.open = false; });
  });
  data.targets.forEach((target, i) => $("target").append(element("option", { value: i }, target.toExponential().replace("e-", "e-"))));
  $("target").addEventListener("change", () => { state.target = Number($("target").value); update(); });
  $("clear").addEventListener("click", () => {
    document.querySelectorAll(".filter input").forEach((box) => { box.checked = false; });
    for (const set of Object.values(chosen)) set.clear();
    state.lit = null;
    update();
  });
}
function writeFilters() {
  for (const [key, title] of FIELDS) {
    const names = [...chosen[key]];
    const text = names.length === 0 ? "all" : names.length === 1 ? names[0] : `${names.length} chosen`;
    const summary = $(`filter-${key}`).firstChild;
    summary.replaceChildren(`${title}: `, element("b", {}, text));
    summary.parentElement.classList.toggle("on", names.length > 0);
  }
}

// --- the table -------------------------------------------------------------------------------

function lit(row) {
  return state.lit !== null && row.contestant === state.lit.contestant
    && (state.lit.program === null || row.program === state.lit.program);
}
function sorted(rows) {
  const by = state.sort;
  const value = (row) => {
    const column = data.columns[by.column];
    if (column.form === "text") return String(row[column.key] ?? "");
    return number(row[column.key]);
  };
  const last = (v) => (Number.isNaN(v) ? Infinity : v);
  const found = by === null ? [...rows] : rows.map((r) => [value(r), r]).sort(([a], [b]) =>
    by.sign * (typeof a === "string" ? compare(a, b) : compare(last(a), last(b)))).map(([, r]) => r);
  return [...found.filter(lit), ...found.filter((r) => !lit(r))];
}
function makeHeads() {
  [...$("rows").tHead.rows[0].cells].forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const first = data.columns[column].form === "text" ? 1 : -1;
      const sign = state.sort?.column === column && state.sort.sign === first ? -first : first;
      state.sort = { column, sign };
      for (const each of head.parentElement.cells) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      writeRows(visible());
    });
  });
  $("more").addEventListener("click", () => { state.shown *= 4; writeRows(visible()); });
}
function writeRows(rows) {
  const shown = sorted(rows).slice(0, state.shown);
  $("rows").tBodies[0].replaceChildren(...shown.map((row) => {
    const cells = data.columns.map((column, i) => {
      const text = written(row[column.key], column.form);
      if (i === 0) {
        const button = element("button", { type: "button", "aria-haspopup": "dialog" }, text);
        button.addEventListener("click", () => openDetails(row));
        return element("th", { scope: "row" }, button);
      }
      if (column.key === "outcome")
        return element("td", {}, element("span", { class: `tag ${data.kinds[row.outcome] ?? "skipped"}` }, text));
      return element("td", column.form === "text" ? {} : { class: "n" }, text);
    });
    return element("tr", lit(row) ? { class: "lit", "data-key": row.key } : { "data-key": row.key }, ...cells);
  }));
  $("rows").caption.textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} measurements that the filters leave; the first column opens all that is known of one.`;
  $("more").hidden = shown.length >= rows.length;
}
function openDetails(row) {
  const items = [];
  data.details.forEach((name, i) => items.push(element("dt", {}, name), element("dd", {}, data.texts[row.details[i]])));
  $("details-title").textContent = `${row.name}: ${row.outcome}`;
  $("details-list").replaceChildren(...items);
  $("details").showModal();
}

// --- plots -----------------------------------------------------------------------------------

function colours() {
  if (state.paper) return { ink: "#000", soft: "#444", line: "#bbb", paper: "#fff" };
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["ink", "soft", "line", "paper"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}
function look(contestant, program) {
  const off = state.lit !== null && (state.lit.contestant !== contestant
    || (program !== null && state.lit.program !== null && state.lit.program !== program));
  const on = state.lit !== null && !off;
  const i = contestant % data.palette.length;
  return {
    opacity: off ? 0.2 : 1,
    line: { color: data.palette[i], dash: DASHES[Math.floor(contestant / data.palette.length) % DASHES.length], width: on ? 4 : 2 },
    marker: { color: data.palette[i], symbol: SYMBOLS[i % SYMBOLS.length], size: on ? 11 : 8 },
  };
}
function draw(id, traces, x, y, extra = {}) {
  const theme = colours();
  const axis = { gridcolor: theme.line, linecolor: theme.soft, tickcolor: theme.soft, zeroline: false, showline: true, automargin: true };
  const layout = {
    xaxis: { ...axis, ...x }, yaxis: { ...axis, ...y }, showlegend: false, hovermode: "closest", dragmode: false,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 55, r: 12, t: 10, b: 45 },
    font: { family: "system-ui, sans-serif", size: 13, color: theme.ink }, hoverlabel: { align: "left" },
    // paper has no window that says how wide it is
    ...(state.paper ? { width: 640, height: 330 } : { autosize: true, height: 380 }), ...extra,
  };
  const made = $(id).classList.contains("js-plotly-plot");
  Plotly.react(id, traces, layout, { responsive: true, displayModeBar: false });
  if (!made) $(id).on("plotly_click", (event) => {
    const of = event.points[0].data.meta;
    light(of.contestant, of.program);
  });
}
function light(contestant, program) {
  const same = state.lit !== null && state.lit.contestant === contestant && state.lit.program === program;
  state.lit = same ? null : { contestant, program };
  update();
}
function drawProfile(left, contestants) {
  // kinds of programs are never mixed: families, intercepts and kernels are other questions
  const kinds = unique(left.map((p) => data.programs[p].kind));
  const kind = kinds.includes(state.kind) ? state.kind : kinds[0] ?? null;
  $("kind").replaceChildren(...kinds.map((each) => element("option", { value: each }, each)));
  $("kind").value = kind;
  const programs = left.filter((p) => data.programs[p].kind === kind);
  const found = performanceProfile(times[state.target], programs, contestants);
  const finite = found.ratios.flat().filter(Number.isFinite);
  const end = 1.3 * Math.max(2, ...finite);
  const traces = found.who.map((c, i) => {
    const steps = unique([1, ...found.ratios[i].filter(Number.isFinite)]).sort(ascending);
    const points = [...steps, end];
    return {
      type: "scatter", mode: "lines", meta: { contestant: c, program: null }, name: data.contestants[c],
      x: points, y: points.map((tau) => share(found.ratios[i], tau)), ...look(c, null),
      line: { ...look(c, null).line, shape: "hv" },
      hovertemplate: "%{y:.0%} within %{x:.3~g} times the fastest<extra>%{fullData.name}</extra>",
    };
  });
  draw("profile", traces, { type: "log", title: { text: "times the fastest" }, range: [0, Math.log10(end)], dtick: end > 100 ? 1 : "D2" },
    { title: { text: "share of programs" }, range: [-0.02, 1.03], tickformat: ".0%" });
  const target = data.targets[state.target].toExponential();
  const rows = found.who.map((c, i) => [c, FACTORS.map((tau) => share(found.ratios[i], tau))])
    .sort((a, b) => b[1][0] - a[1][0] || b[1].at(-1) - a[1].at(-1));
  const percent = (v) => `${Math.round(100 * v)} %`;
  plainTable("profile-table", ["Contestant", ...FACTORS.map((f) => (f === 1 ? "Fastest" : f < Infinity ? `Within ${f} times` : "Reached at all"))],
    rows.map(([c, shares]) => [data.contestants[c], ...shares.map(percent)]));
  const out = contestants.filter((c) => !found.who.includes(c)).map((c) => data.contestants[c]);
  const words = found.who.length === 0 ? "There is nothing to compare: no two of these have a program in common."
    : `${kind}: ${found.programs.length} programs that all ${found.who.length} contestants took part in, to a certified gap of ${target}.`
      + (out.length ? ` Not on all of these programs, and left out: ${out.join(", ")}.` : "");
  $("profile-words").textContent = words;
  const first = rows[0];
  $("profile").setAttribute("aria-label", `Performance profile. ${words}`
    + (first ? ` Most often fastest: ${data.contestants[first[0]]}, on ${percent(first[1][0])}.` : "") + " The same as a table follows.");
}
function drawCurves(programs, pairs) {
  const select = $("program");
  if (!programs.includes(state.program)) state.program = programs[0] ?? 0;
  select.replaceChildren(...programs.map((p) => element("option", { value: p }, data.programs[p].name)));
  select.value = state.program;
  $("previous").disabled = programs.indexOf(state.program) <= 0;
  $("next").disabled = programs.indexOf(state.program) >= programs.length - 1;
  const p = state.program;
  const curves = data.curves.filter((c) => c.program === p && pairs.has(`${p},${c.contestant}`));
  const traces = curves.map((curve) => {
    const name = data.contestants[curve.contestant];
    return {
      type: "scatter", mode: "lines+markers", meta: { contestant: curve.contestant, program: p }, name,
      x: curve.seconds.map(number), y: curve.gaps.map((g) => Math.max(number(g), 1e-16)),
      text: curve.eps.map((e) => number(e).toExponential()), ...look(curve.contestant, p),
      hovertemplate: "certified %{y:.1e} in %{x:.3~g} s<br>asked for %{text}<extra>%{fullData.name}</extra>",
    };
  });
  const target = data.targets[state.target];
  const { soft } = colours();
  const levels = [target, ...traces.flatMap((t) => t.y)];
  const decades = Math.log10(Math.max(...levels) / Math.min(...levels));
  draw("curves", traces, { type: "log", title: { text: "seconds" } }, { type: "log", title: { text: "certified relative gap" }, exponentformat: "power", ...(decades > 2 ? { dtick: 1 } : {}) }, {
    shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: target, y1: target, line: { color: soft, dash: "dot", width: 1.5 } }],
    annotations: [{ xref: "paper", x: 1, xanchor: "right", y: Math.log10(target), yanchor: "bottom", text: "target", showarrow: false, font: { color: soft } }],
  });
  const lines = curves.flatMap((curve) => curve.seconds.map((s, i) => [
    data.contestants[curve.contestant], written(curve.eps[i], "residual"), written(s, "seconds"), written(curve.gaps[i], "residual")]));
  plainTable("curves-table", ["Contestant", "Asked for", "Seconds", "Certified gap"], lines);
  const at = [...times[state.target][p]?.entries() ?? []].filter(([c, t]) => pairs.has(`${p},${c}`) && Number.isFinite(number(t.seconds)))
    .sort((a, b) => a[1].seconds - b[1].seconds);
  const none = [...times[state.target][p]?.entries() ?? []].filter(([c, t]) => t.attempted && pairs.has(`${p},${c}`) && !Number.isFinite(number(t.seconds)));
  const words = !data.programs[p]?.bounded ? "No lower bound of this program is known: no answer to it can be measured."
    : (at.length ? `Fastest to a certified gap of ${target.toExponential()}: ${data.contestants[at[0][0]]}, ${written(at[0][1].seconds, "seconds")} s.`
    : `Nobody reached a certified gap of ${target.toExponential()}.`)
    + (none.length ? ` Not reached by ${none.map(([c, t]) => `${data.contestants[c]} (${t.outcome})`).join(", ")}.` : "");
  $("curves-words").textContent = words;
  $("curves").setAttribute("aria-label", `Certified gap against seconds on ${data.programs[p]?.name ?? "no program"}. ${words} The same as a table follows.`);
}
function writeLegend(contestants) {
  const focused = document.activeElement?.dataset?.contestant;
  $("legend").replaceChildren(...contestants.map((c) => {
    const i = c % data.palette.length;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const parts = { viewBox: "0 0 34 14", width: "34", height: "14", "aria-hidden": "true" };
    for (const [name, value] of Object.entries(parts)) svg.setAttribute(name, value);
    const line = document.createElementNS(svg.namespaceURI, "path");
    const stroke = { d: "M0 7H34", stroke: data.palette[i], "stroke-width": "2.5", "stroke-dasharray": STROKES[Math.floor(c / data.palette.length) % 4] };
    for (const [name, value] of Object.entries(stroke)) line.setAttribute(name, value);
    const glyph = document.createElementNS(svg.namespaceURI, "text");
    for (const [name, value] of Object.entries({ x: "17", y: "11.5", "text-anchor": "middle", "font-size": "13", fill: data.palette[i] })) glyph.setAttribute(name, value);
    glyph.append(GLYPHS[i % GLYPHS.length]);
    svg.append(line, glyph);
    const pressed = state.lit?.contestant === c;
    const button = element("button", { type: "button", "aria-pressed": pressed, "data-contestant": c }, svg, data.contestants[c]);
    button.addEventListener("click", () => (state.lit?.contestant === c ? light(c, state.lit.program) : light(c, null)));
    return element("li", {}, button);
  }));
  if (focused !== undefined) $("legend").querySelector(`[data-contestant="${focused}"]`)?.focus();
}

// --- everything together ---------------------------------------------------------------------

function update() {
  const rows = visible();
  const contestants = unique(rows.map((r) => r.contestant)).sort(ascending);
  const programs = unique(rows.map((r) => r.program)).sort(ascending);
  const pairs = new Set(rows.map((r) => `${r.program},${r.contestant}`));
  const ranked = contestants.filter((c) => data.ranked[c]);
  writeFilters();
  writeLegend(ranked);
  drawProfile(programs, ranked);
  drawCurves(programs, pairs);
  writeRows(rows);
  const count = rows.filter(lit).length;
  const left = `${rows.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} measurements: ${contestants.length} contestants on ${programs.length} programs.`;
  $("left").textContent = left + (state.lit === null ? "" : ` Highlighted, and first in the table: ${count} of ${data.contestants[state.lit.contestant]}`
    + (state.lit.program === null ? "." : ` on ${data.programs[state.lit.program].name}.`));
}
function step(by) {
  const options = [...$("program").options].map((o) => Number(o.value));
  state.program = options[options.indexOf(state.program) + by];
  update();
}
makeFilters();
makeHeads();
$("kind").addEventListener("change", () => { state.kind = $("kind").value; update(); });
$("program").addEventListener("change", () => { state.program = Number($("program").value); update(); });
$("previous").addEventListener("click", () => step(-1));
$("next").addEventListener("click", () => step(1));
$("close").addEventListener("click", () => $("details").close());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
window.addEventListener("beforeprint", () => { state.paper = true; update(); });
window.addEventListener("afterprint", () => { state.paper = false; update(); });
update();
})();
