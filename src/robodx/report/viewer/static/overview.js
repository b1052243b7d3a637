// The tasks (or families, or tiers) of what is chosen: success with its interval, how it failed, and every seed.

import { GLYPHS, ask, clipped, clippedWithin, el, outcomeClass } from "./dom.js";

// Of a row in a narrow list or on a phone; CSS shows one of the two limits.
const FEW_MARKS = 15;
const KINDS = ["reference", "constraint", "motor", "safety", "timeout", "invalid_action"];
const HEADS = [["name", "name", ""], ["success", "success", "with its 95% interval; n counts distinct situations"], ["failures", "outcomes", "solved, and how the others failed; sorts by failures"],
  ["time", "time", "median time of an episode"], [null, "seeds", "every episode; each opens it"]];

const percent = (value) => Math.round(100 * value);
const kindClass = (kind) => (KINDS.includes(kind) ? `kind-${kind}` : "kind-other");
const keyOfMark = (row, mark) => `${row.run}.${mark.trial_id}`;

export class Overview {
  constructor(box, { onOpen, onCompare, onOrder, onFilter, onError }) {
    Object.assign(this, { box, onOpen, onCompare, onOrder, onFilter, onError });
    this.query = "";
    this.asked = 0;
    this.answer = null;
    this.openKeys = [];
    box.addEventListener("keydown", (event) => this.#aside(event));
  }

  // `state` tells what the rows are of, and their order.
  async show(query, state) {
    this.state = state;
    if (query === this.query) return;
    this.query = query;
    await this.#fetch(1);
    this.box.scrollTop = 0;
  }

  // As many rows again, of a run that went on.
  async refresh() {
    if (this.answer) await this.#fetch(this.answer.pages);
  }

  setOpen(keys) {
    this.openKeys = keys.filter(Boolean);
    for (const node of this.box.querySelectorAll(".seed-mark")) this.#current(node);
  }

  // From row to row, by their names.
  move(by) {
    const names = [...this.box.querySelectorAll(".task-name")];
    const at = names.indexOf(document.activeElement?.closest(".task-row")?.querySelector(".task-name"));
    names[Math.max(0, Math.min(names.length - 1, at + by))]?.focus();
  }

  focus() {
    (this.box.querySelector(".seed-mark[aria-current]") || this.box).focus({ preventScroll: true });
  }

  async #fetch(pages, before = []) {
    const number = ++this.asked;
    try {
      let answer = null;
      let rows = before;
      for (let page = before.length ? pages - 1 : 0; page < pages; page++) {
        answer = await ask(`/api/overview?${this.query}&offset=${rows.length}`);
        if (number !== this.asked) return;
        rows = [...rows, ...answer.rows];
        if (rows.length >= answer.total) break;
      }
      this.answer = { ...answer, rows, pages };
      this.draw();
    } catch (error) {
      this.onError(error);
    }
  }

