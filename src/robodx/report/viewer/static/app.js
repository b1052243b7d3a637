// The viewer: what is chosen lives in the address, and everything shown follows from it.

import { Clock } from "./clock.js";
import { ask, clipped, clippedWithin, el, outcomeMark } from "./dom.js";
import { endOf, show } from "./episode.js";
import { FILMED } from "./filming.js";
import { EpisodeList, keyOf } from "./list.js";
import { Overview } from "./overview.js";
import { reportLines, reviewLines, runItems } from "./runs.js";

const POLL_MS = 2000;
const FACETS = [["outcome", "Outcome"], ["kind", "Failure"], ["variant", "Variant"], ["family", "Family"], ["tier", "Tier"], ["task", "Task"], ["policy", "Policy"], ["film", "Video"]];
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

const overview = new Overview($("overview"), {
  onOpen: (key) => change({ open: key, with: null }),
  onCompare: (key) => change(state.open && state.open !== key ? { with: key } : { open: key, with: null }),
  onOrder: (order) => change({ order, falls: state.order === order ? !state.falls : order !== "name" }),
  onFilter: filterBy,
  onError: (error) => tell(error),
});

// The address. docs/viewer.md tells which of its words stay as they are.

function read() {
  const words = new URLSearchParams(location.hash.slice(1));
  return {
    trial: words.get("trial"), view: words.get("view") === "tasks" ? "tasks" : "list",
    by: ["family", "tier"].includes(words.get("by")) ? words.get("by") : "task",
    order: words.get("order") || "name", falls: words.get("falls") === "1",
    run: words.get("run"), text: words.get("text") || "", sort: words.get("sort") || "task", descending: words.get("descending") === "1",
    open: words.get("open"), with: words.get("with"), chosen: Object.fromEntries(FACETS.map(([name]) => [name, words.getAll(name)])),
  };
}

function write(next) {
  const words = new URLSearchParams();
  if (next.run !== null) words.set("run", next.run);
  if (next.view !== "list") words.set("view", next.view);
  if (next.by !== "task") words.set("by", next.by);
  if (next.order !== "name") words.set("order", next.order);
  if (next.falls) words.set("falls", "1");
  for (const [name] of FACETS) for (const value of next.chosen[name]) words.append(name, value);
  if (next.text) words.set("text", next.text);
  if (next.sort !== "task") words.set("sort", next.sort);
  if (next.descending) words.set("descending", "1");
  if (next.open) words.set("open", next.open);
  if (next.with) words.set("with", next.with);
  return `#${words}`;
}

function change(changes, isTyping = false) {
  const next = { ...(state || read()), ...changes };
  history[isTyping ? "replaceState" : "pushState"](null, "", write(next));
  // Before the runs are known: it is in the address when they are.
  if (state) apply(next);
}

// By its id, or by the name of its folder, which is what a report knows of it.
const called = (word) => runs.find((run) => run.id === word) || runs.find((run) => run.name === word) || runs.find((run) => run.name.split("/").pop() === word);

