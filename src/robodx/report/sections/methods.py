"""How the numbers came about, with what versions, and how to get them again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from robodx.analysis.policy_label import options
from robodx.analysis.wording import PER_ROW
from robodx.records.trial import DEFAULT_ROBOT
from robodx.records.values import as_option
from robodx.report.blocks import Block, Cell, Column, Table, Text
from robodx.report.material import Material, Run
from robodx.report.sections.base import Content, section
from robodx.report.words import listed

METHODS = (
    "The success rate is success / (success + failure + timeout). Errors are counted apart; if more than 5% of the "
    "episodes end in errors, no rate is given. The rate of several tasks is their mean, and every task counts equally.",
    "n counts situations: episodes with the same instructions and bit-identical trajectories count once. Intervals are "
    "95% intervals: Wilson's for one rate, score or bootstrap intervals of seeds within tasks for means, Newcombe's "
    "and Tango's for differences, with 0 in it where the exact test does not exclude that; p of pairs is exact "
    f"(McNemar), Holm-adjusted within a family of tests. {PER_ROW}",
    "RoboDx screens episodes for conditions that go with failures, and decides on causes by pairs: a fresh situation, "
    "drawn by the condition and never by its outcome, is run with one factor changed, and with a placebo, which "
    "changes as much of the same sort and keeps the factor. To undo takes the factor away where it is; to put in "
    "brings it about elsewhere. Pairs are run until e-values decide, and a policy without any cause is given one with "
    "a probability of at most 5%. What was not decided only goes with failures, and its rivals are named. Changed "
    "situations count in no other number of this page.",
)
ADAPTIVE = (
    "The results decided when a run stopped: success rates have always-valid intervals, and numbers that need a fixed "
    "number of episodes have none."
)
# What a run was asked for, in the words of the command line, where it is not what one gets anyway.
USUAL = {
    "first_seed": 0, "repeats": 1, "clock": "lockstep", "quality": "fast", "robot": DEFAULT_ROBOT, "batch": 1,
    "shard": None, "until_width": None,
}  # fmt: skip


@section(order=120, title="Methods and versions", folded=True)
def methods(material: Material) -> Content | None:
    blocks: list[Block] = [Text(text) for text in METHODS]
    if any(subject.summary.stopped != "planned" for subject in material.subjects):
        blocks.append(Text(ADAPTIVE))
    columns = [Column("run"), Column("policy"), Column("episodes", is_number=True), Column("state")]
    blocks.append(Table("The runs", columns, [_row(run) for run in material.runs]))
    versions = _versions(material.runs)
    wording = ", ".join(f"{name} {' or '.join(values)}" for name, values in versions.items())
    blocks.append(Text(f"Made with {wording or 'versions that are not recorded'}."))
    if differing := [name for name, values in versions.items() if len(values) > 1]:
        wording = f"The runs were made with different versions ({listed(differing)}): their trajectories may differ."
        blocks.append(Text(wording, "warning"))
    commands = [(str(run.path), command(run)) for run in material.runs if run.about.get("request")]
    blocks.append(
        Table(
            "To run it again",
            [Column("run"), Column("command")],
            [[Cell(a), Cell(b)] for a, b in commands],
            kind="commands",
        )
    )
    if any(run.about.get("is_reproducible") is False for run in material.runs):
        blocks.append(Text("A run on a measured clock cannot be reproduced bit for bit.", "quiet"))
    return Content(blocks, [_plain(run) for run in material.runs])


def command(run: Run) -> str:
    """The robodx run that asks for the same; older runs say less of it."""
    request: Mapping[str, Any] = run.about["request"]
    selectors, policy = [str(one) for one in request.get("selectors", [])], str(request.get("policy"))
    if selectors and selectors[0].startswith("cliff/"):
        stressed, _, task = selectors[0].removeprefix("cliff/").partition("/")
        stressor, _, most = stressed.partition("=")
        words = ["robodx", "cliff", task, *shlex.split(options(policy, [run.about])), "--stressor", stressor]
        return shlex.join([*words, *(["--max", most] if most else []), "--episodes", str(request.get("seeds"))])
    words = ["robodx", "run", *selectors, *shlex.split(options(policy, [run.about]))]
    words += ["--seeds", str(request.get("seeds")), *_given(request, USUAL)]
    for name, value in request.get("perturbations", []):
        words += ["--perturb", as_option(name, value)]
    if request.get("until_decided"):
        words += ["--against", str(request.get("against")), "--until-decided"]
    for plugin in dict(request.get("plugins", ())):
        words += ["--plugin", plugin]
    return shlex.join(words)


def _given(request: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    """The options that are other than usual."""
    given = {name: request.get(name, value) for name, value in usual.items()}
    options = ((name, value) for name, value in given.items() if value != usual[name])
    return [word for name, value in options for word in (f"--{name.replace('_', '-')}", str(value))]


def _row(run: Run) -> list[Cell]:
    policies = ", ".join(run.episodes["policy"].unique(maintain_order=True))
    state = "finished" if run.is_finished else "not finished"
    return [Cell(str(run.path)), Cell(policies), Cell(f"{len(run.episodes):,}"), Cell(state)]


def _versions(runs: Sequence[Run]) -> dict[str, list[str]]:
    """All that are recorded. A run without a camera has no renderer, and does not differ by that."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for name, value in run.about.get("versions", {}).items():
            if value and str(value) not in found.setdefault(name, []):
                found[name].append(str(value))
    return {name: values for name, values in found.items() if values}


def _plain(run: Run) -> dict[str, Any]:
    return {
        "run": str(run.path),
        "episodes": len(run.episodes),
        "is_finished": run.is_finished,
        "stopped": run.stopped,
        **{name: run.about.get(name) for name in ("schema_version", "versions", "machine", "physics", "policy_spec")},
        "command": command(run) if run.about.get("request") else None,
    }
