"use strict";
// Sorts and filters the leaderboard, switches the dataset, selects methods, shows values under the pointer, and copies
// commands. Without this script, the page still contains all text, tables, and charts.

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const announce = (sentence) => { one("#said").textContent = sentence; };

/* Selected methods */

const boxes = all("#chooser input[type=checkbox]");
const known = new Set(boxes.map((box) => box.value));
const isChosen = (method) => !known.has(method) || boxes.find((box) => box.value === method).checked;

/* Charts */

function showCharts() {
  all("svg [data-method]").forEach((mark) => mark.toggleAttribute("hidden", !isChosen(mark.dataset.method)));
  all("figure[data-methods]").forEach((figure) => { figure.hidden = !JSON.parse(figure.dataset.methods).some(isChosen); });
}

const tip = one("#tip");
const showTip = (event) => {
  const mark = event.target.closest?.("[data-tip]");
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.dataset.tip;
  const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 12, right))}px`;
  tip.style.top = `${event.clientY > 60 ? event.clientY - tip.offsetHeight - 12 : event.clientY + 20}px`;
};
addEventListener("pointermove", showTip);
addEventListener("pointerdown", showTip); // touch
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

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
  boxes.forEach((box) => box.addEventListener("change", () => { showChosen(); showCharts(); }));
  all("[data-choose]").forEach((button) => button.addEventListener("click", () => {
    boxes.forEach((box) => { box.checked = button.dataset.choose === "all"; });
    showChosen();
    showCharts();
  }));
}

/* The dataset switch */

const picker = one("#dataset");
const several = picker?.options.length > 1;

function show(number) {
  picker.value = number;
  all("[data-panel]").forEach((panel) => { panel.hidden = panel.dataset.panel !== number; });
  all("#board [data-dataset]").forEach((cell) => cell.classList.toggle("current", several && cell.dataset.dataset === number));
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
