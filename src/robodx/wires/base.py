"""What every wire to a policy server has: an address, deadlines, and what the server says of itself."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qsl, urlsplit

from robodx.errors import Stop, UserError
from robodx.output import shortened
from robodx.wires.quoting import MAX_LINE

if TYPE_CHECKING:
    from robodx.wires.preset import Preset

Request = Mapping[str, Any]
Reply = Mapping[str, Any]
T = TypeVar("T")
E = TypeVar("E", bound="WireError")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
# Which of the N workers a process is, from 0: each takes another of several hosts.
WORKER = "ROBODX_WORKER"
# Never part of a policy's name, which is stored in records.
API_KEY = "ROBODX_API_KEY"
# The hosts of an address, up to its path or options.
SEVERAL = re.compile(r"//([^/?#]*)")
# How Python's servers begin to say what happened to them; and how much of that is kept.
TRACEBACK = "Traceback (most recent call last)"
MAX_TEXT = 4000


class WireError(RuntimeError):
    """A server that closed, hung or answered what is no answer: an error of the episode, never its failure."""


class ServerSaid(Exception):
    """All that a server said of its failure."""


class Closed(WireError):
    """The other side ended the connection."""


class Unreachable(Stop):
    """No server at the address, for as long as was to be waited: nothing can go on."""


def failure_of(server: object, text: str, kind: type[E]) -> E:
    """What a server said when it failed, in a line: its first, or that of a traceback which names the error.

    All that it said is the error's cause, which the records have. The line stands last there: an error of the server's
    must not read like one of RoboDx's.
    """
    text = text.strip()
    lines = text.rpartition(TRACEBACK)[2].splitlines()
    if TRACEBACK in text:
        # Without what is left of the heading, and the places in the code, which are indented.
        lines = [line for line in lines[1:] if line and not line[0].isspace()]
    said = shortened(lines[0], MAX_LINE) if lines else "it does not say why"
    error = kind(f"the policy server at {server} failed: {said}")
    if "\n" in text:
        error.__cause__ = ServerSaid(text[-MAX_TEXT:])
    return error


@dataclass(frozen=True)
class Address:
    """`//HOST:PORT?timeout=SECONDS&connect=SECONDS`, and what else a wire takes by name."""

    host: str
    port: int
    path: str = ""
    # Of one call. Generous: a first call may compile a model.
    timeout_s: float = 120.0
    # How long a server that is not there is waited for: it may be starting, or being restarted.
    connect_s: float = 20.0
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, scheme: str, place: str, *, port: int | None = None, takes: Sequence[str] = ()) -> Address:
        """The address in `scheme:place`; of several hosts with commas, the one for this worker."""
        name = f"{scheme}:{place}"
        several = SEVERAL.match(place)
        hosts = [host for host in several[1].split(",") if host] if several else []
        if not several or not hosts:
            raise UserError(f'"{name}" names no server: write {scheme}://HOST{"" if port else ":PORT"}')
        if any("@" in host for host in hosts):
            # Without quoting it: a policy's name is stored in records.
            raise UserError(f"{scheme}: an address holds no user and no password; a key goes into {API_KEY}")
        mine = hosts[int(os.environ.get(WORKER, "0")) % len(hosts)]
        try:
            parts = urlsplit(f"//{mine}{place[several.end() :]}")
            host, number = parts.hostname, parts.port
        except ValueError as error:
            raise UserError(f'"{name}" is no address ({error}): write {scheme}://HOST:PORT') from error
        number = port if number is None else number
        if not host or not number:
            raise UserError(f'"{name}" names no port: write {scheme}://{host or "HOST"}:PORT')
        check_host(host)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        seconds = {key: read_seconds(name, key, options.pop(key)) for key in ("timeout", "connect") if key in options}
        for key in options:
            if key not in takes:
                raise UserError(f'"{name}": no option "{key}". There are: {", ".join(["timeout", "connect", *takes])}')
        return cls(
            host, number, parts.path, seconds.get("timeout", cls.timeout_s), seconds.get("connect", cls.connect_s),
            options,
        )  # fmt: skip

    def late(self, within_s: float | None = None, *, doing: str = "did not answer") -> str:
        """What is said of a server that let its time run out: a call's, unless another is given."""
        waited_s = self.timeout_s if within_s is None else within_s
        return f"the server at {self} {doing} in time ({waited_s:g} s; ?timeout=SECONDS waits longer)"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def check_host(host: str) -> None:
    """Refuse what cannot be a name: Python's resolver raises UnicodeError for it."""
    try:
        is_name = 0 < len(host.encode("idna")) <= 253
    except UnicodeError:
        is_name = False
    if not is_name:
        raise UserError(
            f'"{host[:40]}{"…" * (len(host) > 40)}" ({len(host)} letters) is no host name: it has 1 to 253 letters,'
            " and 1 to 63 of them between two dots"
        )


