// Teleoperation: what is held down becomes a velocity, sent again and again; what the robot does is shown.

import { ask, el } from "./dom.js";

// While something is held, and otherwise. The robot holds still if nothing comes for half a second.
const DRIVING_MS = 50;
const RESTING_MS = 200;
const WATCHING_MS = 500;
const SLOW = 0.25;
// Sticks do not come to rest at exactly 0.
const DEAD = 0.15;
const $ = (id) => document.getElementById(id);

// Axes as an operator means them: to the right, away, up, and turned left.
const MOVES = [
  { key: "q", sign: "↺", word: "turn left", axis: "yaw", by: 1 },
  { key: "w", sign: "↑", word: "away", axis: "away", by: 1 },
  { key: "e", sign: "↻", word: "turn right", axis: "yaw", by: -1 },
  { key: "r", sign: "⤒", word: "up", axis: "up", by: 1 },
  { key: "a", sign: "←", word: "left", axis: "right", by: -1 },
  { key: "s", sign: "↓", word: "near", axis: "away", by: -1 },
  { key: "d", sign: "→", word: "right", axis: "right", by: 1 },
  { key: "f", sign: "⤓", word: "down", axis: "up", by: -1 },
];
const WAITING = { preparing: "Making the situation …", waiting: "Ready. Time starts when you first move something.", driving: "Time is running." };

const held = new Set();
let isSlow = false;
let state = null;
let seat = null;
let writeToken = "";
// What the hand is to do; of this attempt alone.
let opening = 1;
let attempt = -1;
let watching = "";
let isLost = false;
let pressed = [];

// The velocity.

// Some browsers have none on pages of other machines.
const gamepad = () => [...(navigator.getGamepads?.() ?? [])].find(Boolean);

function intended() {
  const sum = { right: 0, away: 0, up: 0, yaw: 0 };
  for (const move of MOVES) if (held.has(move.key)) sum[move.axis] += move.by * (isSlow ? SLOW : 1);
  const pad = gamepad();
  if (pad) {
    const stick = (index) => (Math.abs(pad.axes[index] || 0) < DEAD ? 0 : pad.axes[index]);
    sum.right += stick(0);
    sum.away -= stick(1);
    sum.yaw -= stick(2);
    sum.up -= stick(3);
  }
  return sum;
}

// In the robot's base: x away from the robot, y to its left. Who looks at its face sees both the other way round.
function velocity() {
  const { right, away, up, yaw } = intended();
  const speed = Number($("speed").value) / 100;
  const turned = $("frame").value === "picture" ? -1 : 1;
  const within = (value) => Math.max(-1, Math.min(1, value)) * speed;
  return [within(turned * away), within(-turned * right), within(up), within(yaw)];
}

// Requests, one after the other: a late answer never overtakes a newer one.

