// The viewer: what is chosen lives in the address, and everything shown follows from it.

import { Clock } from "./clock.js";
import { ask, clipped, clippedWithin, el, outcomeClass, outcomeMark } from "./dom.js";
import { endOf, show } from "./episode.js";
import { FILMED } from "./filming.js";
import { EpisodeList, keyOf } from "./list.js";

const POLL_MS = 2000;
const FACETS = [["outcome", "Outcome"], ["kind", "Failure"], ["variant", "Variant"], ["task", "Task"], ["policy", "Policy"], ["film", "Video"]];
const $ = (id) => document.getElementById(id);

const clock = new Clock();
let state = null;
let runs = [];
let version = "";
let shown = [];
let partners = [];
let drawn = 0;
let heard = "";

const list = new EpisodeList($("list"), $("rows"), {
  onOpen: (row) => change({ open: keyOf(row), with: null }),
  onCompare: (row) => change(state.open && state.open !== keyOf(row) ? { with: keyOf(row) } : { open: keyOf(row), with: null }),
  onAnswer: showAnswer,
  onError: (error) => tell(error),
});

// The address.

function read() {
  const words = new URLSearchParams(location.hash.slice(1));
  return {
    run: words.get("run"), text: words.get("text") || "", sort: words.get("sort") || "task", descending: words.get("descending") === "1",
    open: words.get("open"), with: words.get("with"), chosen: Object.fromEntries(FACETS.map(([name]) => [name, words.getAll(name)])),
  };
}

function write(next) {
  const words = new URLSearchParams();
  if (next.run !== null) words.set("run", next.run);
  for (const [name] of FACETS) for (const value of next.chosen[name]) words.append(name, value);
  if (next.text) words.set("text", next.text);
  if (next.sort !== "task") words.set("sort", next.sort);
  if (next.descending) words.set("descending", "1");
  if (next.open) words.set("open", next.open);
  if (next.with) words.set("with", next.with);
  return `#${words}`;
}

function change(changes, isTyping = false) {
  const next = { ...state, ...changes };
  history[isTyping ? "replaceState" : "pushState"](null, "", write(next));
  apply(next);
}

// Without a run in the address the one that changed last is shown, of several "" means all.
function runOf(next) {
  if (next.run !== null && (next.run === "" || runs.some((run) => run.id === next.run))) return next.run;
  const newest = [...runs].sort((a, b) => b.changed_s - a.changed_s)[0];
  return newest ? newest.id : "";
}

function queryOf(next) {
  const words = new URLSearchParams();
  words.set("run", runOf(next));
  for (const [name] of FACETS) for (const value of next.chosen[name]) words.append(name, value);
  words.set("text", next.text);
  words.set("sort", next.sort);
  if (next.descending) words.set("descending", "1");
  return words.toString();
}

function apply(next) {
  const before = state;
  state = next;
  list.setOpen([state.open, state.with]);
  list.showsRun = runOf(state) === "";
  const query = queryOf(state);
  if (query !== list.query) list.show(query);
  // A space between two words is typed before the second is.
  if ($("search").value.trim() !== state.text) $("search").value = state.text;
  $("sort").value = state.sort;
  $("direction").setAttribute("aria-pressed", String(state.descending));
  $("direction").textContent = state.descending ? "↑" : "↓";
  drawRuns();
  if (!before || before.open !== state.open || before.with !== state.with) showEpisodes();
}

// The runs and the list.

function drawRuns() {
  const chosen = runOf(state);
  const items = runs.map((run) => runItem(run, chosen));
  if (runs.length > 1) {
    const count = runs.reduce((sum, run) => sum + (run.episodes || 0), 0);
    items.unshift(el("button", { type: "button", class: "run", "aria-pressed": String(chosen === ""), on: { click: () => choose("") } },
      el("span", { class: "run-first" }, el("span", { class: "clip", text: "All runs" }), el("span", { class: "muted", text: count }))));
  }
  if (!runs.length) items.push(el("p", { class: "muted", text: "There are no runs here yet. They appear as robodx run writes them." }));
  const at = document.activeElement?.dataset?.run;
  $("runs").replaceChildren(...items);
  if (at !== undefined) $("runs").querySelector(`[data-run="${CSS.escape(at)}"]`)?.focus();
  drawReviews(runs.find((run) => run.id === chosen));
  const problems = chosen === "" ? [] : runs.find((run) => run.id === chosen)?.problems || [];
  $("problems").hidden = !problems.length;
  $("problems").replaceChildren(...problems.slice(0, 8).map((text) => el("p", { text: `⚠ ${text}`, title: text, dir: "auto" })));
}

