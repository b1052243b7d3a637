"""What the operator's page and the simulation share: who drives, the last command, what is seen, what is decided."""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.sim.geometry import Vector
from robodx.teleoperation.steering import Velocity

# A command that is older moves nothing: the tab was closed, or the network hangs.
WATCHDOG_S = 0.5
# Who is not heard of for so long has left the seat. Browsers call a tab in the background once a second.
SEAT_S = 3.0
# A Ctrl-C that comes just before a wait begins is noticed only when the wait ends.
GLANCE_S = 0.1
# How long a page is waited for to hear of the end.
FAREWELL_S = 1.5

# An attempt is prepared; waits for the first input, and no time passes; is driven; is over, and waits for a decision.
Phase = Literal["preparing", "waiting", "driving", "solved", "failed", "writing", "ended"]
Decision = Literal["save", "retry", "skip", "stop"]
UNDER_WAY: tuple[Phase, ...] = ("waiting", "driving")
OVER: tuple[Phase, ...] = ("solved", "failed")
# When a decision can be taken.
DECIDED_IN: Mapping[Decision, tuple[Phase, ...]] = {
    "save": ("solved",),
    # Before the first input there is nothing to throw away.
    "retry": ("driving", *OVER),
    "skip": (*UNDER_WAY, *OVER),
    "stop": (*UNDER_WAY, *OVER),
}


class Refused(Exception):
    """What a page asked for is not to be had now; the message says why."""


class Command(NamedTuple):
    velocity: Velocity
    opening: float


@dataclass(frozen=True)
class Place:
    """Which situation is driven, of how many, and what came of those before."""

    task: str
    seed: int
    number: int
    of: int
    saved: int = 0
    left_out: int = 0
    discarded: int = 0


@dataclass(frozen=True)
class Status:
    """What an operator is shown of the robot and the task, besides pictures."""

    instruction: str = ""
    stages: tuple[str, ...] = ()
    reached: int = 0
    time_s: float = 0.0
    limit_s: float = 0.0
    # Of the tool, in the robot's base.
    tool: Vector = (0.0, 0.0, 0.0)
    yaw_rad: float = 0.0


class Picture(NamedTuple):
    frame: int
    image: NDArray[np.uint8]  # (height, width, 3)


