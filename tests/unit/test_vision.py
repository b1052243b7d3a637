"""The policy with eyes: it goes by its pictures and its words alone, and needs no simulator to do so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.experts.plan_executor import PlanExecutor
from robodx.experts.skills import Hand, Waypoint
from robodx.language.meaning import Exists, If, Meaning, pick
from robodx.language.reference import the
from robodx.policies.expert import to_action
from robodx.policies.vision import CAMERAS, PIXELS, VisionPolicy
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.sight.cloud import Eye, look
from robodx.sight.hand import without_hand
from robodx.sight.segment import patches
from robodx.sight.sighting import Sighting
from robodx.sight.things import sightings
from robodx.sight.tracking import GONE_LOOKS, Sight
from robodx.sim.geometry import Pose, difference
from robodx.sim.objects import cube
from robodx.sim.robot import ROBOTS
from robodx.tasks.base import TASKS
from robodx.wires.calibrations import write_cameras
from robodx.wires.local import Local
from robodx.wires.remote import connect
from robodx.wires.serving import Endpoint

STACK = "control/stack_cube"


def trial(task: str, seed: int = 0) -> Trial:
    return Trial(task, TASKS[task].version, "vision", seed)


@pytest.fixture
def environment() -> Iterator[Environment]:
    made = Environment(trial(STACK), VisionPolicy.spec)
    yield made
    made.close()


def watched(
    environment: Environment, queries: int, policy: VisionPolicy | None = None
) -> tuple[EpisodeStart, list[Observation], list[ActionChunk]]:
    """What vision is shown at its first queries, and what it answers."""
    policy, start = policy or VisionPolicy(), environment.start()
    policy.reset([start])
    observations: list[Observation] = []
    chunks: list[ActionChunk] = []
    while len(chunks) < queries:
        if environment.needs_chunk:
            observations.append(environment.observe())
            (chunk,) = policy.act(observations[-1:])
            chunks.append(chunk)
            environment.accept(chunk, 0.0)
        environment.step()
    return start, observations, chunks


def test_it_is_shown_only_what_any_policy_is_shown(environment: Environment) -> None:
    spec = VisionPolicy.spec
    assert not spec.is_privileged
    assert not any(camera.segmentation for camera in spec.cameras)
    start, (observation,), _ = watched(environment, 1)
    assert start.privileged is None
    assert observation.privileged is None
    assert observation.segmentation == {}


def test_it_runs_where_the_simulator_cannot_be_imported(environment: Environment, tmp_path: Path) -> None:
    start, observations, chunks = watched(environment, 3)
    for index, one in enumerate(observations):
        arrays: dict[str, Any] = {f"state {name}": value for name, value in one.state.items()}
        arrays |= {f"image {name}": value for name, value in one.images.items()}
        arrays |= {f"depth {name}": value for name, value in one.depth.items()}
        np.savez(tmp_path / f"{index}.npz", **arrays)
    given = {
        "instruction": start.instruction,
        "cameras": write_cameras(start.cameras),
        "times": [(one.step, one.time_s) for one in observations],
    }
    (tmp_path / "given.json").write_text(json.dumps(given))
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(tmp_path)], check=True, timeout=60)
    elsewhere = np.load(tmp_path / "actions.npz")
    for index, chunk in enumerate(chunks):
        np.testing.assert_array_equal(elsewhere[str(index)], chunk)


ELSEWHERE = """
import json, sys
from pathlib import Path
sys.modules["mujoco"] = None
import numpy as np
from robodx.policy_contract import EpisodeStart, Observation
from robodx.policies.vision import VisionPolicy
from robodx.wires.calibrations import read_cameras

folder = Path(sys.argv[1])
given = json.loads((folder / "given.json").read_text())
policy = VisionPolicy()
policy.reset([EpisodeStart("x", 0, "", "", 0, 0, given["instruction"], read_cameras(given["cameras"]))])
answers = {}
for index, (step, time_s) in enumerate(given["times"]):
    arrays = np.load(folder / f"{index}.npz")
    kinds = {"state": {}, "image": {}, "depth": {}}
    for key in arrays.files:
        kind, _, name = key.partition(" ")
        kinds[kind][name] = arrays[key]
    shown = Observation("x", step, time_s, given["instruction"], kinds["state"], kinds["image"], kinds["depth"])
    (answers[str(index)],) = policy.act([shown])
