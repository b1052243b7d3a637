"""A plugin: the expert's commands of another seed of the same task, replayed without looking.

robodx run control/stack_cube --plugin scripts/blind_replay.py --policy blind_replay:100 --seeds 25 --repeats 5
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, make_policy, policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.tasks.base import TASKS


@policy("blind_replay", takes="SEED")
class BlindReplay:
    """Does what solved the task at one seed, whatever the others look like: what success takes no eyes.

    Each repeat replays the next source: of `blind_replay:100` the fifth is of seed 104.
    """

    spec = PolicySpec(action_space="joint", state=())

    def __init__(self, seed: str) -> None:
        self._seed = int(seed)
        self._left: dict[str, ActionChunk] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            self._left[start.episode_id] = commands(start.task, self._seed + start.repeat, start.robot)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        chunks = [self._left[observation.episode_id] for observation in observations]
        for observation, chunk in zip(observations, chunks, strict=True):
            # All of it at once; after that the last command holds.
            self._left[observation.episode_id] = chunk[-1:]
        return chunks

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._left.pop(episode_id, None)


@cache
def commands(task: str, seed: int, robot: str = "panda") -> ActionChunk:
    """What the expert commanded there, one row a step."""
    expert = make_policy("expert")
    (finished,) = rollout([Trial(task, TASKS[task].version, "expert", seed, robot)], expert)
    if finished.trajectory is None:
        raise RuntimeError(f"the expert did not run {task} at seed {seed}: {finished.episode.error}")
    return finished.trajectory.commands
