"""Stress for any Gymnasium environment with pictures: `robodx.wrap(env, "noise", level="v2")`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS, Draws, Perturbation
from robodx.perturbations.packet_loss import PacketLoss
from robodx.policy_contract import Observation
from robodx.streams import Streams

# An action, or what makes one of an episode's first observation.
Still = ArrayLike | Callable[[Any], ArrayLike]
# Where a picture lies in an observation: keys of dictionaries, places in tuples.
Path = tuple[str | int, ...]


def wrap(
    env: gymnasium.Env[Any, Any],
    name: str,
    *,
    level: str | float,
    actions: Literal["relative", "absolute"] | None = None,
    still: Still | None = None,
    hz: float | None = None,
) -> Stressed:
    """`env` under one stressor, at a level by name or any severity; 0 bypasses it.

    A picture in dictionaries or tuples is named by its keys, as in `wrap(env, "camera_blank", level="images/front")`.
    Pictures are uint8 boxes of (height, width, 3) anywhere in the observation; their spaces stay as they are. Stress on
    commands needs to know what `actions` are, targets that stay (absolute) or motions that would go on (relative), and
    the action that stands `still`: always, or where targets are absolute, at the start; it may be a function of an
    episode's first observation. `hz` is the rate of steps, by default the environment's `render_fps`.

    `reset(seed=K)` decides all draws, and each episode has draws of its own. `info["perturbed"]` says whether this
    observation, or this step's action, was changed.
    """
    return Stressed(env, name, level, actions, still, hz)


def wrappable() -> list[str]:
    """The perturbations that need nothing but pictures or commands."""
    return [entry.name for entry in PERTURBATIONS.entries() if entry.cls.is_wrappable]


class Stressed(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """An environment under one stressor; made by `wrap`."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        name: str,
        level: str | float,
        actions: Literal["relative", "absolute"] | None = None,
        still: Still | None = None,
        hz: float | None = None,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, name=name, level=level, actions=actions, still=still, hz=hz
        )
        super().__init__(env)
        self._entry = PERTURBATIONS[name]
        if not self._entry.cls.is_wrappable:
            raise UserError(
                f"{name} changes more than pictures and commands; "
                f"any environment can be wrapped with: {', '.join(wrappable())}"
            )
        self._value = self._entry.parse(str(level))
        self._pictures = list(_pictures(env.observation_space)) if self._entry.kind == "sensor" else []
        if self._entry.kind == "sensor" and not self._pictures:
            raise UserError(
                f"{name} changes pictures, uint8 boxes of (height, width, 3), but {env} has none: "
                f"its observations are {env.observation_space}"
            )
        # Which action is done again is plain; what it is to stand still is not.
        self._has_commands = self._entry.cls.action is not Perturbation.action
        if self._has_commands and (actions not in ("relative", "absolute") or still is None):
            raise UserError(
                f'{name} delays or drops commands: give actions="absolute" (targets) or "relative" (motions), '
                f"and still=, the action that leaves the robot where it is when an episode starts"
            )
        self._is_relative, self._still = actions == "relative", still
        self._period_s = 1.0 / _rate(env, hz)
        self._seed = int(np.random.default_rng().integers(2**31))
        self._episode = 0
        self._step = 0
        self._running: Perturbation | None = None
        # The action that stands still in this episode.
        self._standing: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observed, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._seed, self._episode = seed, 0
        self._step = 0
        self._running = self._start() if self._value else None
        self._episode += 1
        if self._has_commands:
            self._standing = self._stand(observed)
        shown = self._shown(observed)
        return shown, _noted(info, shown is not observed)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        executed = self._executed(action)
        self._step += 1
        observed, reward, is_over, is_cut, info = self.env.step(executed)
        shown = self._shown(observed)
        is_perturbed = executed is not action or shown is not observed
        return shown, reward, is_over, is_cut, _noted(info, is_perturbed)

    def _start(self) -> Perturbation:
        episode = int(Streams(self._seed).rng("wrap", self._episode).integers(2**31))
        return self._entry.start(self._value, Draws(Streams(episode), self._entry.name), self._period_s)

    def _stand(self, observed: Any) -> Any:
        space = self.env.action_space
        still = self._still(observed) if callable(self._still) else self._still
        if isinstance(space, spaces.Box):
            still = np.asarray(still, dtype=space.dtype)
        if not space.contains(still):
            raise UserError(f"still={still} is not an action of {space}")
        return still

    def _executed(self, action: Any) -> Any:
        running, still = self._running, self._standing
        if running is None or self._entry.kind != "execution":
            return action
        if self._is_relative and isinstance(running, PacketLoss):
            # A motion that is repeated would go on.
            return still if running.is_lost(self._step) else action
        # A copy is kept: an agent may write its next action into the same memory.
        kept = copy.deepcopy(action)
        arrived: Any = running.reply(kept, self._step)
        executed = running.action(arrived, still, self._step)
        return action if executed is kept else executed

    def _shown(self, observed: Any) -> Any:
        """The observation itself where none of its pictures was touched."""
        if self._running is None or not self._pictures:
            return observed
        # A copy where the environment may draw the next frame into the same memory.
        images = {"/".join(map(str, path)): np.array(_at(observed, path)) for path in self._pictures}
        seen = Observation("", self._step, self._step * self._period_s, "", {}, images)
        changed = self._running.observation(seen).images
        for path, (camera, image) in zip(self._pictures, images.items(), strict=True):
            if changed[camera] is not image:
                observed = _with(observed, path, changed[camera])
        return observed


def _pictures(space: spaces.Space[Any], path: Path = ()) -> Iterator[Path]:
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            yield from _pictures(part, (*path, key))
    elif isinstance(space, spaces.Tuple):
        for index, part in enumerate(space.spaces):
            yield from _pictures(part, (*path, index))
    elif isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) == 3 and space.shape[2] == 3:
        yield path


def _at(observed: Any, path: Path) -> Any:
    for key in path:
        observed = observed[key]
    return observed


def _with(observed: Any, path: Path, image: NDArray[np.uint8]) -> Any:
    """The observation with another picture there; the given one stays as it is."""
    if not path:
        return image
    key, *rest = path
    changed = _with(observed[key], tuple(rest), image)
    if isinstance(observed, tuple):
        return tuple(changed if index == key else part for index, part in enumerate(observed))
    return {**observed, key: changed}


def _rate(env: gymnasium.Env[Any, Any], hz: float | None) -> float:
    rate = (env.metadata or {}).get("render_fps") if hz is None else hz
    if rate is None:
        raise UserError(f"{env} does not declare its rate (render_fps in its metadata): give hz=")
    if not 0 < float(rate) < float("inf"):
        raise UserError(f"a rate must be a positive number of steps a second, not {rate}")
    return float(rate)


def _noted(info: dict[str, Any], is_perturbed: bool) -> dict[str, Any]:
    """Of stressors over each other, it is told whether any of them was at work."""
    return {**info, "perturbed": is_perturbed or bool(info.get("perturbed", False))}
