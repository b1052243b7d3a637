// The list of episodes: only the rows in view exist, and only the pages in view are fetched.

import { ask, clipped, clippedWithin, el, outcomeMark } from "./dom.js";

const ROW = 50;
const PAGE = 100;
const MARGIN = 6;

export const keyOf = (row) => `${row.run}.${row.trial_id}`;

export class EpisodeList {
  constructor(box, rows, { onOpen, onCompare, onAnswer, onError }) {
    Object.assign(this, { box, rows, onOpen, onCompare, onAnswer, onError });
    this.pages = new Map();
    this.waiting = new Set();
    this.matching = 0;
    this.query = "";
    this.asked = 0;
    this.at = -1;
    this.atKey = null;
    this.openKeys = [];
    this.showsRun = false;
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // A new question: from the top, or to the episode that is open.
  async show(query) {
    this.query = query;
    const answer = await this.#fetch(0, [this.openKeys[0], this.atKey]);
    if (!answer) return;
    const [open, at] = answer.places;
    this.at = at ?? open ?? -1;
    if (this.at < 0) this.atKey = null;
    this.box.scrollTop = 0;
    this.#take(answer);
    if (open !== null && open !== undefined) this.#reveal(open);
  }

  // The same question again, of a run that went on: what is looked at stays where it is.
  async refresh() {
    const first = Math.floor(this.box.scrollTop / ROW);
    const anchor = this.row(first);
    const page = Math.floor(first / PAGE);
    const answer = await this.#fetch(page, [anchor && keyOf(anchor), this.atKey]);
    if (!answer) return;
    const [place, at] = answer.places;
    this.at = at ?? -1;
    const offset = this.box.scrollTop - first * ROW;
    this.#take(answer);
    if (this.box.scrollTop > 0 && place !== null && place !== undefined) this.box.scrollTop = place * ROW + offset;
    this.draw();
  }

  row(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  move(by) {
    if (!this.matching) return;
    const from = this.at < 0 ? (by > 0 ? -1 : 0) : this.at;
    this.at = Math.max(0, Math.min(this.matching - 1, from + by));
    const row = this.row(this.at);
    this.atKey = row ? keyOf(row) : null;
    this.#reveal(this.at);
    this.draw();
  }

  openCurrent(isCompared) {
    const row = this.row(this.at);
    if (row) (isCompared ? this.onCompare : this.onOpen)(row);
  }

  setOpen(keys) {
    this.openKeys = keys.filter(Boolean);
    this.draw();
  }

  #reveal(index) {
    const top = index * ROW;
    const view = this.box.clientHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + ROW > this.box.scrollTop + view) this.box.scrollTop = top + ROW - view;
  }

  async #fetch(page, located) {
    const number = ++this.asked;
    // A null stays in its place, so that answers are in the order of the questions.
    const locate = located.map((key) => `&locate=${encodeURIComponent(key || ".")}`).join("");
    try {
      const answer = await ask(`/api/episodes?${this.query}&offset=${page * PAGE}&limit=${PAGE}${locate}`);
      return number === this.asked ? answer : null;
    } catch (error) {
      if (number === this.asked) this.onError(error);
      return null;
    }
  }

  #take(answer) {
    this.pages = new Map([[answer.offset / PAGE, answer.rows]]);
    this.waiting.clear();
    this.matching = answer.matching;
    this.rows.style.height = `${answer.matching * ROW}px`;
    this.onAnswer(answer);
    this.draw();
  }

  async #fetchPage(page) {
    if (this.waiting.has(page)) return;
    this.waiting.add(page);
    const number = this.asked;
    try {
      const answer = await ask(`/api/episodes?${this.query}&offset=${page * PAGE}&limit=${PAGE}`);
      if (number !== this.asked) return;
      this.pages.set(page, answer.rows);
      const row = this.row(this.at);
      if (row && !this.atKey) this.atKey = keyOf(row);
      this.draw();
    } catch (error) {
      this.onError(error);
    } finally {
      this.waiting.delete(page);
    }
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - MARGIN);
    const last = Math.min(this.matching - 1, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + MARGIN);
    const drawn = [];
    for (let index = first; index <= last; index++) {
      const row = this.row(index);
      if (!row) this.#fetchPage(Math.floor(index / PAGE));
      drawn.push(this.#draw(index, row));
    }
    this.rows.replaceChildren(...drawn);
    if (this.at >= first && this.at <= last) this.box.setAttribute("aria-activedescendant", `row-${this.at}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  #draw(index, row) {
    const names = ["row"];
    const isOpen = row && this.openKeys.includes(keyOf(row));
    if (index === this.at) names.push("at");
    if (isOpen) names.push("open");
    const node = el("div", {
      class: names.join(" "), role: "option", id: `row-${index}`, "aria-selected": isOpen ? "true" : "false",
      "aria-posinset": index + 1, "aria-setsize": this.matching,
    });
    node.style.top = `${index * ROW}px`;
    if (!row) {
      node.append(el("span", { class: "muted", text: "…" }));
      return node;
    }
    node.dataset.key = keyOf(row);
    node.addEventListener("click", (event) => {
      this.at = index;
      this.atKey = keyOf(row);
      (event.shiftKey ? this.onCompare : this.onOpen)(row);
    });
    const seed = el("span", {
      class: "muted seed", text: `s${row.seed}${row.repeat ? ` r${row.repeat}` : ""}`,
      title: `seed ${row.seed}${row.repeat ? `, repeat ${row.repeat}` : ""}`,
    });
    const second = el("div", { class: "row-second" }, seed);
    if (row.variant !== "clean") second.append(clipped(row.variant, "chip variant"));
    if (row.kind) second.append(clipped(row.kind, "chip kind"));
    if (this.showsRun) second.append(clipped(row.policy, "chip policy"));
    second.append(clipped(row.said, "muted said"));
    node.append(
      outcomeMark(row.outcome),
      el("div", { class: "row-text" },
        clippedWithin(row.task, "task"), second),
      el("div", { class: "row-side muted" },
        el("div", { text: row.duration_s === null ? "" : `${row.duration_s.toFixed(2)} s` }),
        el("div", { text: row.film === "filmed" ? "video" : "", class: "film-mark" })));
    return node;
  }
}
