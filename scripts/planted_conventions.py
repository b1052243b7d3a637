"""Wrong conventions to plant behind a server, for the table of the probe: what is served, and what is declared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robodx.compatibility.fit import Motions
from robodx.compatibility.hypotheses import Change, between, grippers, motions, scales
from robodx.compatibility.probe import TASKS
from robodx.compatibility.showing import Demonstrations, Showing
from robodx.compatibility.verdict import Verdict
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, Policy, replies
from robodx.sim.geometry import Pose, conjugate, multiply, normalise, rotate, to_rotation_vector
from robodx.spaces import DeltaFrame
from robodx.streams import FIRST_TRAINING_SEED
from robodx.wires.base import Names
from robodx.wires.local import Local
from robodx.wires.preset import Preset, native
from robodx.wires.remote import RemotePolicy
from robodx.wires.serving import Endpoint

POLICIES = ("act", "flow", "vision")
# Raised when the probe's search changes: what an earlier one found is marked in the table, and run again. 1 knew no
# crops.
SEARCH = 2
# The arm follows its commands closely.
HARDLY_DIFFERENT = ("achieved/commanded",)


@dataclass(frozen=True)
class Case:
    """A policy with the conventions that its server has, and those that the client is given."""

    policy: Policy
    planted: Preset
    # What the client takes for granted.
    believed: Policy
    declared: Preset


class Layer:
    """A policy whose observations and chunks are changed."""

    def __init__(self, inside: Policy) -> None:
        self.inside, self.spec = inside, inside.spec

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.inside.reset(starts)

    def finish(self, ids: Sequence[str]) -> None:
        self.inside.finish(ids)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        answers = replies(self.inside, [self.seen(one) for one in observations])
        return [
            answer if isinstance(answer, Exception) else self.done(one, np.asarray(answer))
            for one, answer in zip(observations, answers, strict=True)
        ]

    def seen(self, observation: Observation) -> Observation:
        return observation

    def done(self, observation: Observation, chunk: ActionChunk) -> ActionChunk:
        return chunk


class Steps(Layer):
    """Poses as steps, each from the pose before, the first from where the tool is."""

    def __init__(self, inside: Policy, frame: DeltaFrame = "base") -> None:
        super().__init__(inside)
        self.spec = replace(inside.spec, action_space="ee_delta", delta_frame=frame, delta_from="achieved")

    def done(self, observation: Observation, chunk: ActionChunk) -> ActionChunk:
        pose, steps = observation.state["ee_pose"].astype(float), []
        before = Pose.of(pose[:3].tolist(), normalise(pose[3:7]))
        for row in chunk.astype(float):
            after = Pose.of(row[:3].tolist(), normalise(row[3:7]))
            x, y, z = np.subtract(after.position, before.position).tolist()
            back = conjugate(before.quaternion)
            if self.spec.delta_frame == "tool":
                step = [*rotate(back, (x, y, z)), *to_rotation_vector(normalise(multiply(back, after.quaternion)))]
            else:
                step = [x, y, z, *to_rotation_vector(normalise(multiply(after.quaternion, back)))]
            steps.append([*step, row[7]])
            before = after
        return np.array(steps, dtype=np.float32)


class Wordless(Layer):
    """Never hears the instruction."""

    def seen(self, observation: Observation) -> Observation:
        return replace(observation, instruction="")


class Enlarging(Layer):
    """Takes smaller pictures of some cameras, all if none is named, and enlarges them to what is asked for inside."""

    def __init__(self, inside: Policy, share: float, *at: int) -> None:
        super().__init__(inside)
        chosen = at or range(len(inside.spec.cameras))
        self.spec = replace(inside.spec, cameras=tuple(
            replace(one, height=round(share * one.height), width=round(share * one.width)) if index in chosen else one
            for index, one in enumerate(inside.spec.cameras)
        ))  # fmt: skip

    def seen(self, observation: Observation) -> Observation:
        sizes = {camera.name: (camera.height, camera.width) for camera in self.inside.spec.cameras}
        return replace(
            observation,
            images={name: _enlarged(image, *sizes[name]) for name, image in observation.images.items()},
            depth={name: _enlarged(image, *sizes[name]) for name, image in observation.depth.items()},
        )


class AxesSwapped(Layer):
    """Its x is our y, and the reverse."""

    def done(self, observation: Observation, chunk: ActionChunk) -> ActionChunk:
        return chunk[:, [1, 0, *range(2, chunk.shape[1])]]


class Backwards(Layer):
    """The last action of what is executed comes first."""

    def done(self, observation: Observation, chunk: ActionChunk) -> ActionChunk:
        count = min(self.spec.replan or len(chunk), len(chunk))
        return np.concatenate([chunk[:count][::-1], chunk[count:]])


def _enlarged(image: np.ndarray[Any, np.dtype[Any]], height: int, width: int) -> np.ndarray[Any, np.dtype[Any]]:
    """By the nearest pixel."""
    rows, columns = (
        ((np.arange(wanted) + 0.5) * there / wanted).astype(int)
        for wanted, there in zip((height, width), image.shape[:2], strict=True)
    )
    return np.ascontiguousarray(image[rows][:, columns])


Plant = Callable[[Preset], Preset]
Serve = Callable[[Policy], Policy]


def as_it_is(policy: Policy) -> Policy:
    return policy


@dataclass(frozen=True)
class Mistake:
    """What is planted; nothing, if `plant` and `serve` change nothing."""

    name: str
    # From the client's conventions to the server's.
    plant: Plant = lambda preset: preset
    # What the client is given, from the policy's own.
    declare: Plant = lambda preset: preset
    # How the policy is served, and how the client believes it to be.
    serve: Serve = as_it_is
    believe: Serve | None = None
    # Aspects that are to be named; none where no hypothesis has the mistake.
    aspects: tuple[str, ...] = ()
    is_mistake: bool = True
    # Whether the probe's margins or its search were chosen with it in view.
    is_tuned_on: bool = False

    def case(self, policy: Policy) -> Case:
        served, believed = self.serve(policy), (self.believe or self.serve)(policy)
        return Case(served, self.plant(self.declare(own(served))), believed, self.declare(own(believed)))


def own(policy: Policy) -> Preset:
    """As its own preset has it, but the episode is told only to who cannot do without its calibration."""
    return replace(native(policy.spec, Names()), name="declared", tells_episode=len(policy.spec.cameras) > 2)


def has_effect(case: Case) -> bool:
    """Whether the client gets other actions than it would without the mistake, asked about the same demonstrations."""
    found, right = [], own(case.believed)
    for policy, preset, client in ((case.policy, case.planted, case.declared), (case.believed, right, right)):
        wire = Local(policy)
        wire.endpoint = Endpoint(policy, preset)
        episodes = [(task, FIRST_TRAINING_SEED) for task in TASKS]
        showing = Showing(
            RemotePolicy(wire, client), Demonstrations(episodes, "panda", client.spec), 1, lambda *_: None
        )
        found.append(Motions.of(client, [showing(client, index) for index in range(len(episodes))]))
    return not found[0].same_as(found[1], found[1].sizes)


def judged(mistake: Mistake, case: Case, verdict: Verdict, effect: bool) -> str:
    """What the verdict is worth: see the docs of the table."""
    if not mistake.is_mistake:
        return {"wrong": "accused", "inconclusive": "inconclusive"}.get(verdict.word, "fits")
    if not effect:
        return "no effect"
    if verdict.word == "inconclusive":
        return "inconclusive"
    if verdict.word == "wrong":
        wanted, found = set(mistake.aspects), set(verdict.aspects)
        if wanted <= found <= {*wanted, *HARDLY_DIFFERENT} and not between(verdict.preset, case.planted):
            return "named"
        return "named in part" if set(verdict.aspects) & set(mistake.aspects) else "misnamed"
    sentences = [change.sentence for change in (*between(case.declared, case.planted), *_readings(case))]
    if isinstance(case.policy, Wordless):
        sentences = ["it uses the instruction"]
    is_listed = bool(sentences) and set(sentences) <= {*verdict.undecided, *verdict.untested}
    return "listed" if is_listed else "cleared"


def _readings(case: Case) -> list[Change]:
    wanted = case.planted.actions
    return [
        change for change in (*grippers(case.declared), *motions(case.declared), *scales(case.declared, {}))
        if change.preset.actions == wanted
    ]  # fmt: skip


def turned(orientation: str, *at: int) -> Plant:
    """The pictures of some cameras, by their place; all if none is named."""

    def plant(preset: Preset) -> Preset:
        cameras = list(dict.fromkeys(picture.camera for picture in preset.images.values()))
        chosen = [cameras[index] for index in at] or cameras
        return _pictures(preset, chosen, orientation=orientation)

    return plant


def blue_first(*at: int) -> Plant:
    def plant(preset: Preset) -> Preset:
        coloured = [picture.camera for picture in preset.images.values() if not picture.is_depth]
        return _pictures(preset, [coloured[index] for index in at] or coloured, channels="BGR")

    return plant


def _pictures(preset: Preset, cameras: Sequence[str], **fields: Any) -> Preset:
    images = {
        key: replace(picture, **fields)
        if picture.camera in cameras and not (picture.is_depth and "channels" in fields)
        else picture
        for key, picture in preset.images.items()
    }
    return replace(preset, images=images)


def cropping(share: float, *at: int) -> Plant:
    """Of pictures of the usual size only the middle is read, which is so large a share of them."""

    def plant(preset: Preset) -> Preset:
        cameras = list(dict.fromkeys(picture.camera for picture in preset.images.values()))
        chosen = [cameras[index] for index in at] or cameras
        images = {
            key: replace(one, height=round(one.height / share), width=round(one.width / share),
                         content_height=one.height, content_width=one.width)
            if one.camera in chosen else one
            for key, one in preset.images.items()
        }  # fmt: skip
        return replace(preset, images=images)

    return plant


def swapped(preset: Preset) -> Preset:
    """The first camera and the last."""
    cameras = list(dict.fromkeys(picture.camera for picture in preset.images.values()))
    other = {cameras[0]: cameras[-1], cameras[-1]: cameras[0]}
    images = {
        key: replace(picture, camera=other.get(picture.camera, picture.camera))
        for key, picture in preset.images.items()
    }
    return replace(preset, images=images)


def acting(**fields: Any) -> Plant:
    return lambda preset: replace(preset, actions=replace(preset.actions, **fields))


def state(**parts: tuple[str, ...]) -> Plant:
    """Other parts in place of one."""

    def plant(preset: Preset) -> Preset:
        changed = {
            key: tuple(name for part in old for name in parts.get(part, (part,))) for key, old in preset.state.items()
        }
        return replace(preset, state=changed)

    return plant


def degrees(preset: Preset) -> Preset:
    return replace(preset, state_angles="degrees")


def both(*plants: Plant) -> Plant:
    def plant(preset: Preset) -> Preset:
        for one in plants:
            preset = one(preset)
        return preset

    return plant


XYZW = acting(rotation="quaternion_xyzw")
SIGN, RANGE = acting(gripper_open=0.0, gripper_closed=1.0), acting(gripper_open=1.0, gripper_closed=-1.0)
OTHER_SIGN = acting(gripper_open=-1.0, gripper_closed=1.0)
STATE_XYZW = state(ee_pose=("ee_position", "ee_quaternion_xyzw"))
EULER = both(acting(rotation="euler_xyz"), state(ee_pose=("ee_position", "ee_euler_xyz")))
VECTOR, ROWS = acting(rotation="rotation_vector"), acting(rotation="rotation_6d_rows")
DEGREE = math.pi / 180


def tuned(name: str, plant: Plant, *aspects: str) -> Mistake:
    return Mistake(name, plant, aspects=aspects, is_tuned_on=True)


def steps(name: str, plant: Plant, *aspects: str) -> Mistake:
    return Mistake(f"steps: {name}", plant, serve=Steps, aspects=aspects)


def crop(name: str, share: float, *at: int, is_tuned_on: bool = False) -> Mistake:
    return Mistake(
        name, cropping(share, *at), serve=lambda policy: Enlarging(policy, share, *at), believe=as_it_is,
        aspects=("image crop",), is_tuned_on=is_tuned_on,
    )  # fmt: skip


TURNED, CHANNELS = "image orientation", "colour channels"
MISTAKES: tuple[Mistake, ...] = (
    Mistake("nothing", is_mistake=False, is_tuned_on=True),
    Mistake("nothing; steps", serve=Steps, is_mistake=False),
    Mistake("nothing; Euler angles", declare=EULER, is_mistake=False),
    tuned("first camera rotated by 180°", turned("rotated_180", 0), TURNED),
    tuned("first camera upside down", turned("flipped_vertical", 0), TURNED),
    tuned("first camera mirrored", turned("flipped_horizontal", 0), TURNED),
    tuned("second camera rotated by 180°", turned("rotated_180", 1), TURNED),
    tuned("second camera upside down", turned("flipped_vertical", 1), TURNED),
    tuned("second camera mirrored", turned("flipped_horizontal", 1), TURNED),
    tuned("all pictures rotated by 180°", turned("rotated_180"), TURNED),
    tuned("all pictures upside down", turned("flipped_vertical"), TURNED),
    tuned("all pictures mirrored", turned("flipped_horizontal"), TURNED),
    tuned("all pictures BGR", blue_first(), CHANNELS),
    tuned("first camera BGR", blue_first(0), CHANNELS),
    # The client has it wrong: a server of ours refuses pictures of another size.
    Mistake("first and last camera swapped", swapped, swapped, aspects=("cameras swapped",), is_tuned_on=True),
    crop("all pictures cropped to 3/4", 0.75, is_tuned_on=True),
    crop("all pictures cropped to 7/8", 0.875),
    crop("all pictures cropped to 1/2", 0.5),
    crop("first camera cropped to 3/4", 0.75, 0),
    tuned("gripper sign", SIGN, "gripper sign"),
    tuned("gripper −1 … 1", RANGE, "gripper range"),
    tuned("gripper 1 … −1", OTHER_SIGN, "gripper sign"),
    tuned("gripper in metres", acting(gripper_open=0.08, gripper_closed=0.0), "gripper range"),
    tuned("quaternion xyzw", XYZW, "rotation form"),
    tuned("state: quaternion xyzw", STATE_XYZW, "state's rotation form"),
    tuned("state: gripper reversed", state(gripper_opening=("gripper_closing",)), "state of the gripper"),
    tuned("state: gripper in metres", state(gripper_opening=("gripper_width",)), "state of the gripper"),
    tuned("state in degrees", degrees, "state in degrees"),
    tuned("positions in millimetres", acting(scale_m=0.001), "scale of position"),
    tuned("positions in centimetres", acting(scale_m=0.01), "scale of position"),
    Mistake("Euler angles for rotation vectors", acting(rotation="euler_xyz"), declare=VECTOR,
            aspects=("rotation form",)),
    Mistake("columns for rows of a rotation", acting(rotation="rotation_6d_columns"), declare=ROWS,
            aspects=("rotation form",)),
    Mistake("Euler angles in degrees", acting(scale_rad=DEGREE), declare=EULER, aspects=("degrees",)),
    Mistake("state: Euler angles for rotation vectors", state(ee_rotation_vector=("ee_euler_xyz",)),
            declare=state(ee_pose=("ee_position", "ee_rotation_vector")), aspects=("state's rotation form",)),
    Mistake("steps for poses", declare=VECTOR, serve=Steps, believe=as_it_is, aspects=("action space",)),
    Mistake("poses for steps", declare=VECTOR, believe=Steps, aspects=("action space",)),
    steps("twice as long", acting(scale_m=0.5), "scale of position"),
    steps("half as long", acting(scale_m=2.0), "scale of position"),
    steps("1 is 5 cm", acting(scale_m=0.05), "scale of position"),
    steps("in millimetres", acting(scale_m=0.001), "scale of position"),
    steps("turns in degrees", acting(scale_rad=DEGREE), "degrees"),
    steps("gripper sign", SIGN, "gripper sign"),
    steps("all pictures mirrored", turned("flipped_horizontal"), TURNED),
    Mistake("steps: in the tool's axes", serve=lambda policy: Steps(policy, "tool"), believe=Steps,
            aspects=("frame",)),
    Mistake("two: first camera rotated, second mirrored",
            both(turned("rotated_180", 0), turned("flipped_horizontal", 1)), aspects=(TURNED,)),
    Mistake("two: first camera rotated, second rotated",
            both(turned("rotated_180", 0), turned("rotated_180", 1)), aspects=(TURNED,), is_tuned_on=True),
    Mistake("two: all mirrored, gripper sign", both(turned("flipped_horizontal"), SIGN),
            aspects=(TURNED, "gripper sign"), is_tuned_on=True),
    Mistake("two: BGR, gripper −1 … 1", both(blue_first(), RANGE), aspects=(CHANNELS, "gripper range")),
    Mistake("two: all rotated, quaternion xyzw", both(turned("rotated_180"), XYZW), aspects=(TURNED, "rotation form")),
    Mistake("two: cameras swapped, gripper sign", both(swapped, SIGN), swapped,
            aspects=("cameras swapped", "gripper sign")),
    Mistake("two: first camera mirrored, state xyzw", both(turned("flipped_horizontal", 0), STATE_XYZW),
            aspects=(TURNED, "state's rotation form")),
    Mistake("two: all upside down, millimetres", both(turned("flipped_vertical"), acting(scale_m=0.001)),
            aspects=(TURNED, "scale of position")),
    Mistake("two: all upside down, BGR", both(turned("flipped_vertical"), blue_first()), aspects=(TURNED, CHANNELS)),
    Mistake("two: steps in the tool's axes, 1 is 5 cm", plant=acting(scale_m=0.05),
            serve=lambda policy: Steps(policy, "tool"), believe=Steps, aspects=("frame", "scale of position")),
    Mistake("two: state xyzw, quaternion xyzw", both(STATE_XYZW, XYZW),
            aspects=("state's rotation form", "rotation form"), is_tuned_on=True),
    Mistake("no hypothesis: instruction not used", serve=Wordless, believe=as_it_is),
    Mistake("no hypothesis: x and y swapped", serve=AxesSwapped, believe=as_it_is),
    Mistake("no hypothesis: chunk backwards", serve=Backwards, believe=as_it_is),
)  # fmt: skip
