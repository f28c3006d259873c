"use strict";
// Tables sort by a button in each heading: with a mouse, or with Tab and Enter.
function key(row, column) {
  const cell = row.cells[column];
  return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
}
function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b || 0;
  if (typeof a === typeof b) return a.localeCompare(b);
  return typeof a === "number" ? -1 : 1;
}
function sort(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const head = heads[column];
  const first = head.classList.contains("n") ? "descending" : "ascending";
  const other = first === "ascending" ? "descending" : "ascending";
  const order = head.getAttribute("aria-sort") === first ? other : first;
  const sign = order === "ascending" ? 1 : -1;
  for (const each of heads) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  for (const body of table.tBodies) {
    const rows = [...body.rows].map((row) => [key(row, column), row]);
    rows.sort((a, b) => sign * compare(a[0], b[0]));
    body.append(...rows.map((pair) => pair[1]));
  }
}
for (const table of document.querySelectorAll("table[data-sortable]")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, column));
    head.append(button);
  });
}
// On paper nothing can be unfolded.
window.addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
});