  draw() {
    const { rows, total, outside, without, problems, several, pages } = this.answer;
    const focused = document.activeElement?.dataset?.at;
    const parts = problems.map((text) => el("p", { class: "warning", text: `⚠ ${text}`, dir: "auto" }));
    const notes = [];
    if (rows.some((row) => row.found < row.episodes)) notes.push("Rates and times are of all episodes of a row; marks are those that match the filters.");
    if (outside) notes.push(`${outside} episode${outside === 1 ? " is" : "s are"} in no row: ${outside === 1 ? "its situation was" : "their situations were"} changed to decide on a cause. The list has all.`);
    if (without) notes.push(`${without} episode${without === 1 ? " is of a task" : "s are of tasks"} without a ${this.state.by}.`);
    if (notes.length) parts.push(el("p", { class: "muted small", text: notes.join(" ") }));
    if (rows.length) parts.push(legend(rows), el("div", { class: "task-table", role: "table", "aria-label": `Success by ${this.state.by}` }, this.#heads(), ...rows.map((row, at) => this.#row(row, at, several))));
    else if (!problems.length && !outside && !without) parts.push(el("p", { class: "muted", text: "Nothing matches." }));
    if (rows.length < total) parts.push(el("button", { type: "button", class: "more-rows", text: `Show more (${total - rows.length} left)`, on: { click: () => this.#fetch(pages + 1, rows) } }));
    this.box.replaceChildren(...parts);
    if (focused) this.box.querySelector(`[data-at="${CSS.escape(focused)}"]`)?.focus();
  }

  #heads() {
    return el("div", { class: "task-heads", role: "row" }, ...HEADS.map(([order, text, title]) => {
      const isIt = order === this.state.order;
      const sign = isIt ? (this.state.falls ? " ↓" : " ↑") : "";
      return el("div", { role: "columnheader", title, "aria-sort": isIt ? (this.state.falls ? "descending" : "ascending") : null },
        order ? el("button", { type: "button", text: `${order === "name" ? this.state.by : text}${sign}`, on: { click: () => this.onOrder(order) } }) : text);
    }));
  }

  #row(row, at, several) {
    const name = el("button", { type: "button", class: "task-name", "data-at": `${row.run} ${row.policy} ${row.name} ${row.variant}`, title: `${row.name}: list its episodes`, "aria-label": row.name, on: { click: () => this.onFilter(row, several) } }, clippedWithin(row.name));
    const about = el("p", { class: "row-second" });
    if (several.includes("variant") || row.variant !== "clean") about.append(clipped(row.variant, "chip variant"));
    if (several.includes("policy")) about.append(clipped(row.policy, "chip policy"));
    if (several.includes("run")) about.append(clipped(`in ${row.run_name}`, "muted run-name"));
    about.append(el("span", { class: "muted nowrap", text: this.state.by === "task" ? [row.of_family, row.of_tier].filter(Boolean).join(", ") : `${row.tasks} task${row.tasks === 1 ? "" : "s"}` }));
    return el("div", { class: "task-row", role: "row" },
      el("div", { class: "task-about", role: "rowheader" }, name, about),
      el("div", { class: "task-success", role: "cell" }, whisker(row), el("span", { class: "rate", text: rateText(row), title: rateTitle(row) })),
      el("div", { class: "task-failures", role: "cell" }, shares(row), clipped(kindsText(row) || "all solved", `muted small${kindsText(row) ? "" : " none"}`)),
      el("div", { class: "task-time muted", role: "cell", text: row.median_s === null ? "–" : `${row.median_s.toFixed(1)} s`, title: row.median_steps === null ? "" : `median of ${Math.round(row.median_steps)} steps` }),
      el("div", { class: "task-marks", role: "cell" }, ...this.#marks(row, several)));
  }

  #marks(row, several) {
    const nodes = row.marks.map((mark, at) => {
      const says = [this.state.by === "task" ? "" : mark.task, `seed ${mark.seed}`, mark.repeat ? `repeat ${mark.repeat}` : "", mark.outcome, mark.kind && mark.kind !== mark.outcome ? mark.kind : ""].filter(Boolean).join(", ");
      const key = keyOfMark(row, mark);
      const node = el("button", { type: "button", class: `seed-mark${at >= FEW_MARKS ? " many" : ""}`, "data-key": key, "data-at": key, tabindex: at ? -1 : 0, title: says, "aria-label": says,
        on: { click: (event) => (event.shiftKey ? this.onCompare : this.onOpen)(key) } },
      el("span", { class: `mark ${GLYPHS[mark.outcome] ? outcomeClass(mark.outcome) : "unknown"}`, text: GLYPHS[mark.outcome] || "?", "aria-hidden": "true" }));
      this.#current(node);
      return node;
    });
    const more = (shown, names) => (row.found > shown ? [el("button", { type: "button", class: `more-marks ${names}`, text: `+${row.found - shown}`, title: "List all of them", "aria-label": `${row.found - shown} more: list all`, on: { click: () => this.onFilter(row, several) } })] : []);
    return [...nodes, ...more(Math.min(FEW_MARKS, row.marks.length), "few"), ...more(row.marks.length, "many")];
  }

  #current(node) {
    if (this.openKeys.includes(node.dataset.key)) node.setAttribute("aria-current", "true");
    else node.removeAttribute("aria-current");
  }

  // Left and right go from seed to seed of a row: only the first of them is reached by Tab.
  #aside(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const row = event.target.closest(".task-row");
    if (!by || !row) return;
    event.preventDefault();
    const marks = [...row.querySelectorAll(".seed-mark, .more-marks")].filter((node) => node.getClientRects().length);
    const at = marks.indexOf(event.target);
    if (at + by < 0) row.querySelector(".task-name").focus();
    else marks[Math.min(at + by, marks.length - 1)]?.focus();
  }
}

function rateText({ success, low, high, n }) {
  if (success === null) return `too many errors, n = ${n}`;
  const interval = low === null ? "" : ` [${percent(low)}, ${percent(high)}]`;
  return `${percent(success)}%${interval}, n = ${n}`;
}

function rateTitle(row) {
  return `${row.solved} of ${row.episodes - row.errors} episodes solved${row.errors ? `, ${row.errors} errors` : ""}`;
}

// The interval as a line from 0 to 1, the rate as a point on it.
function whisker({ success, low, high }) {
  const box = el("span", { class: "whisker", "aria-hidden": "true" });
  if (success === null) return box;
  if (low !== null) {
    const line = el("i", { class: "whisker-line" });
    line.style.left = `${100 * low}%`;
    line.style.right = `${100 * (1 - high)}%`;
    box.append(line);
  }
  const point = el("i", { class: "whisker-point" });
  point.style.left = `${100 * success}%`;
  box.append(point);
  return box;
}

function kindsText(row) {
  return [...row.kinds.map(({ kind, count }) => `${kind.replaceAll("_", " ")} ${count}`), ...(row.errors ? [`error ${row.errors}`] : [])].join(", ");
}

function shares(row) {
  const box = el("span", { class: "shares", role: "img", "aria-label": `${row.solved} solved${row.failures || row.errors ? `; ${kindsText(row)}` : ""}` });
  // In one order, so that rows can be compared.
  const kinds = [...row.kinds].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  for (const [names, count, text] of [["success", row.solved, "solved"], ...kinds.map(({ kind, count }) => [kindClass(kind), count, kind]), ["error", row.errors, "error"]]) {
    if (!count) continue;
    const share = el("i", { class: names, title: `${text}: ${count}` });
    share.style.flexGrow = count;
    box.append(share);
  }
  return box;
}

function legend(rows) {
  const found = new Set(rows.flatMap((row) => row.kinds.map(({ kind }) => kind)));
  const keys = [["success", "solved"], ...[...KINDS, ...[...found].filter((kind) => !KINDS.includes(kind)).slice(0, 1)].filter((kind) => found.has(kind)).map((kind) => [kindClass(kind), KINDS.includes(kind) ? kind.replaceAll("_", " ") : "other"]),
    ...(rows.some((row) => row.errors) ? [["error", "error"]] : [])];
  return el("p", { class: "task-legend", "aria-label": "Colours" }, ...keys.map(([names, text]) => el("span", { class: "key" }, el("i", { class: names }), el("span", { text }))));
}
