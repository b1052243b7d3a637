// Pictures over time and of space. Over time all share one gutter, so that they line up and one cursor crosses them.

import { clipped, el, number, svg } from "./dom.js";

const SHAPES = { collision: "✕", drop: "▼", broken: "⚠", event: "◆", instruction: "❝", refined: "❞", contact: "·", limit: "ı" };
const CURVES = 8;
// The colour of the palette that is nearest to what a thing's name says; the hand has the first.
const HUES = { red: 1, orange: 7, brown: 7, yellow: 4, green: 2, mint: 2, cyan: 5, sky: 5, blue: 5, purple: 3, lavender: 3, pink: 3, grey: 6, white: 6, black: 6 };
const MARKED = [["grasp", "grasped"], ["release", "released"], ["drop", "dropped"], ["collision", "collision"]];

const percentOf = (time, end) => `${end ? Math.max(0, Math.min(100, (100 * time) / end)) : 0}%`;

function bar(from, to, end, names, text, title) {
  const node = el("div", { class: `bar ${names}`, title: title || text }, el("span", { text, dir: "auto" }));
  node.style.left = percentOf(from, end);
  node.style.width = percentOf(to - from, end);
  return node;
}

function point(at, end, names, text, title) {
  const node = el("div", { class: `point ${names}`, text, title });
  node.style.left = percentOf(at, end);
  return node;
}

function track(label, names = "") {
  const area = el("div", { class: `area ${names}` });
  return { node: el("div", { class: "track" }, el("div", { class: "track-label", text: label }), area), area };
}

// What was held from when to when, by the log.
export function holdings(events, lastTime) {
  const held = new Map();
  const spans = [];
  for (const event of events) {
    if (event.kind === "grasp" && !held.has(event.object)) held.set(event.object, event.time_s);
    if ((event.kind === "release" || event.kind === "drop") && held.has(event.object)) {
      spans.push({ object: event.object, from: held.get(event.object), to: event.time_s, isDropped: event.kind === "drop" });
      held.delete(event.object);
    }
  }
  for (const [object, from] of held) spans.push({ object, from, to: lastTime, isDropped: false });
  return spans;
}

export function timeline(episode, curves, end) {
  const tracks = [];
  const last = curves.end_s ?? episode.steps / episode.hz;
  const stages = track("stages", "tall");
  let from = 0;
  episode.stages.forEach((stage, index) => {
    const to = stage.step === null ? last : stage.step / episode.hz;
    if (stage.step === null && from > last - 1e-9 && index > 0) return;
    const name = stage.name && !stage.is_example ? `${index + 1} ${stage.name}` : `stage ${index + 1}`;
    const title = `stage ${index + 1}, ${stage.step === null ? "not reached" : `reached at ${to.toFixed(2)} s`}: ${stage.name || "unnamed"}`;
    stages.area.append(bar(from, to, end, stage.step === null ? "unreached" : `reached s${index % 4}`, name, title));
    from = Math.max(from, to);
    if (stage.step === null) from = Infinity;
  });
  tracks.push(stages.node);
  const spans = holdings(episode.events, last);
  if (spans.length) {
    const holding = track("holds");
    for (const span of spans) holding.area.append(bar(span.from, span.to, end, span.isDropped ? "held dropped" : "held", span.object, `${span.object}: held ${span.from.toFixed(2)} to ${span.to.toFixed(2)} s${span.isDropped ? ", dropped" : ""}`));
    tracks.push(holding.node);
  }
  const happened = track("events");
  for (const event of episode.events) {
    if (!(event.kind in SHAPES)) continue;
    happened.area.append(point(event.time_s, end, event.kind, SHAPES[event.kind], `${event.time_s.toFixed(2)} s ${describe(event)}`));
  }
  tracks.push(happened.node);
  if (curves.perturbed_s?.length) {
    const stress = track("stress");
    for (const [a, b] of curves.perturbed_s) stress.area.append(bar(a, b, end, "stressed", "", `the command was changed from ${a.toFixed(2)} to ${b.toFixed(2)} s`));
    tracks.push(stress.node);
  }
  const ticks = track("", "axis");
  const spacing = [0.5, 1, 2, 5, 10, 20, 50, 100].find((step) => end / step <= 8) || 200;
  for (let time = 0; time <= end + 1e-9; time += spacing) ticks.area.append(point(time, end, time > 0.94 * end ? "tick late" : "tick", `${time} s`));
  tracks.push(ticks.node);
  return tracks;
}

