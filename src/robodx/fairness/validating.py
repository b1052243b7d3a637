"""Checks a set of instances, keeps what it found in a folder, has a model judge it, and lays it out for people."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, TypeVar

import polars as pl

from robodx.chat_completions import BadReply, ChatError, Endpoint
from robodx.errors import UserError
from robodx.fairness.checks import CAMERAS, LIMITS, SCHEMA, Checked, Measured, checked_situation, row_of
from robodx.fairness.instances import situation_of
from robodx.fairness.judge import judge, judgement_key
from robodx.fairness.reviewing import fairness_review, said_by_people, store
from robodx.records import files
from robodx.records.annotations import read_annotations
from robodx.records.instance import Instance
from robodx.records.ledger import Ledger
from robodx.records.review import PICTURES
from robodx.records.trial import DEFAULT_ROBOT
from robodx.records.value_columns import APPLIED
from robodx.records.values import applied_record
from robodx.sim.render import RENDERING_VERSION
from robodx.streams import Streams
from robodx.tasks.base import Situation
from robodx.video.show import tile, write_png

T = TypeVar("T")

FILE, CHECKS, JUDGEMENTS = "instances.parquet", "checks.jsonl", "judgements.jsonl"
# Of each factor so many are looked at by people and the judge, beside all that do not pass.
SAMPLE = 24
TABLE = pl.Schema(
    {
        "instance": pl.String(), "factor": pl.String(), "task": pl.String(), "seed": pl.Int64(),
        "interventions": pl.List(APPLIED), "instruction": pl.String(), "cameras": pl.List(pl.String()),
        # What the three verdicts are of: instances that look and sound the same are one item.
        "item": pl.String(), "picture": pl.String(),
        **{name: kind for name, kind in SCHEMA.items() if name not in ("instance", "factor")},
        "people": pl.String(), "people_accept": pl.Int64(), "people_reject": pl.Int64(),
        "judge": pl.String(), "judge_reason": pl.String(), "judge_model": pl.String(),
    }
)  # fmt: skip


class Tracked(Protocol):
    """The same items, while a bar tells how far it is."""

    def __call__(self, items: Iterable[T], total: int, what: str) -> Iterator[T]: ...


def untracked(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    yield from items


@dataclass(frozen=True)
class Look:
    """How instances are looked at."""

    cameras: tuple[str, ...] = CAMERAS
    robot: str = DEFAULT_ROBOT
    quality: str = "fast"
    # None for all.
    sample: int | None = SAMPLE

    def key(self, situation: Situation) -> str:
        """Of all that decides what is seen and said of it."""
        how = (self.cameras, self.robot, self.quality, RENDERING_VERSION, LIMITS)
        seen = (situation.scene, situation.instruction.text, str(situation.stages[-1]), *how)
        return blake2b(repr(seen).encode(), digest_size=8).hexdigest()


@dataclass
class _Folder:
    """What is known so far, and where."""

    path: Path
    checks: Ledger = field(init=False)
    judgements: Ledger = field(init=False)

    def __post_init__(self) -> None:
        try:
            (self.path / PICTURES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror or error}") from error
        self.checks, self.judgements = Ledger(self.path / CHECKS), Ledger(self.path / JUDGEMENTS)

    def picture(self, item: str) -> Path:
        return self.path / PICTURES / f"{item}.png"


def validate(
    instances: Sequence[Instance],
    out: Path,
    look: Look | None = None,
    *,
    judge_at: Endpoint | None = None,
    tell: Callable[[str], None] = lambda _: None,
    tracked: Tracked = untracked,
) -> pl.DataFrame:
    """The table of instances with all three verdicts, as it is then in `out`, beside pictures and a review of them.

    Stopped at any time, it goes on from there. `tell` hears of verdicts that are missing or do not count.
    """
    look = look or Look()
    folder = _Folder(out)
    shown = _sampled(instances, look.sample)
    rows = [_row(one, folder, look, one.name in shown) for one in tracked(instances, len(instances), "instances")]
    for row in rows:
        # Another that looks the same may have been drawn after it.
        if row["item"] is not None and folder.picture(row["item"]).exists():
            row["picture"] = folder.picture(row["item"]).name
    try:
        if judge_at is not None:
            _judge(rows, folder, judge_at, tell, tracked)
    finally:
        # What is known by then, also where the judge cannot be asked any more.
        _with_judgements(rows, folder, None if judge_at is None else judge_at.model)
        _with_people(rows, out, tell)
        table = pl.DataFrame(rows, schema=TABLE)
        content = io.BytesIO()
        table.write_parquet(content)
        files.write(out / FILE, content.getvalue())
    return table


def _sampled(instances: Sequence[Instance], size: int | None) -> set[str]:
    """By name: so many of each factor, the same ones every time."""
    by_factor: dict[str, list[str]] = {}
    for one in instances:
        by_factor.setdefault(one.factor, []).append(one.name)
    found: set[str] = set()
    for factor, names in by_factor.items():
        order = Streams(0, owner="fairness").rng("sample", factor).permutation(len(names))
        found |= {names[place] for place in order[:size]}
    return found


def _row(instance: Instance, folder: _Folder, look: Look, is_sampled: bool) -> dict[str, Any]:
    applied = [applied_record(one) for one in instance.interventions]
    row: dict[str, Any] = {
        "instance": instance.name, "factor": instance.factor, "task": instance.task, "seed": instance.seed,
        "interventions": applied, "instruction": "", "cameras": list(look.cameras), "item": None, "picture": None,
        "people": None, "people_accept": 0, "people_reject": 0,
        "judge": None, "judge_reason": None, "judge_model": None,
    }  # fmt: skip
    try:
        situation = situation_of(instance)
    except (UserError, ValueError) as error:
        return row | row_of(Checked(Measured(), (f"it cannot be made: {error}",)))
    item = look.key(situation)
    picture = folder.picture(item)
    found = folder.checks.get(item)
    if found is None or ((is_sampled or not found["passes"]) and found["has_picture"] and not picture.exists()):
        found = _checked(situation, item, folder, look, is_sampled)
    said = {name: found[name] for name in SCHEMA if name in found}
    return row | {"instruction": situation.instruction.text, "item": item} | said


def _checked(situation: Situation, item: str, folder: _Folder, look: Look, is_sampled: bool) -> dict[str, Any]:
    checked = checked_situation(situation, cameras=look.cameras, robot=look.robot, quality=look.quality)
    if checked.pictures and (is_sampled or not checked.passes):
        write_png(folder.picture(item), tile(list(checked.pictures)))
    found = row_of(checked) | {"has_picture": bool(checked.pictures)}
    folder.checks.add(item, found)
    return found


def _judge(
    rows: Sequence[dict[str, Any]], folder: _Folder, endpoint: Endpoint, tell: Callable[[str], None], tracked: Tracked
) -> None:
    """Each picture once. One of which there is no proper reply has no verdict, and is asked for again next time."""
    shown = {row["item"]: row for row in rows if row["picture"] is not None}
    for item, row in tracked(shown.items(), len(shown), "judgements"):
        key = judgement_key(item, endpoint.model)
        if folder.judgements.get(key) is not None:
            continue
        try:
            given = judge(endpoint, folder.picture(item).read_bytes(), row["instruction"])
        except BadReply as error:
            tell(f"No verdict on {row['instance']}: {error}")
            continue
        except ChatError as error:
            raise ChatError(f"{error} (what is judged is kept; the same command goes on later)") from error
        said = {"item": item, "model": endpoint.model, "verdict": given.verdict, "reason": given.reason}
        folder.judgements.add(key, said)


def _with_judgements(rows: Sequence[dict[str, Any]], folder: _Folder, model: str | None) -> None:
    """Of this model, or without one the last that there are."""
    given = {one["item"]: one for one in folder.judgements.entries() if model in (None, one["model"])}
    for row in rows:
        if one := given.get(row["item"]):
            row["judge"], row["judge_reason"], row["judge_model"] = one["verdict"], one["reason"], one["model"]


def _with_people(rows: Sequence[dict[str, Any]], out: Path, tell: Callable[[str], None]) -> None:
    """Lays the pictures out for people, and adds what they said of them so far."""
    review = fairness_review(rows, Streams(0, owner="fairness").rng("order"))
    if not review.items:
        return
    store(out, review)
    said = read_annotations(out, review)
    for problem in said.problems:
        tell(f"Caution: {problem}")
    people = said_by_people(said)
    for row in rows:
        if row["item"] in people:
            row["people"], row["people_accept"], row["people_reject"] = people[row["item"]]
