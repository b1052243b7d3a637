// A contact sheet: many pictures at once. A label is saved when it is given; what could not be saved is kept.

import { post, remember, remembered, said, whenNamed } from "./annotating.js";
import { ask, clipped, el } from "./dom.js";

const KEYS = "1234567890";
const ALL = "all";
const OPEN = "without a label";
// Of the first fact so many values are offered to choose from.
const MOST_VALUES = 60;
const $ = (id) => document.getElementById(id);

const words = new URLSearchParams(location.hash.slice(1));
const path = `/api/review/${encodeURIComponent(words.get("run") || "")}/${encodeURIComponent(words.get("review") || "")}`;
let review = null;
let annotator = remembered("robodx.annotator") || "";
// The places in the review of the cards that are shown, and which of these is looked at.
let shown = [];
let at = 0;
// Labels that are not in the file yet, by item.
let unsaved = {};
let isSaving = false;

const unsavedName = () => `robodx.unsaved ${path} ${annotator}`;
const labelOf = (item) => unsaved[item.id] || review.mine[item.id]?.label || "";
const firstFact = (item) => item.facts[0] || ["", ""];

async function load() {
  review = await ask(path + (annotator ? `?annotator=${encodeURIComponent(annotator)}` : ""));
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
  $("question").textContent = review.question;
  $("legend").replaceChildren(...review.labels.map((one, index) => el("span", { title: one.help }, el("kbd", { text: KEYS[index] || "" }), ` ${one.name}`)));
  $("meanings").replaceChildren(...review.labels.flatMap((one) => [el("dt", { text: one.name }), el("dd", { text: one.help })]));
  if (!review.items.length) return fail(new Error("There is nothing to review."));
  offer();
  if (annotator) enter();
  else askWho();
}

function fail(error) {
  $("problem").hidden = false;
  $("problem").textContent = said(error);
}

function askWho() {
  $("who-name").value = annotator;
  $("who").showModal();
}

// What can be chosen to be shown.
function offer() {
  $("which").replaceChildren(...[ALL, OPEN, ...review.labels.map((one) => one.name)].map((text) => el("option", { value: text, text })));
  const [name] = firstFact(review.items[0]);
  const values = [...new Set(review.items.map((one) => firstFact(one)[1]))].sort();
  $("fact-label").hidden = !name || values.length < 2 || values.length > MOST_VALUES;
  $("fact-name").textContent = name;
  $("fact").replaceChildren(...[ALL, ...values].map((text) => el("option", { value: text, text })));
}

function enter() {
  try {
    unsaved = JSON.parse(remembered(unsavedName()) || "{}");
  } catch {
    unsaved = {};
  }
  $("annotator").textContent = annotator;
  $("annotator").setAttribute("aria-label", `${annotator} labels: change`);
  $("asking").hidden = false;
  $("problem").hidden = !review.problems.length;
  $("problem").textContent = review.problems.join("; ");
  const asked = Number(words.get("item")) - 1;
  narrow(review.items[asked] ? asked : Math.max(0, review.items.findIndex((one) => !labelOf(one))));
  save();
}

// Only when something else is chosen: a card that was just labelled stays where it is.
function narrow(wanted) {
  const which = $("which").value;
  const fact = $("fact-label").hidden ? ALL : $("fact").value;
  shown = review.items.flatMap((one, index) => {
    const label = labelOf(one);
    const isAsked = which === ALL || (which === OPEN ? !label : label === which);
    return isAsked && (fact === ALL || firstFact(one)[1] === fact) ? [index] : [];
  });
  $("cards").replaceChildren(...shown.map(card));
  $("none").hidden = shown.length > 0;
  $("shown").textContent = shown.length === review.items.length ? "" : `${shown.length} of ${review.items.length}`;
  drawProgress();
  go(Math.max(0, shown.indexOf(wanted)));
}

function card(index, place) {
  const item = review.items[index];
  const pictures = item.pictures.map((one) => (one.src ? el("img", { src: one.src, alt: `Picture ${index + 1}: ${one.title}`, loading: "lazy", on: { load: shape, error: vanish } })
    : el("div", { class: "absent", text: "The picture is not there." })));
  const lines = [...new Set(item.pictures.map((one) => one.says).filter(Boolean))];
  const choices = review.labels.map((one) => el("button", {
    type: "button", tabindex: -1, text: one.name, title: one.help, class: one.is_abstention ? "abstains" : "",
    on: { click: (event) => { event.stopPropagation(); go(place); choose(place, one.name); } },
  }));
  const node = el("li", { class: "card", tabindex: -1, role: "group", on: { click: () => go(place), focus: () => place !== at && go(place) } },
    ...pictures, el("div", { class: "words" }, el("span", { class: "muted", text: `${index + 1} · ${firstFact(item)[1]}` }), ...lines.map((text) => clipped(text))),
    el("div", { class: "choices" }, ...choices));
  mark(node, item, index);
  return node;
}

