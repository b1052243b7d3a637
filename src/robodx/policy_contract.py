"""The contract between RoboDx and a policy: what it declares, what it is given, what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.language.meaning import Meaning
from robodx.output import print_aside
from robodx.registry import Registry, UnknownName, unknown
from robodx.sim.geometry import Pose
from robodx.spaces import ACTION_SPACES, DELTA_FRAMES, DELTA_FROM, ActionSpace, DeltaFrame, DeltaFrom
from robodx.users_code import TimeLimit, UsersCodeError, calling, contained, time_limit, told

if TYPE_CHECKING:
    from robodx.sim.scene import Scene
    from robodx.sim.world import World

MAX_PIXELS = 2048
# How long a policy's `close` is waited for. Its episodes are recorded by then.
CLOSE_S = 3.0
# What it must have; `reset` and `finish` it may have.
REQUIRED = ("spec", "act")
STATE = ("joint_positions", "joint_velocities", "gripper_opening", "ee_pose", "base_pose")
ActionChunk = NDArray[np.float32]  # (chunk, action_dim)


@dataclass(frozen=True)
class CameraRequest:
    """A picture that a policy wants at every query."""

    name: str
    height: int = 128
    width: int = 128
    depth: bool = False
    segmentation: bool = False

    def __post_init__(self) -> None:
        given: object = self.name
        if not isinstance(given, str):
            raise ValueError(f"the name of a camera is a text, not {given!r}")
        if not (0 < self.height <= MAX_PIXELS and 0 < self.width <= MAX_PIXELS):
            raise ValueError(f"a picture of {self.height}×{self.width}: each side must be 1 to {MAX_PIXELS} pixels")


@dataclass(frozen=True)
class PolicySpec:
    """What a policy needs and gives; checked against task and robot before the first step."""

    action_space: ActionSpace = "ee_delta"
    delta_frame: DeltaFrame = "base"
    delta_from: DeltaFrom = "commanded"
    cameras: tuple[CameraRequest, ...] = ()
    # Parts of the robot's state; like cameras, only what is asked for is gathered.
    state: tuple[str, ...] = STATE
    hz: float = 20.0
    # Whether it is to be tested where the instruction decides what to do; without, that is not applicable to it.
    uses_language: bool = True
    # Sees the simulator's state and the instruction's meaning: for experts and oracles, never for what is diagnosed.
    is_privileged: bool = False
    # How many actions of a chunk are executed before the next query; None executes all of them.
    replan: int | None = None
    # How many numbers an action has, where that is known without a robot; None is whatever the robot takes.
    action_width: int | None = None
    # Declared thinking time, recorded in place of the measured one; None is as long as a reply really takes.
    latency_s: float | None = None
    # Steps at the start that RoboDx rests by itself: what is executed in them is no reply of the policy.
    settle_steps: int = 0
    # A text that is another for other weights: a run is only resumed with the same. None where that is not known.
    weights_digest: str | None = None

    def __post_init__(self) -> None:
        if not 5 <= self.hz <= 60:
            raise ValueError(f"a policy's rate must be 5 to 60 Hz, not {self.hz:g}")
        if self.replan is not None and self.replan < 1:
            raise ValueError(f"at least 1 action of a chunk must be executed, not {self.replan}")
        if self.latency_s is not None and not 0 <= self.latency_s <= 10:
            raise ValueError(f"a policy's declared thinking time must be 0 to 10 s, not {self.latency_s:g}")
        digest: object = self.weights_digest
        if digest is not None and not isinstance(digest, str):
            raise ValueError(f"a digest of weights is a text, not {digest!r}")
        for noun, name, valid in (
            ("action space", self.action_space, ACTION_SPACES),
            ("delta frame", self.delta_frame, DELTA_FRAMES),
            ("start of a delta", self.delta_from, DELTA_FROM),
        ):
            if name not in valid:
                raise UnknownName(unknown(noun, name, valid))
        names = [camera.name for camera in self.cameras]
        if len(set(names)) < len(names):
            raise ValueError(f"a camera is asked for twice: {', '.join(names)}")
        for part in self.state:
            if part not in STATE:
                raise UnknownName(unknown("part of the state", part, STATE))


@dataclass(frozen=True)
class Calibration:
    """Where a camera is said to be and what it sees of the world: nominal, whatever a perturbation did to it.

    A camera looks along its own -z, with +y up in the picture; pixels are square.
    """

    fovy_deg: float
    pose: Pose
    # What the pose is in: the robot's base, or the tool of the arm that carries the camera.
    frame: Literal["base", "tool"] = "base"
    # The hand whose tool that is.
    hand: str = ""


@dataclass(frozen=True)
class Privileged:
    """What only a privileged policy is shown."""

    world: World
    meaning: Meaning
    # Another layout of the same task, as one remembers it who has seen the task before.
    usual: Callable[[], Scene] | None = None
    # Whether the robot waits, and executes nothing yet.
    is_held: bool = False


@dataclass(frozen=True)
class EpisodeStart:
    """Given to `reset` before an episode's first observation."""

    episode_id: str
    # For the policy's own randomness: the same for the same trial.
    policy_seed: int
    task: str
    robot: str
    situation_seed: int
    repeat: int
    instruction: str
    # Of the cameras that the policy asked for.
    cameras: Mapping[str, Calibration] = field(default_factory=dict)
    privileged: Privileged | None = None