// Without a run in the address the one that changed last is shown, of several "" means all. Trials of robodx why and
// things to be judged come after runs that show a policy by itself.
function runOf(next) {
  if (next.run !== null && (next.run === "" || called(next.run))) return next.run && called(next.run).id;
  const beside = (run) => Number(run.is_substituted || run.is_review_alone);
  const newest = [...runs].sort((a, b) => beside(a) - beside(b) || b.changed_s - a.changed_s)[0];
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

// Which episode a trial is, in whichever run has it: then it stands in the address like any other.
async function find(next) {
  const { trial } = next;
  const found = await ask(`/api/trial/${encodeURIComponent(trial)}?${new URLSearchParams({ run: next.run || "" })}`).catch(tell);
  if (!found?.run) return apply({ ...next, trial: null, missing: `No run here has the episode ${trial}.` });
  const known = { ...next, trial: null, run: found.run, open: keyOf(found), with: null };
  history.replaceState(null, "", write(known));
  apply(known);
}

function apply(next) {
  if (next.trial) return find(next);
  const before = state;
  state = next;
  list.setOpen([state.open, state.with]);
  list.showsRun = runOf(state) === "";
  const query = queryOf(state);
  if (query !== list.query) list.show(query);
  showView(query);
  // A space between two words is typed before the second is.
  if ($("search").value.trim() !== state.text) $("search").value = state.text;
  $("sort").value = state.sort;
  $("direction").setAttribute("aria-pressed", String(state.descending));
  $("direction").textContent = state.descending ? "↓" : "↑";
  drawRuns();
  if (!before || before.open !== state.open || before.with !== state.with || before.missing !== state.missing) showEpisodes();
}

// The list of episodes, or the rows of their tasks; the list is asked in either case, for it counts what could be chosen.
function showView(query) {
  const isTasks = state.view === "tasks";
  document.body.classList.toggle("tasks", isTasks);
  $("overview").hidden = !isTasks;
  $("list").hidden = isTasks;
  $("tab-list").setAttribute("aria-pressed", String(!isTasks));
  $("tab-tasks").setAttribute("aria-pressed", String(isTasks));
  $("by").value = state.by;
  $("order").value = state.order;
  $("falls").setAttribute("aria-pressed", String(state.falls));
  $("falls").textContent = state.falls ? "↓" : "↑";
  for (const kind of ["csv", "parquet"]) $(kind).href = `/api/episodes.${kind}?${query}`;
  overview.setOpen([state.open, state.with]);
  if (isTasks) overview.show(`${query}&${new URLSearchParams({ by: state.by, order: state.order, falls: state.falls ? "1" : "" })}`, state);
}

// What a row of the overview is of, as filters of the list.
function filterBy(row, several, more = {}) {
  const chosen = { ...state.chosen, [state.by]: [row.name], ...more };
  if (several.includes("policy")) chosen.policy = [row.policy];
  if (several.includes("variant") && row.listed) chosen.variant = [row.listed];
  change({ view: "list", chosen, ...(several.includes("run") ? { run: row.run } : {}), open: null, with: null });
}

// The runs and the list.

function drawRuns() {
  const chosen = runOf(state);
  const at = document.activeElement?.dataset?.run;
  $("runs").replaceChildren(...runItems(runs, chosen, choose));
  if (at !== undefined) $("runs").querySelector(`[data-run="${CSS.escape(at)}"]`)?.focus();
  const run = called(chosen);
  const notes = [...reviewLines(run), ...reportLines(run)];
  $("report").hidden = !run?.has_report;
  if (run?.has_report) $("report").href = `/report/${run.id}`;
  $("reviews").hidden = !notes.length;
  $("reviews").replaceChildren(...notes);
  const problems = run?.problems || [];
  $("problems").hidden = !problems.length;
  $("problems").replaceChildren(...problems.slice(0, 8).map((text) => el("p", { text: `⚠ ${text}`, title: text, dir: "auto" })));
}

function choose(run) {
  // What was chosen of one run may not exist in another; words and orders do.
  change({ run, chosen: Object.fromEntries(FACETS.map(([name]) => [name, []])) });
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
  document.body.classList.toggle("showing", keys.length > 0 || Boolean(state.missing));
  $("nothing").hidden = keys.length > 0 || Boolean(state.missing);
  $("back").textContent = keys.length > 1 ? "‹ One episode" : state.view === "tasks" ? "‹ Tasks" : "‹ Episodes";
  $("transport").hidden = !keys.length;
  if (!keys.length) {
    shown = [];
    heard = "";
    clock.restart(0, []);
    $("episodes").replaceChildren(...(state.missing ? [el("p", { class: "problem", text: state.missing, dir: "auto" })] : []));
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
  const words = { pair: "compared with it by design", variant: "other variants", policy: "other policies", "policy and variant": "other policies, other variants", repeat: "repeats" };
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
  const words = one.relation === "pair" ? `${one.role}, ${one.variant}` : one.relation === "variant" ? one.variant : one.relation === "policy" ? one.policy : `${one.policy}, ${one.variant}`;
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
  if (query !== list.query) {
    // The run that the address names has only just begun.
    list.show(query);
    showView(query);
  } else if (runOf(state) === "" ? ids.length : ids.includes(runOf(state))) {
    await list.refresh();
    if (state.view === "tasks") await overview.refresh();
  }
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
$("back").addEventListener("click", close);
$("tab-list").addEventListener("click", () => change({ view: "list" }));
$("tab-tasks").addEventListener("click", () => change({ view: "tasks" }));
$("by").addEventListener("change", () => change({ by: $("by").value }));
$("order").addEventListener("change", () => change({ order: $("order").value }));
$("falls").addEventListener("click", () => change({ falls: !state.falls }));
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
  else if (state.open || state.missing) change({ open: null, missing: null });
  if (state.view === "tasks") overview.focus();
  else $("list").focus({ preventScroll: true });
}

// Into the list, so that Enter then opens what is marked and does not work the control that was used before.
function move(by) {
  if (state.view === "tasks") return overview.move(by);
  $("list").focus({ preventScroll: true });
  list.move(by);
}

const KEYS = {
  j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), PageDown: () => move(10), PageUp: () => move(-10),
  Enter: (event) => state.view === "list" && list.openCurrent(event.shiftKey), t: () => change({ view: state.view === "tasks" ? "list" : "tasks" }),
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
    if (state.view === "tasks") overview.focus();
    else $("list").focus({ preventScroll: true });
    if (event.key !== "Escape") move(state.view === "list" && list.at >= 0 ? 0 : 1);
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
