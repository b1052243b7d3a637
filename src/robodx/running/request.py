"""The request: everything that determines the episodes of a run."""

from __future__ import annotations

import re
from dataclasses import dataclass

from robodx.analysis.policy_label import label
from robodx.analysis.verdicts import LEAST_MARGIN, MARGIN, check_margin
from robodx.errors import UserError
from robodx.policy_contract import POLICIES
from robodx.records.trial import DEFAULT_ROBOT, Trial
from robodx.records.values import Applied
from robodx.running.limits import LAST_FIRST_SEED, MOST_BATCH, MOST_REPEATS, MOST_SEEDS, MOST_TRIALS, check_bounds
from robodx.suites.base import GROWING, find_suite

SHARD = re.compile("([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True)
class Request:
    """What decides the episodes of a run."""

    selectors: tuple[str, ...]
    # How the policy is made; what it is called in the record is `label`.
    policy: str
    seeds: int
    # The first of them: other seeds than those of another run are fresh situations.
    first_seed: int = 0
    repeats: int = 1
    robot: str = DEFAULT_ROBOT
    perturbations: tuple[Applied, ...] = ()
    clock: str = "lockstep"
    quality: str = "fast"
    batch: int = 1
    plugins: tuple[str, ...] = ()
    # A server's conventions, by name or TOML file.
    preset: str | None = None
    # A name of the user's for the policy: then a resumed run may reach it at another address.
    name: str | None = None
    # "K/N": only the K-th of N parts, each about as large, for N machines to share a run.
    shard: str | None = None
    # Go on with further seeds until every task's success rate is known to this width; `seeds` is then the most.
    until_width: float | None = None
    # A run to be compared with; and whether to stop when that is decided, `held` meaning within this margin.
    against: str | None = None
    until_decided: bool = False
    margin: float = MARGIN

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("seeds", self.seeds, 1, MOST_SEEDS),
            ("first_seed", self.first_seed, 0, LAST_FIRST_SEED),
            ("repeats", self.repeats, 1, MOST_REPEATS),
            ("seeds times repeats", self.seeds * self.repeats, 1, MOST_TRIALS),
            ("batch", self.batch, 1, MOST_BATCH),
        ):
            check_bounds(name, value, least, most)
        self._check_stopping()
        if self.shard is not None:
            numbers = SHARD.fullmatch(self.shard)
            if numbers is None or not 1 <= int(numbers[1]) <= int(numbers[2]):
                raise UserError(f'No shard "{self.shard[:40]}": write K/N, the K-th of N, as in 2/4')
        if self.name in POLICIES and self.name != self.policy:
            raise UserError(f'"{self.name}" is the name of a RoboDx policy: choose another --name')

    def _check_stopping(self) -> None:
        if self.until_width is not None and not LEAST_MARGIN <= self.until_width < 1:
            raise UserError(f"--until-width {self.until_width:g} must be at least {LEAST_MARGIN:g} and below 1")
        check_margin(self.margin)
        if self.until_decided and self.against is None:
            raise UserError("--until-decided needs a run to compare with: give --against RUN too")
        if self.until_decided and self.until_width is not None:
            raise UserError("--until-decided and --until-width exclude each other: choose one")
        if self.is_adaptive and self.shard is not None:
            raise UserError("--shard does not work with --until-…: a shard sees only part of the episodes")
        growing = [name for name in (find_suite(selector)[0] for selector in self.selectors) if name in GROWING]
        if self.is_adaptive and growing:
            raise UserError(
                f"the suite {growing[0]} does not work with --until-…: it chooses its own trials by outcome"
            )
        if self.is_adaptive and self.repeats > 1:
            raise UserError("--repeats does not work with --until-…: repeats of a situation are not independent")

    @property
    def label(self) -> str:
        """The policy's name in trials and records."""
        return label(self.policy, self.preset, self.name)

    @property
    def is_adaptive(self) -> bool:
        """Whether what is seen decides how many trials there are."""
        return self.until_width is not None or self.until_decided

    def part_of(self, trials: list[Trial]) -> list[Trial]:
        """This shard's trials: every N-th in the order of their ids, so that the parts never overlap."""
        if self.shard is None:
            return trials
        part, _, parts = self.shard.partition("/")
        mine = set(sorted(trial.id for trial in trials)[int(part) - 1 :: int(parts)])
        return [trial for trial in trials if trial.id in mine]