@dataclass(frozen=True)
class Observation:
    """What a policy sees at one step. Arrays are float32 or uint8, as they would be over a wire."""

    episode_id: str
    step: int
    time_s: float
    instruction: str
    state: Mapping[str, NDArray[np.float32]]
    images: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    depth: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    segmentation: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    segmentation_names: tuple[str, ...] = ()
    privileged: Privileged | None = None


class MinimalPolicy(Protocol):
    """What a policy has to have. Identity is the episode id, never the position in a batch."""

    @property
    def spec(self) -> PolicySpec: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        """A chunk for each observation, or what went wrong with that one alone; only who needs a chunk is asked."""


class Policy(MinimalPolicy, Protocol):
    """A policy as it is called: one that has nothing to do there is given these two by `completed`."""

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        """Before the first observation of each of these episodes."""

    def finish(self, ids: Sequence[str]) -> None:
        """These episodes have ended: what is kept for them can go."""


class _Completed:
    """A policy without a `reset` or a `finish`, with one that does nothing; the rest is the policy's own."""

    def __init__(self, policy: MinimalPolicy) -> None:
        self._policy = policy
        self.act = policy.act
        self.reset: Callable[[Sequence[EpisodeStart]], None] = getattr(policy, "reset", _nothing)
        self.finish: Callable[[Sequence[str]], None] = getattr(policy, "finish", _nothing)

    @property
    def spec(self) -> PolicySpec:
        return self._policy.spec

    def __getattr__(self, name: str) -> Any:
        if name == "_policy":  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self._policy, name)


def _nothing(episodes: Sequence[object]) -> None: ...


def completed(policy: MinimalPolicy) -> Policy:
    """With all that is called: the policy itself where it has all of that."""
    is_complete = hasattr(policy, "reset") and hasattr(policy, "finish")
    return cast(Policy, policy) if is_complete else _Completed(policy)


@dataclass(frozen=True)
class PolicyEntry:
    """A policy by name; `make` gets what follows the colon in `name:argument`, and a preset, each None if not given."""

    name: str
    make: Callable[[str | None, str | None], MinimalPolicy]
    summary: str
    takes: str | None = None
    # What was registered.
    factory: Callable[..., MinimalPolicy] | None = None


POLICIES: Registry[PolicyEntry] = Registry("policy", "policies", "wires.protocols")


