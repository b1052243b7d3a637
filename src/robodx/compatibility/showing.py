"""Shows a policy the expert's demonstrations, as a preset would have it see them, and keeps what it answers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from robodx.policy_contract import CameraRequest, PolicySpec
from robodx.running.demonstrations import Demonstration, Frame, demonstrate
from robodx.sim.geometry import Array
from robodx.spaces import InvalidAction
from robodx.wires.actions import Actions
from robodx.wires.base import Reply, WireError
from robodx.wires.preset import Preset
from robodx.wires.remote import RemotePolicy

Advance = Callable[[int, int], None]
# Pictures of demonstrations that are kept; those that do not fit are drawn again.
KEPT_BYTES = 500_000_000


@dataclass(frozen=True)
class Asked:
    """A question, what the expert did until the next one, and the answer; None if it was an error."""

    step: int
    # Actions that are executed before the next question.
    actions: int
    frame: Frame
    reply: Reply | None
    _expected: dict[tuple[str, str], dict[str, Array]] = field(default_factory=dict, compare=False)

    def expected(self, actions: Actions, of: Callable[[Frame, Actions], dict[str, Array]]) -> dict[str, Array]:
        """The expert's motion, which is the same for all actions that begin at the same place."""
        key = (actions.space, actions.delta_from)
        if key not in self._expected:
            self._expected[key] = of(self.frame, actions)
        return self._expected[key]


class Demonstrations:
    """The expert's, one for each task and seed, drawn when they are needed: each camera by itself, and only once.

    Smaller pictures of a camera than those that were declared are made from those.
    """

    def __init__(self, episodes: Sequence[tuple[str, int]], robot: str, declared: PolicySpec) -> None:
        self.episodes, self._robot = episodes, robot
        self._declared = {camera.name: camera for camera in declared.cameras}
        self._kept: OrderedDict[tuple[PolicySpec, int], Demonstration] = OrderedDict()

    def get(self, preset: Preset, index: int) -> Demonstration:
        # Nothing else of a policy makes them differ.
        spec = preset.spec
        bare = PolicySpec(state=spec.state, uses_language=spec.uses_language)
        first, *others = [self._seen_by(camera, bare, index) for camera in spec.cameras] or [self._drawn(bare, index)]
        for other in others:
            first = first.with_cameras_of(other)
        return first

    def _seen_by(self, camera: CameraRequest, bare: PolicySpec, index: int) -> Demonstration:
        declared = self._declared.get(camera.name, camera)
        wanted = replace(bare, cameras=(camera,))
        is_as_wide = abs(camera.height * declared.width - camera.width * declared.height) <= declared.width
        if camera.height >= declared.height or camera.width >= declared.width or not is_as_wide:
            return self._drawn(wanted, index)
        whole = replace(camera, height=declared.height, width=declared.width)
        drawn = self._drawn(replace(bare, cameras=(whole,)), index)
        return self._keeping((wanted, index), lambda: drawn.with_pictures_of_size(camera.height, camera.width))

    def _drawn(self, spec: PolicySpec, index: int) -> Demonstration:
        task, seed = self.episodes[index]
        return self._keeping((spec, index), lambda: demonstrate(spec, task, seed=seed, robot=self._robot))

    def _keeping(self, key: tuple[PolicySpec, int], make: Callable[[], Demonstration]) -> Demonstration:
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        self._kept[key] = made = make()
        while len(self._kept) > 1 and sum(one.size for one in self._kept.values()) > KEPT_BYTES:
            self._kept.popitem(last=False)
        return made


class Showing:
    """Asks about each demonstration once for each way in which it can be shown."""

    def __init__(self, policy: RemotePolicy, shown: Demonstrations, every: int, advance: Advance) -> None:
        self._policy, self.shown, self._every, self._advance = policy, shown, every, advance
        self._answers: dict[tuple[str, int], list[Asked]] = {}
        self._asked, self._token = 0, uuid4().hex[:8]
        self._planned = 0
        self.first_error: str | None = None

    def plan(self, presets: Sequence[Preset], indices: Sequence[int]) -> None:
        """Show these, each demonstration to all of them before the next, for it need then be drawn only once."""
        missing = {(_key(one, None), index): one for index in indices for one in presets}
        missing = {key: one for key, one in missing.items() if key not in self._answers}
        self._planned = self._asked + len(missing)
        for (_, index), preset in missing.items():
            self(preset, index)

    def __call__(self, preset: Preset, index: int, words: str | None = None) -> list[Asked]:
        """The answers about a demonstration, with its own instruction or with other words."""
        # Changes of how actions are read need no new question.
        key = (_key(preset, words), index)
        if key not in self._answers:
            self._answers[key] = self._show(preset, self.shown.get(preset, index), words)
            self._asked += 1
            self._advance(self._asked, max(self._asked, self._planned))
        return self._answers[key]

    def _show(self, preset: Preset, shown: Demonstration, words: str | None) -> list[Asked]:
        """Each showing is an episode of its own, and is asked about when its last actions would have been executed."""
        wire, answers = self._policy.wire, list[Asked]()
        episode = f"{shown.start.episode_id}-probe-{self._asked}-{self._token}"
        wire.start(episode, shown.observations[0].instruction)
        step = 0
        while step < len(shown.observations):
            observation = replace(shown.observations[step], episode_id=episode)
            if words is not None:
                observation = replace(observation, instruction=words)
            (reply,) = wire.ask([(episode, preset.request(observation, shown.start))])
            actions, kept = 1, None
            try:
                if isinstance(reply, WireError):
                    raise reply
                chunk = preset.chunk(reply)
                actions, kept = min(preset.replan or len(chunk), len(chunk)), reply
            except (InvalidAction, WireError) as error:
                self.first_error = self.first_error or str(error).strip().splitlines()[-1]
            frame = shown.frame(step, actions / preset.hz)
            # Without its pictures, which are large.
            frame = replace(frame, observation=replace(frame.observation, images={}, depth={}))
            answers.append(Asked(step, actions, frame, kept))
            step += max(self._every, round(actions * shown.hz / preset.hz))
        wire.finish(episode)
        return answers


def _key(preset: Preset, words: str | None) -> str:
    return repr((preset.images, preset.state, preset.state_angles, preset.prompt, words))
