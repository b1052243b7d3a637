"""The probe on a user's own data: each planted mistake is named, and nothing is said of a policy that knows nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.compatibility.data_frames import Incomparable, match, parse_mapping
from robodx.compatibility.data_probe import DataVerdict, probe_on_data
from robodx.compatibility.data_views import coarsened, cropped, padded, resized
from robodx.datasets.formats.base import FORMATS
from robodx.datasets.schema import DataSet, Demonstration, Features, Images, InMemory, Pictures
from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec
from robodx.sim.geometry import conjugate, from_rotation_vector, rotate
from robodx.spaces import ActionSpace
from robodx.wires.base import Names
from robodx.wires.local import Local
from robodx.wires.preset import native
from robodx.wires.remote import RemotePolicy
from tests.commands import call

Array = NDArray[np.float64]
SIZE, STEPS, EPISODES = 16, 40, 6
STATE = ("joint_positions", "gripper_opening")
FEATURES = Features(
    20.0,
    {"front": (SIZE, SIZE)},
    {"joint_positions": ("joint1", "joint2"), "gripper_opening": ("gripper",)},
    ("joint1", "joint2", "gripper"),
    "panda",
    {"space": "joint"},
)


def paths(number: int) -> Array:
    """(steps, 3): two smooth numbers from −1 to 1, and a gripper that opens and closes."""
    rng = np.random.default_rng(number)
    time = np.arange(STEPS + 1)[:, None] / STEPS
    smooth = 0.9 * np.sin(2 * np.pi * (rng.uniform(0.7, 1.3, 2) * time + rng.uniform(0, 1, 2)))
    gripper = np.sin(2 * np.pi * (1.5 * time + rng.uniform())) > 0
    return np.concatenate([smooth, gripper], axis=1)


def pictures(path: Array, size: int = SIZE) -> Images:
    """A red spot whose column and a blue one whose row say where to be; green is the gripper."""
    rows, columns = np.mgrid[:size, :size] / (size - 1) * 2 - 1
    x, y, g = (path[:, at, None, None] for at in range(3))
    red = np.exp(-8 * (np.square(columns - x) + np.square(rows + 0.3)))
    blue = np.exp(-8 * (np.square(rows - y) + np.square(columns - 0.3)))
    green = 0.5 * g * ((rows < 0) & (columns < 0))
    found: Images = np.clip(220 * np.stack([red, green, blue], axis=-1), 0, 255).astype(np.uint8)
    return found


def demonstration(number: int, size: int = SIZE) -> Demonstration:
    path = paths(number)
    state = path[:-1] + 0.01 * np.random.default_rng(number + 100).normal(size=(STEPS, 3))
    return Demonstration(
        ("go there",) * STEPS,
        {"front": Pictures.of(pictures(path[1:], size))},
        {"joint_positions": state[:, :2].astype(np.float32), "gripper_opening": state[:, 2:].astype(np.float32)},
        path[1:].astype(np.float32),
        np.arange(STEPS) == STEPS - 1,
    )


JOINT = InMemory(FEATURES, [demonstration(number) for number in range(EPISODES)])
# Its state is what was done seven steps before: who takes it for the last action is far off.
LATE = InMemory(
    FEATURES,
    [
        replace(one, state={name: np.roll(values, 6, axis=0) for name, values in one.state.items()})
        for one in JOINT.demonstrations
    ],
)
SPEED = InMemory(replace(FEATURES, about={"space": "joint_velocity"}), JOINT.demonstrations)


@dataclass
class Recalled:
    """Acts as the data set did at the frame that is most like what it sees, with a mistake before or after."""

    data: DataSet
    act_at: Callable[[Demonstration, int, Observation], Array]
    # What it saw in training: the picture as it should come, or the state.
    trained_on: Callable[[Demonstration], Array]
    sees: Callable[[Observation], Array]
    spec: PolicySpec

    def __post_init__(self) -> None:
        episodes = [self.data[number] for number in range(len(self.data))]
        self._known = np.concatenate([self.trained_on(one) for one in episodes])
        self._squares = np.square(self._known).sum(axis=1)
        self._places = [(one, step) for one in episodes for step in range(len(one))]

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def finish(self, ids: Sequence[str]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(one) for one in observations]

    def _act(self, seen: Observation) -> ActionChunk:
        nearest = int((self._squares - 2 * self._known @ self.sees(seen)).argmin())
        return np.atleast_2d(self.act_at(*self._places[nearest], seen)).astype(np.float32)


def as_it_was(episode: Demonstration, step: int, seen: Observation) -> Array:
    return np.asarray(episode.action[step], dtype=float)


def by_state(
    act_at: Callable[[Demonstration, int, Observation], Array] = as_it_was,
    space: ActionSpace = "joint",
    data: DataSet = JOINT,
    *,
    degrees: bool = False,
) -> Recalled:
    def vectors(episode: Demonstration) -> Array:
        joints, opening = (episode.state[part].astype(float) for part in STATE)
        return np.concatenate([np.degrees(joints) if degrees else joints, opening], axis=1)

    return Recalled(
        data, act_at, vectors, lambda seen: np.concatenate([seen.state[part] for part in STATE]).astype(float),
        PolicySpec(action_space=space, state=STATE, uses_language=False),
    )  # fmt: skip


def by_picture(
    change: Callable[[NDArray[np.uint8]], NDArray[np.uint8]] = lambda image: image,
    act_at: Callable[[Demonstration, int, Observation], Array] = as_it_was,
    state: tuple[str, ...] = ("joint_positions",),
) -> Recalled:
    def seen_before(episode: Demonstration) -> Array:
        return np.stack([change(image).ravel() for image in episode.images["front"].all()]).astype(float)

    camera = CameraRequest("front", SIZE, SIZE)
    return Recalled(
        JOINT, act_at, seen_before, lambda seen: seen.images["front"].ravel().astype(float),
        PolicySpec(action_space="joint", cameras=(camera,), state=state, uses_language=False),
    )  # fmt: skip


def changed(change: Callable[[Array], Array]) -> Callable[[Demonstration, int, Observation], Array]:
    """Its answer is the data set's action, changed."""
    return lambda episode, step, _: change(episode.action[step].astype(float))