function shape(event) {
  const { naturalWidth, naturalHeight } = event.target;
  // Several cameras stand side by side in one picture.
  if (naturalWidth && naturalHeight) event.target.style.setProperty("--shape", naturalWidth / naturalHeight);
}

function vanish(event) {
  event.target.replaceWith(el("div", { class: "absent", text: "The picture cannot be shown." }));
}

function mark(node, item, index) {
  const label = labelOf(item);
  node.classList.toggle("labelled", label !== "");
  node.classList.toggle("unsaved", Object.hasOwn(unsaved, item.id));
  node.setAttribute("aria-label", `Picture ${index + 1} of ${review.items.length}: ${label || OPEN}`);
  node.querySelectorAll(".choices button").forEach((button, place) => button.setAttribute("aria-pressed", String(review.labels[place].name === label)));
}

function go(place) {
  const cards = $("cards").children;
  if (!cards.length) return;
  cards[at]?.classList.remove("at");
  cards[at]?.setAttribute("tabindex", "-1");
  at = Math.max(0, Math.min(place, cards.length - 1));
  cards[at].classList.add("at");
  cards[at].setAttribute("tabindex", "0");
  if (!$("who").open) cards[at].focus({ preventScroll: true });
  cards[at].scrollIntoView({ block: "nearest" });
  words.set("item", shown[at] + 1);
  history.replaceState(null, "", `#${words}`);
}

// As many as stand beside each other.
function columns() {
  const cards = [...$("cards").children];
  return Math.max(1, cards.findIndex((one) => one.offsetTop > cards[0].offsetTop)) || cards.length;
}

function choose(place, label) {
  const item = review.items[shown[place]];
  unsaved[item.id] = label;
  remember(unsavedName(), JSON.stringify(unsaved));
  mark($("cards").children[place], item, shown[place]);
  drawProgress();
  save();
}

// One after the other, in the order in which they were given; all that is left when one fails is kept.
async function save() {
  if (isSaving) return;
  isSaving = true;
  try {
    for (let ids = Object.keys(unsaved); ids.length; ids = Object.keys(unsaved)) {
      const [id] = ids;
      const label = unsaved[id];
      if (!review.items.some((one) => one.id === id) || !review.labels.some((one) => one.name === label)) {
        // Of a sample that was drawn anew since.
        delete unsaved[id];
        continue;
      }
      const answer = await post(path, review, { item: id, annotator, label, further: [], text: review.mine[id]?.text || "" });
      review.mine[id] = answer.saved;
      // Meanwhile another label may have been given.
      if (unsaved[id] === label) delete unsaved[id];
      remember(unsavedName(), JSON.stringify(unsaved));
      const place = shown.findIndex((index) => review.items[index].id === id);
      if (place >= 0) mark($("cards").children[place], review.items[shown[place]], shown[place]);
    }
    const isAll = review.items.every((one) => labelOf(one));
    tell(isAll ? `Saved. All ${review.items.length} are labelled: thank you.` : "", true);
  } catch (error) {
    const count = Object.keys(unsaved).length;
    tell(`Not saved: ${said(error)} ${count === 1 ? "One label is" : `${count} labels are`} kept here.`, false);
  } finally {
    isSaving = false;
    drawProgress();
  }
}

function tell(text, isGood) {
  $("saved").textContent = text;
  $("saved").className = isGood ? "good" : "problem";
  $("again").hidden = isGood;
}

function drawProgress() {
  const done = review.items.filter((one) => Object.hasOwn(review.mine, one.id)).length;
  $("progress").max = review.items.length;
  $("progress").value = done;
  $("count").textContent = `${done} of ${review.items.length} done`;
}

function nextOpen() {
  const order = shown.map((_, index) => (at + 1 + index) % shown.length);
  return order.find((place) => !labelOf(review.items[shown[place]])) ?? at;
}

function lookAt() {
  location.href = `/review#${new URLSearchParams({ run: words.get("run") || "", review: words.get("review") || "", item: shown[at] + 1 })}`;
}

function help() {
  $("help").showModal();
  $("help").scrollTop = 0;
}

$("which").addEventListener("change", () => narrow(shown[at]));
$("fact").addEventListener("change", () => narrow(shown[at]));
$("again").addEventListener("click", save);
$("annotator").addEventListener("click", askWho);
$("help-button").addEventListener("click", help);
$("cards").addEventListener("dblclick", lookAt);
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

const ACTS = {
  ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), ArrowUp: () => go(at - columns()), ArrowDown: () => go(at + columns()),
  n: () => go(nextOpen()), Enter: lookAt, "?": help,
};

document.addEventListener("keydown", (event) => {
  if (!review || $("asking").hidden || $("help").open || $("who").open) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, a, button")) return;
  const index = KEYS.indexOf(event.key);
  if (index >= 0 && review.labels[index] && shown.length) {
    event.preventDefault();
    choose(at, review.labels[index].name);
    go(at + 1);
    return;
  }
  const act = ACTS[event.key];
  if (!act || !shown.length) return;
  event.preventDefault();
  act();
});

begin();
