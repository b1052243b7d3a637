"""Plants wrong conventions behind servers that declare nothing, lets the probe find them, and writes the table.

`python scripts/probe_table.py` runs it. Cases are kept in docs/results/planted-conventions.jsonl, and are not run again
until the probe's search changes. `--there` only writes the table. Most cases ask the same policy about the same
pictures again: its answers and the demonstrations are kept in .cache/probe-table, by the source that they were made
with (some GB a policy).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from pages import DOCS, of_this_source, rewrite
from planted_conventions import MISTAKES, POLICIES, SEARCH, Mistake, has_effect, judged
from remembered import Remembered, RememberedDemonstrations
from units import at_work, keep, kept

from robodx.analysis.statistics.estimates import wilson
from robodx.compatibility import showing
from robodx.compatibility.probe import probe
from robodx.policy_contract import make_policy
from robodx.wires.preset_files import as_toml
from robodx.wires.protocols import openpi
from robodx.wires.remote import connect
from robodx.wires.serving import Endpoint

ROOT = Path(__file__).parent.parent
OUTCOMES = {
    "named": "named", "named in part": "in part", "misnamed": "another named", "inconclusive": "inconclusive",
    "listed": "listed as open", "no effect": "no effect", "cleared": "**wrongly cleared**", "fits": "fits",
    "accused": "**wrongly accused**",
}  # fmt: skip
NOT_CLEARED = ("named", "named in part", "misnamed", "inconclusive", "listed")


class Silent(Endpoint):
    """A server that greets as those of others do: without a word about its conventions."""

    @property
    def about(self) -> dict[str, Any]:
        return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--there", action="store_true", help="only write the table of the cases that are there")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--mistakes", default="", help="only those whose name contains this")
    parser.add_argument("--out", type=Path, default=DOCS / "results" / "planted-conventions.jsonl")
    options = parser.parse_args()
    path = options.out
    done = {(row["mistake"], row["policy"]) for row in kept(path) if row["search"] == SEARCH}
    cases = [
        (one.name, policy) for policy in reversed(options.policies.split(",")) for one in MISTAKES
        if options.mistakes in one.name and (one.name, policy) not in done
    ]  # fmt: skip
    if cases and not options.there:
        keep(path, ([row] for row in at_work(cases, run_case, options.workers)))
    text = table(kept(path))
    print(text)
    rewrite(DOCS / "policies.md", "table of planted conventions", text)


def run_case(named: tuple[str, str]) -> dict[str, Any]:
    name, policy = named
    mistake = next(one for one in MISTAKES if one.name == name)
    there = of_this_source(ROOT / ".cache" / "probe-table")
    case = mistake.case(Remembered(make_policy(policy), there / f"{policy}.sqlite"))
    vars(showing)["demonstrate"] = RememberedDemonstrations(there / "demonstrations")
    with tempfile.TemporaryDirectory() as folder, in_a_thread(Silent(case.policy, case.planted)) as port:
        file = Path(folder) / "declared.toml"
        file.write_text(as_toml(case.declared.as_dict()))
        remote = connect(openpi.openpi(f"//127.0.0.1:{port}"), f"openpi://127.0.0.1:{port}", str(file))
        try:
            verdict = probe(remote)
        finally:
            remote.close()
    effect = has_effect(case)
    return {
        "search": SEARCH, "mistake": name, "policy": policy, "outcome": judged(mistake, case, verdict, effect),
        "verdict": verdict.word, "sentences": [change.sentence for change in verdict.changes],
        "undecided": list(verdict.undecided), "untested": list(verdict.untested),
        "explained": {name: round(share, 3) for name, share in verdict.explained.items()},
        "demonstrations": verdict.demonstrations,
    }  # fmt: skip


@contextmanager
def in_a_thread(endpoint: Endpoint) -> Iterator[int]:
    """The port of a server that is stopped when the block ends."""
    ready, ports, stop = threading.Event(), list[int](), list[Callable[[], object]]()

    def on_ready(port: int) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        stop.append(partial(loop.call_soon_threadsafe, task.cancel))
        ports.append(port)
        ready.set()

    def target() -> None:
        with suppress(asyncio.CancelledError):
            openpi.serve(endpoint, "127.0.0.1", 0, on_ready)

    thread = threading.Thread(target=target)
    thread.start()
    assert ready.wait(60)
    try:
        yield ports[0]
    finally:
        stop[0]()
        thread.join(60)


def table(rows: Sequence[dict[str, Any]]) -> str:
    # Later ones count.
    latest = {(row["mistake"], row["policy"]): row for row in sorted(rows, key=lambda row: int(row["search"]))}
    found = {key: row["outcome"] for key, row in latest.items() if key[0] in {one.name for one in MISTAKES}}
    earlier = {key for key, row in latest.items() if row["search"] < SEARCH}
    lines = [f"| planted | {' | '.join(f'`{name}`' for name in POLICIES)} | tuned on |", "|---|" + "---|" * 4]
    for one in MISTAKES:
        cells = [
            OUTCOMES.get(found.get((one.name, policy), ""), "—") + "°" * ((one.name, policy) in earlier)
            for policy in POLICIES
        ]
        lines.append(f"| {one.name} | {' | '.join(cells)} | {'yes' if one.is_tuned_on else ''} |")
    lines += ["", "| with an effect, n | named | in part | another | inconclusive | listed as open | wrongly cleared |",
              "|---|---|---|---|---|---|---|"]  # fmt: skip
    for words, is_tuned_on in (("tuned on", True), ("not tuned on", False)):
        names = {one.name for one in MISTAKES if one.is_tuned_on == is_tuned_on and one.is_mistake}
        counts = Counter(outcome for (name, _), outcome in found.items() if name in names)
        n = sum(counts[outcome] for outcome in (*NOT_CLEARED, "cleared"))
        cells = [_share(counts[outcome], n) for outcome in (*NOT_CLEARED, "cleared")]
        lines.append(f"| {words}, {n} | {' | '.join(cells)} |")
    none = [outcome for (name, _), outcome in found.items() if not _mistake(name).is_mistake]
    accused = _share(none.count("accused"), len(none))
    cpu_s = {
        policy: [row["cpu_s"] for row in rows if row["policy"] == policy and row.get("cpu_s")] for policy in POLICIES
    }
    costs = ", ".join(f"`{name}` {sum(some) / len(some):.0f} s" for name, some in cpu_s.items() if some)
    lines += ["", f"Without a mistake, wrongly accused: {accused}. Processor time of one case: {costs or '—'}."]
    return "\n".join(lines)


def _mistake(name: str) -> Mistake:
    return next(one for one in MISTAKES if one.name == name)


def _share(count: int, n: int) -> str:
    if not n:
        return "—"
    return f"{count} ({wilson(count, n)})"


if __name__ == "__main__":
    main()
