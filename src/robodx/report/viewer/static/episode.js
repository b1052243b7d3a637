// One episode: what was asked, what came of it and why, its film or drawing, its timeline and its curves.

import { clipped, el, number, outcomeClass, outcomeMark } from "./dom.js";
import { filmAsker } from "./filming.js";
import { describe, drawing, nearest, plot, timeline } from "./plots.js";

const EMPTY = { time_s: [0], tool: [], things: [], actions: [], action_parts: [], openings: [], stage: [], perturbed_s: [] };

// When an episode ends, for the clock that two of them may share.
export const endOf = (episode, curves) => curves.end_s ?? episode.steps / episode.hz;

export function show(episode, answer, clock, end) {
  const curves = answer.problem ? { ...EMPTY, problem: answer.problem } : answer;
  const updates = [];
  const seconds = (step) => step / episode.hz;
  const seekTo = (time) => () => clock.seek(time);
  const film = episode.has_video
    ? el("video", { src: `/video/${episode.run}/${encodeURIComponent(episode.trial_id)}`, muted: true, playsinline: true, preload: "auto", "aria-label": "Video of the episode" })
    : null;
  if (film) film.muted = true;

  const parts = [head(episode)];
  if (episode.failure_kind || episode.error) parts.push(reasons(episode, seconds, clock));
  else if (episode.quality_flags?.length) parts.push(el("p", { class: "flags" }, el("b", { text: "Solved, with quality flags: " }), episode.quality_flags.join(", ")));
  else parts.push(absent());
  const said = instructions(episode, seconds, clock);
  parts.push(said.node);
  updates.push(said.update);

  const canDraw = curves.tool.length > 0;
  const screen = el("div", { class: "screen" });
  if (film) {
    film.addEventListener("error", () => film.replaceWith(el("p", { class: "problem", text: "The video cannot be played." })), { once: true });
    film.addEventListener("click", () => clock.toggle());
    screen.append(film, el("p", { class: "muted seen", text: "Seen from the front: the robot's left is on the right." }));
  } else if (canDraw) {
    const drawn = drawing(episode, curves, true);
    screen.append(drawn.node);
    updates.push((time) => drawn.update(nearest(curves.time_s, time)));
  }
  if (!film && episode.film_state) screen.append(filmAsker(episode));
  if (curves.problem) screen.append(el("p", { class: "problem", text: curves.problem }));
  parts.push(screen);

  const cursor = el("div", { class: "cursor", "aria-hidden": "true" });
  const overlay = el("div", { class: "overlay", "aria-hidden": "true" });
  const evidence = episode.failure_evidence;
  if (evidence && evidence.step !== null) {
    const flag = el("div", { class: "evidence", title: evidence.says });
    flag.style.left = `${(100 * seconds(evidence.step)) / (end || 1)}%`;
    overlay.append(flag);
  }
  overlay.append(cursor);
  const tracks = el("div", { class: "tracks" }, ...timeline(episode, curves, end));
  tracks.style.setProperty("--over", `${end ? (100 * endOf(episode, curves)) / end : 100}%`);
  const plots = [];
  curves.tool.forEach((way, arm) => plots.push(plot(`end effector, m${curves.tool.length > 1 ? `, arm ${arm + 1}` : ""}, in the world frame (from the table's centre)`, ["x", "y", "z"], curves.time_s, way, end)));
  for (const part of curves.action_parts) plots.push(plot(`action: ${[part.title, part.frame].filter(Boolean).join(", ")}`, part.names, curves.time_s, part.at.map((index) => curves.actions[index]), end));
  for (const one of plots) tracks.append(one.node);
  updates.push((time) => {
    cursor.style.left = `${(100 * Math.min(time, end)) / (end || 1)}%`;
    const index = nearest(curves.time_s, time);
    for (const one of plots) one.update(index);
  });
  tracks.append(overlay);
  seekable(tracks, overlay, clock, end);
  parts.push(tracks, stageList(episode, seconds, seekTo));

  if (!film || !canDraw) parts.push(absent());
  else {
    const drawn = drawing(episode, curves, false);
    parts.push(drawn.node);
    updates.push((time) => drawn.update(nearest(curves.time_s, time)));
  }
  parts.push(events(episode, seekTo), measures(episode));
  const node = el("article", { class: "episode", "aria-label": `${episode.task}, seed ${episode.seed}` }, ...parts);
  return { node, film, update: (time) => updates.forEach((update) => update(time)) };
}

// Keeps the place of a part that an episode does not have: two side by side have the same parts.
const absent = () => el("div");

function head(episode) {
  const where = [`seed ${episode.seed}`, episode.repeat ? `repeat ${episode.repeat}` : "", episode.clock !== "lockstep" ? episode.clock : ""];
  return el("header", { class: "episode-head" },
    el("h2", {}, outcomeMark(episode.outcome), clipped(episode.task), el("span", { class: "muted nowrap", text: where.filter(Boolean).join(" · ") })),
    el("p", { class: "facts" },
      el("span", { class: `outcome ${outcomeClass(episode.outcome)}`, text: episode.outcome }),
      clipped(episode.policy, "chip policy"), clipped(episode.variant, "chip variant"), clipped(`in ${episode.run_name}`, "muted run-name")));
}