// Of the chosen run, what people are asked to label, and how far the one who is named here is.
function drawReviews(run) {
  const lines = (run?.reviews || []).map((review) => (review.problem ? el("p", { class: "warning", text: `⚠ ${review.problem}` })
    : el("p", {}, el("a", { href: `/${review.page}#${new URLSearchParams({ run: run.id, review: review.name })}`, text: `${review.title} (${doneOf(review)} of ${review.items} done)` }))));
  if (run?.has_pairs && run.review_command && !lines.length) lines.push(el("p", { class: "muted" }, "For people to review its failures: ", el("code", { text: run.review_command })));
  $("reviews").hidden = !lines.length;
  $("reviews").replaceChildren(...lines);
}

function doneOf(review) {
  let annotator = null;
  try {
    annotator = localStorage.getItem("robodx.annotator");
  } catch {
    // Browsers may forbid to remember anything.
  }
  return annotator ? review.progress[annotator] || 0 : review.labelled;
}

function choose(run) {
  // What was chosen of one run may not exist in another; words and orders do.
  change({ run, chosen: Object.fromEntries(FACETS.map(([name]) => [name, []])) });
}

function runItem(run, chosen) {
  const { success = 0, failure = 0, timeout = 0, error = 0, "wrong object": wrong = 0 } = run.outcomes || {};
  const judged = success + failure + timeout + wrong;
  const rate = run.success === null || run.success === undefined ? "" : `${Math.round(100 * run.success)}%`;
  const solved = `${success} of ${judged} episodes solved${error ? `, ${error} errors` : ""}`;
  const shares = el("span", { class: "shares", "aria-hidden": "true" });
  for (const [name, count] of [["success", success], ["wrong object", wrong], ["failure", failure], ["timeout", timeout], ["error", error]]) {
    if (!count) continue;
    const share = el("i", { class: outcomeClass(name) });
    share.style.flexGrow = count;
    shares.append(share);
  }
  const marks = [];
  if (run.is_live) marks.push(el("span", { class: "live", text: "live", title: "This run is in progress; new episodes appear automatically" }));
  else if (run.is_unfinished) marks.push(el("span", { class: "muted small", text: "unfinished", title: "This run was stopped; the same command continues it" }));
  if (run.problems?.length) marks.push(el("span", { class: "warning", text: "⚠", role: "img", "aria-label": `${run.problems.length} problems`, title: run.problems.join("\n") }));
  return el("button", { type: "button", class: "run", "data-run": run.id, "aria-pressed": String(chosen === run.id), on: { click: () => choose(run.id) } },
    el("span", { class: "run-first" }, clipped(run.name), ...marks),
    el("span", { class: "run-second muted" }, clipped((run.policies || []).join(", ")),
      el("span", { class: "nowrap", text: run.is_review_alone ? "to be judged" : run.episodes === undefined ? "…" : `${rate ? `${rate} · ` : ""}${success}/${judged}`,
        title: run.is_review_alone ? "No episodes; pictures for people to judge" : `${rate ? `${rate} success: mean over tasks, without stress or real time, as in the report. ` : ""}${solved}.` })),
    shares);
}

function showAnswer(answer) {
  $("count").textContent = answer.matching === answer.total
    ? `${answer.total} episode${answer.total === 1 ? "" : "s"}, ${answer.solved} solved` : `${answer.matching} of ${answer.total}, ${answer.solved} solved`;
  const chosenCount = FACETS.reduce((sum, [name]) => sum + state.chosen[name].length, 0);
  $("clear").hidden = !chosenCount && !state.text;
  $("chosen-count").textContent = chosenCount ? `(${chosenCount} chosen)` : "";
  drawFacets(answer);
}

function drawFacets({ facets, matching }) {
  const focused = document.activeElement?.dataset?.facet;
  const scrolled = new Map([...$("facets").querySelectorAll("fieldset")].map((box) => [box.dataset.name, box.querySelector(".values").scrollTop]));
  const boxes = [];
  for (const [name, title] of FACETS) {
    const values = facets[name] || [];
    const chosen = state.chosen[name];
    // What all have is no choice.
    if (!chosen.length && (!values.length || (values.length === 1 && values[0].count === matching))) continue;
    const box = el("fieldset", { "data-name": name }, el("legend", { text: title }));
    box.append(el("div", { class: "values" }, ...values.map(({ value, count }) => {
      const input = el("input", { type: "checkbox", "data-facet": `${name}=${value}`, on: { change: () => pick(name, value, input.checked) } });
      input.checked = chosen.includes(value);
      return el("label", { class: count ? "" : "none" }, input, name === "outcome" ? outcomeMark(value) : null, (name === "task" ? clippedWithin : clipped)(value), el("span", { class: "muted", text: count }));
    })));
    boxes.push(box);
  }
  $("facets").replaceChildren(...boxes);
  for (const box of boxes) box.querySelector(".values").scrollTop = scrolled.get(box.dataset.name) || 0;
  if (focused) [...$("facets").querySelectorAll("input")].find((input) => input.dataset.facet === focused)?.focus();
}

