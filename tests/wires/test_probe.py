"""The convention probe: each planted mistake is named, and nothing is said of a policy that can do nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.compatibility import showing
from robodx.compatibility.fit import Fit, Motions
from robodx.compatibility.hypotheses import between, scales, views_of
from robodx.compatibility.probe import _Contest, _Idea, _Search, _Tried, probe
from robodx.compatibility.showing import Demonstrations
from robodx.compatibility.verdict import Verdict
from robodx.policy_contract import (
    ActionChunk,
    CameraRequest,
    EpisodeStart,
    Observation,
    Policy,
    PolicySpec,
    make_policy,
)
from robodx.running.demonstrations import Demonstration, Frame, demonstrate
from robodx.sim.geometry import conjugate, multiply, rotate, to_rotation_vector
from robodx.spaces import ActionSpace, DeltaFrame, DeltaFrom
from robodx.streams import FIRST_TRAINING_SEED
from robodx.wires.base import Address, Names
from robodx.wires.local import Local
from robodx.wires.preset import Preset, native
from robodx.wires.preset_files import find_preset
from robodx.wires.protocols import openpi
from robodx.wires.remote import RemotePolicy
from robodx.wires.serving import Endpoint
from tests.serving import in_a_thread

TASKS = ("control/stack_cube", "control/insert_peg", "spatial/place_between")
FIRST = FIRST_TRAINING_SEED
EVERY = 4
CAMERAS = (CameraRequest("front", 48, 48), CameraRequest("wrist", 48, 48))
STATE = ("joint_positions", "gripper_opening")


@cache
def shown(spec: PolicySpec, task: str, seed: int) -> Demonstration:
    return demonstrate(spec, task, seed=seed)


@cache
def remembered(uses: str, hz: float) -> tuple[Frame, ...]:
    spec = PolicySpec(cameras=CAMERAS if uses == "images" else (), state=STATE, uses_language=False)
    demonstrations = [shown(spec, task, FIRST + seed) for seed in range(seeds_for(spec)) for task in TASKS]
    # At the times at which a policy of this rate is asked.
    return tuple(
        one.frame(step, 1.0 / hz)
        for one in demonstrations
        for step in range(0, len(one.observations), max(EVERY, round(one.hz / hz)))
    )


def seeds_for(spec: PolicySpec) -> int:
    """Pictures are more alike than numbers: it takes more to tell them apart."""
    return 2 if spec.cameras else 1


@pytest.fixture(autouse=True)
def one_demonstration_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The expert's frames depend on what is shown; nothing else of a policy makes them differ."""

    def again(spec: PolicySpec, task: str, *, seed: int, robot: str) -> Demonstration:
        assert task in TASKS and robot == "panda"
        return shown(spec, task, seed)

    monkeypatch.setattr(showing, "demonstrate", again)


