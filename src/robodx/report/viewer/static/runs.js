// The runs to choose from, and what the chosen one has beside its episodes: reviews by people, and its report.

import { clipped, el, outcomeClass } from "./dom.js";

export function runItems(runs, chosen, choose) {
  const items = runs.map((run) => runItem(run, chosen, choose));
  if (runs.length > 1) {
    const count = runs.reduce((sum, run) => sum + (run.episodes || 0), 0);
    items.unshift(el("button", { type: "button", class: "run", "aria-pressed": String(chosen === ""), on: { click: () => choose("") } },
      el("span", { class: "run-first" }, el("span", { class: "clip", text: "All runs" }), el("span", { class: "muted", text: count }))));
  }
  if (!runs.length) items.push(el("p", { class: "muted", text: "There are no runs here yet. They appear as robodx run writes them." }));
  return items;
}

function runItem(run, chosen, choose) {
  const { success = 0, failure = 0, timeout = 0, error = 0, "wrong object": wrong = 0 } = run.outcomes || {};
  const judged = success + failure + timeout + wrong;
  const rate = run.success === null || run.success === undefined ? "" : `${Math.round(100 * run.success)}%`;
  // One number: the mean over tasks and the share of episodes need not be alike, and would read as a wrong division.
  const solved = `${success} of ${judged} episodes solved${error ? `, ${error} errors` : ""}`;
  const [says, explains] = ended(run, rate, `${success} of ${judged}`, solved);
  const shares = el("span", { class: "shares", "aria-hidden": "true" });
  for (const [name, count] of [["success", success], ["wrong object", wrong], ["failure", failure], ["timeout", timeout], ["error", error]]) {
    if (!count) continue;
    const share = el("i", { class: outcomeClass(name) });
    share.style.flexGrow = count;
    shares.append(share);
  }
  const marks = [];
  if (run.is_live) marks.push(el("span", { class: "live", text: "live", title: "This run is in progress; new episodes appear automatically" }));
  else if (run.is_unfinished) marks.push(el("span", { class: "muted small", text: "unfinished", title: "This run was stopped; the same command continues it" }));
  if (run.problems?.length) marks.push(el("span", { class: "warning", text: "⚠", role: "img", "aria-label": `${run.problems.length} problems`, title: run.problems.join("\n") }));
  return el("button", { type: "button", class: "run", "data-run": run.id, "aria-pressed": String(chosen === run.id), on: { click: () => choose(run.id) } },
    el("span", { class: "run-first" }, clipped(run.name), ...marks),
    el("span", { class: "run-second muted" }, clipped((run.policies || []).join(", ")),
      el("span", { class: "nowrap", text: says, title: explains })),
    shares);
}

// What is said of a run's episodes in its line, and in the tooltip.
function ended(run, rate, count, solved) {
  if (run.is_review_alone) return ["to be judged", "No episodes; pictures for people to judge"];
  if (run.episodes === undefined) return ["…", ""];
  if (run.is_substituted) return [`with help: ${count}`, `Failed trials run again, most with one component made perfect (robodx why): ${solved}. These are not the policy's own successes.`];
  return rate ? [`${rate} over tasks`, `${rate} success: mean over tasks, without stress or real time, as in the report. Of all, ${solved}.`] : [`${count} solved`, `Of all, ${solved}.`];
}

// What people are asked to label, and how far the one who is named here is.
export function reviewLines(run) {
  const lines = (run?.reviews || []).map((review) => (review.problem ? el("p", { class: "warning", text: `⚠ ${review.problem}` })
    : el("p", {}, el("a", { href: `/${review.page}#${new URLSearchParams({ run: run.id, review: review.name })}`, text: `${review.title} (${doneOf(review)} of ${review.items} done)` }))));
  if (run?.has_pairs && run.review_command && !lines.length) lines.push(el("p", { class: "muted" }, "For people to review its failures: ", el("code", { text: run.review_command })));
  return lines;
}

// What writes a report that is missing, or older than the episodes.
export function reportLines(run) {
  if (!run?.report_command || run.is_review_alone || (run.has_report && !run.is_report_old)) return [];
  const why = run.has_report ? "Its report is older than its episodes. To write it again: " : "It has no report yet. To write one: ";
  return [el("p", { class: "muted" }, why, el("code", { text: run.report_command }))];
}

function doneOf(review) {
  let annotator = null;
  try {
    annotator = localStorage.getItem("robodx.annotator");
  } catch {
    // Browsers may forbid to remember anything.
  }
  return annotator ? review.progress[annotator] || 0 : review.labelled;
}