export function describe(event) {
  const other = event.other ? ` · ${event.other}` : "";
  return `${event.kind} ${event.object}${other}${event.kind === "collision" && event.value ? ` · ${number(event.value)} N` : ""}`;
}

// Several curves over time; the legend tells their values at the cursor.
export function plot(title, names, times, columns, end) {
  const values = columns.flat().filter((value) => value !== null);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (!values.length) [low, high] = [0, 1];
  if (high - low < 1e-6) [low, high] = [low - 0.5, high + 0.5];
  const pad = (high - low) * 0.06;
  [low, high] = [low - pad, high + pad];
  const picture = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": title });
  columns.forEach((column, index) => {
    let path = "";
    let isDown = false;
    column.forEach((value, at) => {
      if (value === null) {
        isDown = false;
        return;
      }
      path += `${isDown ? "L" : "M"}${((1000 * times[at]) / (end || 1)).toFixed(1)} ${((100 * (high - value)) / (high - low)).toFixed(2)}`;
      isDown = true;
    });
    picture.append(svg("path", { d: path, class: `curve c${index % CURVES}` }));
  });
  const legend = names.map((name, index) => {
    const value = el("span", { class: "value" });
    return { value, node: el("span", { class: "key" }, el("i", { class: `swatch c${index % CURVES}` }), el("span", { text: name }), value) };
  });
  const { node, area } = track("", "plot");
  node.firstChild.append(el("span", { text: Number((high - pad).toFixed(3)) }), el("span", { text: Number((low + pad).toFixed(3)) }));
  area.append(picture);
  const whole = el("div", { class: "plot-box" },
    el("div", { class: "plot-title" }, clipped(title), el("span", { class: "legend" }, ...legend.map((one) => one.node))), node);
  const update = (at) => columns.forEach((column, index) => {
    const value = column[Math.min(at, column.length - 1)];
    legend[index].value.textContent = value === null || value === undefined ? "–" : value.toFixed(3);
  });
  return { node: whole, update };
}

// The tool's way and those of things, from above as the robot sees it (+x up, +y left) and from behind (+z up).
export function drawing(episode, curves, isLarge) {
  const colours = coloursOf(curves.things.map(({ name }) => name));
  const above = space("from above", curves, 0, episode, colours);
  const behind = space("from behind", curves, 2, episode, colours);
  const node = el("div", { class: `drawing ${isLarge ? "large" : ""}` }, above.node, behind.node, signs(episode, curves, colours));
  return { node, update: (at) => [above, behind].forEach((one) => one.update(at)) };
}

// Each another, as far as there are so many.
function coloursOf(names) {
  const free = [1, 2, 3, 4, 5, 6, 7];
  const take = (at) => (at < 0 ? null : free.splice(at, 1)[0]);
  const said = names.map((name) => take(free.indexOf(HUES[name.split(" ").find((word) => Object.hasOwn(HUES, word))])));
  return said.map((colour, index) => `var(--c${colour ?? take(free.length ? 0 : -1) ?? 1 + (index % 7)})`);
}

// What is drawn, in words.
function signs(episode, curves, colours) {
  const sign = (names, text, colour) => {
    const mark = el("i", { class: `sign ${names}`, "aria-hidden": "true" });
    if (colour) mark.style.setProperty("--own", colour);
    return el("span", { class: "key" }, mark, clipped(text));
  };
  const target = targetOf(episode);
  return el("p", { class: "signs", "aria-label": "What is drawn" },
    sign("hand", "hand, wider when open"), ...curves.things.map(({ name }, index) => sign("thing", name, colours[index])),
    target ? sign("asked", `asked for: ${target.name || "the target"}`) : null,
    ...MARKED.filter(([kind]) => episode.events.some((event) => event.kind === kind)).map(([kind, text]) => sign(kind, text)));
}

const targetOf = ({ target }) => (target && target.x_m !== null && target.y_m !== null ? target : null);

