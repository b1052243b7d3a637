"""What a film says at each step: the instruction, the stage, what happened, how it failed or that it was solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from robodx.video.lettering import CROSS, TICK

# How long something that happened, or a change of the instruction, is pointed at.
POINTED_AT_S = 1.5
# Of what is logged. Of contacts there are too many, and grasps are seen.
TOLD = {
    "refined": "read as: ",
    "event": "",
    "drop": "dropped ",
    "collision": "collision: ",
    "broken": "must never happen: ",
}
# Where two are told of one step, the worse.
RANKED = tuple(TOLD)

Mood = Literal["plain", "failed", "solved"]


@dataclass(frozen=True)
class Caption:
    """The texts of one picture of a film."""

    instruction: str
    is_new_instruction: bool
    stage: str
    time: str
    # How it went, once that is known; and beneath it why, or what happened just now.
    mark: str = ""
    note: str = ""
    mood: Mood = "plain"


@dataclass(frozen=True)
class Captions:
    """Of one episode: a row of the table of episodes, and the names of its stages.

    `asked` are the stages that follow from each of its instructions, also from those that never came.
    """

    row: Mapping[str, Any]
    stages: Sequence[str]
    hz: float
    asked: Sequence[Sequence[str]] = ()

    @property
    def instructions(self) -> list[str]:
        return [str(update["text"]) for update in self.row["instructions"] or ()]

    def at(self, step: int) -> Caption:
        said = [update for update in self.row["instructions"] or () if update["step"] <= step]
        since = step - said[-1]["step"] if said else 0
        mood, mark, note = self._mark(step)
        return Caption(
            instruction=str(said[-1]["text"]) if said else "",
            is_new_instruction=len(said) > 1 and since < POINTED_AT_S * self.hz,
            stage=self._stage(step),
            time=f"{step / self.hz:.1f} s",
            mark=mark,
            note=note or self._happening(step),
            mood=mood,
        )

    @property
    def _last(self) -> int:
        return int(self.row["steps"] or 0)

    def _mark(self, step: int) -> tuple[Mood, str, str]:
        row = self.row
        if row["success"]:
            solved = f"{TICK} solved in {self._last / self.hz:.1f} s"
            return ("solved", solved, "") if step >= self._last else ("plain", "", "")
        evidence = row["failure_evidence"] or {}
        at = evidence.get("step")
        if step < (self._last if at is None else min(at, self._last)):
            return "plain", "", ""
        kinds = [str(one) for one in (row["failure_kind"], row["failure_type"]) if one]
        return "failed", f"{CROSS} {': '.join(kinds) or row['outcome']}", str(evidence.get("says") or "")

    def _stage(self, step: int) -> str:
        count = len(self.stages)
        reached = min(sum(int(at <= step) for at in self.row["stage_steps"] or ()), count)
        if reached < count and step < self._last:
            now, later = self._asked(step)
            if self.stages[reached] not in later or self.stages[reached] in now:
                return f"next: {self.stages[reached]} ({reached + 1} of {count})"
            # What counts is what a later instruction asks for.
            return f"goal: {now[-1]} (not scored yet)" if now else "nothing is scored yet"
        is_over = reached < count and self.row["outcome"] == "timeout"
        return f"{reached} of {count} done{', and time is up' if is_over else ''}"

    def _asked(self, step: int) -> tuple[list[str], list[str]]:
        """The stages of the instruction that is in force, and of those that are to come."""
        given = sum(update["step"] <= step for update in self.row["instructions"] or ())
        now, later = self.asked[max(given - 1, 0) : given], self.asked[given:]
        return [stage for one in now for stage in one], [stage for one in later for stage in one]

    def _happening(self, step: int) -> str:
        recent = [
            entry
            for entry in self.row["events"] or ()
            if entry["kind"] in TOLD
            and entry["step"] <= step < entry["step"] + POINTED_AT_S * self.hz
            # It is told above the picture already.
            and not (entry["kind"] == "event" and entry["object"].startswith("the instruction becomes"))
        ]
        if not recent:
            return ""
        last = max(recent, key=lambda entry: (entry["step"], RANKED.index(entry["kind"])))
        with_what = f" and {last['other']}" if last["kind"] == "collision" and last["other"] else ""
        return f"{TOLD[last['kind']]}{last['object']}{with_what}"
