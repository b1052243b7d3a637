// An episode without a film: a button that has it drawn, and how far that is.

import { post, said } from "./annotating.js";
import { ask, el } from "./dom.js";

const POLL_MS = 400;
// Told of on the document when a film that was asked for on this page is there.
export const FILMED = "robodx-filmed";

// By address: how far it is, and what shows that now. An episode may be left and opened again meanwhile.
const orders = new Map();

export function filmAsker(episode) {
  const path = `/api/film/${episode.run}/${encodeURIComponent(episode.trial_id)}`;
  const button = el("button", { type: "button", text: "Draw the film", title: "The overview and what the policy saw, drawn from the stored states" });
  const bar = el("progress", { "aria-label": "Film" });
  const text = el("span", { role: "status", class: "muted" });
  const node = el("div", { class: "film-asker" }, button, bar, text);
  const order = orders.get(path) || { answer: { state: "absent" }, isFollowed: false };
  orders.set(path, order);

  const show = (answer) => {
    order.answer = answer;
    const isUnderWay = ["waiting", "drawing", "drawn"].includes(answer.state);
    button.hidden = isUnderWay;
    button.textContent = answer.state === "failed" ? "Try again" : "Draw the film";
    bar.hidden = !isUnderWay;
    if (answer.total) Object.assign(bar, { max: answer.total, value: answer.done });
    else bar.removeAttribute("value");
    text.className = answer.state === "failed" ? "problem" : "muted";
    text.textContent = words(answer);
  };
  order.show = show;
  show(order.answer);
  // Asked for before this page was loaded, or on another one.
  if (!order.isFollowed && ["waiting", "drawing"].includes(episode.film_state)) {
    show({ state: episode.film_state });
    follow(path, episode);
  }
  button.addEventListener("click", async () => {
    show({ state: "waiting" });
    try {
      const known = await ask(path);
      show(await post(path, known, {}));
      follow(path, episode);
    } catch (error) {
      show({ state: "failed", problem: said(error) });
    }
  });
  return node;
}

function words({ state, done, total, problem }) {
  if (state === "failed") return problem;
  if (state === "drawing" && total) return `Drawing the film: ${done} of ${total} pictures`;
  return { waiting: "The film is drawn next …", drawing: "Drawing the film …", drawn: "The film is there." }[state] || "";
}

async function follow(path, episode) {
  const order = orders.get(path);
  if (order.isFollowed) return;
  order.isFollowed = true;
  try {
    while (["waiting", "drawing"].includes(order.answer.state)) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      order.show(await ask(path));
    }
    if (order.answer.state === "drawn") {
      orders.delete(path);
      document.dispatchEvent(new CustomEvent(FILMED, { detail: { run: episode.run, trial_id: episode.trial_id } }));
    }
  } catch (error) {
    order.show({ state: "failed", problem: said(error) });
  }
  order.isFollowed = false;
}
