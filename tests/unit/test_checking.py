"""`robodx check` in Python: what kind of policy it is, what does not fit, and what is told of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robodx.compatibility.checking import both_sides, check
from robodx.compatibility.hypotheses import views_of
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.description import description_of
from robodx.running.fit import Unfit
from robodx.running.rollout import rollout
from robodx.spaces import ACTION_SPACES
from robodx.wires.base import Names, WireError
from robodx.wires.local import Local
from robodx.wires.pictures import FLIPS, Orientation, Picture
from robodx.wires.preset import Preset, native
from robodx.wires.preset_files import find_preset
from robodx.wires.remote import RemotePolicy, declared
from tests.commands import call

HOLD = np.array([[0, 0, 0, 0, 0, 0, 1]], dtype=np.float32)
TASK = "primitive/press_switch"
RECORDED = Path(__file__).parents[1] / "golden" / "run-v4"


class Answering:
    """Answers with what a function of its episode's questions so far and of all questions so far says."""

    def __init__(self, answer: Callable[[int, int], ActionChunk | Exception], **spec: object) -> None:
        self.spec = PolicySpec(state=(), **spec)  # type: ignore[arg-type]
        self._answer, self._asked, self._all = answer, dict[str, int](), 0

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self._asked |= {start.episode_id: 0 for start in starts}

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        answers = []
        for one in observations:
            answers.append(self._answer(self._asked[one.episode_id], self._all))
            self._asked[one.episode_id] += 1
            self._all += 1
        return answers

    def finish(self, ids: Sequence[str]) -> None: ...


def moved(by: float) -> ActionChunk:
    return HOLD + np.array([[by, 0, 0, 0, 0, 0, 0]], dtype=np.float32)


@pytest.mark.parametrize(
    ("answer", "nature"),
    [
        (lambda in_episode, in_all: HOLD, "deterministic"),
        (lambda in_episode, in_all: moved(0.001 * in_episode), "stateful"),
        (lambda in_episode, in_all: moved(0.001 if in_episode > 3 else 0.0), "stateful"),
        (lambda in_episode, in_all: moved(0.001 * in_all), "stochastic"),
        (lambda in_episode, in_all: moved(0.001 * (in_all % 7 == 6)), "stochastic"),
    ],
)
def test_a_policys_nature_is_told(answer: Callable[[int, int], ActionChunk], nature: str) -> None:
    found = check("answering", Answering(answer), task=TASK)
    assert found.nature == nature and found.problems == []
    is_repeated = {"deterministic": "deterministic: ", "stateful": "deterministic and stateful: "}
    assert f"The policy is {is_repeated.get(nature, 'not deterministic: ')}" in "\n".join(found.lines())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda in_episode, in_all: moved(np.nan), "not finite"),
        (lambda in_episode, in_all: np.zeros((1, 6), np.float32), r"takes \(7,\)"),
        (lambda in_episode, in_all: WireError("the server hung up"), "the server hung up"),
    ],
)
def test_a_policy_without_a_usable_action_is_a_problem_and_both_sides_are_shown(
    answer: Callable[[int, int], ActionChunk | Exception], message: str
) -> None:
    found = check("answering", Answering(answer), task=TASK)
    assert found.nature is None and len(found.problems) == 1
    assert re.search(f"its reply cannot be executed: .*{message}", found.problems[0])
    said = "\n".join(found.lines())
    assert "action ee_delta, 7 numbers" in said and "PROBLEM: " in said
    assert found.conclusion(None) == "It cannot be run."


def test_only_calls_after_settling_are_timed() -> None:
    class Slow(Answering):
        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
            time.sleep(0.02)
            return super().act(observations)

    inside = Local(Slow(lambda *_: np.repeat(HOLD, 5, axis=0)))
    policy = RemotePolicy(inside, replace(inside.endpoint.preset, settle_steps=10, replan=5))
    found = check("slow", policy, task=TASK)
    assert found.slowest_ms is not None and found.slowest_ms == max(found.slowest_ms, found.inference_ms or 0.0)
    assert f"(median), {found.slowest_ms:.1f} ms for the slowest call." in "\n".join(found.lines())
    assert found.steps == 30 and found.chunk == (5, 7)
    assert found.inference_ms is not None and found.inference_ms >= 20


def test_while_it_settles_robodx_rests_and_the_servers_first_reply_is_still_the_first() -> None:
    wide = Local(Answering(lambda *_: np.zeros((1, 9), np.float32)))
    policy = RemotePolicy(wide, replace(wide.endpoint.preset, settle_steps=10))
    ((episode, _),) = rollout([Trial(TASK, 2, "wide", 0)], policy)
    assert episode.outcome == "error" and "\nthe policy's first reply is" in (episode.error or "")
    # How long it settles is the preset's to say: a run of before can be resumed.
    assert "settle_steps" not in description_of(declared(policy), [])["policy_spec"]


def test_a_later_invalid_action_is_a_problem() -> None:
    found = check("answering", Answering(lambda in_episode, _: moved(np.nan) if in_episode > 5 else HOLD), task=TASK)
    assert len(found.problems) == 1 and "at step 6 the policy sent" in found.problems[0]