np.savez(folder / "actions.npz", **answers)
"""


def test_the_same_pictures_give_the_same_actions_whatever_the_task_is_called(environment: Environment) -> None:
    start, observations, chunks = watched(environment, 4)
    other = VisionPolicy()
    other.reset([replace(start, episode_id="other", task="another/task", situation_seed=99, policy_seed=7)])
    for observation, chunk in zip(observations, chunks, strict=True):
        (again,) = other.act([replace(observation, episode_id="other")])
        np.testing.assert_array_equal(again, chunk)


def test_other_pictures_give_other_actions(environment: Environment) -> None:
    start, (observation,), (chunk,) = watched(environment, 1)
    blind = VisionPolicy()
    blind.reset([start])
    dark = {name: np.zeros_like(image) for name, image in observation.images.items()}
    (stays,) = blind.act([replace(observation, images=dark)])
    assert not np.array_equal(stays[-1], chunk[-1])
    np.testing.assert_array_equal(stays, np.repeat(stays[:1], len(stays), axis=0))


@pytest.mark.parametrize("seed", range(6))
def test_bad_pictures_never_stop_it(environment: Environment, seed: int) -> None:
    """Noise, holes in the depth, blots: it may be wrong about what is there, but it answers."""
    rng = np.random.default_rng(seed)
    start, (observation,), _ = watched(environment, 1)
    troubled = VisionPolicy()
    troubled.reset([start])
    noise_m, noise, hole = 10.0 ** rng.uniform(-4, -1.5), rng.uniform(0, 80), rng.uniform(0, 0.5)

    def worse(step: int) -> Observation:
        images, depth = {}, {}
        for name, image in observation.images.items():
            noisy = image + rng.normal(0, noise, image.shape)
            images[name] = noisy.clip(0, 255).astype(np.uint8)
            far = observation.depth[name] + rng.normal(0, noise_m, observation.depth[name].shape)
            depth[name] = np.where(rng.random(far.shape) < hole, rng.choice([0.0, np.nan]), far).astype(np.float32)
        return replace(observation, images=images, depth=depth, step=step, time_s=step / 20)

    for step in (0, 4, 8):
        (chunk,) = troubled.act([worse(step)])
        assert np.isfinite(chunk).all()


class Troubled(VisionPolicy):
    """Sees other pictures than are shown."""

    def __init__(self, trouble: Callable[[Observation], Observation]) -> None:
        super().__init__()
        self._trouble = trouble

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return super().act([self._trouble(one) for one in observations])


def flickering(observation: Observation) -> Observation:
    """Depth that is now true, now shifted, now scaled, now partly or wholly unmeasured; and now and then no picture."""
    rng = np.random.default_rng(observation.step)
    images, depth = dict(observation.images), dict(observation.depth)
    for name, far in observation.depth.items():
        blot = rng.random(far.shape) < 0.3
        depth[name] = (
            far,
            np.roll(far, int(rng.integers(-12, 12)), axis=int(rng.integers(2))),
            (far * rng.uniform(0.97, 1.03)).astype(np.float32),
            np.where(blot, rng.choice([np.inf, np.nan, 0.0]), far).astype(np.float32),
            np.full_like(far, rng.choice([np.inf, np.nan, 0.0])),
        )[rng.integers(5)]
        if rng.random() < 0.1:
            images[name] = np.zeros_like(images[name])
    return replace(observation, images=images, depth=depth)


@pytest.mark.parametrize(
    "task",
    [
        STACK,
        pytest.param("control/push_cube", marks=pytest.mark.thorough),
        "control/insert_peg",
        "dynamic/press_switch_in_time",
        pytest.param("language/conditional", marks=pytest.mark.thorough),
        pytest.param("perception/touch_red_sphere", marks=pytest.mark.thorough),
    ],
)
def test_pictures_that_flicker_all_along_never_stop_it(task: str) -> None:
    environment = Environment(trial(task), VisionPolicy.spec)
    _, _, chunks = watched(environment, 20, Troubled(flickering))
    environment.close()
    assert all(np.isfinite(chunk).all() for chunk in chunks)


def without_first_frame(observation: Observation) -> Observation:
    if observation.step:
        return observation
    return replace(observation, images={name: np.zeros_like(one) for name, one in observation.images.items()})


# Conditions that come out otherwise where nothing is seen, in words that it reads.
@pytest.mark.parametrize("seed", [2, 8, 14])
def test_nothing_is_decided_before_anything_was_seen(seed: int) -> None:
    ((episode, _),) = rollout([trial("language/conditional", seed)], Troubled(without_first_frame))
    assert episode.success


@pytest.mark.parametrize("task", ["dynamic/press_switch_in_time", "dynamic/catch_after_light"])
def test_frames_that_are_dropped_light_no_lamp(task: str) -> None:
    ((episode, _),) = rollout([replace(trial(task), perturbations=(("frame_drop", 0.3),))], VisionPolicy())
    assert episode.success


def test_it_presses_a_switch_in_time() -> None:
    ((episode, _),) = rollout([trial("dynamic/press_switch_in_time")], VisionPolicy())
    assert episode.success


def test_other_words_are_followed_from_when_they_are_said(environment: Environment) -> None:
    """Told first to pick up the red cube and then the green one, it holds the green one."""
    policy = VisionPolicy()
    policy.reset([environment.start()])
    for _ in range(160):
        if environment.needs_chunk:
            colour = "red" if environment.world.step < 12 else "green"
            shown = replace(environment.observe(), instruction=f"Pick up the {colour} cube.")
            environment.accept(policy.act([shown])[0], 0.0)
        environment.step()
    assert environment.world.position("green cube")[2] > 0.08
    assert environment.world.position("red cube")[2] < 0.03


def test_the_hand_is_nothing_that_it_sees(environment: Environment) -> None:
    """From above a cube to its grasp: two cubes, and no more, though the hand is in the picture."""
    start, observations, _ = watched(environment, 10)
    base = ROBOTS["panda"].base_in_world
    eyes = {name: Eye.of(camera, base, PIXELS, PIXELS) for name, camera in start.cameras.items()}
    with_hand = []
    for one in observations:
        points, ee = look(eyes, one.images, one.depth), one.state["ee_pose"].tolist()
        tool, opening = base @ Pose.of(ee[:3], ee[3:]), float(one.state["gripper_opening"][0])
        found = sightings(patches(without_hand(points, tool, opening)))
        assert sorted(sighting.thing.colour for sighting in found) == ["green", "red"]
        with_hand.append(len(sightings(patches(points))))
    assert max(with_hand) > 2


def test_a_camera_that_the_arm_carries_is_told_in_the_frame_of_its_tool() -> None:
    spec = replace(VisionPolicy.spec, cameras=(CameraRequest("wrist"),))
    environment = Environment(trial(STACK), spec)
    given, start = environment.start().cameras["wrist"], environment.simulation.tool_in_world()
    action = to_action(environment.robot.base_in_world, Waypoint(start.shifted(0.1, 0.1, -0.1), 1.0))
    environment.accept(np.array([action]), 0.0)
    for _ in range(10):
        environment.step()
    tool = environment.simulation.tool_in_world()
    assert difference(start, tool).distance_m > 0.02
    off = difference(tool @ given.pose, environment.simulation.camera("wrist").in_world)
    assert given.frame == "tool"
    assert max(off) < 1e-5


def failing(error: Exception) -> Callable[..., Waypoint]:
    def fail(*_: object) -> Waypoint:
        raise error

    return fail


def test_a_thing_that_lacks_what_a_plan_needs_leaves_it_standing(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlanExecutor, "next", failing(UnknownName("no cell of the cube")))
    _, _, (chunk,) = watched(environment, 1)
    np.testing.assert_array_equal(chunk, np.repeat(chunk[:1], len(chunk), axis=0))


def test_a_plan_that_is_wrong_is_not_passed_over(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlanExecutor, "next", failing(ValueError("math domain error")))
    with pytest.raises(ValueError, match="math domain error"):
        watched(environment, 1)


def test_a_plan_made_anew_keeps_to_what_was_decided() -> None:
    tool = Pose((-0.3, 0.0, 0.4))
    executor, sight = PlanExecutor(Hand(tool, 1.0, 0.05, tool)), Sight(Hand(tool, 1.0, 0.05, tool))
    is_there = If(Exists(the("red cube")), pick("red cube"), pick("green cube"))
    red, green = cube("red").at(0.0, 0.1), cube("green").at(0.0, -0.1)
    sight.look([Sighting(red, red.pose, 300), Sighting(green, green.pose, 300)], 0.0, lambda place: False)
    meaning = Meaning((is_there,))
    first = [executor.next(meaning, sight)[""] for _ in range(3)]
    executor.plan_anew()
    for _ in range(GONE_LOOKS):
        sight.look([Sighting(green, green.pose, 300)], 0.2, lambda place: True)
    assert first[-1].tool != first[0].tool
    assert executor.next(meaning, sight) == executor.next(meaning, sight), (
        "it waits for the red cube, and takes no other"
    )


def test_what_it_does_not_understand_leaves_it_standing(environment: Environment) -> None:
    start, (observation,), _ = watched(environment, 1)
    puzzled = VisionPolicy()
    puzzled.reset([start])
    (chunk,) = puzzled.act([replace(observation, instruction="Frobnicate the gizmo with due care.")])
    np.testing.assert_array_equal(chunk, np.repeat(chunk[:1], len(chunk), axis=0))
    np.testing.assert_allclose(chunk[0, :7], observation.state["ee_pose"], atol=1e-6)


def test_without_calibration_it_says_what_is_missing(environment: Environment) -> None:
    start = environment.start()
    only_front = {name: camera for name, camera in start.cameras.items() if name == "front"}
    with pytest.raises(UserError, match=", ".join(CAMERAS[1:])):
        VisionPolicy().reset([replace(start, cameras=only_front)])


def test_a_camera_that_the_arm_carries_is_refused(environment: Environment) -> None:
    start = environment.start()
    carried = {**start.cameras, "left": replace(start.cameras["left"], frame="tool")}
    with pytest.raises(UserError, match="these are on the arm: left"):
        VisionPolicy().reset([replace(start, cameras=carried)])


def test_it_goes_by_its_own_cameras_and_says_what_they_lack(environment: Environment) -> None:
    start, (observation,), (chunk,) = watched(environment, 1)
    start = replace(start, cameras={**start.cameras, "wrist": replace(start.cameras["front"], frame="tool")})

    def act(shown: Observation) -> ActionChunk:
        other = VisionPolicy()
        other.reset([start])
        return other.act([shown])[0]

    extra = replace(observation, images={**observation.images, "wrist": observation.images["front"]})
    np.testing.assert_array_equal(act(extra), chunk)
    with pytest.raises(ValueError, match="no depth of the camera front"):
        act(replace(observation, depth={}))
    with pytest.raises(ValueError, match="no picture and no depth of the camera front"):
        act(replace(observation, images={}, depth={}))


def test_served_to_a_client_that_tells_no_calibration_it_says_so(environment: Environment) -> None:
    endpoint = Endpoint(VisionPolicy())
    request = dict(endpoint.preset.request(environment.observe(), environment.start()))
    given = dict(request["robodx"])
    del given["cameras"]
    with pytest.raises(UserError, match="no calibration of front, left, right"):
        endpoint.answer("session", {**request, "robodx": given})


@pytest.mark.parametrize("task", [STACK, "control/place_sphere"])
def test_it_solves_easy_control(task: str) -> None:
    ((episode, _),) = rollout([trial(task)], VisionPolicy())
    assert episode.success
    assert episode.collisions == 0


def test_behind_a_wire_it_does_the_same() -> None:
    """Calibration, depth and colours travel unchanged."""
    ((here, _),) = rollout([trial(STACK)], VisionPolicy())
    ((there, _),) = rollout([trial(STACK)], connect(Local(VisionPolicy()), "local", None))
    assert there.error is None
    assert here.trajectory_hash == there.trajectory_hash