def read_seconds(name: str, key: str, text: str) -> float:
    """The value of an option in a policy's name."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 86400:
        raise UserError(f'"{name}": {key} must be seconds, more than 0 and at most a day, not "{text}"')
    return value


def wait_for(connect: Callable[[float], T], address: Address) -> T:
    """Connect, again and again with growing pauses until the address's patience ends.

    `connect` gets a limit for finding the server. Once it is found, a call's time is a fair one for its first words: it
    may be busy with another's call, and not look up before that is done.
    """
    begun, pause = time.monotonic(), FIRST_PAUSE_S
    end = begun + address.connect_s
    while True:
        left = end - time.monotonic()
        try:
            return connect(max(left, FIRST_PAUSE_S))
        except (OSError, EOFError, TimeoutError) as error:
            if time.monotonic() + pause >= end:
                waited_s = max(address.connect_s, round(time.monotonic() - begun))
                raise Unreachable(
                    f"no policy server answers at {address} after {waited_s:g} s: {error}. "
                    "Is it running, and is this its port? (?connect=SECONDS waits longer.)"
                ) from error
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


@dataclass(frozen=True)
class ServerInfo:
    """What a server says of itself; None where it does not say."""

    # To be shown to a person.
    about: Mapping[str, Any] = field(default_factory=dict)
    # Its whole conventions, as a preset: RoboDx's own servers say them.
    preset: Mapping[str, Any] | None = None
    # What a person has yet to complete: a preset with what is known.
    draft: Mapping[str, Any] | None = None
    # The keys that it needs, with shapes (None for any size), and those that it answers, with widths.
    inputs: Mapping[str, tuple[int | None, ...] | None] | None = None
    outputs: Mapping[str, int | None] | None = None
    # What a preset says otherwise than the server declares in words of its own, each with both sides.
    contradictions: Callable[[Preset], Sequence[str]] = lambda preset: ()


class Names(NamedTuple):
    """How a wire calls things when RoboDx speaks to RoboDx."""

    image: str = "images.{}"
    depth: str = "depth.{}"
    state: str = "state.{}"
    prompt: str = "prompt"
    actions: str = "actions"


class Wire(Protocol):
    """One way to reach a policy. Requests and replies are flat: `a.b` stands for `b` in the map `a`, if it has maps.

    Any call may raise WireError; the wire then mends itself on the next one.
    """

    names: Names
    # How often the connection was lost, and with it perhaps what the server remembered of the episodes under way.
    # 0 for ever where each episode has a connection of its own, or where servers remember nothing.
    losses: int

    def describe(self) -> ServerInfo:
        """Connect, and say what the server said."""

    def start(self, episode_id: str, instruction: str) -> None:
        """An episode begins."""

    def ask(self, requests: Sequence[tuple[str, Request]]) -> list[Reply | WireError]:
        """A reply or an error for each (episode id, request), in order; in flight together where the server allows."""

    def finish(self, episode_id: str) -> None:
        """An episode has ended."""

    def close(self) -> None: ...
