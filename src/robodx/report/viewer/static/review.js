// A review: somebody looks at one item after the other and says what it is. Nothing that is typed is lost.

import { post, remember, remembered, said, whenNamed } from "./annotating.js";
import { Clock } from "./clock.js";
import { ask, el } from "./dom.js";

const KEYS = "1234567890";
const STEP_S = 0.05;
const $ = (id) => document.getElementById(id);

const words = new URLSearchParams(location.hash.slice(1));
const path = `/api/review/${encodeURIComponent(words.get("run") || "")}/${encodeURIComponent(words.get("review") || "")}`;
const clock = new Clock();
let review = null;
let annotator = remembered("robodx.annotator") || "";
let at = 0;
let drafts = {};
let isSaving = false;
// Whoever played one item plays the next.
let wantsToPlay = false;

const draftsName = () => `robodx.drafts ${path} ${annotator}`;

function keepDraft() {
  const draft = chosen();
  const saved = review.mine[item().id];
  if (JSON.stringify(draft) === JSON.stringify(saved || { label: "", further: [], text: "" })) delete drafts[item().id];
  else drafts[item().id] = draft;
  remember(draftsName(), JSON.stringify(drafts));
}

// What is shown.

const item = () => review.items[at];
const isDone = (index) => Object.hasOwn(review.mine, review.items[index].id);

async function load() {
  const who = annotator ? `?annotator=${encodeURIComponent(annotator)}` : "";
  review = await ask(path + who);
}

async function begin() {
  try {
    await load();
  } catch (error) {
    return fail(error);
  }
  $("title").textContent = review.title;
  $("run-name").textContent = review.run_name;
  $("run-name").title = review.run_name;
  document.title = `${review.title}: ${review.run_name}`;
  $("back").href = `/#run=${encodeURIComponent(words.get("run") || "")}`;
  $("sheet-link").hidden = review.page !== "sheet";
  $("sheet-link").href = `/sheet#${new URLSearchParams({ run: words.get("run") || "", review: words.get("review") || "" })}`;
  $("question").textContent = review.question;
  $("text").maxLength = review.longest_text;
  $("meanings").replaceChildren(...review.labels.flatMap((one) => [el("dt", { text: one.name }), el("dd", { text: one.help })]));
  drawLabels();
  if (!review.items.length) return fail(new Error("There is nothing to review."));
  if (annotator) enter();
  else askWho();
}

function fail(error) {
  $("problem").hidden = false;
  $("problem").textContent = said(error);
}

function enter() {
  try {
    drafts = JSON.parse(remembered(draftsName()) || "{}");
  } catch {
    drafts = {};
  }
  $("annotator").textContent = annotator;
  $("annotator").setAttribute("aria-label", `${annotator} labels: change`);
  $("form").hidden = false;
  $("problem").hidden = !review.problems.length;
  $("problem").textContent = review.problems.join("; ");
  const asked = Number(words.get("item")) - 1;
  const first = review.items.findIndex((_, index) => !isDone(index));
  show(Number.isInteger(asked) && review.items[asked] ? asked : Math.max(0, first));
}

function askWho() {
  $("who-name").value = annotator;
  $("who").showModal();
}

function drawLabels() {
  const groups = new Map();
  review.labels.forEach((one, index) => groups.set(one.group, [...(groups.get(one.group) || []), [one, index]]));
  $("labels").replaceChildren(...[...groups].map(([group, labels]) =>
    el("fieldset", { class: groups.size === 1 ? "only" : "" }, groups.size === 1 ? null : el("legend", { text: group || "otherwise" }), ...labels.map(([one, index]) => labelRow(one, index)))));
}

function labelRow({ name, group, help }, index) {
  const main = el("input", { type: "radio", name: "label", value: name, class: "main", on: { change: labelled } });
  // Beside what names nothing there is nothing more to name.
  const also = group && el("input", { type: "checkbox", value: name, class: "also", "aria-label": `also ${name}`, on: { change: labelled } });
  return el("div", { class: "label", title: help }, el("label", {}, main, KEYS[index] ? el("kbd", { text: KEYS[index] }) : null, el("span", { text: name })),
    also ? el("label", { title: `also ${name}` }, also, el("span", { text: "also", "aria-hidden": "true" })) : null);
}

const inputs = (names) => [...$("labels").querySelectorAll(`input.${names}`)];