def gripped(change: Callable[[float], float]) -> Callable[[Demonstration, int, Observation], Array]:
    return changed(lambda action: np.array([*action[:2], change(action[2])]))


def chunks(start: int, every: float = 1.0, count: int = 10) -> Callable[[Demonstration, int, Observation], Array]:
    """From so many steps after the present one on, each so many steps after the other; the last is held."""

    def act(episode: Demonstration, step: int, _: Observation) -> Array:
        at = np.clip(step - 1 + start + every * np.arange(1, count + 1), 0, STEPS - 1)
        motion = [np.interp(at, np.arange(STEPS), episode.action[:, column]) for column in range(2)]
        return np.stack([*motion, episode.action[np.ceil(at).astype(int), 2]], axis=1)

    return act


MEAN, SPREAD = (
    np.concatenate([e.action for e in JOINT.demonstrations]).mean(axis=0),
    np.concatenate([e.action for e in JOINT.demonstrations]).std(axis=0),
)
graded = np.random.default_rng(5)

MISTAKES: dict[str, tuple[Callable[[], Recalled], DataSet, str]] = {
    "BGR": (lambda: by_picture(lambda image: image[..., ::-1]), JOINT, "BGR pictures"),
    "upside down": (lambda: by_picture(lambda image: image[::-1]), JOINT, "image orientation"),
    "crop": (lambda: by_picture(lambda image: cropped(image, 0.9)), JOINT, "crop"),
    "no state": (
        lambda: by_picture(act_at=lambda e, t, seen: e.action[t] + np.array([*seen.state["joint_positions"], 0.0])),
        JOINT, "state missing",
    ),
    "last action as state": (
        lambda: by_picture(
            act_at=lambda e, t, seen: e.action[t] - e.action[t - 1] + np.concatenate([seen.state[p] for p in STATE]),
            state=STATE,
        ),
        LATE, "state from another source",
    ),
    "degrees of state": (lambda: by_state(degrees=True), JOINT, "state in degrees"),
    "gripper sign": (lambda: by_state(gripped(lambda g: 1 - g)), JOINT, "gripper sign"),
    "gripper range": (lambda: by_state(gripped(lambda g: 2 * g - 1)), JOINT, "gripper range"),
    "gripper threshold": (
        lambda: by_state(gripped(lambda g: 0.5 + (g - 0.5) * graded.uniform(0.05, 1.0))), JOINT, "gripper threshold"
    ),
    "gripper lag": (
        lambda: by_state(lambda e, t, _: np.array([*e.action[t, :2], e.action[max(t - 6, 0), 2]])), JOINT, "gripper lag"
    ),
    "normalised": (lambda: by_state(changed(lambda a: (a - MEAN) / SPREAD)), JOINT, "normalisation statistics"),
    "twice": (lambda: by_state(changed(lambda a: a * SPREAD + MEAN)), JOINT, "normalisation statistics"),
    "one number off": (
        lambda: by_state(changed(lambda a: a * [5.0, 1, 1] + [0.3, 0, 0]), "joint_velocity"), SPEED,
        "normalisation statistics",
    ),
    "degrees": (lambda: by_state(changed(lambda a: a * [180 / np.pi, 180 / np.pi, 1])), JOINT, "degrees"),
    "early chunk": (lambda: by_state(chunks(-3)), JOINT, "horizon"),
    "late": (lambda: by_state(chunks(2, count=1)), JOINT, "horizon"),
    "slow chunk": (lambda: by_state(chunks(0, 0.5, 16)), JOINT, "chunk rate"),
    "fast chunk": (lambda: by_state(chunks(0, 2.0, 8)), JOINT, "chunk rate"),
    "deltas": (
        lambda: by_state(lambda e, t, _: np.array([*(e.action[t] - e.action[max(t - 1, 0)])[:2], e.action[t, 2]])),
        JOINT, "delta instead of absolute",
    ),
}  # fmt: skip