async function send(path, body) {
  const answer = await fetch(path, {
    method: "POST", keepalive: path === "/api/leave",
    headers: { "Content-Type": "application/json", "X-RoboDx-Write-Token": writeToken }, body: JSON.stringify(body),
  });
  if (answer.status === 409) throw Object.assign(new Error(await answer.text()), { isRefused: true });
  if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 300)}`);
  return answer.json();
}

let lastSent = "";

async function turn() {
  if (!seat) {
    show(await ask("/api/state"));
    writeToken = state.write_token;
    if (state.phase === "ended") return WATCHING_MS;
    try {
      ({ seat } = await send("/api/sit", {}));
      watching = "";
    } catch (error) {
      if (!error.isRefused) throw error;
      watching = error.message;
      drawBanner();
      return WATCHING_MS;
    }
  }
  readButtons();
  const moving = velocity();
  const mine = JSON.stringify([moving, opening]);
  try {
    show(await send("/api/drive", { seat, attempt, velocity: moving, opening }));
  } catch (error) {
    if (!error.isRefused) throw error;
    seat = null;
    return 0;
  }
  const isQuick = moving.some(Boolean) || mine !== lastSent;
  lastSent = mine;
  return isQuick ? DRIVING_MS : RESTING_MS;
}

let wake = null;
const pause = (ms) => new Promise((resolve) => {
  wake = resolve;
  setTimeout(resolve, ms);
});

async function run() {
  for (;;) {
    let rest = WATCHING_MS;
    const began = performance.now();
    try {
      rest = await turn();
      isLost = false;
    } catch (error) {
      if (state?.phase === "ended") return;
      isLost = error instanceof TypeError ? "No answer from robodx teleop: is it still running?" : error.message;
      seat = null;
      drawBanner();
    }
    await pause(Math.max(0, rest - (performance.now() - began)));
  }
}

async function decide(decision) {
  if (!seat || !allowed(decision)) return;
  try {
    show(await send("/api/decide", { seat, attempt, decision }));
  } catch (error) {
    if (!error.isRefused) throw error;
  }
  $("main").focus({ preventScroll: true });
}

const OVER = ["solved", "failed"];

function allowed(decision) {
  if (!state) return false;
  if (decision === "save") return state.phase === "solved";
  if (decision === "retry") return ["driving", ...OVER].includes(state.phase);
  return ["waiting", "driving", ...OVER].includes(state.phase);
}

// What is shown.

function show(now) {
  const before = state;
  state = { ...before, ...now };
  if (state.attempt !== attempt) {
    attempt = state.attempt;
    opening = state.opening;
  }
  drawPictures();
  const { place } = state;
  if (place) {
    put("task", `${place.task}, seed ${place.seed}`);
    put("place", `${place.number} of ${place.of}`);
    put("counts", `${place.saved} saved, ${place.left_out} left out, ${place.discarded} discarded`);
  }
  put("instruction", state.instruction);
  const left = Math.max(0, state.limit_s - state.time_s);
  $("time").value = state.limit_s ? left / state.limit_s : 1;
  put("left", state.limit_s ? `${left.toFixed(1)} s left` : "–");
  drawStages();
  drawBanner();
  put("grip-word", opening ? "Close the hand" : "Open the hand");
  $("grip").setAttribute("aria-pressed", String(!opening));
  const [x, y, z] = state.tool.map((value) => Math.abs(100 * value).toFixed(1));
  put("hand", `Hand: ${z} cm high, ${x} ahead, ${y} to its ${state.tool[1] < 0 ? "right" : "left"}${state.is_at_limit ? " – at the end of its reach" : ""}`);
  put("save-word", state.phase === "failed" ? "Leave out and go on" : "Save and go on");
  $("save").disabled = !seat || !OVER.includes(state.phase);
  for (const name of ["retry", "skip", "stop"]) $(name).disabled = !seat || !allowed(name);
}

function put(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

function drawStages() {
  const texts = JSON.stringify([state.stages, state.reached]);
  if ($("stages").dataset.shown === texts) return;
  $("stages").dataset.shown = texts;
  $("stages").replaceChildren(...state.stages.map((text, index) => el("li", {
    text, class: index < state.reached ? "reached" : index === state.reached ? "current" : "", "aria-label": `${text}: ${index < state.reached ? "reached" : "not reached"}`,
  })));
}

function drawBanner() {
  let phase = state?.phase || "preparing";
  let text = state?.says || WAITING[phase] || "";
  if (phase === "solved") text = "✓ Solved. Enter saves it and goes on; Backspace discards it.";
  if (phase === "failed") text = `✗ ${text} Backspace tries again; Enter leaves the situation out.`;
  if (watching && phase !== "ended") [phase, text] = ["watching", watching];
  if (isLost) [phase, text] = ["lost", isLost];
  $("banner").dataset.phase = phase;
  put("banner", text);
}

function drawPictures() {
  const names = Object.keys(state.pictures);
  if ($("pictures").dataset.names !== names.join()) {
    $("pictures").dataset.names = names.join();
    $("pictures").replaceChildren(...names.map((name) =>
      el("figure", {}, el("img", { id: `picture-${name}`, alt: `The ${name} camera's picture`, width: 400, height: 400 }), el("figcaption", { text: name }))));
  }
  for (const name of names) {
    const image = $(`picture-${name}`);
    const frame = String(state.pictures[name]);
    // The next is asked for when the last is there: a slow network shows fewer, not older ones.
    if (image.dataset.frame === frame || image.dataset.isLoading) continue;
    image.dataset.frame = frame;
    image.dataset.isLoading = "1";
    image.onload = image.onerror = () => delete image.dataset.isLoading;
    image.src = `/picture/${encodeURIComponent(name)}?frame=${frame}`;
  }
}