@dataclass
class Console:
    """Any thread may call anything; nothing here takes long but what is called `await…`."""

    now: Callable[[], float] = time.monotonic
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _seat: str | None = None
    _heard_s: float = 0.0
    _attempt: int = 0
    _phase: Phase = "preparing"
    _says: str = ""
    _place: Place | None = None
    _status: Status = field(default_factory=Status)
    _velocity: Velocity = field(default_factory=Velocity)
    _opening: float = 1.0
    _commanded_s: float = 0.0
    _decision: Decision | None = None
    # The hand cannot go further where it is asked to.
    _is_at_limit: bool = False
    _pictures: dict[str, Picture] = field(default_factory=dict)
    _is_told: bool = False
    # When a page last asked how things are.
    _watched_s: float = -math.inf

    # What pages ask.

    def sit(self) -> str:
        """The seat, if nobody has it; only who has it drives and decides."""
        with self._changed:
            if self._is_taken:
                raise Refused("Somebody else is driving. You can watch; the seat is yours when they leave.")
            self._seat, self._heard_s = secrets.token_urlsafe(12), self.now()
            return self._seat

    def leave(self, seat: str) -> None:
        with self._changed:
            if self._is_taken and seat == self._seat:
                self._seat, self._velocity = None, Velocity()

    def drive(self, seat: str, attempt: int, velocity: Velocity, opening: float) -> None:
        """A velocity holds until the next one comes, but not for long; an opening holds until another is asked for."""
        with self._changed:
            self._hear(seat)
            # One that was on its way when an attempt ended is none for the next.
            if attempt != self._attempt or self._phase not in UNDER_WAY:
                return
            if self._phase == "waiting" and (not velocity.is_still or opening != self._opening):
                self._phase = "driving"
            self._velocity, self._opening, self._commanded_s = velocity, opening, self.now()
            self._changed.notify_all()

    def decide(self, seat: str, attempt: int, decision: Decision) -> None:
        with self._changed:
            self._hear(seat)
            if attempt != self._attempt:
                raise Refused("That attempt is over.")
            if self._phase not in DECIDED_IN[decision] or self._decision is not None:
                raise Refused("Not now: only what is solved is saved." if decision == "save" else "Not now.")
            self._decision = decision
            self._changed.notify_all()

    def state(self) -> dict[str, Any]:
        with self._changed:
            self._is_told, self._watched_s = self._phase == "ended", self.now()
            return {
                "attempt": self._attempt,
                "phase": self._phase,
                "says": self._says,
                "opening": self._opening,
                "is_driven": self._is_taken,
                "is_at_limit": self._is_at_limit,
                "pictures": {name: picture.frame for name, picture in self._pictures.items()},
                "place": None if self._place is None else asdict(self._place),
                **asdict(self._status),
            }

    def picture(self, camera: str) -> Picture | None:
        with self._changed:
            return self._pictures.get(camera)

    # What the simulation tells and asks.

    def begin(self, place: Place) -> None:
        """A new attempt: the hand is open, and no command of an earlier one counts."""
        with self._changed:
            self._attempt += 1
            self._place, self._status = place, Status()
            self._velocity, self._opening, self._decision = Velocity(), 1.0, None
            self._is_at_limit = False
            self._set("preparing")

    def ready(self) -> None:
        with self._changed:
            self._set("waiting")

    def await_input(self) -> Decision | None:
        """When the operator first moves something, or decides."""
        with self._changed:
            while self._phase == "waiting" and self._decision is None:
                self._changed.wait(GLANCE_S)
            return self._decision

    def command(self) -> Command:
        with self._changed:
            is_fresh = self.now() - self._commanded_s <= WATCHDOG_S
            return Command(self._velocity if is_fresh else Velocity(), self._opening)

    def finish(self, is_solved: bool, says: str) -> None:
        with self._changed:
            # A decision that was on its way when the attempt ended was about something else.
            self._velocity, self._decision = Velocity(), None
            self._set("solved" if is_solved else "failed", says)

    def await_decision(self) -> Decision:
        with self._changed:
            while self._decision is None:
                self._changed.wait(GLANCE_S)
            return self._decision

    def tell(self, phase: Literal["writing", "ended"], says: str) -> None:
        with self._changed:
            self._set(phase, says)

    def await_farewell(self) -> None:
        """Until a page has heard of the end, if one is there."""
        if self.now() - self._watched_s > SEAT_S:
            return
        end_s = time.monotonic() + FAREWELL_S
        while not self._is_told and time.monotonic() < end_s:
            time.sleep(GLANCE_S / 2)

    def show(self, status: Status) -> None:
        with self._changed:
            self._status = status

    def note_limit(self, is_at_limit: bool) -> None:
        with self._changed:
            self._is_at_limit = is_at_limit

    def draw(self, images: Mapping[str, NDArray[np.uint8]]) -> None:
        with self._changed:
            frame = 1 + max((picture.frame for picture in self._pictures.values()), default=0)
            self._pictures = {name: Picture(frame, image) for name, image in images.items()}

    @property
    def _is_taken(self) -> bool:
        return self._seat is not None and self.now() - self._heard_s <= SEAT_S

    def _hear(self, seat: str) -> None:
        if not self._is_taken or seat != self._seat:
            raise Refused("Somebody else is driving." if self._is_taken else "Nobody has the seat: take it first.")
        self._heard_s = self.now()

    def _set(self, phase: Phase, says: str = "") -> None:
        self._phase, self._says = phase, says
        self._is_told = False
        self._changed.notify_all()