def probed(policy: Recalled, data: DataSet) -> DataVerdict:
    """On fewer frames than usual, to save time."""
    return probe_on_data(policy, data, most_frames=30)


def told(verdict: DataVerdict) -> str:
    return "\n".join(verdict.lines())


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_named(name: str) -> None:
    make, data, aspect = MISTAKES[name]
    verdict = probed(make(), data)
    assert verdict.verdict == "wrong" and verdict.aspects == (aspect,), told(verdict)
    assert min(verdict.explained.values()) > 0.7
    assert "WRONG CONVENTION:" in told(verdict) and "Compared: " in told(verdict)


@pytest.mark.parametrize(
    "make", [by_state, by_picture, lambda: by_state(chunks(0))], ids=["state", "pictures", "chunks"]
)
@pytest.mark.parametrize("space", ["joint", "joint_velocity"])
def test_a_right_policy_has_no_mistake(make: Callable[[], Recalled], space: ActionSpace) -> None:
    policy = make()
    policy.spec = replace(policy.spec, action_space=space)
    verdict = probed(policy, JOINT if space == "joint" else SPEED)
    assert verdict.verdict == "fits" and verdict.aspects == (), told(verdict)


def imperfect(rng: np.random.Generator, space: ActionSpace) -> Callable[[Demonstration, int, Observation], Array]:
    """Right, but noisy, more so later in its chunk, and slower or faster than its data."""
    right = chunks(0, count=int(rng.choice([1, 6])))
    speed, noise = rng.choice([0.6, 0.8, 1.0, 1.3, 1.6]), rng.choice([0.1, 0.3, 0.6, 1.0, 2.0])
    spread = np.array([noise, noise, rng.choice([0.05, 0.15, 0.3])]) * ([0.1, 0.1, 1] if space == "joint" else 0.6)

    def act(episode: Demonstration, step: int, seen: Observation) -> Array:
        chunk = right(episode, step, seen)
        start = episode.action[step - 1, :2] if space == "joint" else 0.0
        chunk[:, :2] = start + speed * (chunk[:, :2] - start)
        return np.asarray(chunk + rng.normal(size=chunk.shape) * spread * (1 + 0.2 * np.arange(len(chunk)))[:, None])

    return act