class Memory:
    """Acts as the expert did where it saw what is most like what it sees: a policy that really looks."""

    def __init__(
        self, space: ActionSpace, delta_frame: DeltaFrame = "base", delta_from: DeltaFrom = "commanded",
        *, uses: str = "state", hz: float = 20.0, noise: float | Sequence[float] = 0.0, speed: float = 1.0,
    ) -> None:  # fmt: skip
        self.spec = PolicySpec(
            action_space=space, delta_frame=delta_frame, delta_from=delta_from, hz=hz,
            cameras=CAMERAS if uses == "images" else (), state=STATE, uses_language=False,
        )  # fmt: skip
        self._uses = uses
        self._known = np.stack([self._features(frame.observation) for frame in remembered(uses, hz)])
        actions = np.stack([self._action(frame) for frame in remembered(uses, hz)])
        actions[:, :-1] *= speed
        spread = np.asarray(noise) * np.sqrt(np.square(actions).mean(axis=0))
        self._actions = actions + np.random.default_rng(0).normal(size=actions.shape).astype(np.float32) * spread
        self.asked = 0

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def finish(self, ids: Sequence[str]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def _act(self, observation: Observation) -> ActionChunk:
        self.asked += 1
        distances = np.square(self._known - self._features(observation)).sum(axis=1)
        return np.asarray(self._actions[int(distances.argmin())])[None].astype(np.float32)

    def _features(self, seen: Observation) -> NDArray[np.float32]:
        if self._uses == "state":
            return np.concatenate([seen.state[part] for part in STATE])
        return np.concatenate([seen.images[camera.name].ravel() for camera in CAMERAS]).astype(np.float32)

    def _action(self, frame: Frame) -> ActionChunk:
        space = self.spec.action_space
        if space == "joint":
            motion: Sequence[float] = frame.target_joints.tolist()
        elif space == "joint_velocity":
            motion = ((frame.target_joints - frame.commanded_joints) / frame.horizon_s).tolist()
        elif space == "ee_pose":
            motion = [*frame.target.position, *frame.target.quaternion]
        else:
            start = frame.achieved if self.spec.delta_from == "achieved" else frame.commanded
            x, y, z = np.subtract(frame.target.position, start.position).tolist()
            back = conjugate(start.quaternion)
            if self.spec.delta_frame == "tool":
                motion = [*rotate(back, (x, y, z)), *to_rotation_vector(multiply(back, frame.target.quaternion))]
            else:
                motion = [x, y, z, *to_rotation_vector(multiply(frame.target.quaternion, back))]
        return np.array([*motion, frame.opening], dtype=np.float32)


Probed = Callable[[Policy, Preset, Preset], Verdict]


@pytest.fixture
def probed() -> Probed:
    """Serve a policy with one preset, and probe it with another."""

    def run(policy: Policy, planted: Preset, declared: Preset) -> Verdict:
        wire = Local(policy)
        wire.endpoint = Endpoint(policy, planted)
        return probe(RemotePolicy(wire, declared), tasks=TASKS, seeds=seeds_for(policy.spec), every=EVERY)

    return run


def test_a_mistake_is_named_over_a_real_wire() -> None:
    policy = Memory("ee_delta")
    declared = preset(policy.spec)
    planted = acting(gripper_open=0.0, gripper_closed=1.0)(declared)
    with (
        in_a_thread(openpi.serve, Endpoint(policy, planted)) as port,
        closing(RemotePolicy(openpi.OpenPi(Address("127.0.0.1", port)), declared)) as client,
    ):
        assert probe(client, tasks=TASKS, seeds=1, every=EVERY).aspects == ("gripper sign",)


def preset(spec: PolicySpec, **actions: Any) -> Preset:
    own = replace(native(spec, Names()), tells_episode=False)
    return replace(own, actions=replace(own.actions, **actions))


def oriented(whole: Preset, orientation: str) -> Preset:
    turned = {key: replace(picture, orientation=orientation) for key, picture in whole.images.items()}  # type: ignore[arg-type]
    return replace(whole, images=turned)


def turned_differently(whole: Preset) -> Preset:
    (one, first), (two, second) = whole.images.items()
    images = {one: replace(first, orientation="rotated_180"), two: replace(second, orientation="flipped_vertical")}
    return replace(whole, images=images)


def swapped(whole: Preset) -> Preset:
    (one, first), (two, second) = whole.images.items()
    images = {one: replace(first, camera=second.camera), two: replace(second, camera=first.camera)}
    return replace(whole, images=images)


Planted = Callable[[Preset], Preset]


def acting(**fields: Any) -> Planted:
    return lambda whole: replace(whole, actions=replace(whole.actions, **fields))


MISTAKES: list[tuple[str, Memory | Callable[[], Memory], Planted, str]] = [
    ("gripper sign", lambda: Memory("ee_delta"), acting(gripper_open=0.0, gripper_closed=1.0), "gripper sign"),
    (
        "upside down",
        lambda: Memory("ee_delta", uses="images"),
        lambda p: oriented(p, "flipped_vertical"),
        "image orientation",
    ),
    ("turned", lambda: Memory("ee_delta", uses="images"), lambda p: oriented(p, "rotated_180"), "image orientation"),
    ("cameras", lambda: Memory("ee_delta", uses="images"), swapped, "cameras swapped"),
    ("degrees", lambda: Memory("joint"), acting(scale_rad=np.pi / 180), "degrees"),
    ("state", lambda: Memory("joint"), lambda p: replace(p, state_angles="degrees"), "state in degrees"),
    ("quaternion", lambda: Memory("ee_pose"), acting(rotation="quaternion_xyzw"), "rotation form"),
    ("scale", lambda: Memory("ee_delta"), acting(scale_m=0.05), "scale of position"),
    ("speeds", lambda: Memory("joint_velocity"), acting(scale_rad=np.pi / 180), "degrees"),
    ("range", lambda: Memory("ee_delta"), acting(gripper_open=1.0, gripper_closed=-1.0), "gripper range"),
]


@pytest.mark.parametrize(("memory", "plant", "aspect"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_planted_mistake_is_named(memory: Callable[[], Memory], plant: Planted, aspect: str, probed: Probed) -> None:
    policy = memory()
    declared = preset(policy.spec)
    verdict = probed(policy, plant(declared), declared)
    assert verdict.aspects == (aspect,), list(verdict.lines())
    assert min(verdict.explained.values()) > 0.9
    assert verdict.preset.actions.gripper_open == plant(declared).actions.gripper_open, "the corrected preset is it"
    assert verdict.preset.images == plant(declared).images


@pytest.mark.parametrize(
    ("fields", "aspect"),
    [({"delta_frame": "tool"}, "frame"), ({"delta_from": "achieved"}, "achieved/commanded")],
    ids=["frame", "achieved"],
)
def test_a_step_of_another_meaning_is_named(fields: dict[str, str], aspect: str, probed: Probed) -> None:
    policy = Memory("ee_delta", **fields)  # type: ignore[arg-type]
    served = preset(policy.spec)
    declared = preset(Memory("ee_delta").spec)
    verdict = probed(policy, served, declared)
    assert verdict.aspects == (aspect,), list(verdict.lines())
    assert verdict.preset.actions == served.actions


def test_two_mistakes_are_both_named(probed: Probed) -> None:
    policy = Memory("ee_delta", uses="images")
    declared = preset(policy.spec)
    planted = swapped(preset(policy.spec, gripper_open=0.0, gripper_closed=1.0))
    verdict = probed(policy, planted, declared)
    assert set(verdict.aspects) == {"gripper sign", "cameras swapped"}, list(verdict.lines())


@pytest.mark.parametrize(
    ("plant", "aspects"),
    [
        (lambda p: p, ()),
        (acting(gripper_open=0.0, gripper_closed=1.0), ("gripper sign",)),
        (lambda p: oriented(p, "flipped_vertical"), ("image orientation",)),
        (acting(scale_m=0.05), ("scale of position",)),
    ],
    ids=["right", "gripper", "picture", "scale"],
)
def test_a_policy_need_not_be_perfect(plant: Planted, aspects: tuple[str, ...], probed: Probed) -> None:
    policy = Memory("ee_delta", noise=0.4, uses="images" if aspects == ("image orientation",) else "state")
    declared = preset(policy.spec)
    verdict = probed(policy, plant(declared), declared)
    assert verdict.is_competent and verdict.aspects == aspects, list(verdict.lines())


# Each space and each rate once; all of them with one another only where time does not matter.
RATES = dict(zip(("ee_delta", "ee_pose", "joint", "joint_velocity"), (5.0, 10.0, 15.0, 50.0), strict=True))


@pytest.mark.parametrize(
    ("space", "hz"),
    [
        pytest.param(space, hz, marks=() if RATES[space] == hz else pytest.mark.thorough)
        for space in RATES
        for hz in RATES.values()
    ],
)
def test_a_policy_may_have_another_rate(space: ActionSpace, hz: float, probed: Probed) -> None:
    policy = Memory(space, hz=hz)
    declared = preset(policy.spec)
    verdict = probed(policy, declared, declared)
    assert verdict.fits and min(verdict.explained.values()) > 0.98, list(verdict.lines())


NOISY_TURNS = [0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 0.1]


@pytest.mark.parametrize(
    "doing", [{"noise": NOISY_TURNS}, {"noise": 0.6}, {"speed": 0.7}, {"speed": 1.6}], ids=lambda doing: str(doing)[:20]
)
def test_a_policy_that_acts_rightly_but_poorly_is_not_accused(doing: dict[str, Any], probed: Probed) -> None:
    policy = Memory("ee_delta", **doing)
    declared = preset(policy.spec)
    verdict = probed(policy, declared, declared)
    assert verdict.changes == () and verdict.preset == declared, list(verdict.lines())


def test_what_cannot_be_told_on_these_frames_is_said(probed: Probed) -> None:
    policy = Memory("ee_delta", "base", "achieved", noise=0.2)
    verdict = probed(policy, preset(policy.spec), preset(Memory("ee_delta").spec))
    assert verdict.fits, "a tenth of a millimetre is not seen behind noise"
    assert "its deltas start from the achieved pose" in (*verdict.undecided, *verdict.untested)
    assert verdict.word == "partly" and not any("gripper is 0 " in one for one in verdict.undecided)
    assert "no convention is wrong as far as tested" in "\n".join(verdict.lines())


def test_the_numbers_of_a_binary_gripper_are_found(probed: Probed) -> None:
    policy = Memory("ee_delta")
    declared = preset(policy.spec, gripper_open=-1.0, gripper_closed=1.0, gripper_is_binary=True)
    planted = acting(gripper_open=1.0, gripper_closed=-1.0)(declared)
    verdict = probed(policy, planted, declared)
    assert verdict.aspects == ("gripper sign",) and verdict.preset == planted, list(verdict.lines())


def test_the_scale_of_steps_from_the_achieved_pose_is_found(
    probed: Probed,
) -> None:
    policy = Memory("ee_delta", "base", "achieved")
    declared = preset(policy.spec, scale_m=0.05)
    verdict = probed(policy, preset(policy.spec), declared)
    assert verdict.aspects == ("scale of position",), list(verdict.lines())
    assert verdict.preset.actions.scale_m == pytest.approx(1.0, rel=0.01)


def test_of_two_pictures_turned_differently_both_are_named(probed: Probed) -> None:
    policy = Memory("ee_delta", uses="images")
    declared = preset(policy.spec)
    verdict = probed(policy, turned_differently(declared), declared)
    assert verdict.aspects == ("image orientation",) and min(verdict.explained.values()) > 0.9
    found = {key: picture.orientation for key, picture in verdict.preset.images.items()}
    assert found["images.front"] == "rotated_180" and found["images.wrist"] != "upright", list(verdict.lines())
    # The picture of the wrist is much the same from right to left.
    assert (
        found["images.wrist"] == "flipped_vertical"
        or "it expects images.wrist flipped top to bottom" in verdict.undecided
    )


@pytest.mark.parametrize("camera", ["front", "wrist"])
def test_one_picture_upside_down_is_named(camera: str, probed: Probed) -> None:
    policy = Memory("ee_delta", uses="images")
    declared = preset(policy.spec)
    key = f"images.{camera}"
    images = {**declared.images, key: replace(declared.images[key], orientation="flipped_vertical")}
    planted = replace(declared, images=images)
    verdict = probed(policy, planted, declared)
    assert verdict.aspects == ("image orientation",) and verdict.preset == planted, list(verdict.lines())
    assert f"{key} flipped top to bottom" in "\n".join(verdict.lines())


def test_a_camera_that_the_policy_does_not_look_at_is_said_not_to_be_tested(probed: Probed) -> None:
    class OneEyed(Memory):
        def _features(self, seen: Observation) -> NDArray[np.float32]:
            return seen.images["front"].ravel().astype(np.float32)

    policy = OneEyed("ee_delta", uses="images")
    declared = preset(policy.spec)
    wrist = {**declared.images, "images.wrist": replace(declared.images["images.wrist"], orientation="rotated_180")}
    verdict = probed(policy, replace(declared, images=wrist), declared)
    assert verdict.word == "partly", list(verdict.lines())
    assert "it expects images.wrist rotated by 180°" in verdict.untested
    assert not any("front" in sentence for sentence in verdict.untested)


def test_a_server_that_crops_its_pictures_is_given_a_border(probed: Probed) -> None:
    class Cropping(Memory):
        """Gets what the server leaves of its pictures, and enlarges it."""

        def __init__(self) -> None:
            super().__init__("ee_delta", uses="images")
            self.spec = replace(self.spec, cameras=tuple(CameraRequest(one.name, 36, 36) for one in CAMERAS))

        def _features(self, seen: Observation) -> NDArray[np.float32]:
            at = np.arange(48) * 36 // 48 if seen.images["front"].shape == (36, 36, 3) else np.arange(48)
            return np.concatenate([seen.images[one.name][at][:, at].ravel() for one in CAMERAS]).astype(np.float32)

    policy = Cropping()
    declared = preset(Memory("ee_delta", uses="images").spec)
    planted = replace(declared, images={key: one.with_border(0.75) for key, one in declared.images.items()})
    verdict = probed(policy, planted, declared)
    assert verdict.aspects == ("image crop",) and verdict.preset == planted, list(verdict.lines())
    assert "it looks only at the middle 75% of its pictures" in "\n".join(verdict.lines())


@pytest.mark.parametrize("share", [0.9, 0.75])
def test_a_border_is_taken_away_again(share: float) -> None:
    whole = preset(Memory("ee_delta", uses="images").spec)
    bordered = replace(whole, images={key: one.with_border(share) for key, one in whole.images.items()})
    (change,) = between(bordered, whole)
    assert change.sentence == "it expects its pictures without a border" and change.preset == whole


def test_a_wide_picture_is_cropped_as_wide_as_it_is() -> None:
    """Of DROID's, 126 by 224 in a frame of 224 by 224, three quarters are 94 by 168."""
    droid = find_preset("droid")
    one = next(iter(droid.images.values()))
    assert (one.content, one.with_border(0.75).content) == ((126, 224), (94, 168))
    assert one.with_border(0.75).with_border(1.0).content == (125, 224), "as large as fits, but for what was rounded"
    crops = [change for change in views_of(droid) if change.aspect == "image crop"]
    assert crops
    for change in crops:
        for key, picture in change.preset.images.items():
            (height, width), (whole_height, whole_width) = picture.content, droid.images[key].content
            assert height <= whole_height and abs(height / width - whole_height / whole_width) < 0.01


def test_a_camera_is_asked_for_in_one_size_by_every_hypothesis() -> None:
    droid = find_preset("droid")
    one = next(iter(droid.images.values()))
    bare = replace(one, height=one.content[0], width=one.content[1], content_height=0, content_width=0)
    twice = replace(droid, images={**droid.images, "again": bare})
    for change in views_of(twice):
        sizes = {(picture.camera, picture.content) for picture in change.preset.images.values()}
        assert len(sizes) == len({picture.camera for picture in change.preset.images.values()})


def test_each_camera_of_a_demonstration_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[CameraRequest, ...]] = []

    def counted(spec: PolicySpec, task: str, *, seed: int, robot: str) -> Demonstration:
        drawn.append(spec.cameras)
        return shown(spec, task, seed)

    monkeypatch.setattr(showing, "demonstrate", counted)
    one = preset(Memory("ee_delta", uses="images").spec)
    demonstrations = Demonstrations([(TASKS[0], FIRST)], "panda", one.spec)
    first, again = demonstrations.get(one, 0), demonstrations.get(swapped(one), 0)
    assert drawn == [(camera,) for camera in CAMERAS]
    assert all(
        a.images["front"] is b.images["front"] for a, b in zip(first.observations, again.observations, strict=True)
    )
    together = shown(replace(one.spec, cameras=CAMERAS), TASKS[0], FIRST)
    for a, b in zip(first.observations, together.observations, strict=True):
        assert all(np.array_equal(a.images[name], b.images[name]) for name in ("front", "wrist"))
    assert first.start.cameras.keys() == {"front", "wrist"}
    bordered = replace(one, images={key: picture.with_border(0.75) for key, picture in one.images.items()})
    smaller = demonstrations.get(bordered, 0).observations[0].images["front"]
    assert drawn == [(camera,) for camera in CAMERAS], "smaller pictures are made from those that are there"
    really = shown(replace(one.spec, cameras=(CameraRequest("front", 36, 36),)), TASKS[0], FIRST)
    difference = smaller.astype(float) - really.observations[0].images["front"]
    assert smaller.shape == (36, 36, 3) and np.abs(difference).mean() < 4


@pytest.mark.thorough
def test_a_turned_picture_of_a_learned_policy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its front picture rotated it still explains more than half of the motion."""
    policy = make_policy("act")
    declared = preset(policy.spec)
    planted = replace(
        declared, images={key: replace(one, orientation="rotated_180") if one.camera == "front" else one
                          for key, one in declared.images.items()},
    )  # fmt: skip
    wire = Local(policy)
    wire.endpoint = Endpoint(policy, planted)
    monkeypatch.setattr(showing, "demonstrate", demonstrate)
    verdict = probe(RemotePolicy(wire, declared))
    assert verdict.aspects == ("image orientation",) and verdict.preset == planted, list(verdict.lines())


def losses(*values: float) -> Fit:
    return Fit({(index, 0): value for index, value in enumerate(values)}, {"position": 0.9}, 0)


def test_a_fit_is_better_by_a_margin_and_beyond_chance() -> None:
    usual = np.random.default_rng(0).uniform(0.4, 0.6, 30)
    noise = np.random.default_rng(1).normal(0, 0.2, 30)
    assert losses(*(0.8 * usual)).is_better_than(losses(*usual))
    assert not losses(*(0.97 * usual)).is_better_than(losses(*usual)), "less than the margin"
    assert not losses(*(0.9 * usual + noise - noise.mean())).is_better_than(losses(*usual)), "chance"
    assert not losses(0.1, 0.1).is_better_than(losses(0.9, 0.8)), "two are too few"


def test_the_fewest_changes_between_two_presets_are_named() -> None:
    given = preset(Memory("ee_delta", uses="images").spec)
    blue_first = {key: replace(picture, channels="BGR") for key, picture in given.images.items()}
    wanted = replace(given, images={**blue_first, "images.wrist": replace(blue_first["images.wrist"], camera="front")})
    assert between(given, given) == []
    (colours,) = between(given, replace(given, images=blue_first))
    assert colours.sentence == "it expects its pictures in the order BGR"
    assert [one.aspect for one in between(given, swapped(turned_differently(given)))].count("cameras swapped") == 1
    assert between(given, wanted)[0].aspect == "colour channels"


def test_alternatives_of_an_earlier_correction_are_listed_but_for_what_is_a_part_of_a_later_one() -> None:
    class Rehearsed(_Search):
        """Corrects the orientation, for which there were three ways, then the colours, and finds nothing more."""

        def __init__(self, declared: Preset) -> None:
            self._declared, self._tasks, self.alike = declared, 1, list[str]()
            upside_down, turned = (seen(declared, orientation=way) for way in ("flipped_vertical", "rotated_180"))
            blue_first, only_blue = seen(upside_down, channels="BGR"), seen(declared, channels="BGR")
            self.contests = [
                _Contest(tried(upside_down), True, [tried(turned), tried(only_blue)], [], []),
                _Contest(tried(blue_first), True, [], [], []),
                _Contest(tried(blue_first), False, [], [], []),
            ]

        def _contest(self, current: _Idea, views: Sequence[Preset]) -> _Contest:
            return self.contests.pop(0)

        def _tried(self, idea: _Idea, indices: Sequence[int]) -> _Tried:
            return tried(idea.preset)

        def _said(self, contest: _Contest, alike: Sequence[str], first: _Tried, given: Preset) -> Verdict:
            self.alike += alike
            return Verdict(False, (), given, {}, {}, (), (), 0, 0, 0, None)

    def seen(one: Preset, **fields: Any) -> Preset:
        return replace(one, images={key: replace(picture, **fields) for key, picture in one.images.items()})

    def tried(one: Preset) -> _Tried:
        return _Tried(_Idea(one), Motions({}, np.zeros((0, 2))), losses(0.1, 0.1))

    search = Rehearsed(preset(Memory("ee_delta", uses="images").spec))
    search.verdict(search._declared)
    assert search.alike == ["it expects its pictures rotated by 180°"]


def test_frames_answered_with_an_error_are_left_out(probed: Probed) -> None:
    """Over a wire and in process."""

    class Failing(Memory):
        def _act(self, observation: Observation) -> ActionChunk:
            if self.asked % 3 == 2:
                self.asked += 1
                raise RuntimeError("not this one")
            return super()._act(observation)

    policy = Failing("ee_delta")
    declared = preset(policy.spec)
    for verdict in (probed(policy, declared, declared), probe(Failing("ee_delta"), tasks=TASKS, seeds=1, every=EVERY)):
        assert verdict.fits and verdict.errors > 5, list(verdict.lines())
        assert min(verdict.explained.values()) > 0.99
        assert "not this one" in "\n".join(verdict.lines())


@pytest.mark.parametrize("name", ["random", "still"])
def test_nothing_is_said_of_a_policy_that_can_do_nothing(name: str) -> None:
    verdict = probe(make_policy(name), tasks=TASKS, seeds=1, every=EVERY)
    assert not verdict.is_competent
    assert verdict.changes == () and not verdict.fits and not verdict.is_wrong
    assert "inconclusive" in "\n".join(verdict.lines())


def test_rounding_is_not_scaled_up_to_be_motion() -> None:
    declared = preset(PolicySpec(action_space="ee_delta", state=STATE))
    still, moving = np.full((4, 3), 1e-17), np.ones((4, 3))
    assert not [change for change in scales(declared, {"position": (still, moving)}) if "scale" in change.aspect]
    (found,) = scales(declared, {"position": (0.1 * moving, moving)})
    assert found.aspect == "scale of position"
