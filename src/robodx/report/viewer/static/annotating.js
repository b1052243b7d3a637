// What the pages of a review share: who labels, and how a label gets into its file.

import { ask } from "./dom.js";

// Browsers may forbid to remember anything.

export function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function remember(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    // It is kept as long as the page is.
  }
}

export const said = (error) => (error instanceof TypeError ? "No answer from robodx view: is it still running?" : error.message);

export async function post(path, review, annotation, isSecond = false) {
  const headers = { "Content-Type": "application/json", "X-Robodx-Write-Token": review.write_token };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(annotation) });
  if (answer.ok) return answer.json();
  if (answer.status === 403 && !isSecond) {
    // robodx view was started again: it knows another token.
    review.write_token = (await ask(path)).write_token;
    return post(path, review, annotation, true);
  }
  throw new Error((await answer.text()).slice(0, 300));
}

// The dialog that asks who labels: `take` a name, which may be refused, and remember it.
export function whenNamed(now, take, then) {
  const [who, name, problem] = ["who", "who-name", "who-problem"].map((id) => document.getElementById(id));
  document.getElementById("who-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try {
      await take(name.value.trim());
    } catch (error) {
      problem.hidden = false;
      problem.textContent = said(error);
      return;
    }
    remember("robodx.annotator", now());
    who.close();
    then();
  });
  // Without a name there is nothing to label.
  who.addEventListener("cancel", (event) => now() || event.preventDefault());
}