function reasons(episode, seconds, clock) {
  const box = el("div", { class: "why", role: "note" });
  const evidence = episode.failure_evidence;
  box.append(el("p", {}, el("b", { class: "clip", text: episode.failure_kind || "error" }), episode.failure_type ? clipped(episode.failure_type) : null,
    evidence && evidence.step !== null ? el("button", { type: "button", class: "seek", text: `${seconds(evidence.step).toFixed(2)} s`, title: "Go there", on: { click: () => clock.seek(seconds(evidence.step)) } }) : null));
  if (evidence?.says) box.append(el("p", { text: evidence.says, dir: "auto" }));
  for (const one of episode.mistaken || []) box.append(el("p", { class: "muted", text: `${one.attribute}: asked for ${one.asked}, chose ${one.chosen}`, dir: "auto" }));
  if (episode.error) box.append(el("pre", { text: episode.error }));
  return box;
}

function instructions(episode, seconds, clock) {
  const updates = (episode.instructions || []).map((one) => ({
    time: seconds(one.step),
    node: el("li", {}, el("button", { type: "button", class: "seek", text: `${seconds(one.step).toFixed(1)} s`, on: { click: () => clock.seek(seconds(one.step)) } }), el("q", { text: one.text, dir: "auto" })),
  }));
  const node = el("ol", { class: `instructions ${updates.length > 1 ? "several" : ""}`, "aria-label": "Instructions" }, ...updates.map((one) => one.node));
  const update = (time) => {
    const current = updates.findLastIndex((one) => one.time <= time + 1e-6);
    updates.forEach((one, index) => one.node.classList.toggle("current", index === current));
  };
  return { node, update };
}

// What is known of the task's first situation only is an example of what this one asks.
const named = (one) => (one.is_example ? `for example, in seed 0: ${one.name}` : one.name);

function stageList(episode, seconds, seekTo) {
  const items = episode.stages.map((stage, index) => {
    const isReached = stage.step !== null;
    const name = stage.name ? named(stage) : "unnamed";
    return el("li", { class: isReached ? "reached" : "unreached" },
      el("span", { class: "mark-small", text: isReached ? "✓" : "○", role: "img", "aria-label": isReached ? "reached" : "not reached" }),
      el("span", { class: `stage-name ${stage.is_example ? "muted" : ""}`, text: `${index + 1}  ${name}`, dir: "auto" }),
      isReached ? el("button", { type: "button", class: "seek", text: `${seconds(stage.step).toFixed(2)} s`, on: { click: seekTo(seconds(stage.step)) } }) : el("span", { class: "muted", text: "not reached" }));
  });
  const never = (episode.never || []).map((one) => el("li", { class: "never muted" }, el("span", { class: "mark-small", text: "⊘" }), el("span", { class: "stage-name", text: `never: ${named(one)}`, dir: "auto" })));
  return el("section", { class: "stages" }, el("h3", { text: "Stages" }), el("ol", {}, ...items, ...never));
}

function events(episode, seekTo) {
  const rows = (episode.events || []).map((event) => el("li", {}, el("button", { type: "button", class: "seek", text: `${event.time_s.toFixed(2)} s`, on: { click: seekTo(event.time_s) } }), el("span", { class: "event-text", text: describe(event), title: describe(event), dir: "auto" })));
  if (episode.events_left_out) rows.push(el("li", { class: "muted", text: `and ${episode.events_left_out} more` }));
  return el("details", { class: "more" }, el("summary", { text: `Events (${rows.length})` }), el("ol", { class: "events" }, ...rows));
}

function measures(episode) {
  const facts = [...episode.measured.map((one) => [one.name.replaceAll("_", " "), `${number(one.value)} ${one.unit}`]),
    ["quality flags", (episode.quality_flags || []).join(", ") || "none"], ["robot", episode.robot], ["suite", episode.suite],
    ["tier", episode.tier || "–"], ["trial", episode.trial_id], ["pair", episode.pair_id]];
  return el("details", { class: "more" }, el("summary", { text: "Numbers" }),
    el("dl", { class: "measures" }, ...facts.map(([name, value]) => el("div", {}, el("dt", { text: name }), el("dd", { class: "clip", text: value, title: value })))));
}

// Press or drag anywhere over the tracks to go to that time.
function seekable(tracks, overlay, clock, end) {
  const seek = (event) => {
    const box = overlay.getBoundingClientRect();
    if (event.clientX >= box.left - 4 && box.width) clock.seek((end * (event.clientX - box.left)) / box.width);
  };
  tracks.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    seek(event);
    if (event.pointerType === "mouse") tracks.setPointerCapture(event.pointerId);
  });
  tracks.addEventListener("pointermove", (event) => {
    if (event.buttons & 1 && tracks.hasPointerCapture(event.pointerId)) seek(event);
  });
}
