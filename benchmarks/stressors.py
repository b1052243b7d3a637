"""What each stressor costs a camera picture of 128×128, beside a plain copy of it.

Every step is another one, as in an episode; what a stressor works out once for an episode is worked out before. Faults
that come and go are measured while they are there. Medians, for a shared machine's mean is its neighbours'.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from robodx.running.threads import pin

pin()

# ruff: noqa: E402  (threads are pinned before numpy is imported)
import numpy as np

from robodx.perturbations.base import PERTURBATIONS, Draws, PerturbationEntry, SensorStress
from robodx.policy_contract import CameraRequest, Observation, PolicySpec
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.streams import Streams
from robodx.tasks.base import TASKS

TASK = "control/stack_cube"
SIZE = 128
HZ = 20.0


def sight() -> Observation:
    spec = PolicySpec(cameras=(CameraRequest("front", SIZE, SIZE),), state=())
    environment = Environment(Trial(TASK, TASKS[TASK].version, "still", 0), spec)
    observation = environment.observe()
    environment.close()
    return observation


def microseconds(call: Callable[[int], object], steps: int) -> list[float]:
    call(0)
    seconds = []
    for step in range(steps):
        begin_s = time.perf_counter()
        call(step)
        seconds.append(time.perf_counter() - begin_s)
    return [1e6 * each for each in seconds]


def cost_us(entry: PerturbationEntry, severity: float, seen: Observation, steps: int) -> float:
    """Of a picture that is touched."""
    running = entry.start(severity, Draws(Streams(0), entry.name), 1.0 / HZ)
    assert isinstance(running, SensorStress)
    # Which of the views is concerned, if not all are.
    running.observation(seen)
    image = seen.images["front"]
    spent = microseconds(lambda step: running.image(image, "front", step), steps)
    again = entry.start(severity, Draws(Streams(0), entry.name), 1.0 / HZ)
    assert isinstance(again, SensorStress)
    again.observation(seen)
    # Another object each time, or what a frozen camera repeats could not be told from what it sees.
    pictures = [image.copy() for _ in range(steps)]
    is_touched = [again.image(picture, "front", step) is not picture for step, picture in enumerate(pictures)]
    return statistics.median(each for each, is_so in zip(spent, is_touched, strict=True) if is_so)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400, help="pictures per stressor and level")
    arguments = parser.parse_args()
    seen = sight()
    image = seen.images["front"]
    copy_us = statistics.median(microseconds(lambda _: np.copy(image), arguments.steps))
    print(f"a copy of a {SIZE}×{SIZE}×3 picture: {copy_us:.1f} µs\n")
    print(f"{'stressor':20} {'level':5} {'µs':>6} {'copies':>7}")
    for entry in PERTURBATIONS.entries():
        if entry.is_stressor and issubclass(entry.cls, SensorStress):
            for level, severity in entry.severities.items():
                spent_us = cost_us(entry, severity, seen, arguments.steps)
                print(f"{entry.name:20} {level:5} {spent_us:6.0f} {spent_us / copy_us:7.0f}")


if __name__ == "__main__":
    main()
