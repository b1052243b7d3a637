"""What a finding is, and what a diagnosis of one policy says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from robodx.analysis.findings.strata import compared_with
from robodx.analysis.statistics.estimates import Estimate

# Suspected: seen in the episodes by which it was found, and not on others. The words of the record; people read SAYS.
Certainty = Literal["confirmed", "suspected"]
# "Confirmed" would say more than was tested: other seeds, but the same tasks.
HELD = "held on fresh seeds of the same tasks"
SAYS: dict[Certainty, str] = {"confirmed": "held on fresh seeds", "suspected": "suspected"}
# Below this success nobody would speak of a policy without weaknesses.
FAILS_ALIKE = 0.5
CAUTION = (
    "A finding that held on fresh seeds of the same tasks can still be wrong: of nine faults written by others four "
    "were named right, and policies that fail without a pattern got false claims in five of five runs."
)


@dataclass(frozen=True)
class Finding:
    """One weakness: where it shows, how, how surely, and what to look at and to do next.

    `inside` is how often it happens where it should if the finding is true, `outside` how often elsewhere, and `effect`
    the difference, all on the episodes that confirm it (of a suspected one, on those that found it).
    """

    # One of FINDING_KINDS, by name.
    kind: str
    # More exactly: "colour", "negation", "grasp stability"; empty where the kind says it all.
    subject: str
    statement: str
    # The place in the tree: what the trials have in common, and what happens in them.
    stratum: str
    failure_mode: str
    # The same in words: "trials with a negation", "it does the wrong thing".
    where: str
    happens: str
    certainty: Certainty
    inside: Estimate
    outside: Estimate
    effect: Estimate
    # Of there being no difference, after Holm over the candidates that were put to the test; None if it was not tested.
    p: float | None
    # Of all trials, the share that it concerns.
    share: float
    # Episodes that show it, by trial id, those first that show it best.
    examples: tuple[str, ...]
    next_test: str
    # What recovers most of it, if the run was asked why.
    because: str | None = None

    # How many trials `outside` leaves out, because other findings are about them.
    left_out: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.subject}" if self.subject else self.kind

    @property
    def certainty_says(self) -> str:
        """For a badge; HELD says it in full."""
        return SAYS[self.certainty]

    @property
    def compared_with(self) -> str:
        """Which trials `outside` is of, in words."""
        rest = compared_with(self.stratum.partition(":")[0])
        return f"{rest} but those of other findings" if self.left_out else rest

    @property
    def rank(self) -> float:
        """Effect × certainty: of all trials, the share that is surely lost by it (at the interval's nearer end)."""
        return max(0.0, self.effect.low or 0.0) * self.share


@dataclass(frozen=True)
class Diagnosis:
    """All findings about one policy, ranked; without any, what could have been seen is the more important."""

    policy: str
    episodes: int
    # Episodes that ended in an error; above a few there is no rate, and no finding.
    errors: int
    success: Estimate
    findings: tuple[Finding, ...]
    # The smallest fall of one family's success that these episodes would have shown, four times in five; None: none.
    resolution: float | None
    # How many episodes found candidates and how many put them to the test.
    screened: int
    confirmed_on: int
    # Whether all is done that was to be done.
    is_whole: bool
    # Of all episodes that ended on their own, stressed and tried again or not, how many were solved: no rate of it is
    # told, for more of them are where it looked weak.
    solved: int = 0
    judged: int = 0

    @property
    def headline(self) -> str:
        """One sentence for the first screen."""
        confirmed = [one for one in self.findings if one.certainty == "confirmed"]
        if confirmed:
            return confirmed[0].statement
        if self.success.value is None:
            return f"No diagnosis is possible: {self.errors} of its episodes ended in an error."
        if self.findings:
            return f"No weakness {HELD}. Suspected: {self.findings[0].statement}"
        if self.success.value < FAILS_ALIKE:
            return "It fails in most trials, and no single requirement explains which."
        if self.resolution is None:
            return "No weakness was found, but there are too few episodes to detect one."
        drop = f"A drop of {100 * self.resolution:.0f} points or more"
        return f"No weakness was found. {drop} in one family would have been detected."

    def as_dict(self) -> dict[str, Any]:
        """For a program."""
        findings = [{**asdict(one), "name": one.name, "rank": one.rank} for one in self.findings]
        return {"headline": self.headline, **asdict(self), "findings": findings}
