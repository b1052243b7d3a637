"""Answers that scripts keep: the same as the policy's own, of which it is asked only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from remembered import Remembered

from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec


class Counting:
    """Answers with how often it was asked in its episode, and what it saw first."""

    spec = PolicySpec(action_space="joint", state=("joint_positions",))

    def __init__(self) -> None:
        self.asked = 0
        self.seen: dict[str, list[float]] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.seen |= {start.episode_id: [] for start in starts}

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        self.asked += len(observations)
        for one in observations:
            self.seen[one.episode_id].append(float(one.state["joint_positions"][0]))
        return [np.array([[len(self.seen[one.episode_id]), self.seen[one.episode_id][0]]]) for one in observations]

    def finish(self, episode_ids: Sequence[str]) -> None:
        for one in episode_ids:
            del self.seen[one]


def answers(policy: Counting | Remembered, episode: str, values: Sequence[float]) -> list[list[float]]:
    policy.reset([EpisodeStart(episode, 0, "task", "panda", 0, 0, "go")])
    found = []
    for step, value in enumerate(values):
        state = {"joint_positions": np.full(7, value, dtype=np.float32)}
        (chunk,) = policy.act([Observation(episode, step, 0.1 * step, "go", state)])
        assert not isinstance(chunk, Exception)
        found += chunk.tolist()
    policy.finish([episode])
    return found


def test_what_was_asked_before_is_answered_without_the_policy(tmp_path: Path) -> None:
    inside = Counting()
    kept = Remembered(inside, tmp_path / "answers.sqlite")
    first = answers(kept, "a", [1, 2, 3])
    assert first == answers(Counting(), "b", [1, 2, 3]) and inside.asked == 3
    assert answers(kept, "c", [1, 2, 3]) == first and inside.asked == 3
    another = Counting()
    assert answers(Remembered(another, tmp_path / "answers.sqlite"), "d", [1, 2, 3]) == first and another.asked == 0


def test_a_policy_that_remembers_hears_what_led_to_a_new_question(tmp_path: Path) -> None:
    inside = Counting()
    kept = Remembered(inside, tmp_path / "answers.sqlite")
    answers(kept, "a", [1, 2])
    assert answers(kept, "b", [1, 2, 4]) == answers(Counting(), "b", [1, 2, 4])
    assert answers(kept, "c", [5, 2]) == answers(Counting(), "c", [5, 2])
    assert not inside.seen, "every episode that it has heard of was finished"