// Hands.

function hold(key, isHeld) {
  if (isHeld === held.has(key)) return;
  if (isHeld) held.add(key);
  else held.delete(key);
  $(`move-${key}`).classList.toggle("held", isHeld);
  wake?.();
}

function letGo() {
  for (const key of [...held]) hold(key, false);
  isSlow = false;
}

function grip() {
  if (!seat || !["waiting", "driving"].includes(state?.phase)) return;
  opening = opening ? 0 : 1;
  if (state) show(state);
  wake?.();
}

function readButtons() {
  const pad = gamepad();
  put("gamepad", pad ? `Gamepad: ${pad.id}` : "No gamepad. Press one of its buttons to connect it.");
  const now = pad ? pad.buttons.map((button) => button.pressed) : [];
  const isNew = (index) => now[index] && !pressed[index];
  if (isNew(0)) grip();
  if (isNew(8)) decide("retry");
  if (isNew(9)) goOn();
  pressed = now;
}

const goOn = () => decide(state?.phase === "failed" ? "skip" : "save");

function askToStop() {
  if (!allowed("stop") || !seat) return;
  letGo();
  $("stopping").showModal();
  $("really").focus();
}

function help() {
  letGo();
  $("help").showModal();
  // The button that closes it is at its end.
  $("help").scrollTop = 0;
}

$("pad").append(...MOVES.map((move) => {
  const button = el("button", { type: "button", id: `move-${move.key}`, "aria-label": `${move.word} (${move.key.toUpperCase()})`, title: "Hold" },
    el("span", { class: "sign", text: move.sign, "aria-hidden": "true" }), el("span", { text: move.word }), el("kbd", { text: move.key.toUpperCase() }));
  button.addEventListener("pointerdown", (event) => {
    button.setPointerCapture(event.pointerId);
    hold(move.key, true);
  });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) button.addEventListener(name, () => hold(move.key, false));
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  // By keyboard on the button itself, as well.
  button.addEventListener("keydown", (event) => {
    if (![" ", "Enter"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    hold(move.key, true);
  });
  button.addEventListener("keyup", (event) => [" ", "Enter"].includes(event.key) && hold(move.key, false));
  button.addEventListener("blur", () => hold(move.key, false));
  return button;
}));
$("grip").addEventListener("click", grip);
$("save").addEventListener("click", goOn);
for (const name of ["retry", "skip"]) $(name).addEventListener("click", () => decide(name));
$("stop").addEventListener("click", askToStop);
$("stopping").addEventListener("close", () => {
  if ($("stopping").returnValue === "stop") decide("stop");
  $("stopping").returnValue = "";
});
$("help-button").addEventListener("click", help);
$("speed").addEventListener("input", () => put("speed-word", `${$("speed").value}%`));
// The keys drive again at once.
$("frame").addEventListener("change", () => $("main").focus({ preventScroll: true }));

const ACTS = { " ": grip, Enter: goOn, Backspace: () => decide("retry"), n: () => decide("skip"), Escape: askToStop, "?": help };

document.addEventListener("keydown", (event) => {
  if ($("help").open || $("stopping").open || event.ctrlKey || event.metaKey || event.altKey) return;
  isSlow = event.shiftKey;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (MOVES.some((move) => move.key === key) && event.target.id !== "frame") {
    event.preventDefault();
    return hold(key, true);
  }
  // Controls keep the keys that work them.
  if ([" ", "Enter"].includes(key) && event.target.closest?.("button, select, input")) return;
  const act = ACTS[key];
  if (!act) return;
  event.preventDefault();
  if (!event.repeat) act();
});
document.addEventListener("keyup", (event) => {
  isSlow = event.shiftKey;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (MOVES.some((move) => move.key === key)) hold(key, false);
});
// Whoever is elsewhere does not let go of keys here.
window.addEventListener("blur", letGo);
document.addEventListener("visibilitychange", letGo);
window.addEventListener("pagehide", () => {
  if (seat) send("/api/leave", { seat }).catch(() => {});
  seat = null;
});
// A page that comes back from the browser's memory looks again who drives.
window.addEventListener("pageshow", () => wake?.());

$("main").focus({ preventScroll: true });
run();