function pick(name, value, isChosen) {
  const values = state.chosen[name].filter((one) => one !== value);
  change({ chosen: { ...state.chosen, [name]: isChosen ? [...values, value] : values } });
}

// The episodes.

async function showEpisodes() {
  const number = ++drawn;
  const keys = [state.open, state.with].filter(Boolean);
  document.body.classList.toggle("comparing", keys.length > 1);
  document.body.classList.toggle("showing", keys.length > 0);
  $("nothing").hidden = keys.length > 0;
  $("transport").hidden = !keys.length;
  if (!keys.length) {
    shown = [];
    heard = "";
    clock.restart(0, []);
    $("episodes").replaceChildren();
    return;
  }
  try {
    const answers = await Promise.all(keys.map(fetchEpisode));
    if (number !== drawn) return;
    heard = JSON.stringify(answers.map(([episode]) => episode));
    draw(answers);
  } catch (error) {
    if (number !== drawn) return;
    shown = [];
    clock.restart(0, []);
    $("episodes").replaceChildren(el("p", { class: "problem", text: `This episode cannot be shown: ${error.message}` }));
  }
}

async function fetchEpisode(key) {
  const [run, trial] = [key.slice(0, key.indexOf(".")), key.slice(key.indexOf(".") + 1)];
  const path = `${encodeURIComponent(run)}/${encodeURIComponent(trial)}`;
  return Promise.all([ask(`/api/episode/${path}`), ask(`/api/curves/${path}`)]);
}

function draw(answers) {
  const end = Math.max(...answers.map(([episode, curves]) => endOf(episode, curves)));
  shown = answers.map(([episode, curves]) => show(episode, curves, clock, end));
  $("episodes").replaceChildren(...shown.map((one) => one.node));
  clock.restart(end, shown.map((one) => one.film).filter(Boolean));
  drawPartners(answers[0][0]);
}

function drawPartners(episode) {
  partners = episode.partners;
  const words = { variant: "other variants", policy: "other policies", "policy and variant": "other policies, other variants", repeat: "repeats" };
  const options = [el("option", { value: "", text: partners.length ? "with …" : "no partner" })];
  for (const [relation, label] of Object.entries(words)) {
    const group = partners.filter((one) => one.relation === relation);
    if (group.length) options.push(el("optgroup", { label }, ...group.map((one) => el("option", { value: keyOf(one), text: partnerText(one, episode) }))));
  }
  if (state.with && !partners.some((one) => keyOf(one) === state.with)) options.push(el("option", { value: state.with, text: "the chosen episode" }));
  $("partner").replaceChildren(...options);
  $("partner").value = state.with || "";
  $("partner").disabled = options.length === 1;
}

function partnerText(one, episode) {
  const words = one.relation === "variant" ? one.variant : one.relation === "policy" ? one.policy : `${one.policy}, ${one.variant}`;
  const where = one.run === episode.run ? "" : ` in ${one.run_name}`;
  return `${words}${one.repeat !== episode.repeat ? `, repeat ${one.repeat}` : ""}: ${one.outcome}${where}`;
}

function comparePartner() {
  if (!state.open || !partners.length) return;
  const at = partners.findIndex((one) => keyOf(one) === state.with);
  change({ with: keyOf(partners[(at + 1) % partners.length]) });
}

// Following.

async function poll() {
  try {
    const answer = await ask(`/api/runs?version=${version}`);
    $("lost").hidden = true;
    if (answer) await take(answer);
  } catch (error) {
    tell(error);
  }
  setTimeout(poll, POLL_MS);
}