function space(title, curves, upAxis, episode, colours) {
  // The tool last, to be drawn above what it holds.
  const ways = [...curves.things.map(({ name, way }) => ({ name, way, isTool: false })), ...curves.tool.map((way, hand) => ({ way, hand, isTool: true }))];
  const flat = ({ way }) => [way[1].map((y) => -y), way[upAxis].map((up) => -up)];
  const points = ways.map(flat);
  const xs = points.flatMap(([x]) => x);
  const ys = points.flatMap(([, y]) => y);
  let [x0, x1, y0, y1] = [Math.min(...xs) - 0.06, Math.max(...xs) + 0.06, Math.min(...ys) - 0.06, Math.max(...ys) + 0.06];
  const half = Math.max(x1 - x0, y1 - y0, 0.3) / 2;
  const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2];
  [x0, x1, y0, y1] = [cx - half, cx + half, cy - half, cy + half];
  const scale = 1000 / (2 * half);
  const at = (x, y) => [((x - x0) * scale).toFixed(1), ((y - y0) * scale).toFixed(1)];
  const picture = svg("svg", { viewBox: "0 0 1000 1000", role: "img", "aria-label": `Path of the end effector ${title}` });
  for (let line = Math.ceil(x0 * 10); line <= x1 * 10; line++) picture.append(svg("line", { class: "grid", x1: at(line / 10, 0)[0], x2: at(line / 10, 0)[0], y1: 0, y2: 1000 }));
  for (let line = Math.ceil(y0 * 10); line <= y1 * 10; line++) picture.append(svg("line", { class: "grid", y1: at(0, line / 10)[1], y2: at(0, line / 10)[1], x1: 0, x2: 1000 }));
  if (upAxis === 2) picture.append(svg("line", { class: "table", x1: 0, x2: 1000, y1: at(0, 0)[1], y2: at(0, 0)[1] }));
  const path = ([x, y], until) => {
    let d = "";
    for (let index = 0; index <= until && index < x.length; index++) {
      if (x[index] !== null && y[index] !== null) d += `${d ? "L" : "M"}${at(x[index], y[index]).join(" ")}`;
    }
    return d;
  };
  const moving = ways.map((way, index) => {
    const last = points[index][0].length - 1;
    const kind = way.isTool ? "tool" : "thing";
    const line = svg("path", { class: `way ${kind}`, d: path(points[index], last) });
    picture.append(line);
    const dot = svg(way.isTool ? "circle" : "rect", { class: `dot ${kind}` }, ...(way.name ? [titled(way.name)] : []));
    const trail = svg("path", { class: `trail ${kind}` });
    if (!way.isTool) for (const one of [line, trail, dot]) one.style.setProperty("--own", colours[index]);
    return { kind, hand: way.hand, points: points[index], trail, dot };
  });
  const target = targetOf(episode);
  if (upAxis === 0 && target) {
    const [x, y] = at(-target.y_m, -target.x_m);
    picture.append(svg("circle", { class: "target", cx: x, cy: y, r: 48 }, titled(`asked for: ${target.name || "the target"}`)));
  }
  const tool = points[curves.things.length];
  for (const event of episode.events) {
    if (!["grasp", "release", "drop", "collision"].includes(event.kind) || !tool) continue;
    const index = nearest(curves.time_s, event.time_s);
    const [x, y] = at(tool[0][index], tool[1][index]);
    picture.append(svg("circle", { class: `event ${event.kind}`, cx: x, cy: y, r: 11 }, titled(`${event.time_s.toFixed(2)} s ${describe(event)}`)));
  }
  for (const one of moving) picture.append(one.trail);
  for (const one of moving) picture.append(one.dot);
  const update = (index) => {
    for (const one of moving) {
      const [xValues, yValues] = one.points;
      const now = Math.min(index, xValues.length - 1);
      one.trail.setAttribute("d", path(one.points, now));
      if (xValues[now] === null || yValues[now] === null) continue;
      const [x, y] = at(xValues[now], yValues[now]);
      if (one.kind === "tool") {
        const openings = curves.openings[one.hand] ?? [];
        const opening = openings[Math.min(now, openings.length - 1)];
        for (const [name, value] of [["cx", x], ["cy", y], ["r", 13 + 13 * Math.max(0, Math.min(1, opening ?? 0.5))]]) one.dot.setAttribute(name, value);
      } else {
        for (const [name, value] of [["x", x - 18], ["y", y - 18], ["width", 36], ["height", 36], ["rx", 7]]) one.dot.setAttribute(name, value);
      }
    }
  };
  const sides = upAxis === 0 ? "↑ x forward, ← y left" : "↑ z up, ← y left";
  const node = el("figure", { class: "space" }, picture, el("figcaption", { class: "muted", text: `${title}: ${sides} · 10 cm grid` }));
  return { node, update };
}

function titled(text) {
  const node = svg("title");
  node.textContent = text;
  return node;
}

export function nearest(times, time) {
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time + 1e-6) low = middle;
    else high = middle - 1;
  }
  return low;
}
