"""What the convention probe found, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from robodx.compatibility.hypotheses import COMPETENT, Change
from robodx.wires.preset import Preset

Word = Literal["fits", "partly", "wrong", "inconclusive"]


@dataclass(frozen=True)
class Verdict:
    """`changes` lead from the preset that was given to `preset`, which fits best; to nowhere if nothing can be said."""

    is_competent: bool
    changes: tuple[Change, ...]
    preset: Preset
    # Shares of the expert's motion that the policy explains, by component: as declared, and after the changes.
    declared: Mapping[str, float]
    explained: Mapping[str, float]
    # Other conventions that fit as well on these demonstrations, and those that do not change the policy's motion.
    undecided: tuple[str, ...]
    untested: tuple[str, ...]
    frames: int
    demonstrations: int
    errors: int
    first_error: str | None

    @property
    def word(self) -> Word:
        if not self.is_competent:
            return "inconclusive"
        if self.changes:
            return "wrong"
        return "partly" if self.undecided or self.untested else "fits"

    @property
    def is_wrong(self) -> bool:
        return self.word == "wrong"

    @property
    def fits(self) -> bool:
        """As far as it was tested."""
        return self.word in ("fits", "partly")

    @property
    def aspects(self) -> tuple[str, ...]:
        """What is wrong, in words; empty if nothing is, or if nothing can be said."""
        return tuple(dict.fromkeys(change.aspect for change in self.changes)) if self.is_competent else ()

    def lines(self) -> Iterator[str]:
        said = _percent(self.explained)
        if self.errors:
            yield f"{self.errors} of {self.frames} questions ended in an error, for example: {self.first_error}"
        where = f"{self.frames - self.errors} questions about {self.demonstrations} demonstrations of the expert"
        if self.word == "inconclusive":
            score = float(np.mean(list(self.explained.values())))
            yield (
                f"Probe: inconclusive. The policy's motion does not resemble the expert's under any convention tried "
                f"(score {score:.1f}; 0 = standing still, {COMPETENT:g} required): it explains {said}, in {where}."
            )
            return
        if self.word == "wrong":
            yield f"Probe: WRONG CONVENTION{'S'[: len(self.changes) > 1]}, found with {where}:"
            yield from (f"  {change.aspect}: {change.sentence}" for change in self.changes)
            before = _percent(self.declared)
            yield f"  The policy explains of the expert's motion, as declared: {before}; corrected: {said}."
        elif self.word == "fits":
            yield f"Probe: the conventions fit. In {where} the policy explains of the expert's motion: {said}."
        else:
            yield (
                f"Probe: no convention is wrong as far as tested. In {where} the policy explains of the expert's "
                f"motion: {said}."
            )
        if self.undecided:
            yield f"Not decided, because it fits as well: {'; '.join(self.undecided)}."
        if self.untested:
            yield f"Not tested, because it does not change the policy's motion: {'; '.join(self.untested)}."

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.word, "aspects": list(self.aspects),
            "sentences": [change.sentence for change in self.changes] if self.is_competent else [],
            "undecided": list(self.undecided), "untested": list(self.untested),
            "declared": dict(self.declared), "explained": dict(self.explained), "frames": self.frames,
            "demonstrations": self.demonstrations, "errors": self.errors, "preset": self.preset.as_dict(),
        }  # fmt: skip


def _percent(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
