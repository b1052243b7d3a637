"use strict";
// Everything is there without this; it sorts, filters and saves tables, copies commands, plays the films of a pair
// together, lends films to where they are shown again, marks the section in view and unfolds what a link leads to.
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
// Controls would hide what is to be seen, but for who cannot point.
const quietly = (film) => {
  if (!window.matchMedia("(hover: hover)").matches) return;
  film.controls = false;
  film.tabIndex = 0;
  for (const event of ["pointerenter", "focus", "play"]) film.addEventListener(event, () => { film.controls = true; });
  film.addEventListener("pointerleave", () => { film.controls = !film.paused; });
};
// A film is within the page once: elsewhere it is shown by the same source, from the moment that matters.
for (const link of document.querySelectorAll("a[data-film]")) {
  const film = document.getElementById(link.dataset.film)?.querySelector("video");
  if (!film) continue;
  const copy = film.cloneNode();
  const start = Number(link.dataset.start);
  copy.src = `${film.src.split("#")[0]}#t=${start}`;
  copy.preload = "metadata";
  quietly(copy);
  // What is seen first is the failure, and what is played is all of it.
  copy.addEventListener("play", () => { copy.currentTime = 0; }, { once: true });
  link.replaceWith(copy);
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
    quietly(film);
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
// As a file that a spreadsheet opens and does not calculate with: what begins like a formula and is neither a number nor
// a number with its interval, as "-12 [-20, -4]", is marked as text.
const NUMBER = String.raw`[+−-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?%?`;
const NUMBERS = new RegExp(`^${NUMBER}( \\[${NUMBER}, ${NUMBER}\\])?$`);
const field = (text) => {
  const words = text.replace(/\s+/g, " ").trim();
  const safe = /^[=+\-@＝＋－＠]/.test(words) && !NUMBERS.test(words) ? `'${words}` : words;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
// What says no more than its numbers do, as "83% [76, 88]", "1,200" or "<0.001".
const FIGURE = /^(—|<?[+−-]?[\d,]*\.?\d+(e[+-]?\d+)?%?( \[[^\]]*\])?( [^\d\s]+)?)?$/;
const asCsv = (table) => {
  const heads = Array.from(table.tHead.rows[0].cells);
  const rows = Array.from(table.tBodies[0].rows);
  const columns = heads.flatMap((head, at) => {
    const cells = rows.map((row) => row.cells[at]);
    // Not what is drawn, which has a text for who cannot see it.
    const text = (cell) => cell.querySelector("bdi, .chip")?.textContent.trim() ?? "";
    if (!cells.some(text)) return [];
    const name = Array.from(head.childNodes).filter((one) => one.nodeName !== "svg").map((one) => one.textContent).join("");
    const shown = [name, (row) => text(row.cells[at])];
    const has = (key) => cells.some((cell) => cell.dataset[key] !== undefined);
    if (!has("sort") || !(head.classList.contains("number") || head.querySelector("svg"))) return [shown];
    const number = (title, key) => [title, (row) => row.cells[at].dataset[key] ?? ""];
    const values = cells.every((cell) => FIGURE.test(text(cell))) ? [number(name, "sort")] : [shown, number(`${name} (number)`, "sort")];
    return has("low") ? [...values, number(`${name} low`, "low"), number(`${name} high`, "high")] : values;
  });
  const lines = [columns.map(([name]) => field(name)), ...rows.map((row) => columns.map(([, of]) => field(of(row))))];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
};
document.querySelectorAll(".scroll > table").forEach((table, at) => {
  if (table.tBodies[0].rows.length < 2) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "csv";
  button.textContent = "save as CSV";
  button.setAttribute("aria-label", `Save as CSV: ${table.caption.textContent}`);
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([asCsv(table)], { type: "text/csv;charset=utf-8" }));
    link.download = `robodx-${table.closest("section").id}-${at + 1}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  table.parentElement.after(button);
});
// Served by the viewer, its links stay there; else they need it to be running, and keep the page.
const isInViewer = location.protocol.startsWith("http") && location.pathname.startsWith("/report/");
for (const link of document.querySelectorAll("a.watch")) {
  if (isInViewer) {
    link.href = `/${link.dataset.open}`;
    link.removeAttribute("title");
  } else {
    link.target = "_blank";
    link.rel = "noopener";
    // What opens may be nothing: then this stands beside the link, for who comes back.
    link.addEventListener("click", () => {
      const needs = document.createElement("span");
      const command = document.createElement("code");
      needs.className = "needs";
      command.textContent = link.dataset.view;
      needs.append("Needs ", command, ` to be running, at ${new URL(link.href).host}.`);
      link.after(needs);
    }, { once: true });
  }
}
if (isInViewer) for (const one of document.querySelectorAll(".outside-viewer")) one.hidden = true;
// What a link leads to may be folded.
const unfold = () => {
  let target = null;
  try {
    target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return;
  }
  if (!target) return;
  const own = target.querySelector(":scope > details.section");
  if (own) own.open = true;
  for (let one = target.parentElement; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  target.scrollIntoView();
};
window.addEventListener("hashchange", unfold);
// To the same place once more changes no address.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link && link.hash === location.hash) setTimeout(unfold);
});
unfold();
// The section in view, in the contents.
const entries = Array.from(document.querySelectorAll("nav a"), (link) => [link, document.getElementById(link.hash.slice(1))]);
let current = null;
const mark = () => {
  const line = document.querySelector("nav").getBoundingClientRect().height < innerHeight / 3 ? 80 : innerHeight / 4;
  const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2 && scrollY > 0;
  const above = entries.filter(([, section]) => section.getBoundingClientRect().top <= line);
  const [link] = (isAtEnd ? entries.filter(([, section]) => section.getBoundingClientRect().top < innerHeight) : above).at(-1) ?? entries[0];
  if (link === current) return;
  current?.removeAttribute("aria-current");
  link.setAttribute("aria-current", "true");
  current = link;
  const list = link.closest("ol");
  if (list.scrollWidth > list.clientWidth) list.scrollLeft = link.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
};
let isWaiting = false;
const markSoon = () => {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => { isWaiting = false; mark(); });
};
for (const event of ["scroll", "resize", "toggle"]) window.addEventListener(event, markSoon, { passive: true, capture: true });
mark();
// On paper there is nothing to click on.
const folded = () => document.querySelectorAll("details:not([open])");
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = Array.from(folded());
  for (const one of opened) one.open = true;
});
window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
