"""A policy of ours as a server's inside: requests of any wire in, replies out. The wires' servers stand on it."""

from __future__ import annotations

import socket
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from robodx.errors import UserError
from robodx.policy_contract import EpisodeStart, Policy, replies
from robodx.users_code import contained
from robodx.wires.base import Names, Request
from robodx.wires.calibrations import read_cameras
from robodx.wires.messages import check_name
from robodx.wires.parts import lacking_of_pose
from robodx.wires.preset import EPISODE, Preset, native

# Clients need not say that an episode has ended: the one unused for longest is then given up.
MAX_EPISODES = 1024
PROTOCOL = 1
# Of a server: as many as the episodes of a large batch, but no more than half of the files that a process may have.
MAX_CONNECTIONS = 1024
# How long a client may take to say what it is.
HANDSHAKE_S = 10.0
# A client that vanished without a word is noticed after so long, by so many questions.
SILENCE_S, ASK_EVERY_S, ASK_TIMES = 60, 10, 3


def most_connections() -> int:
    try:
        from resource import RLIMIT_NOFILE, getrlimit
    except ImportError:  # only where there is no such limit
        return MAX_CONNECTIONS
    files, _ = getrlimit(RLIMIT_NOFILE)
    return min(MAX_CONNECTIONS, files // 2) if files > 0 else MAX_CONNECTIONS


def watch_for_silence(peer: socket.socket) -> None:
    """Let the system find out whether a silent client is still there."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Not every system has them.
    for name, value in (("TCP_KEEPIDLE", SILENCE_S), ("TCP_KEEPINTVL", ASK_EVERY_S), ("TCP_KEEPCNT", ASK_TIMES)):
        if hasattr(socket, name):
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Last(NamedTuple):
    """A reply after which the connection is closed."""

    reply: bytes


@dataclass
class _Session:
    """What is known of a client that does not tell its episodes: it has one at a time, counted here."""

    number: int = 0
    step: int = 0


class Endpoint:
    """Answers requests with one policy, one at a time."""

    def __init__(self, policy: Policy, preset: Preset | None = None, names: Names | None = None) -> None:
        if policy.spec.is_privileged:
            raise UserError(
                "a policy that uses the simulator's state cannot be served: that state is not sent to servers"
            )
        self.preset = preset or native(policy.spec, names or Names())
        _check_fit(policy, self.preset)
        self._policy = policy
        self._episodes: OrderedDict[str, None] = OrderedDict()
        self._sessions: dict[Hashable, _Session] = {}

    @property
    def about(self) -> dict[str, Any]:
        """For the protocol's own greeting: RoboDx's clients read their conventions off it."""
        return {EPISODE: {"protocol": PROTOCOL, "preset": self.preset.as_dict()}}

    def restart(self, session: Hashable) -> None:
        """A client that does not tell its episodes begins another."""
        known = self._sessions.setdefault(session, _Session())
        self.finish(_episode_of(session, known))
        known.number, known.step = known.number + 1, 0

    def answer(self, session: Hashable, request: Request) -> dict[str, Any]:
        """The reply, flat. A request that cannot be read raises ValueError and says why."""
        info = request.get(EPISODE)
        if info is not None:
            start, step, time_s = _read_start(info)
        else:
            known = self._sessions.setdefault(session, _Session())
            step, time_s = known.step, known.step / self.preset.hz
            start = EpisodeStart(_episode_of(session, known), 0, "", "", 0, 0, "")
        observation = self.preset.observation(request, episode_id=start.episode_id, step=step, time_s=time_s)
        self._begin(start if info is not None else replace(start, instruction=observation.instruction))
        (chunk,) = replies(self._policy, [observation])
        if isinstance(chunk, Exception):
            raise chunk
        if info is None:
            self._sessions[session].step += min(self.preset.replan or len(chunk), len(chunk))
        return self.preset.reply(chunk)

    def finish(self, episode_id: str) -> None:
        """An episode is over, for the clients that tell which."""
        if episode_id in self._episodes:
            del self._episodes[episode_id]
            with contained("the policy's finish"):
                self._policy.finish([episode_id])

    def leave(self, session: Hashable) -> None:
        known = self._sessions.pop(session, None)
        if known is not None:
            self.finish(_episode_of(session, known))

    def _begin(self, start: EpisodeStart) -> None:
        if start.episode_id in self._episodes:
            self._episodes.move_to_end(start.episode_id)
            return
        with contained("the policy's reset"):
            self._policy.reset([start])
        self._episodes[start.episode_id] = None
        if len(self._episodes) > MAX_EPISODES:
            self.finish(next(iter(self._episodes)))


def _episode_of(session: Hashable, known: _Session) -> str:
    return f"{session}-{known.number}"


def _read_start(info: object) -> tuple[EpisodeStart, int, float]:
    if not isinstance(info, Mapping):
        raise ValueError(f"{EPISODE} must be a map, not {type(info).__name__}")
    try:
        # A name is kept for as long as its episode is.
        episode_id, task, robot = (check_name(str(info[key])) for key in ("episode_id", "task", "robot"))
        start = EpisodeStart(
            episode_id, int(info["policy_seed"]), task, robot, int(info["situation_seed"]), int(info["repeat"]),
            str(info["first_instruction"]),
            # Clients that know nothing of calibration do not tell it.
            read_cameras(info.get("cameras", {})),
        )  # fmt: skip
        return start, int(info["step"]), float(info["time_s"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{EPISODE} does not say its {error}") from error


def _check_fit(policy: Policy, preset: Preset) -> None:
    """What the policy needs must be in what the preset carries."""
    needs, carries = policy.spec, preset.spec
    sides = [
        ("the action space is", needs.action_space, carries.action_space),
        ("the rate in Hz is", f"{needs.hz:g}", f"{carries.hz:g}"),
    ]
    if needs.action_space == "ee_delta":
        sides += [
            ("steps are in the frame of the", needs.delta_frame, carries.delta_frame),
            ("steps start from the pose", needs.delta_from, carries.delta_from),
        ]
    wrong = [f"{what} {ours} for the policy, {theirs} in the preset" for what, ours, theirs in sides if ours != theirs]
    if needs.uses_language and not carries.uses_language:
        wrong.append("the policy needs the instruction (prompt)")
    have = {camera.name: camera for camera in carries.cameras}
    for camera in needs.cameras:
        mine = have.get(camera.name)
        if mine is None or (mine.height, mine.width) != (camera.height, camera.width) or camera.depth > mine.depth:
            kind = " with depth" if camera.depth else ""
            wrong.append(f"the policy needs {camera.name} at {camera.height}×{camera.width}{kind}")
        if camera.segmentation:
            wrong.append("no wire carries segmentation")
    sent = {part for parts in preset.state.values() for part in parts}
    missing = [part for part in needs.state if part not in carries.state]
    if "ee_pose" in needs.state and "ee_pose" in carries.state:
        missing += lacking_of_pose(sent)
    if missing:
        wrong.append(f"the policy needs the state's {', '.join(missing)}")
    if wrong:
        raise UserError(f"the policy cannot be served with the preset {preset.name}: {'; '.join(wrong)}")