function chosen() {
  return { label: inputs("main").find((one) => one.checked)?.value || "", further: inputs("also").filter((one) => one.checked).map((one) => one.value), text: $("text").value };
}

function labelled() {
  const { label } = chosen();
  // The main label is no further one.
  for (const one of inputs("also")) {
    if (one.value === label) one.checked = false;
    one.disabled = one.value === label;
  }
  $("meaning").textContent = review.labels.find((one) => one.name === label)?.help || "";
  keepDraft();
}

function show(index) {
  at = Math.max(0, Math.min(index, review.items.length - 1));
  words.set("item", at + 1);
  history.replaceState(null, "", `#${words}`);
  const { label, further, text } = drafts[item().id] || review.mine[item().id] || { label: "", further: [], text: "" };
  for (const one of inputs("main")) one.checked = one.value === label;
  for (const one of inputs("also")) one.checked = further.includes(one.value);
  $("text").value = text;
  labelled();
  $("facts").replaceChildren(...item().facts.flatMap(([name, fact]) => [el("dt", { text: name }), el("dd", { text: fact, dir: "auto" })]));
  drawFilms();
  drawProgress();
  // Out of the text or off the button that was used: the keys work again, and Tab goes on from here.
  $("main").focus({ preventScroll: true });
}

function drawFilms() {
  const films = item().films.map(filmOf);
  $("films").replaceChildren(...films.map((one) => one.node), ...item().pictures.map(pictureOf));
  $("transport").hidden = !films.length;
  $("seen").hidden = !films.some((one) => one.video);
  const videos = films.map((one) => one.video).filter(Boolean);
  clock.restart(Math.max(0, ...item().films.map((film) => (film.src ? film.seconds : 0))), videos);
  clock.seek(0);
  if (wantsToPlay) clock.play();
  if (videos.length < films.length) lookAgain();
}

function filmOf(film) {
  const caption = el("figcaption", {}, el("b", { text: film.title }), film.says ? el("q", { text: film.says, dir: "auto" }) : null);
  if (!film.src) {
    const why = film.why ? [el("p", { text: film.why })] : [el("p", { text: "No film of this episode is stored. Make the missing films with" }), el("code", { text: review.command })];
    return { node: el("figure", { class: "film" }, caption, el("div", { class: "absent" }, ...why)) };
  }
  const video = el("video", { src: film.src, playsinline: true, preload: "auto", "aria-label": `Film of the ${film.title}`, on: { click: toggle } });
  video.muted = true;
  video.addEventListener("error", () => video.replaceWith(el("p", { class: "problem", text: "The film cannot be played." })), { once: true });
  return { node: el("figure", { class: "film" }, caption, video), video };
}

function pictureOf(picture) {
  const caption = el("figcaption", {}, el("b", { text: picture.title }), picture.says ? el("q", { text: picture.says, dir: "auto" }) : null);
  const shown = picture.src ? el("img", { src: picture.src, alt: `Picture: ${picture.title}` }) : el("div", { class: "absent" }, el("p", { text: "The picture is not there." }));
  return el("figure", { class: "film" }, caption, shown);
}

// Films may be made while somebody labels.
let looked = 0;
async function lookAgain() {
  const number = ++looked;
  await new Promise((wake) => setTimeout(wake, 3000));
  const before = JSON.stringify(item().films);
  try {
    const { items } = await ask(path);
    if (number !== looked) return;
    review.items.forEach((one, index) => (one.films = items[index]?.films || one.films));
  } catch {
    return;
  }
  if (JSON.stringify(item().films) !== before) drawFilms();
  else if (item().films.some((film) => !film.src && !film.why)) lookAgain();
}

function drawProgress() {
  const done = review.items.filter((_, index) => isDone(index)).length;
  $("progress").max = review.items.length;
  $("progress").value = done;
  $("count").textContent = `${done} of ${review.items.length} done · item ${at + 1}`;
  $("previous").disabled = at === 0;
  $("next").disabled = at === review.items.length - 1;
}

// Saving.