async function take(answer) {
  const changed = new Set(answer.runs.map((run) => `${run.id} ${run.contents}`));
  for (const run of runs) changed.delete(`${run.id} ${run.contents}`);
  const before = runOf(state || read());
  const isFirst = state === null;
  version = answer.version;
  runs = answer.runs;
  $("folder").textContent = answer.folder;
  $("folder").title = answer.folder;
  if (isFirst) return apply(read());
  drawRuns();
  // Runs that appear do not take the place of the one that is looked at.
  if (state.run === null && before) state.run = before;
  const ids = [...changed].map((one) => one.split(" ")[0]);
  const query = queryOf(state);
  if (query !== list.query) list.show(query);
  else if (runOf(state) === "" ? ids.length : ids.includes(runOf(state))) await list.refresh();
  if ([state.open, state.with].some((key) => key && ids.includes(key.split(".")[0]))) await refreshEpisodes();
}

// A film that was made meanwhile, or a new partner.
async function refreshEpisodes() {
  const number = drawn;
  const keys = [state.open, state.with].filter(Boolean);
  const answers = await Promise.all(keys.map(fetchEpisode));
  const said = JSON.stringify(answers.map(([episode]) => episode));
  if (number !== drawn || said === heard || clock.isPlaying) return;
  heard = said;
  draw(answers);
}

function tell(error) {
  $("lost").hidden = false;
  $("lost").textContent = error instanceof TypeError ? "No answer from robodx view" : error.message;
}

// Hands.

clock.onChange((time) => {
  for (const one of shown) one.update(time);
  $("slider").value = clock.end ? String(Math.round((1000 * time) / clock.end)) : "0";
  $("slider").setAttribute("aria-valuetext", `${time.toFixed(2)} seconds`);
  $("time").textContent = `${time.toFixed(2)} / ${clock.end.toFixed(2)} s`;
  $("play").textContent = clock.isPlaying ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", clock.isPlaying ? "Pause" : "Play");
});
$("play").addEventListener("click", () => clock.toggle());
$("slider").addEventListener("input", () => clock.seek((clock.end * Number($("slider").value)) / 1000));
$("speed").addEventListener("change", () => clock.setRate(Number($("speed").value)));
$("partner").addEventListener("change", () => change({ with: $("partner").value || null }));
$("close").addEventListener("click", close);
$("link").addEventListener("click", async () => {
  // Browsers give the clipboard to pages of this machine and to encrypted ones only.
  const isCopied = await Promise.resolve(navigator.clipboard?.writeText(location.href)).then(() => Boolean(navigator.clipboard), () => false);
  $("link").textContent = isCopied ? "Copied" : "See address";
  setTimeout(() => ($("link").textContent = "Copy link"), 1500);
});
$("sort").addEventListener("change", () => change({ sort: $("sort").value }));
$("direction").addEventListener("click", () => change({ descending: !state.descending }));
$("clear").addEventListener("click", () => change({ text: "", chosen: Object.fromEntries(FACETS.map(([name]) => [name, []])) }));
$("help-button").addEventListener("click", () => $("help").showModal());
let typing = 0;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => change({ text: $("search").value.trim() }, true), 120);
});
document.addEventListener(FILMED, async ({ detail }) => {
  if (![state.open, state.with].includes(keyOf(detail))) return;
  await showEpisodes();
  clock.seek(0);
  clock.play();
});
window.addEventListener("popstate", () => state && apply(read()));

function close() {
  if (state.with) change({ with: null });
  else if (state.open) change({ open: null });
  $("list").focus({ preventScroll: true });
}

// Into the list, so that Enter then opens what is marked and does not work the control that was used before.
function move(by) {
  $("list").focus({ preventScroll: true });
  list.move(by);
}

const KEYS = {
  j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), PageDown: () => move(10), PageUp: () => move(-10),
  Enter: (event) => list.openCurrent(event.shiftKey),
  " ": () => clock.toggle(), c: comparePartner, "/": () => $("search").focus(), "?": () => $("help").showModal(), Escape: close,
  ",": () => step(-1), ".": () => step(1),
};

function step(by) {
  clock.pause();
  clock.seek(clock.time + by * 0.05);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !state || $("help").open) return;
  const node = event.target;
  if (node.id === "search") {
    // Out of the search by Escape or into its results by Enter or the arrow.
    if (!["Escape", "Enter", "ArrowDown"].includes(event.key)) return;
    $("list").focus({ preventScroll: true });
    if (event.key !== "Escape") list.move(list.at < 0 ? 1 : 0);
    event.preventDefault();
    return;
  }
  const isControl = node.closest("button, select, input, summary, a");
  // Controls keep the keys that work them.
  if (isControl && (["Enter", " "].includes(event.key) || (event.key.startsWith("Arrow") && node.closest("select, input")))) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
});

if (matchMedia("(max-width: 900px)").matches) $("side-box").open = false;
poll();