@pytest.mark.parametrize("space", ["joint", "joint_velocity"])
@pytest.mark.parametrize("about", [True, False], ids=["declared", "silent"])
def test_noise_and_another_speed_are_no_mistake(space: ActionSpace, about: bool, is_thorough: bool) -> None:
    for seed in range(30 if is_thorough else 2):
        episodes = [demonstration(1000 * (seed + 1) + number) for number in range(EPISODES)]
        data = InMemory(replace(FEATURES, about={"space": space} if about else {}), episodes)
        verdict = probed(by_state(imperfect(np.random.default_rng(seed), space), space, data), data)
        assert verdict.verdict in ("fits", "inconclusive"), (seed, told(verdict))


RANDOM = np.random.default_rng(1)
KNOWING_NOTHING: dict[str, Callable[[Demonstration, int, Observation], Array]] = {
    "random": lambda e, t, seen: RANDOM.normal(size=(8, 3)),
    "zero": lambda e, t, seen: np.zeros((4, 3)),
    "mean": lambda e, t, seen: MEAN,
    "stands still": lambda e, t, seen: np.concatenate([seen.state[part] for part in STATE]).astype(float),
}


@pytest.mark.parametrize(
    ("name", "space"),
    # Standing still is what a policy of poses does that repeats its state.
    [*((name, "joint") for name in KNOWING_NOTHING), ("random", "joint_velocity"), ("zero", "joint_velocity")],
)
def test_nothing_is_said_of_a_policy_that_knows_nothing(name: str, space: ActionSpace) -> None:
    verdict = probed(by_state(KNOWING_NOTHING[name], space), JOINT if space == "joint" else SPEED)
    assert verdict.verdict == "inconclusive" and not verdict.aspects, told(verdict)


def test_pictures_that_a_policy_does_not_use_are_undecided() -> None:
    policy = by_state()
    policy.spec = replace(policy.spec, cameras=(CameraRequest("front", SIZE, SIZE),))
    verdict = probed(policy, JOINT)
    assert verdict.verdict == "fits" and {"BGR pictures", "crop", "image orientation"} <= set(verdict.undecided)


def test_two_mistakes_are_both_named() -> None:
    verdict = probed(by_picture(lambda image: image[..., ::-1], gripped(lambda g: 1 - g)), JOINT)
    assert set(verdict.aspects) == {"BGR pictures", "gripper sign"}, told(verdict)


def turning(signs: bool) -> InMemory:
    """Tool poses; half of the quaternions are −q if `signs`."""
    names = ("x", "y", "z", "qw", "qx", "qy", "qz", "opening")
    episodes = []
    for one in JOINT.demonstrations:
        x, y, g = one.action.T.astype(float)
        turns = np.array([from_rotation_vector((1.2 * a, 0.5 * b, 0.3)) for a, b in zip(x, y, strict=True)])
        turns *= np.where(np.arange(STEPS)[:, None] % 2 == 1, -1, 1) if signs else 1
        action = np.column_stack([0.1 * x, 0.1 * y, 0.05 * x * y, turns, g]).astype(np.float32)
        episodes.append(replace(one, action=action))
    return InMemory(replace(FEATURES, action=names, about={"action_space": "ee_pose: of the tool"}), episodes)


