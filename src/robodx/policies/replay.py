"""Recorded commands, played back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, policy
from robodx.records.about import UnreadableRun, read_about
from robodx.records.table import load
from robodx.records.trajectory import DAMAGED, Trajectory
from robodx.records.trajectory_files import trajectory_file

# Of what a record has instead of what is asked for.
SHOWN = 4


@policy("replay", takes="RUN")
class ReplayPolicy:
    """Replays the executed joint commands of a recorded run in the same situations.

    In `joint` space and at the recorded rate, whatever space the recorded policy used: a replay without perturbations
    moves bit for bit alike. When the record ends, the last command holds.
    """

    def __init__(self, run: str) -> None:
        self._run = Path(run)
        recorded = load(self._run).filter(pl.col("outcome") != "error")
        if recorded.is_empty():
            raise UnreadableRun(f"{run} holds no episode that could be replayed")
        hz = float(read_about(self._run, needs=("policy_spec.hz",))["policy_spec"]["hz"])
        self.spec = PolicySpec(action_space="joint", state=(), hz=hz)
        # Where a situation was run in several variants, the one with the fewest perturbations is played.
        variants = recorded.sort(pl.col("perturbations").list.len(), "trial_id").unique(
            ["robot", "task", "seed", "repeat"], keep="first", maintain_order=True
        )
        self._trials: dict[tuple[str, str, int, int], str] = {
            (robot, task, seed, repeat): trial_id
            for robot, task, seed, repeat, trial_id in variants.select(
                "robot", "task", "seed", "repeat", "trial_id"
            ).iter_rows()
        }
        self._commands: dict[str, ActionChunk] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            path = trajectory_file(self._run, self.trial_for(start))
            try:
                self._commands[start.episode_id] = Trajectory.load(path).commands
            except DAMAGED as error:
                raise UserError(f"{path} cannot be replayed: {error}") from error

    def trial_for(self, start: EpisodeStart) -> str:
        """Of the recorded trials, the one to play."""
        key = (start.robot, start.task, start.situation_seed, start.repeat)
        if key not in self._trials:
            seeds = sorted({seed for _, task, seed, _ in self._trials if task == start.task})
            there = [str(seed) for seed in seeds] or sorted({task for _, task, _, _ in self._trials})
            shown = [*there[:SHOWN], *(["…"] if len(there) > SHOWN else [])]
            raise UserError(
                f"{self._run} has no {start.task} at seed {start.situation_seed}, repeat {start.repeat}; "
                f"its {'seeds' if seeds else 'tasks'}: {', '.join(shown)}"
            )
        return self._trials[key]

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._commands.pop(episode_id, None)

    def recorded(self, episode_id: str) -> ActionChunk:
        """All commands of an episode under way."""
        return self._commands[episode_id]

    def _act(self, observation: Observation) -> ActionChunk:
        commands = self._commands[observation.episode_id]
        step = min(observation.step, len(commands) - 1)
        return commands[step : step + 1]
