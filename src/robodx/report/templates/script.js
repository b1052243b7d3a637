"use strict";
// Everything is there without this; it sorts and filters long tables, copies commands, plays the films of a pair
// together and folds the list on a phone.
for (const table of document.querySelectorAll("table.long")) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const bar = document.createElement("p");
  bar.className = "filter";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Filter, as: language hard";
  input.setAttribute("aria-label", "Filter the rows by words");
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  const tell = (shown) => { count.textContent = `${shown} of ${rows.length} rows`; };
  const texts = rows.map((row) => row.textContent.toLowerCase());
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      row.hidden = !words.every((word) => texts[at].includes(word));
      if (!row.hidden) shown += 1;
    });
    tell(shown);
  });
  tell(rows.length);
  bar.append(input, count);
  table.parentElement.before(bar);
  Array.from(table.tHead.rows[0].cells).forEach((head, at) => {
    if (head.querySelector("svg")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[at];
        if (cell.dataset.sort === undefined) return head.classList.contains("number") ? null : cell.textContent;
        const value = Number(cell.dataset.sort);
        return Number.isNaN(value) ? cell.dataset.sort : value;
      };
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        // What is unknown comes last either way.
        if (x === null || y === null) return (x === null) - (y === null);
        const by = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return falls ? -by : by;
      };
      body.append(...rows.slice().sort(order));
    });
  });
}
for (const pair of document.querySelectorAll(".pair")) {
  const films = Array.from(pair.querySelectorAll("video"));
  if (films.length < 2) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "both";
  const isPlaying = () => films.some((film) => !film.paused && !film.ended);
  const tell = () => { button.textContent = isPlaying() ? "❚❚ Pause" : "▶ Play both"; };
  button.addEventListener("click", () => {
    if (isPlaying()) return films.forEach((film) => film.pause());
    const isOver = films.every((film) => film.ended);
    for (const film of films) {
      if (isOver) film.currentTime = 0;
      if (!film.ended) film.play().catch(() => {});
    }
  });
  for (const film of films) {
    // They would hide what differs.
    film.controls = false;
    film.addEventListener("pointerenter", () => { film.controls = true; });
    film.addEventListener("pointerleave", () => { film.controls = false; });
    for (const event of ["play", "pause", "ended"]) film.addEventListener(event, tell);
  }
  tell();
  pair.after(button);
}
for (const code of document.querySelectorAll("code.command")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  button.setAttribute("aria-label", `Copy ${code.textContent}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
  code.after(button);
}
if (window.matchMedia("(max-width: 1100px)").matches) document.querySelector("nav details").open = false;
// On paper there is nothing to click on.
const folded = () => document.querySelectorAll("details:not([open])");
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = Array.from(folded());
  for (const one of opened) one.open = true;
});
window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