def policy(
    name: str, *, takes: str | None = None, takes_preset: bool = False
) -> Callable[[Callable[..., MinimalPolicy]], Callable[..., MinimalPolicy]]:
    """Register a class or factory; with `takes` it is named `name:ARGUMENT` and called with that argument.

    With `takes_preset` it is also called with the name of a preset, a server's conventions, or None.
    """

    def register(factory: Callable[..., MinimalPolicy]) -> Callable[..., MinimalPolicy]:
        summary = next(iter((factory.__doc__ or "").strip().splitlines()), "")

        def make(argument: str | None, preset: str | None) -> MinimalPolicy:
            if preset is not None and not takes_preset:
                raise UserError(f'policy "{name}" speaks RoboDx\'s own conventions and takes no preset ("{preset}")')
            if takes is None:
                if argument is not None:
                    raise UserError(f'policy "{name}" takes no argument, but got "{argument}"')
                return factory()
            if not argument:
                raise UserError(f'policy "{name}" is named {name}:{takes}; {takes} is missing. It is: {summary}')
            return factory(argument, preset) if takes_preset else factory(argument)

        POLICIES.add(name, PolicyEntry(name, make, summary, takes, factory))
        return factory

    return register


def make_policy(name: str, preset: str | None = None) -> Policy:
    """Build the policy called `name` or `name:argument`; a server's may need a preset, by name or TOML file."""
    head, _, argument = name.partition(":")
    if head not in POLICIES:
        raise UnknownName(unknown("policy", head, POLICIES))
    who = f'the policy "{name}"'
    with calling(who, POLICIES[head].factory):
        made = POLICIES[head].make(argument or None, preset)
    return checked(made, who)


def checked(made: MinimalPolicy, who: str) -> Policy:
    """What has all that a policy has to have, complete."""
    with calling(who, type(made)):
        missing = [name for name in REQUIRED if not hasattr(made, name)]
        if missing:
            raise UserError(f"{who} is a {type(made).__name__}, which is not a policy: it has no {', '.join(missing)}")
        if not isinstance(made.spec, PolicySpec):
            raise UserError(
                f"{who} has a {type(made.spec).__name__} as its spec: it must be a PolicySpec, as in "
                'spec = PolicySpec(action_space="ee_delta")'
            )
        return completed(made)


def replies(policy: Policy, observations: Sequence[Observation]) -> list[ActionChunk | Exception]:
    """What it answers to each of these. Copies: it may write its next reply into the same memory."""
    with contained("the policy's act"):
        given: object = policy.act(observations)
        # One more than was asked for is enough to tell: there may be no end of them.
        taken = list(islice(given, len(observations) + 1)) if isinstance(given, Iterable) else []
        if not isinstance(given, Iterable) or len(taken) != len(observations):
            what = f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else f"a {type(given).__name__}"
            many = "" if not isinstance(given, list | tuple) else f" of {len(given)}"
            raise UsersCodeError(
                f"the policy's act returned {what}{many}: it must return a list with one chunk of actions (n, width) "
                f"for each observation, here {len(observations)}"
            )
        return [chunk if isinstance(chunk, Exception) else np.array(chunk) for chunk in taken]


def refined_instruction(policy: Policy, episode_id: str) -> str | None:
    """What a policy that makes its instructions clearer was told in their place; None for all others."""
    tell = getattr(policy, "refined_instruction", None)
    said: object = tell(episode_id) if callable(tell) else None
    return said if isinstance(said, str) else None


@contextmanager
def opened(name: str, preset: str | None = None) -> Iterator[Policy]:
    """Build a policy, and let go of what it holds, a connection or a process, when the block ends."""
    made = make_policy(name, preset)
    try:
        yield made
    finally:
        _close(made, name)


def _close(made: Policy, name: str) -> None:
    """Whatever comes of it is told and does not matter: what the policy was for is done."""
    who, close = f'The policy "{name}"', getattr(made, "close", None)
    if close is None:
        return
    try:
        with time_limit(CLOSE_S), contained(f"{who} was not closed: its close"):
            close()
    except TimeLimit:
        print_aside(f"{who} was not closed within {CLOSE_S:g} s, and is no longer waited for.")
    except Exception as error:
        print_aside(str(error) if isinstance(error, UserError) else told(f"{who} was not closed: it", error))