async function save() {
  if (isSaving) return;
  const sent = chosen();
  if (!sent.label) return tell("Choose a label first: press a digit, or click one.", false);
  // When the answer comes, somebody else may label: it is about what was whose now.
  const [id, who, asked, kept, keptName] = [item().id, annotator, review, drafts, draftsName()];
  const isSame = () => annotator === who;
  const focused = document.activeElement;
  freeze(true);
  try {
    const answer = await post(path, asked, { item: id, annotator: who, ...sent });
    freeze(false);
    asked.mine[id] = answer.saved;
    delete kept[id];
    remember(keptName, JSON.stringify(kept));
    if (!isSame()) return;
    review.mine[id] = answer.saved;
    const next = nextOpen();
    show(next < 0 ? at : next);
    tell(next < 0 ? `Saved. All ${review.items.length} are labelled: thank you.` : "Saved.", true);
  } catch (error) {
    freeze(false);
    if (isSame()) focused?.focus({ preventScroll: true });
    tell(isSame() ? `Not saved: ${said(error)} What you chose and typed is kept here; save it again.`
      : `What ${who} chose last is not saved: ${said(error)} It is kept here for ${who}.`, false);
  }
}

// What is chosen or typed while something is saved would be of neither this item nor the next.
function freeze(isFrozen) {
  isSaving = isFrozen;
  $("form").inert = isFrozen;
  $("save").disabled = isFrozen;
}

function tell(text, isGood) {
  $("saved").textContent = text;
  $("saved").className = isGood ? "good" : "problem";
}

function nextOpen() {
  const order = review.items.map((_, index) => (at + 1 + index) % review.items.length);
  return order.find((index) => !isDone(index)) ?? -1;
}

function move(to) {
  if (to < 0 || to >= review.items.length) return;
  show(to);
  tell("", true);
}

// Hands.

function toggle() {
  clock.toggle();
  wantsToPlay = clock.isPlaying;
}

function help() {
  $("help").showModal();
  // The button that closes it is at its end.
  $("help").scrollTop = 0;
}

function step(by) {
  clock.pause();
  wantsToPlay = false;
  clock.seek(clock.time + by * STEP_S);
}

clock.onChange((time) => {
  $("slider").value = clock.end ? String(Math.round((1000 * time) / clock.end)) : "0";
  $("slider").setAttribute("aria-valuetext", `${time.toFixed(2)} seconds`);
  $("time").textContent = `${time.toFixed(2)} / ${clock.end.toFixed(2)} s`;
  $("play").textContent = clock.isPlaying ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", clock.isPlaying ? "Pause" : "Play");
});
$("play").addEventListener("click", toggle);
$("slider").addEventListener("input", () => clock.seek((clock.end * Number($("slider").value)) / 1000));
$("speed").addEventListener("change", () => clock.setRate(Number($("speed").value)));
$("text").addEventListener("input", keepDraft);
$("previous").addEventListener("click", () => move(at - 1));
$("next").addEventListener("click", () => move(at + 1));
$("skip").addEventListener("click", () => move(nextOpen()));
$("annotator").addEventListener("click", askWho);
$("help-button").addEventListener("click", help);
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
whenNamed(() => annotator, async (name) => {
  const before = annotator;
  annotator = name;
  try {
    await load();
  } catch (error) {
    annotator = before;
    throw error;
  }
}, () => {
  tell("", true);
  enter();
});
window.addEventListener("hashchange", () => location.reload());

function press(index, isFurther) {
  const input = inputs(isFurther ? "also" : "main").find((one) => one.value === review.labels[index]?.name);
  if (!input || input.disabled) return;
  input.checked = isFurther ? !input.checked : true;
  labelled();
}

const ACTS = {
  n: () => move(at + 1), p: () => move(at - 1), s: save, Enter: save, " ": toggle, t: () => $("text").focus(), "?": help,
  ",": () => step(-1), ".": () => step(1),
};

document.addEventListener("keydown", (event) => {
  if (!review || isSaving || $("form").hidden || $("help").open || $("who").open) return;
  const node = event.target;
  if (node.id === "text") {
    if (event.key === "Escape") $("main").focus({ preventScroll: true });
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  // With Shift a digit is another character, which one the keyboard decides.
  const digit = /^Digit[0-9]$/.test(event.code) ? event.code.slice(-1) : /^[0-9]$/.test(event.key) ? event.key : null;
  if (digit) {
    event.preventDefault();
    return press(KEYS.indexOf(digit), event.shiftKey);
  }
  // Controls keep the keys that work them.
  if (event.key === " " && node.closest("button, select, input, a") && !(node.type === "radio" && node.checked)) return;
  if (event.key === "Enter" && node.closest("button, select, a")) return;
  const act = ACTS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

begin();
