"""What the viewer answers: its pages, lists of runs and episodes, an episode's record, curves and film, and reviews."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import Any

import polars as pl
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from robodx.errors import UserError
from robodx.records.annotations import Unannotated
from robodx.records.review import PICTURES
from robodx.report.viewer.downloads import KINDS, download
from robodx.report.viewer.drawing import Films
from robodx.report.viewer.episode import details, plain
from robodx.report.viewer.finding import REPORT, is_inside
from robodx.report.viewer.guard import LONGEST_BODY, Guard
from robodx.report.viewer.library import Library, Run
from robodx.report.viewer.listing import EMPTY_PAGE, FACETS, LONGEST_PAGE, Query, page
from robodx.report.viewer.overview import Asked, Overviews
from robodx.report.viewer.report_pages import POLICY, ROOT, address, place, report_command
from robodx.report.viewer.reviewing import Reviews
from robodx.report.viewer.trajectory import Unreadable, curves

STATIC = Path(__file__).parent / "static"
# By name: what a browser may ask for is in tables, never a path.
PAGES = {path.name: path for path in sorted(STATIC.iterdir()) if path.suffix in (".html", ".js", ".css", ".svg")}


class _Absent(Exception):
    """There is no such run, episode or file."""


def make_app(root: Path, token: str | None = None, films: Films | None = None) -> ASGIApp:
    """The viewer of a folder; with a token for whoever has it, else for this machine. None: it draws no films."""
    # Of this process: a page that was loaded from another one must be loaded again to write.
    write_token = secrets.token_urlsafe(24)
    answers = _Answers(Library(root), write_token, films)
    app = Starlette(
        routes=[
            Route("/", answers.page),
            Route("/review", answers.review_page),
            Route("/sheet", answers.sheet_page),
            Route("/static/{name}", answers.page),
            Route("/api/runs", answers.runs),
            Route("/api/episodes", answers.episodes),
            Route("/api/episodes.{kind}", answers.download),
            Route("/api/overview", answers.overview),
            Route("/api/trial/{trial}", answers.trial),
            Route("/api/episode/{run}/{trial}", answers.episode),
            Route("/api/curves/{run}/{trial}", answers.curves),
            Route("/video/{run}/{trial}", answers.video),
            Route("/api/film/{run}/{trial}", answers.film),
            Route("/api/film/{run}/{trial}", answers.draw_film, methods=["POST"]),
            Route("/picture/{run}/{name}", answers.picture),
            Route("/report/{run}", answers.report),
            Route("/report/{run}/{where:path}/", answers.report_page),
            Route("/report/{run}/{where:path}/videos/{name}", answers.report_film),
            Route("/api/review/{run}/{name}", answers.review),
            Route("/api/review/{run}/{name}", answers.annotate, methods=["POST"]),
        ],
        exception_handlers={_Absent: _absent, UserError: _mistaken, Unannotated: _unsaved},
    )
    # What is in no table is answered so, and not by a way to a like address.
    app.router.redirect_slashes = False
    return Guard(app, token, write_token)


class _Answers:
    def __init__(self, library: Library, write_token: str, films: Films | None) -> None:
        self._films = films
        self._library = library
        self._reviews = Reviews(library.root)
        self._overviews = Overviews(library.root)
        self._write_token = write_token

    def page(self, request: Request) -> Response:
        path = PAGES.get(request.path_params.get("name", "index.html"))
        if path is None:
            raise _Absent
        return FileResponse(path)

    def runs(self, request: Request) -> Response:
        """All runs; nothing (204) if they are as in the answer whose `version` is given."""
        asked = {
            found.id: {
                "reviews": self._reviews.lines(found),
                "review_command": self._reviews.command(found),
                "report_command": report_command(found, self._library.root),
            }
            for found in self._library.found()
        }
        # Of a run that came since then it is told the next time.
        unknown: dict[str, Any] = {"reviews": [], "review_command": None, "report_command": None}
        runs = [{**run, **asked.get(run["id"], unknown)} for run in self._library.summaries()]
        said = [(run["id"], run["contents"], run["is_live"]) for run in runs]
        version = hashlib.blake2b(repr(said).encode(), digest_size=8).hexdigest()
        if request.query_params.get("version") == version:
            return Response(status_code=204)
        return _json({"version": version, "folder": self._library.root.name, "runs": runs})

    def episodes(self, request: Request) -> Response:
        runs = self._chosen(request.query_params.get("run", ""))
        query = _query(request)
        return _json(page(pl.concat([run.listing for run in runs]), query) if runs else EMPTY_PAGE)

    def overview(self, request: Request) -> Response:
        """A row for each task, family or tier."""
        words = request.query_params
        asked = Asked(
            by=words.get("by", "task"),
            order=words.get("order", "name"),
            is_descending=words.get("falls") == "1",
            offset=_whole(words.get("offset", "0"), "offset", 10_000_000),
        )
        return _json(self._overviews.page(self._chosen(words.get("run", "")), _query(request), asked))

    def download(self, request: Request) -> Response:
        """All episodes of the filtered list, in its order, as a table for other programs."""
        kind = KINDS.get(request.path_params["kind"])
        if kind is None:
            raise _Absent
        content = download(self._chosen(request.query_params.get("run", "")), _query(request), kind)
        headers = {"Content-Disposition": f'attachment; filename="episodes.{request.path_params["kind"]}"'}
        return Response(content, media_type=kind.media_type, headers=headers)

    def trial(self, request: Request) -> Response:
        """In which run an episode lies, of which only the trial is known, if in any; a named one is looked at first."""
        run = self._library.with_trial(request.path_params["trial"], request.query_params.get("run", ""))
        return _json({"run": None if run is None else run.found.id, "trial_id": request.path_params["trial"]})

    def episode(self, request: Request) -> Response:
        run, row = self._found(request)
        # The others only as far as they were read: a folder may hold very many.
        # None where none can be drawn.
        film = self._films.told(run, row)["state"] if self._films is not None and row["outcome"] != "error" else None
        return _json({**details(run, row, self._library.read_runs()), "film_state": film})

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
            return _json(curves(path, run.policy_spec.get("action_space"), run.policy_spec.get("delta_frame")))
        except Unreadable as error:
            return _json({"problem": str(error)})

    def video(self, request: Request) -> Response:
        run, row = self._found(request)
        path = run.plain_video(row) if request.query_params.get("plain") == "1" else run.video(row)
        if path is None or not is_inside(path, self._library.root):
            raise _Absent
        return FileResponse(path, media_type="video/mp4")

    def report(self, request: Request) -> Response:
        """To where the links of the page lead where they should."""
        run = self._run(request)
        if run.found.report_s is None:
            raise _Absent
        return RedirectResponse(address(run.found, self._library.root), 307)

    def report_page(self, request: Request) -> Response:
        found = self._run(request).found
        root = self._library.root
        if found.report is None or place(found, root) != request.path_params["where"]:
            raise _Absent
        path = found.report / REPORT
        if not path.is_file() or not is_inside(path, root):
            raise _Absent
        return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": POLICY})

    def report_film(self, request: Request) -> Response:
        """A film of the run or of another that the page is of as well, as the page links it."""
        self._run(request)
        where, name = request.path_params["where"].removeprefix(f"{ROOT}/"), request.path_params["name"]
        found = next((one for one in self._library.found() if one.name == where and name in one.videos), None)
        if found is None or not is_inside(found.path / "videos" / name, self._library.root):
            raise _Absent
        return FileResponse(found.path / "videos" / name, media_type="video/mp4")

    def film(self, request: Request) -> Response:
        """How far a film is that somebody asked for."""
        run, row = self._found(request)
        if self._films is None:
            raise _Absent
        return _json({**self._films.told(run, row), "write_token": self._write_token})

    def draw_film(self, request: Request) -> Response:
        """Beside an annotation all that is written; the guard let it through."""
        run, row = self._found(request)
        if self._films is None:
            raise UserError("robodx view was started with --no-films: no films are drawn")
        return _json(self._films.ask(run, row, self._library.root))

    def picture(self, request: Request) -> Response:
        run, name = self._run(request), request.path_params["name"]
        path = run.found.path / PICTURES / name
        if name not in run.found.pictures or not is_inside(path, self._library.root):
            raise _Absent
        return FileResponse(path, media_type="image/png")

    def review_page(self, request: Request) -> Response:
        return FileResponse(PAGES["review.html"])

    def sheet_page(self, request: Request) -> Response:
        return FileResponse(PAGES["sheet.html"])

    def review(self, request: Request) -> Response:
        """What there is to label, and what the annotator who is named said already."""
        found = self._reviews.shown(
            self._run(request), request.path_params["name"], request.query_params.get("annotator")
        )
        if found is None:
            raise _Absent
        return _json({**found, "write_token": self._write_token})

    async def annotate(self, request: Request) -> Response:
        """Beside a film all that is written; the guard let it through."""
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                return PlainTextResponse(f"An annotation has at most {LONGEST_BODY} bytes.", 413)
        # Waiting for the disk must keep nobody else waiting.
        return await run_in_threadpool(self._annotate, request, body)

    def _annotate(self, request: Request, body: bytes) -> Response:
        saved = self._reviews.annotate(self._run(request), request.path_params["name"], body)
        if saved is None:
            raise _Absent
        return _json(saved)

    def _run(self, request: Request) -> Run:
        run = self._library.run(request.path_params["run"])
        if run is None:
            raise _Absent
        return run

    def _chosen(self, id: str) -> list[Run]:
        """The run of this id; without one all of them."""
        runs = [self._library.run(one) for one in ([id] if id else self._library.ids())]
        if id and runs == [None]:
            raise _Absent
        return [run for run in runs if run is not None]

    def _found(self, request: Request) -> tuple[Run, dict[str, Any]]:
        run = self._run(request)
        row = run.row(request.path_params["trial"])
        if row is None:
            raise _Absent
        return run, row


def _query(request: Request) -> Query:
    asked = request.query_params
    return Query(
        chosen={name: asked.getlist(name) for name in FACETS},
        text=asked.get("text", ""),
        sort=asked.get("sort", "task"),
        is_descending=asked.get("descending") == "1",
        offset=_whole(asked.get("offset", "0"), "offset", 10_000_000),
        limit=_whole(asked.get("limit", "100"), "limit", LONGEST_PAGE),
        located=[(run, trial) for run, _, trial in (one.partition(".") for one in asked.getlist("locate")[:8])],
    )


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


def _unsaved(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 503)
