"""A plugin: the expert that is told the same in every trial of a task, whatever the trial says."""

from __future__ import annotations

from collections.abc import Sequence

from robodx.language.meaning import Meaning
from robodx.policies.expert import ExpertPolicy
from robodx.policy_contract import EpisodeStart, Observation, policy
from robodx.tasks.base import TASKS


@policy("constant_instruction")
class ConstantInstruction(ExpertPolicy):
    """The expert on the instruction of each task's first seed: what success takes no language."""

    def __init__(self) -> None:
        super().__init__()
        self._meanings: dict[str, Meaning] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        super().reset(starts)
        self._meanings |= {start.episode_id: TASKS[start.task].situation(0).instruction.meaning for start in starts}

    def meaning(self, observation: Observation) -> Meaning:
        return self._meanings[observation.episode_id]
