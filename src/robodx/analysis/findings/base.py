"""What a finding is, and what a diagnosis of one policy says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from robodx.analysis.findings.inputs import InputSeen
from robodx.analysis.findings.proposals import LEAST_EFFECT
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.statistics.sequential_pairs import SMALL
from robodx.analysis.wording import listed

# What is known of it. The first three were shown by pairs that differ in one factor; the last two were refuted by them.
Certainty = Literal["cause", "needed", "sufficient", "associated", "undecided", "suspected", "no gain", "excluded"]
DECIDED: tuple[Certainty, ...] = ("cause", "needed", "sufficient")
SAYS: dict[Certainty, str] = {
    "cause": "caused by this",
    "needed": "needs this and something else",
    "sufficient": "this suffices",
    "associated": "goes with this",
    "undecided": "undecided",
    "suspected": "suspected",
    "no gain": "taking it away does not help",
    "excluded": "excluded",
}
REFUTED: tuple[Certainty, ...] = ("no gain", "excluded")
# Below this success nobody would speak of a policy without weaknesses.
FAILS_ALIKE = 0.5
CAUTION = (
    "A cause is what, changed alone, changes the outcome in the situations tested. That says nothing of why the policy "
    "came to be so (it may never have met such situations in training), nor of other tasks."
)


@dataclass(frozen=True)
class PairEvidence:
    """Pairs of trials of one situation: one with the factor changed, one with a placebo."""

    pairs: int
    # How many succeeded, of those with the factor changed and of those with the placebo.
    changed: int
    placebo: int
    # Of success, by the change beyond the placebo; the interval holds whenever one stops.
    gain: Estimate
    verdict: Literal["effect", "none", "undecided"]
    e_value: float
    interventions: tuple[str, ...]
    # How many more would decide, if it goes on like this.
    pairs_more: int | None = None
    # Among how many tests it is one: what it takes to decide grows with them, and the interval does not.
    tests: float = 1.0

    @property
    def corrected_p(self) -> float:
        """That it gains nothing, over all tests together; it holds whenever one stops."""
        return min(1.0, self.tests / self.e_value) if self.e_value > 0 else 1.0

    @property
    def why_open(self) -> str:
        """Why the pairs do not decide although their interval leaves out 0; empty where it does not, or they do."""
        low, high = self.gain.low, self.gain.high
        if self.verdict != "undecided" or low is None or high is None or low <= 0 <= high:
            return ""
        among = f" after correction for {self.tests:.0f} tests" if self.tests > 1 else ""
        return f"p = {self.corrected_p:.2g}{among}"


def leans(undo: PairEvidence | None, put_in: PairEvidence | None) -> bool:
    """Whether all its pairs point to a cause so far: on average each way costs as much as counts as an effect."""
    costs = [sign * (one.gain.value or 0.0) for one, sign in ((undo, 1), (put_in, -1)) if one is not None]
    return bool(costs) and min(costs) >= SMALL


def supports(certainty: Certainty, effect: Estimate, undo: PairEvidence | None, put_in: PairEvidence | None) -> bool:
    """Whether these numbers say what a finding of this certainty claims; `effect` is what the screening shows."""
    ways = [one for one in (undo, put_in) if one is not None]
    # As the search for suspects asks for.
    is_more = (effect.value or 0.0) >= LEAST_EFFECT
    match certainty:
        case "cause":
            return bool(ways) and all(one.verdict == "effect" for one in ways)
        case "needed":
            return undo is not None and undo.verdict == "effect"
        case "sufficient":
            return put_in is not None and put_in.verdict == "effect"
        case "associated":
            return effect.low is not None and effect.low > 0
        case "undecided":
            return is_more or leans(undo, put_in)
        case "suspected":
            return is_more
        case _:
            return False


def is_worth_mending(certainty: Certainty, undo: PairEvidence | None, put_in: PairEvidence | None) -> bool:
    """Whether a remedy may be named: its own pairs do not say that it would gain less than counts."""
    is_vain = undo is not None and undo.verdict == "none"
    return not is_vain and certainty != "suspected" and (certainty != "undecided" or leans(undo, put_in))


@dataclass(frozen=True)
class PanelLoss:
    """What a policy of the reference panel loses of its success, and in how many pairs of its own that was seen."""

    policy: str
    lost: float
    pairs: int


@dataclass(frozen=True)
class Crossed:
    """Success with and without a condition, and with and without another beside it: (solved, tried) in each case."""

    # The other one, in words after "when".
    beside: str
    both: tuple[int, int]
    only_this: tuple[int, int]
    only_other: tuple[int, int]
    neither: tuple[int, int]

    @property
    def says(self) -> str:
        both, this, other, neither = (
            f"{solved} of {tried}" for solved, tried in (self.both, self.only_this, self.only_other, self.neither)
        )
        return f"Where both hold, {both} succeed; with the first alone {this}, the second {other}, neither {neither}"


@dataclass(frozen=True)
class Finding:
    """One weakness: under which condition it shows, how surely it is because of that, and what to look at next."""

    # One of FINDING_KINDS, by name.
    kind: str
    # More exactly: "colour", "negation"; empty where the kind says it all.
    subject: str
    statement: str
    # What the trials have in common, as in the record: an attribute and its levels.
    attribute: str
    levels: tuple[str, ...]
    # What else they must have for it to matter, as the name of a condition; None: nothing that was found.
    given: str | None
    # The same in words, after "when"; and what happens in them: "it fails", "it misses the grasp".
    when: str
    happens: str
    certainty: Certainty
    # How often it fails where the condition holds, and elsewhere, in the screening; or what `counted` says it does.
    inside: Estimate
    outside: Estimate
    effect: Estimate
    # Taking the factor away where it is, and putting it in where it is not.
    undo: PairEvidence | None
    put_in: PairEvidence | None
    # In how many contexts (task, act and kind of object) it was tested, and whether it holds over these: else it is a
    # claim about the situations tested alone.
    contexts: int
    # Of these, how many the screening had not met.
    new_contexts: int
    is_general: bool
    # With what else it was crossed, if it does not suffice by itself.
    crossed: Crossed | None
    # What else goes with the same failures and was not told apart, in words after "when".
    rivals: tuple[str, ...]
    # What changed along with the factor in nearly all of its pairs, in words.
    along: tuple[str, ...]
    # Of all failures of the screening, the share that taking it away recovers beyond the placebo; of what was not
    # tested, the share that it concerns.
    share: float
    # That so good a condition is found among all that were looked at, if none mattered; None where it was not asked.
    p: float | None
    # Episodes that show it, by trial id; and two in which one thing was changed, the one that fails first.
    examples: tuple[str, ...]
    pair: tuple[str, str] | None
    # Below what guessing scores, by choosing wrongly: a systematic wrong choice.
    is_below_chance: bool
    next_test: str
    advice: str = ""
    # What recovers most of it, if the run was asked why.
    because: str | None = None
    # What the same changes take from each policy of the reference panel.
    panel: tuple[PanelLoss, ...] = ()
    # Other causes that do not hold where it was tested, in words: of failures that have both nothing is said.
    without: tuple[str, ...] = ()
    # What the rates of the screening count.
    counted: str = "it fails"

    def __post_init__(self) -> None:
        if not supports(self.certainty, self.effect, self.undo, self.put_in):
            raise ValueError(f"its numbers do not say that it is {self.certainty}: {self.statement}")
        if self.advice and not is_worth_mending(self.certainty, self.undo, self.put_in):
            raise ValueError(f"its pairs speak against its advice: {self.statement}")

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.subject}" if self.subject else self.kind

    @property
    def condition(self) -> str:
        own = f"{self.attribute}={'|'.join(self.levels)}"
        return own if self.given is None else f"{own} and {self.given}"

    @property
    def is_decided(self) -> bool:
        return self.certainty in DECIDED

    @property
    def certainty_says(self) -> str:
        return SAYS[self.certainty]


@dataclass(frozen=True)
class Symptom:
    """How it is done or fails, wherever: what can be seen, and no cause of it."""

    name: str
    statement: str
    rate: Estimate
    examples: tuple[str, ...]
    # What one might do about it, if it is confirmed.
    advice: str = ""


@dataclass(frozen=True)
class StressSeen:
    """One stressor at one level, or real time: what became of trials that are solved without it."""

    stressor: str
    # None of real time.
    level: str | None
    # In the screening, of the trials that are solved without it: how many are solved under it.
    kept: Estimate
    # Trials that are not solved without it either, and say nothing.
    unsolved: int
    # Pairs on further situations, run where it cost a success; what it does to success there, with an interval that
    # holds whenever one stops; and what they decided.
    pairs: int = 0
    difference: Estimate | None = None
    verdict: Literal["effect", "none", "undecided"] | None = None
    # With 95% confidence it costs no more than this: below 20 points, there is no drop to speak of.
    most_lost: float | None = None

    @property
    def lost(self) -> int:
        """How many successes it cost in the screening."""
        return self.kept.n - round((self.kept.value or 0.0) * self.kept.n)

    @property
    def name(self) -> str:
        return self.stressor if self.level is None else f"{self.stressor} at {self.level}"


@dataclass(frozen=True)
class Excluded:
    """A condition that goes with failures, and that 20 points or more of them are not because of."""

    when: str
    attribute: str
    levels: tuple[str, ...]
    # Pairs in which it was taken away, and in which it was brought about; none of the latter: that was not decided.
    undo: int
    put_in: int


@dataclass(frozen=True)
class Diagnosis:
    """All findings about one policy, ranked; without any, what could have been seen is the more important."""

    policy: str
    episodes: int
    # Episodes that ended in an error; above a few there is no rate, and no finding.
    errors: int
    success: Estimate
    findings: tuple[Finding, ...]
    symptoms: tuple[Symptom, ...]
    excluded: tuple[Excluded, ...]
    # The smallest fall of one family's success that these episodes would have shown, four times in five; None: none.
    resolution: float | None
    # How many episodes were searched, and how many were run in pairs to decide.
    screened: int
    paired: int
    # Whether all is done that was to be done.
    is_whole: bool
    # Of all episodes that ended on their own, as the tasks lay them out, how many were solved.
    solved: int = 0
    judged: int = 0
    # Counts of episodes in a sentence, beside the mean that `success` is.
    by_episode: str = ""
    # What it does without one of its inputs, where that was tried.
    inputs: tuple[InputSeen, ...] = ()
    # Suites whose pairs the run has, that compare trials for what they ask and not for a cause.
    compared_by: tuple[str, ...] = ()
    # What the screening says of stress, where the run is a diagnosis.
    stress: tuple[StressSeen, ...] = ()

    @property
    def decided(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.is_decided)

    @property
    def examples(self) -> tuple[tuple[str, ...], ...]:
        """Trial ids, of each finding and then of each symptom."""
        return (*(one.examples for one in self.findings), *(one.examples for one in self.symptoms))

    @property
    def searched_says(self) -> str:
        """What it rests on."""
        tried = sum(one.tried for one in self.inputs)
        pairs = (
            f",{'' if tried else ' and'} ran {self.paired} in pairs in which one thing was changed"
            if self.paired
            else ""
        )
        inputs = f", and tried {tried} that it solves again without one of its inputs" if tried else ""
        seen = f"{self.screened} {'episode' if self.screened == 1 else 'episodes'}"
        return f"RoboDx searched {seen} for weaknesses{pairs}{inputs}."

    @property
    def no_cause_says(self) -> str:
        """Why no cause is shown, where there are findings."""
        if self.paired:
            return "No cause was shown."
        if self.compared_by:
            theirs = f"pairs of the suite {listed(self.compared_by)}, but none in which one factor was changed"
            return f"No cause can be shown: this run has {theirs} beside a placebo. robodx diagnose runs such pairs."
        return (
            "No cause can be shown: this run has no pairs of trials in which one thing was changed. "
            "robodx diagnose runs such pairs."
        )

    @property
    def inputs_say(self) -> str:
        """Empty where no input was taken away."""
        told = "; ".join(one.says for one in self.inputs)
        return f"Of situations that it solved once, it solves again: {told}." if told else ""

    @property
    def ruled_out(self) -> list[str]:
        """What is not the cause, as far as pairs say, in sentences."""
        both, one_way = ([one for one in self.excluded if bool(one.put_in) == is_both] for is_both in (True, False))
        says = [f"{one.when} (taken away in {one.undo} pairs, brought about in {one.put_in})" for one in both]
        gains = [f"{one.when} ({one.undo} pairs)" for one in one_way]
        return [
            *([f"Excluded as a cause of 20 points or more: {'; '.join(says)}."] if says else []),
            *([f"Taken away, these gain less than 20 points: {'; '.join(gains)}."] if gains else []),
        ]

    @property
    def is_all_set(self) -> bool:
        """Whether all were run in pairs or grids that set something, as those of the suite `bias`."""
        return 0 < self.episodes == self.paired

    @property
    def headline(self) -> str:
        """One sentence for the first screen."""
        if self.decided:
            return self.decided[0].statement
        if self.is_all_set:
            return "Nothing was searched for weaknesses: in all of its episodes something of the situation was set."
        if self.success.value is None:
            return f"No diagnosis is possible: {self.errors} of its episodes ended in an error."
        if self.findings:
            return f"No cause was shown. {self.findings[0].statement}"
        if self.success.value < FAILS_ALIKE:
            return "It fails in most trials, and nothing that was recorded explains which."
        if self.resolution is None:
            return "No weakness was found, but there are too few episodes to detect one."
        drop = f"A drop of {100 * self.resolution:.0f} points or more"
        return f"No weakness was found. {drop} in one family would have been detected."

    def as_dict(self) -> dict[str, Any]:
        """For a program."""
        findings = [{**asdict(one), "name": one.name, "condition": one.condition} for one in self.findings]
        return {"headline": self.headline, **asdict(self), "findings": findings}
