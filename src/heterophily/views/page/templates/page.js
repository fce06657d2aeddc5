"use strict";
// Draws charts in the colors of the page, sorts and filters the leaderboard, switches the dataset, selects methods,
// and copies commands. Without this script, the page still contains all text and tables.

const figures = JSON.parse(document.getElementById("figures").textContent);
const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const announce = (sentence) => { one("#said").textContent = sentence; };

/* Selected methods */

const boxes = all("#chooser input[type=checkbox]");
const known = new Set(boxes.map((box) => box.value));
const isChosen = (method) => !known.has(method) || boxes.find((box) => box.value === method).checked;

/* Charts */

const DASHES = ["solid", "dot", "dashdot"];
const SYMBOLS = ["circle", "square", "triangle-up"];
const PATTERNS = ["", "/", "."];
const drawn = new Set();

function theme() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    color,
    series: Array.from({ length: 8 }, (_, i) => color(`series-${i + 1}`)),
    scales: {
      plain: [[0, color("heat-0")], [1, color("heat-1")]],
      signed: [[0, color("minus")], [0.5, color("heat-0")], [1, color("heat-1")]],
    },
  };
}

function painted(trace, look) {
  const meta = trace.meta ?? {};
  const copy = { ...trace, showlegend: false, visible: meta.method === undefined || isChosen(meta.method) };
  if (meta.scale) {
    const textfont = { ...trace.textfont, color: look.color("ink") };
    return { ...copy, colorscale: look.scales[meta.scale], textfont };
  }
  const roles = { paper: "ink", ink: "ink", accent: "accent", quiet: "quiet" };
  const turn = Math.floor((meta.series ?? 0) / 8) % 3;
  const color = roles[meta.role] ? look.color(roles[meta.role]) : look.series[(meta.series ?? 0) % 8];
  if (trace.type === "bar") {
    copy.marker = { color, pattern: { shape: PATTERNS[turn], size: 6, fillmode: "replace" }, ...trace.marker };
    return copy;
  }
  copy.line = { color, dash: DASHES[turn], ...trace.line };
  copy.marker = { color, symbol: SYMBOLS[turn], ...trace.marker };
  if (trace.error_x) copy.error_x = { ...trace.error_x, color };
  return copy;
}

function arranged(layout, look, narrow) {
  const ink = look.color("ink"), quiet = look.color("quiet"), rule = look.color("rule");
  const axis = (given = {}) => ({
    automargin: true, fixedrange: true, gridcolor: rule, linecolor: rule, zerolinecolor: quiet, zeroline: false,
    tickfont: { color: quiet }, ...given,
    title: { font: { color: quiet, size: 12 }, standoff: 8, ...given.title },
  });
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false, hovermode: "closest",
    font: { family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 12, color: ink },
    hoverlabel: { bgcolor: look.color("raised"), bordercolor: rule, font: { color: ink } },
    margin: { l: 8, r: 12, t: 8, b: 8 },
    ...layout, xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
  };
}

function draw(place) {
  if (typeof Plotly === "undefined" || place.clientWidth === 0) return;
  const { data, layout } = figures[place.dataset.figure];
  const look = theme();
  drawn.add(place);
  Plotly.react(
    place, data.map((trace) => painted(trace, look)), arranged(layout, look, place.clientWidth < 480),
    { displaylogo: false, responsive: true, displayModeBar: false },
  );
  const methods = data.map((trace) => trace.meta?.method);
  const empty = methods.every((method) => method !== undefined && !isChosen(method));
  place.closest("figure").hidden = empty;
}

const redraw = () => drawn.forEach(draw);
const watcher = new IntersectionObserver(
  (entries) => entries.filter((e) => e.isIntersecting && !drawn.has(e.target)).forEach((e) => draw(e.target)),
  { rootMargin: "300px" },
);
all(".chart").forEach((place) => watcher.observe(place));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  all(".chart").forEach(draw);
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  redraw();
});