def test_a_scale_that_saturates_is_noted() -> None:
    found = check("answering", Answering(lambda *_: moved(-0.5)), task=TASK)
    assert any("check the scale" in note for note in found.notes)


def test_both_sides_are_shown() -> None:
    camera = CameraRequest("wrist", 64, 96)
    found = check("answering", Answering(lambda *_: HOLD, cameras=(camera,), uses_language=False), task=TASK)
    said = "\n".join(found.lines())
    assert "camera wrist 64×96" in said and "images.wrist: 64×96 HWC, upright" in said
    assert "it uses no language" in said and "action ee_delta, 7 numbers" in said


def sides(preset: Preset) -> str:
    return "\n".join(f"{ours} | {theirs}" for ours, theirs in both_sides(preset, "panda"))


def test_each_part_of_the_state_is_labelled_with_its_own_unit() -> None:
    spec = PolicySpec(state=("joint_positions", "joint_velocities", "gripper_opening", "ee_pose", "base_pose"))
    preset = native(spec, Names())
    said = sides(preset)
    assert "state.ee_pose: m and wxyz quaternion\n" in said and "state.base_pose: m and wxyz quaternion\n" in said
    assert "state.gripper_opening: 0 closed … 1 open\n" in said
    assert "state.joint_positions: rad\n" in said and "state.joint_velocities: rad/s\n" in said
    said = sides(replace(preset, state_angles="degrees"))
    assert "state.joint_velocities: degrees/s\n" in said and "state.ee_pose: m and wxyz quaternion\n" in said
    assert "observation/state: m; rad; m\n" in sides(find_preset("libero"))


def test_an_action_is_labelled_with_radians_only_where_they_scale_it() -> None:
    said = {space: sides(native(PolicySpec(action_space=space), Names())) for space in ACTION_SPACES}
    assert "1 = 1 m, 1 rad; rotation_vector" in said["ee_delta"]
    assert "1 = 1 m; quaternion_wxyz" in said["ee_pose"]
    assert "actions: 1 = 1 rad;" in said["joint"] and "actions: 1 = 1 rad/s;" in said["joint_velocity"]


@pytest.mark.parametrize("orientation", FLIPS)
def test_a_picture_is_labelled_with_what_is_done_to_it(orientation: Orientation) -> None:
    """Upside down may be a rotation or a flip: the label says which, and the probe says the same."""
    done = {
        "upright": lambda image: image,
        "rotated by 180°": lambda image: np.rot90(image, 2),
        "flipped top to bottom": np.flipud,
        "flipped left to right": np.fliplr,
    }
    picture, image = Picture("front", 8, 8, orientation=orientation), np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    label = sides(Preset("mine", images={"image": picture})).partition("image: 8×8 HWC, ")[2].partition("\n")[0]
    assert np.array_equal(picture.write(image), done[label](image))
    other = replace(picture, orientation="rotated_180" if orientation == "upright" else "upright")
    tried = [change.sentence for change in views_of(Preset("mine", images={"image": other}))]
    assert f"it expects its pictures {label}" in tried


def test_depth_is_labelled_in_metres() -> None:
    spec = PolicySpec(cameras=(CameraRequest("front", 8, 8, depth=True),))
    assert "depth.front: 8×8 in m, upright" in sides(native(spec, Names()))


def test_a_camera_that_is_not_there_and_a_width_that_no_robot_has_are_refused() -> None:
    with pytest.raises(Unfit, match="camera nose"):
        check("answering", Answering(lambda *_: HOLD, cameras=(CameraRequest("nose"),)), task=TASK)
    with pytest.raises(Unfit, match=r"have 14 numbers, but panda takes 7 \(gripper: step 6, gripper: opening 1\)"):
        check("answering", Answering(lambda *_: HOLD, action_width=14), task=TASK)


@pytest.mark.parametrize(("name", "nature"), [("still", "deterministic"), ("random", "stateful")])
def test_shipped_policies_can_be_checked(name: str, nature: str) -> None:
    assert check(name, make_policy(name), task=TASK).nature == nature


def test_the_verdict_comes_last_and_is_no_better_than_what_was_found(tmp_path: Path) -> None:
    *_, probed, last = call("check", "random", "--probe", cwd=tmp_path).splitlines()
    assert probed.startswith("Probe: inconclusive.")
    assert last.startswith("It can be run, but whether its conventions fit is not known: the probe is inconclusive.")
    last = call("check", "still", cwd=tmp_path).splitlines()[-1]
    assert last.startswith("It can be run. To test whether its conventions fit, add --probe")


def test_what_a_policy_cannot_do_here_is_told_in_a_line(tmp_path: Path) -> None:
    said = call("check", "demonstrator:front@0", cwd=tmp_path, expect=2)
    assert said == 'robodx: "front@0": a picture of 0×0: each side must be 1 to 2048 pixels\n'
    said = call("check", f"replay:{RECORDED}", "--task", TASK, cwd=tmp_path, expect=2)
    there = "control/stack_cube, isolation/touch_sphere_with_language, language/direct, perception/touch_red_sphere, …"
    assert said == f"robodx: {RECORDED} has no {TASK} at seed 0, repeat 0; its tasks: {there}\n"
