"""What the viewer answers: its page, lists of runs and episodes, and of one episode the record, curves and film."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import polars as pl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from robodx.errors import UserError
from robodx.report.viewer.episode import details, plain
from robodx.report.viewer.finding import is_inside
from robodx.report.viewer.guard import Guard
from robodx.report.viewer.library import Library, Run
from robodx.report.viewer.listing import FACETS, LONGEST_PAGE, Query, page
from robodx.report.viewer.trajectory import Unreadable, curves

STATIC = Path(__file__).parent / "static"
# By name: what a browser may ask for is in tables, never a path.
PAGES = {path.name: path for path in sorted(STATIC.iterdir()) if path.suffix in (".html", ".js", ".css", ".svg")}


class _Absent(Exception):
    """There is no such run, episode or file."""


def make_app(root: Path, token: str | None = None) -> ASGIApp:
    """The viewer of a folder; with a token for whoever has it, else for this machine."""
    answers = _Answers(Library(root))
    app = Starlette(
        routes=[
            Route("/", answers.page),
            Route("/static/{name}", answers.page),
            Route("/api/runs", answers.runs),
            Route("/api/episodes", answers.episodes),
            Route("/api/episode/{run}/{trial}", answers.episode),
            Route("/api/curves/{run}/{trial}", answers.curves),
            Route("/video/{run}/{trial}", answers.video),
        ],
        exception_handlers={_Absent: _absent, UserError: _mistaken},
    )
    return Guard(app, token)


class _Answers:
    def __init__(self, library: Library) -> None:
        self._library = library

    def page(self, request: Request) -> Response:
        path = PAGES.get(request.path_params.get("name", "index.html"))
        if path is None:
            raise _Absent
        return FileResponse(path)

    def runs(self, request: Request) -> Response:
        """All runs; nothing (204) if they are as in the answer whose `version` is given."""
        runs = self._library.summaries()
        said = [(run["id"], run["contents"], run["is_live"]) for run in runs]
        version = hashlib.blake2b(repr(said).encode(), digest_size=8).hexdigest()
        if request.query_params.get("version") == version:
            return Response(status_code=204)
        return _json({"version": version, "folder": self._library.root.name, "runs": runs})

    def episodes(self, request: Request) -> Response:
        asked = request.query_params
        runs = self._chosen(asked.get("run", ""))
        query = Query(
            chosen={name: asked.getlist(name) for name in FACETS},
            text=asked.get("text", ""),
            sort=asked.get("sort", "task"),
            is_descending=asked.get("descending") == "1",
            offset=_whole(asked.get("offset", "0"), "offset", 10_000_000),
            limit=_whole(asked.get("limit", "100"), "limit", LONGEST_PAGE),
            located=[(run, trial) for run, _, trial in (one.partition(".") for one in asked.getlist("locate")[:8])],
        )
        if not runs:
            return _json(
                {
                    "total": 0,
                    "matching": 0,
                    "solved": 0,
                    "errors": 0,
                    "offset": 0,
                    "rows": [],
                    "facets": {},
                    "places": [],
                }
            )
        return _json(page(pl.concat([run.listing for run in runs]), query))

    def episode(self, request: Request) -> Response:
        run, row = self._found(request)
        # The others only as far as they were read: a folder may hold very many.
        return _json(details(run, row, self._library.read_runs()))

    def curves(self, request: Request) -> Response:
        run, row = self._found(request)
        folder = run.found.path / "trajectories"
        path = folder / f"{row['trial_id']}.npz"
        # The id is a file's name here, and a damaged table may say anything.
        if path.parent != folder or path.name != f"{row['trial_id']}.npz" or (
            path.exists() and not is_inside(path, self._library.root)
        ):  # fmt: skip
            return _json({"problem": "its trajectory lies outside of the folder"})
        try:
            return _json(curves(path, run.policy_spec.get("action_space")))
        except Unreadable as error:
            return _json({"problem": str(error)})

    def video(self, request: Request) -> Response:
        run, row = self._found(request)
        path = run.video(row)
        if path is None or not is_inside(path, self._library.root):
            raise _Absent
        return FileResponse(path, media_type="video/mp4")

    def _chosen(self, id: str) -> list[Run]:
        """The run of this id; without one all of them."""
        runs = [self._library.run(one) for one in ([id] if id else self._library.ids())]
        if id and runs == [None]:
            raise _Absent
        return [run for run in runs if run is not None]

    def _found(self, request: Request) -> tuple[Run, dict[str, Any]]:
        run = self._library.run(request.path_params["run"])
        row = None if run is None else run.row(request.path_params["trial"])
        if run is None or row is None:
            raise _Absent
        return run, row


def _json(value: Any) -> Response:
    return JSONResponse(plain(value))


def _whole(text: str, name: str, most: int) -> int:
    # Python refuses to read thousands of digits.
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise UserError(f'{name} is a number from 0 to {most}, not "{text[:40]}"')
    return int(text)


def _absent(request: Request, error: Exception) -> Response:
    return PlainTextResponse("There is no such page here.", 404)


def _mistaken(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 400)
