"""What the operator's page is answered: itself, the state, pictures; and what it may send."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from robodx.datasets.stills import to_jpeg
from robodx.errors import UserError
from robodx.report.viewer.app import PAGES as VIEWER_PAGES
from robodx.report.viewer.guard import LONGEST_BODY, Guard
from robodx.teleoperation.console import Console, Decision, Refused
from robodx.teleoperation.steering import Velocity

STATIC = Path(__file__).parent / "static"
# By name, as the viewer's; some are the viewer's own.
SHARED = ("style.css", "icon.svg", "dom.js")
PAGES = {path.name: path for path in sorted(STATIC.iterdir())} | {name: VIEWER_PAGES[name] for name in SHARED}
WRITTEN = re.compile(r"/api/(sit|leave|drive|decide)")


def make_app(console: Console, token: str) -> ASGIApp:
    """For who has the token: unlike what is only looked at, a robot is not for everybody on this machine."""
    write_token = secrets.token_urlsafe(24)
    answers = _Answers(console, write_token)
    app = Starlette(
        routes=[
            Route("/", answers.page),
            Route("/static/{name}", answers.page),
            Route("/api/state", answers.state),
            Route("/picture/{camera}", answers.picture),
            Route("/api/sit", answers.sit, methods=["POST"]),
            Route("/api/leave", answers.leave, methods=["POST"]),
            Route("/api/drive", answers.drive, methods=["POST"]),
            Route("/api/decide", answers.decide, methods=["POST"]),
        ],
        exception_handlers={Refused: _refused, UserError: _mistaken},
    )
    return Guard(app, token, write_token, written=WRITTEN, command="robodx teleop")


class _Answers:
    def __init__(self, console: Console, write_token: str) -> None:
        self._console = console
        self._write_token = write_token
        # What several who watch ask for is drawn once.
        self._encoded: dict[str, tuple[int, bytes]] = {}

    def page(self, request: Request) -> Response:
        path = PAGES.get(request.path_params.get("name", "teleop.html"))
        return PlainTextResponse("There is no such page here.", 404) if path is None else FileResponse(path)

    async def state(self, request: Request) -> Response:
        return JSONResponse({**self._console.state(), "write_token": self._write_token})

    def picture(self, request: Request) -> Response:
        camera = request.path_params["camera"]
        picture = self._console.picture(camera)
        if picture is None:
            return PlainTextResponse("There is no such picture.", 404)
        frame, encoded = self._encoded.get(camera, (0, b""))
        if frame != picture.frame:
            encoded = to_jpeg(picture.image)
            self._encoded[camera] = (picture.frame, encoded)
        return Response(encoded, media_type="image/jpeg", headers={"Cache-Control": "no-store"})

    async def sit(self, request: Request) -> Response:
        await _sent(request)
        return JSONResponse({"seat": self._console.sit()})

    async def leave(self, request: Request) -> Response:
        self._console.leave(_text(await _sent(request), "seat"))
        return JSONResponse({})

    async def drive(self, request: Request) -> Response:
        sent = await _sent(request)
        given = sent.get("velocity")
        if not isinstance(given, list) or len(given) != 4:
            raise UserError("a velocity is a list of x, y, z and yaw")
        velocity = Velocity(*(_number(value, "velocity") for value in given))
        opening = _number(sent.get("opening"), "opening")
        if not 0.0 <= opening <= 1.0:
            raise UserError("an opening is 0 (closed) to 1 (open)")
        self._console.drive(_text(sent, "seat"), _attempt(sent), velocity, opening)
        return JSONResponse(self._console.state())

    async def decide(self, request: Request) -> Response:
        sent = await _sent(request)
        decisions: tuple[Decision, ...] = get_args(Decision)
        chosen = next((one for one in decisions if one == sent.get("decision")), None)
        if chosen is None:
            raise UserError(f"a decision is one of {', '.join(decisions)}")
        self._console.decide(_text(sent, "seat"), _attempt(sent), chosen)
        return JSONResponse(self._console.state())


async def _sent(request: Request) -> Mapping[str, Any]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_BODY:
            raise UserError(f"at most {LONGEST_BODY} bytes are read")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UserError(f"this is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise UserError("what is sent is an object")
    return found


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{name} is made of numbers")
    return float(value) if abs(value) <= 1e6 else float("inf")


def _attempt(sent: Mapping[str, Any]) -> int:
    found = sent.get("attempt")
    if isinstance(found, bool) or not isinstance(found, int):
        raise UserError("attempt is a whole number")
    return found


def _text(sent: Mapping[str, Any], name: str) -> str:
    found = sent.get(name)
    if not isinstance(found, str):
        raise UserError(f"{name} is a text")
    return found


def _refused(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 409)


def _mistaken(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 400)
