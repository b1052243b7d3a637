"""How it fails: kinds and types of failures, and faults of episodes that succeeded nevertheless."""

from __future__ import annotations

from dataclasses import asdict

from robodx.analysis.failure_summary import Error, Failures
from robodx.report.blocks import Block, Cell, Column, Heading, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material
from robodx.report.sections.base import Content, section
from robodx.report.words import counted, rate

# What the kinds mean, in a few words.
KINDS = {
    "reference": "It took or touched the wrong object",
    "constraint": "It broke a count, an order or an exclusion",
    "motor": "It chose the right object, but the motion failed",
    "safety": "It exceeded a limit of force, speed or reach",
    "timeout": "It timed out",
    "invalid_action": "It sent an action that cannot be executed",
    "unknown": "No cause was found",
}


@section(order=50, title="How it fails", folded=True)
def failures(material: Material) -> Content | None:
    blocks: list[Block] = []
    found = [one for subject in material.subjects for one in subject.summary.failures()]
    for one in found:
        heading = ": ".join(filter(None, (one.policy if material.is_comparison else "", one.variant or "")))
        blocks += [Heading(heading[0].upper() + heading[1:] if one.variant == heading else heading)] if heading else []
        blocks += _of(one)
    for subject in material.subjects:
        blocks += [
            Text(wording, "warning")
            for wording in _errors(subject.policy, subject.summary.errors(), len(subject.summary.episodes))
        ]
    return Content(blocks, [asdict(one) for one in found])


def _of(one: Failures) -> list[Block]:
    failed = sum(share.count for share in one.kinds)
    if not failed:
        blocks: list[Block] = [Text(f"None of {counted(one.n, 'distinct episode')} failed.")]
    else:
        rows = [
            Row(
                [share.label],
                share.share,
                colour=2,
                further=[Cell(str(share.count), sort=share.count), Cell(_what(one, share.label))],
            )
            for share in one.kinds
        ]
        kinds = forest(
            f"Failure kinds: shares of {counted(failed, 'failure')} in {one.n:,} distinct episodes, with 95% intervals",
            ["kind"], rows, what="share", kind="worded",
            further=[Column("count", is_number=True), Column("meaning and example")],
        )  # fmt: skip
        rows = [
            Row([share.label, kind], share.share, colour=4, further=[Cell(str(share.count), sort=share.count)])
            for kind, shares in one.types_of.items()
            for share in shares
        ]
        types = forest(
            "Types within each kind, as shares of its failures, with 95% intervals",
            ["type", "kind"], rows, what="share", further=[Column("count", is_number=True)], is_folded=True,
        )  # fmt: skip
        blocks = [kinds, types]
    if one.flags_on_successes:
        wording = [f"{flag.replace('_', ' ')} {rate(found)}" for flag, found in one.flags_on_successes.items()]
        blocks.append(
            Text(f"Quality flags in {counted(one.successes, 'successful episode')}: {'; '.join(wording)}.", "quiet")
        )
    return blocks


def _what(one: Failures, kind: str) -> str:
    meaning = KINDS.get(kind, "")
    example = one.examples.get(kind)
    if example is None or not example.says:
        return meaning
    return f"{meaning}. {example.task}, seed {example.seed}: {example.says}"


def _errors(policy: str, errors: list[Error], episodes: int) -> list[str]:
    if not errors:
        return []
    total = sum(one.count for one in errors)
    wording = "; ".join(f"{one.count} × {one.says}" for one in errors[:3])
    some = f"{total:,} of {counted(episodes, 'episode')} of {policy}"
    return [f"{some} ended in an error and {'is' if total == 1 else 'are'} not counted in any rate: {wording}"]