/* The leaderboard */

const board = one("#board");

function compare(a, b, column, direction) {
  const [x, y] = [a, b].map((row) => row.cells[column].dataset.value);
  if (x === "" || y === "") return (x === "") - (y === "");
  const [m, n] = [Number(x), Number(y)];
  const order = Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y) : m - n;
  return direction === "ascending" ? order : -order;
}

function sort(button) {
  const heading = button.closest("th");
  const first = button.dataset.first;
  const other = first === "ascending" ? "descending" : "ascending";
  const direction = heading.ariaSort === first ? other : first;
  all("th[aria-sort]", board).forEach((th) => th.setAttribute("aria-sort", "none"));
  heading.setAttribute("aria-sort", direction);
  const rows = [...board.tBodies[0].rows];
  rows.sort((a, b) => compare(a, b, heading.cellIndex, direction));
  board.tBodies[0].append(...rows);
  announce(`Sorted by ${button.textContent}, ${direction}`);
}

function showChosen() {
  const query = (one("#filter")?.value ?? "").trim().toLowerCase();
  all("tr[data-method]").forEach((row) => {
    row.hidden = !isChosen(row.dataset.method) || !row.dataset.method.toLowerCase().includes(query);
  });
  all("li[data-method], details[data-method]").forEach((item) => {
    item.hidden = !isChosen(item.dataset.method);
  });
  if (boxes.length) {
    const count = boxes.filter((box) => box.checked).length;
    one("#chosen").textContent = count === boxes.length ? `${count}` : `${count} of ${boxes.length}`;
  }
}

if (board) {
  all("th button", board).forEach((button) => button.addEventListener("click", () => sort(button)));
  one("#filter").addEventListener("input", showChosen);
  one("#show-paper")?.addEventListener("change", (event) => board.classList.toggle("hide-paper", !event.target.checked));
  boxes.forEach((box) => box.addEventListener("change", () => { showChosen(); redraw(); }));
  all("[data-choose]").forEach((button) => button.addEventListener("click", () => {
    boxes.forEach((box) => { box.checked = button.dataset.choose === "all"; });
    showChosen();
    redraw();
  }));
}

/* The dataset switch */

const picker = one("#dataset");

function show(number) {
  picker.value = number;
  all("[data-panel]").forEach((panel) => { panel.hidden = panel.dataset.panel !== number; });
  all("#board [data-dataset]").forEach((cell) => cell.classList.toggle("current", cell.dataset.dataset === number));
}

function follow() {
  const cell = location.hash.startsWith("#cell-") && one(location.hash);
  if (!cell) return;
  show(cell.closest("[data-panel]").dataset.panel);
  cell.open = true;
  cell.scrollIntoView();
  one("summary", cell).focus({ preventScroll: true });
}

if (picker) {
  show("0");
  picker.addEventListener("change", () => {
    show(picker.value);
    announce(`Dataset ${picker.selectedOptions[0].textContent}`);
    const head = one(`#panel-${picker.value}`);
    const bounds = one("#dataset-view").getBoundingClientRect();
    if (bounds.top > innerHeight || bounds.bottom < 0 || bounds.top < 0) head.scrollIntoView();
  });
  addEventListener("hashchange", follow);
  all("#board td a").forEach((link) => link.addEventListener("click", () => {
    if (link.hash === location.hash) follow();
  }));
  follow();
}

/* Menus and copy buttons */

const chooser = one("#chooser");
addEventListener("click", (event) => {
  if (chooser?.open && !chooser.contains(event.target)) chooser.open = false;
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !chooser?.open) return;
  chooser.open = false;
  one("summary", chooser).focus();
});

all(".copy").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      announce("Copied");
      button.firstChild.textContent = "Copied";
      setTimeout(() => { button.firstChild.textContent = "Copy"; }, 1500);
    } catch {
      getSelection().selectAllChildren(code);
      announce("Selected; copy it with the keyboard");
    }
  });
});
