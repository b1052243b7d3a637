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