def test_q_and_its_opposite_are_one_rotation_and_their_mean_is_none() -> None:
    data = turning(signs=True)
    flip = [1, 1, 1, -1, -1, -1, -1, 1]
    opposite = by_state(lambda e, t, _: e.action[t] * flip, "ee_pose", data)
    assert probed(opposite, data).verdict == "fits"
    averaging = by_state(lambda e, t, _: e.action[t] * [1, 1, 1, *[0.3 * (-1) ** (t // 2)] * 4, 1], "ee_pose", data)
    verdict = probed(averaging, data)
    assert verdict.aspects == ("antipodal quaternions",), told(verdict)
    assert "length of 0.3" in told(verdict)


def test_the_order_of_a_quaternion_is_named() -> None:
    data = turning(signs=False)
    other = by_state(lambda e, t, _: e.action[t][[0, 1, 2, 4, 5, 6, 3, 7]], "ee_pose", data)
    verdict = probed(other, data)
    assert verdict.aspects == ("rotation form",), told(verdict)


def test_a_coarser_picture_is_named() -> None:
    """It takes the brightest red for the spot, which single bright pixels are only as long as they are sharp."""
    rng, size = np.random.default_rng(2), 32
    episodes = []
    for number in range(EPISODES):
        images = pictures(paths(number)[1:], size)
        images[np.arange(STEPS), rng.integers(0, size, STEPS), rng.integers(0, size, STEPS), 0] = 255
        episodes.append(replace(demonstration(number, size), images={"front": Pictures.of(images)}))
    data = InMemory(replace(SPEED.features, cameras={"front": (size, size)}), episodes)

    def column(images: NDArray[np.uint8]) -> Array:
        return np.asarray(images[..., 0].reshape(-1, size, size).max(axis=1).argmax(axis=1)[:, None], dtype=float)

    policy = Recalled(
        data, lambda e, t, seen: np.array([column(seen.images["front"])[0, 0] / (size - 1) * 2 - 1, *e.action[t, 1:]]),
        lambda e: np.concatenate([e.state[part] for part in STATE], axis=1).astype(float),
        lambda seen: np.concatenate([seen.state[part] for part in STATE]).astype(float),
        PolicySpec(
            action_space="joint_velocity", cameras=(CameraRequest("front", size, size),), state=STATE,
            uses_language=False,
        ),
    )  # fmt: skip
    verdict = probed(policy, data)
    assert verdict.aspects == ("picture size",), told(verdict)


def test_steps_in_the_axes_of_the_tool_are_named() -> None:
    """Where the data set has the tool's pose."""
    episodes = []
    for one in turning(signs=False).demonstrations:
        steps = np.column_stack([0.1 * one.action[:, :3], 0.2 * one.action[:, 4:7], one.action[:, 7]])
        episodes.append(
            replace(one, action=steps.astype(np.float32), state={**one.state, "ee_pose": one.action[:, :7]})
        )
    names = ("x", "y", "z", "rx", "ry", "rz", "opening")
    pose = ("x", "y", "z", "qw", "qx", "qy", "qz")
    features = replace(
        FEATURES, action=names, about={"action_space": "ee_delta"}, state={**FEATURES.state, "ee_pose": pose}
    )  # fmt: skip
    data = InMemory(features, episodes)

    def in_tool(episode: Demonstration, step: int, _: Observation) -> Array:
        w, x, y, z = episode.state["ee_pose"][step, 3:7].tolist()
        back, action = conjugate((w, x, y, z)), episode.action[step].tolist()
        return np.array([*rotate(back, tuple(action[:3])), *rotate(back, tuple(action[3:6])), action[6]])

    verdict = probed(by_state(in_tool, "ee_delta", data), data)
    assert verdict.aspects == ("frame",), told(verdict)


def test_numbers_of_which_the_data_set_says_nothing_are_compared_as_they_are() -> None:
    """Whatever the preset makes of them for RoboDx's own scenes."""
    local = Local(by_state())
    scaled = replace(local.endpoint.preset.actions, scale_rad=0.05, gripper_open=-1.0, gripper_closed=1.0)
    policy = RemotePolicy(local, replace(local.endpoint.preset, actions=scaled))
    silent = InMemory(replace(FEATURES, about={}), JOINT.demonstrations)
    verdict = probe_on_data(policy, silent, most_frames=30)
    assert verdict.verdict == "fits", told(verdict)
    verdict = probe_on_data(policy, JOINT, most_frames=30)
    assert verdict.verdict != "fits", "here the preset has its say"


def test_what_cannot_be_compared_is_refused_with_both_sides() -> None:
    with pytest.raises(Incomparable, match=r"cannot be compared: the policy answers ee_delta .* are joint \(joint1"):
        probed(by_state(space="ee_delta"), JOINT)
    with pytest.raises(Incomparable, match=r"answers 2 numbers .* have 3 \(joint1, joint2, gripper\)"):
        probed(by_state(changed(lambda a: a[:2])), JOINT)
    whole = demonstration(0)
    short = Demonstration(
        whole.instructions[:8], {"front": Pictures.of(whole.images["front"].read(range(8)))},
        {name: values[:8] for name, values in whole.state.items()}, whole.action[:8], None,
    )  # fmt: skip
    with pytest.raises(UserError, match="needs 20 steps with one before them: the data set has 7"):
        probed(by_state(), InMemory(FEATURES, [short]))


def test_inputs_are_matched_by_name_by_map_or_in_order() -> None:
    preset = native(by_picture().spec, Names())
    features = replace(FEATURES, cameras={"top": (8, 12), "side": (SIZE, SIZE)}, state={"felt": ("a", "b")})
    found = match(preset, features, {})
    assert found.cameras == {"front": "top"}
    assert "No camera of the data set is called front: top is shown, the next in order." in found.notes
    assert "Pictures of top are resized from 8×12 to 16×16." in found.notes
    assert any("felt are sent as it" in note for note in found.notes)
    found = match(preset, features, parse_mapping("front=side, joint_positions=felt"))
    assert found.cameras == {"front": "side"} and found.notes == ()
    assert found.state({"felt": np.array([1, 2], np.float32)})["state.joint_positions"].tolist() == [1, 2]
    for text, said in (
        ("front=sid", 'No camera in the data set "sid". Did you mean "side"'),
        ("fromt=side", 'No input of the policy "fromt". Did you mean "front"'),
        ("joint_positions=nothing", "No vector of the state in the data set"),
        ("front", "is no pair"),
    ):
        with pytest.raises(UserError, match=said):
            match(preset, features, parse_mapping(text))
    own = ("x", "y", "z", "qw", "qx", "qy", "qz", "opening", "joint_1", "joint_2")
    made = match(preset, replace(FEATURES, state={"state": own}), {})
    assert made.state({"state": np.arange(10, dtype=np.float32)})["state.joint_positions"].tolist() == [8, 9]
    with pytest.raises(UserError, match="needs the cameras front"):
        match(preset, replace(features, cameras={}), {})


def test_pictures_are_resized_without_a_shift() -> None:
    image = np.zeros((8, 8, 3), np.uint8)
    image[2:6, 2:6] = 200
    twice = resized(image, 16, 16)
    assert np.array_equal(twice, twice[::-1, ::-1]) and twice[8, 8, 0] == 200
    assert np.array_equal(resized(image, 8, 8), image)
    assert coarsened(image, 2).shape == image.shape and cropped(image, 0.5)[4, 4, 0] == 200
    wide = padded(np.full((4, 8, 3), 9, np.uint8), 16, 16)
    assert not wide[:4].any() and (wide[4:12] == 9).all()


MODULE = """
import numpy as np
from tests.unit.test_data_probe import STATE, Recalled, as_it_was, by_state, gripped
from robodx.datasets.formats.base import open_data
from robodx.policy_contract import CameraRequest, PolicySpec

DATA = open_data("mine")

def inverted():
    return by_state(gripped(lambda g: 1 - g), data=DATA)

def upside_down():
    return Recalled(
        DATA, as_it_was, lambda e: e.images["front"].all()[:, ::-1].reshape(len(e), -1).astype(float),
        lambda seen: seen.images["camera"].ravel().astype(float),
        PolicySpec(action_space="joint", cameras=(CameraRequest("camera", 32, 32),), state=STATE, uses_language=False),
    )
"""


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = replace(FEATURES, cameras={"front": (32, 32)})
    write = FORMATS["lerobot"].write
    assert write is not None
    write(tmp_path / "mine", features, [demonstration(number, 32) for number in range(EPISODES)])
    (tmp_path / "policies_of_mine.py").write_text(MODULE)
    said = call(
        "check", "python:policies_of_mine:inverted", "--probe", "--data", "lerobot:mine", cwd=tmp_path, expect=1
    )  # fmt: skip
    assert "gripper sign: its gripper is 1 and 0 where the data set has 0 and 1" in said
    said = call(
        "check", "python:policies_of_mine:upside_down", "--probe", "--data", "mine", "--map", "camera=front", "--json",
        cwd=tmp_path, expect=1,
    )  # fmt: skip
    assert '"image orientation"' in said and '"wrong"' in said
    for words, wrong in (
        (("--data", "mine"), "add --probe"),
        (("--probe", "--map", "a=b"), "add --data"),
        (("--probe", "--data", "mine", "--write-preset", "x.toml"), "leave out --data"),
    ):
        assert wrong in call("check", "python:policies_of_mine:inverted", *words, cwd=tmp_path, expect=2)
