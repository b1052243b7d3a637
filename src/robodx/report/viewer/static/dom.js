// Small helpers: elements whose content is always text, numbers, and requests.

// How many letters of a name are shown after the cut.
const ENDING = 13;
export const GLYPHS = { success: "✓", failure: "✗", timeout: "◷", "wrong object": "≠", error: "!" };

// Text goes in as text: names in a run may be anything.
export function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  const { text, class: names, on, ...attributes } = options;
  if (names) node.className = names;
  if (text !== undefined && text !== null) node.textContent = String(text);
  for (const [name, handler] of Object.entries(on || {})) node.addEventListener(name, handler);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

// One line that is cut where it does not fit; the whole is in its tooltip.
export function clipped(text, names = "") {
  return el("span", { class: `clip ${names}`, text, title: text, dir: "auto" });
}

// The same, cut in its middle: names of tasks differ in their ends. Its letters are not torn apart.
export function clippedWithin(text, names = "") {
  const letters = [...text];
  return el("span", { class: `within ${names}`, title: text },
    clipped(letters.slice(0, -ENDING).join("")), el("span", { class: "ending", text: letters.slice(-ENDING).join(""), dir: "auto" }));
}

// As the style sheet names it.
export const outcomeClass = (outcome) => outcome.replaceAll(" ", "-");

export function outcomeMark(outcome) {
  return el("span", {
    class: `mark ${GLYPHS[outcome] ? outcomeClass(outcome) : "unknown"}`, text: GLYPHS[outcome] || "?", title: outcome, "aria-label": outcome, role: "img",
  });
}

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 0.01 ? String(Number(value.toPrecision(digits))) : value.toExponential(1);
}

export async function ask(path) {
  const answer = await fetch(path);
  if (answer.status === 204) return null;
  if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 300)}`);
  return answer.json();
}
