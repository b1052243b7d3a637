"""Somebody who drives the robot over HTTP as the page does: takes the seat, looks at the state, sends velocities."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from robodx.sim.robot import ROBOTS
from robodx.tasks.base import TASKS
from robodx.teleoperation.steering import yaw_of


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Operator:
    """At the address that `robodx teleop` printed."""

    address: str
    cookie: str = ""
    write_token: str = ""
    seat: str = ""
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        self.host = parts.netloc
        self.cookie = self.ask(f"/?{parts.query}").headers["set-cookie"].partition(";")[0]
        self.write_token = self.state()["write_token"]

    def ask(self, path: str, method: str = "GET", body: object = None, **headers: str | None) -> Answer:
        """With what a page of this server sends, but for what is said; a header that is None is left out."""
        usual: dict[str, str | None] = {"Cookie": self.cookie}
        if method == "POST":
            usual |= {
                "Origin": f"http://{self.host}", "X-RoboDx-Write-Token": self.write_token,
                "Content-Type": "application/json",
            }  # fmt: skip
        usual |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.host, timeout=10)
        try:
            connection.request(
                method, path, None if method == "GET" else json.dumps(body).encode(),
                {name: value for name, value in usual.items() if value is not None},
            )  # fmt: skip
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("/api/state").json
        return found

    def sit(self) -> None:
        answer = self.ask("/api/sit", "POST", {})
        assert answer.status == 200, answer
        self.seat = answer.json["seat"]

    def drive(self, attempt: int, *velocity: float, opening: float = 1.0) -> dict[str, Any]:
        body = {"seat": self.seat, "attempt": attempt, "velocity": velocity or (0, 0, 0, 0), "opening": opening}
        answer = self.ask("/api/drive", "POST", body)
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.json
        return found

    def decide(self, decision: str, attempt: int | None = None) -> int:
        at = self.state()["attempt"] if attempt is None else attempt
        return self.ask("/api/decide", "POST", {"seat": self.seat, "attempt": at, "decision": decision}).status

    def await_phase(self, *phases: str, after: int = 0) -> dict[str, Any]:
        """Stays in the seat meanwhile."""
        end_s = time.monotonic() + 20
        while time.monotonic() < end_s:
            state = self.drive(-1)
            if state["phase"] in phases and state["attempt"] > after:
                return state
            time.sleep(0.02)
        raise AssertionError(f"it is {state['phase']}, not {' or '.join(phases)}: {state['says']}")

    def pick_cube(self) -> dict[str, Any]:
        """Over the red cube with the fingers along its sides, down, closed, and up: until the attempt is over."""
        state = self.await_phase("waiting")
        attempt = state["attempt"]
        placed = TASKS[state["place"]["task"]].placed(state["place"]["seed"]).scene.thing("red cube").placement
        cube = ROBOTS["panda"].base_in_world.inverse() @ placed  # type: ignore[operator]
        quarter = math.pi / 2
        x, y, _ = cube.position
        for z, opening, seconds in ((0.15, 1.0, 0.0), (0.02, 1.0, 0.0), (0.02, 0.0, 0.4), (0.2, 0.0, 0.0)):
            end_s = time.monotonic() + 5
            begun_s = time.monotonic()
            while state["phase"] in ("waiting", "driving") and time.monotonic() < end_s:
                off = [x - state["tool"][0], y - state["tool"][1], z - state["tool"][2]]
                turn = math.remainder(yaw_of(cube) - state["yaw_rad"], quarter)
                is_there = max(map(abs, off)) < 0.004 and abs(turn) < 0.05
                if is_there and time.monotonic() - begun_s >= seconds:
                    break
                asked = [max(-1.0, min(1.0, 10 * one)) for one in off] + [max(-1.0, min(1.0, 2 * turn))]
                state = self.drive(attempt, *asked, opening=opening)
                time.sleep(0.01)
        return self.await_phase("solved", "failed", after=attempt - 1)


@dataclass
class Driving:
    """Lets somebody drive in a thread of its own, while the simulator has the main thread."""

    does: Callable[[Operator], None]
    error: BaseException | None = None
    thread: threading.Thread | None = None

    def __call__(self, address: str) -> None:
        def run() -> None:
            operator = Operator(address)
            try:
                operator.sit()
                self.does(operator)
            except BaseException as error:
                self.error = error
                operator.decide("stop")

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def done(self) -> None:
        """What went wrong there is the test's failure."""
        assert self.thread is not None
        self.thread.join(10)
        if self.error is not None:
            raise self.error
