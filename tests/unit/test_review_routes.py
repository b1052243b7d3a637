"""All that the viewer writes: annotations, from pages of its own, into the file of their review and no other."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

from robodx.analysis.reviews.failures import failure_review
from robodx.analysis.reviews.pairs import judged_pairs
from robodx.records.annotations import annotations_path
from robodx.records.film_name import CAPTIONED
from robodx.records.review import PICTURES, Picture, Review, UnreadableReview, read_review, review_path, write_review
from robodx.records.table import load
from robodx.report.viewer import library
from robodx.report.viewer.app import make_app
from robodx.report.viewer.drawing import Films
from robodx.report.viewer.guard import LONGEST_BODY
from robodx.streams import Streams
from tests.reviewing import pair, paired_run, trial_id
from tests.sheets import sheet_folder


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Viewer:
    """Sends to the application what a server would; a header that is None is left out."""

    def __init__(self, root: Path, token: str | None = None, films: Films | None = None) -> None:
        self._app = make_app(root, token, films)

    def __call__(self, path: str, method: str = "GET", body: bytes = b"", **headers: str | None) -> Answer:
        said = {"host": "localhost:7860", **{name.lower().replace("_", "-"): one for name, one in headers.items()}}
        where, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": unquote(where), "raw_path": where.encode(), "root_path": "",
            "query_string": query.encode(), "scheme": "http", "http_version": "1.1", "server": ("127.0.0.1", 80),
            "headers": [(name.encode(), value.encode()) for name, value in said.items() if value is not None],
        }  # fmt: skip
        sent: list[MutableMapping[str, Any]] = []
        parts = [
            {"type": "http.request", "body": body[:100], "more_body": True},
            {"type": "http.request", "body": body[100:], "more_body": False},
        ]

        async def receive() -> dict[str, Any]:
            return parts.pop(0) if parts else await asyncio.Future()

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        asyncio.run(self._app(scope, receive, send))  # type: ignore[arg-type]
        reported = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], reported, b"".join(message.get("body", b"") for message in sent[1:]))


class Page:
    """A page of the viewer that shows a review, and sends what a browser would."""

    def __init__(self, root: Path, name: str = "failures", token: str | None = None) -> None:
        self.ask = Viewer(root, token)
        self.run = root / "run"
        cookie = None
        if token is not None:
            cookie = self.ask(f"/?token={token}").headers["set-cookie"].partition(";")[0]
        (line,) = (one for one in self.ask("/api/runs", Cookie=cookie).json["runs"] if one["name"] == "run")
        self.path = f"/api/review/{line['id']}/{name}"
        self.review = self.ask(self.path, Cookie=cookie).json
        self.cookie = cookie

    def whole(self, **said: Any) -> dict[str, Any]:
        """An annotation that is right, but for what is said."""
        item = self.review["items"][0]["id"]
        return {"item": item, "annotator": "ann", "label": "collision", "further": [], "text": "", **said}

    def send(self, content: object = None, *, method: str = "POST", path: str | None = None, **headers: Any) -> Answer:
        body = content if isinstance(content, bytes) else json.dumps(content or self.whole()).encode()
        usual = {
            "origin": "http://localhost:7860", "sec_fetch_site": "same-origin", "content_type": "application/json",
            "content_length": str(len(body)), "x_robodx_write_token": self.review["write_token"], "cookie": self.cookie,
        }  # fmt: skip
        return self.ask(path or self.path, method, body, **{**usual, **headers})

    def stored(self) -> list[Any]:
        path = annotations_path(self.run, "failures")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture(autouse=True)
def always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FRESH_S", 0.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run = paired_run(tmp_path / "runs" / "run", [pair(n) for n in range(4)])
    write_review(run, drawn(run))
    return tmp_path / "runs"


@pytest.fixture
def page(root: Path) -> Page:
    return Page(root)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A page that many tests share, because nothing that they send is stored."""
    run = paired_run(tmp_path_factory.mktemp("runs") / "run", [pair(n) for n in range(4)])
    write_review(run, drawn(run))
    return Page(run.parent)


def drawn(run: Path) -> Review:
    return failure_review(judged_pairs(run, "medium"), load(run), Streams(0).rng("test"), level="medium")


# What is shown


def test_the_list_and_the_page_of_a_review_show_the_same_command_and_a_shell_reads_it(tmp_path: Path) -> None:
    root = tmp_path / "my runs"
    run = paired_run(root / "it's; $one", [pair(n) for n in range(4)])
    ask = Viewer(root)
    (line,) = ask("/api/runs").json["runs"]
    assert shlex.split(line["review_command"]) == ["robodx", "review", "my runs/it's; $one", "--prepare"]
    for name in ("failures", "second"):
        write_review(run, replace(drawn(run), name=name))
    assert ask(f"/api/review/{line['id']}/failures").json["command"] == line["review_command"]
    assert ask(f"/api/review/{line['id']}/second").json["command"].endswith("one' --name second --prepare")
    (alone,) = Viewer(run)("/api/runs").json["runs"]
    assert shlex.split(alone["review_command"])[2] == "it's; $one"


def test_a_page_is_shown_the_films_and_the_facts(page: Page) -> None:
    shown = page.review
    assert [len(shown["items"]), shown["title"], shown["run_name"]] == [4, "Review failures", "run"]
    assert shown["command"] == "robodx review runs/run --prepare"
    first = shown["items"][0]
    assert [film["title"] for film in first["films"]] == ["source", "follow-up"]
    assert [film["src"] for film in first["films"]] == [None, None] and first["films"][0]["seconds"] == 2.0
    assert [name for name, _ in first["facts"]] in (["relation", "what differs", "task"], ["relation", "task"])
    assert [one["name"] for one in shown["labels"]][:2] == ["grasp synthesis", "grasp stability"]


def test_neither_the_programs_opinion_nor_that_of_others_is_shown(page: Page) -> None:
    assert page.send(page.whole(label="control instability", text="my secret", annotator="bob")).status == 200
    seen = page.ask(f"{page.path}?annotator=ann")
    for hidden in ("my secret", "drawn_from", "automatic", "oracle failure", "relation violation", "outcome", "policy"):
        assert hidden not in seen.text, hidden
    # What is said of a label is said of it once, as a label.
    assert seen.text.count("control instability") == 1
    assert seen.json["mine"] == {} and seen.json["progress"] == {"bob": 1}
    mine = page.ask(f"{page.path}?annotator=bob").json["mine"]
    assert mine == {page.whole()["item"]: {"label": "control instability", "further": [], "text": "my secret"}}


def test_films_that_are_made_meanwhile_are_found(page: Page, root: Path) -> None:
    (root / "run" / "videos" / f"carrier.pick_up-seed0-success-{trial_id(0)[:6]}.mp4").write_bytes(b"film")
    films = [film for item in page.ask(page.path).json["items"] for film in item["films"] if film["src"]]
    assert [film["src"].rpartition("/")[2] for film in films] == [f"{trial_id(0)}?plain=1"]
    assert page.ask(films[0]["src"]).body == b"film"


def test_who_labels_is_shown_no_film_that_says_how_it_ended(page: Page, root: Path) -> None:
    film = root / "run" / "videos" / f"carrier.pick_up-seed0-success-{trial_id(0)[:6]}.mp4"
    film.write_bytes(b"film " + CAPTIONED.encode())

    def shown() -> list[str]:
        items = page.ask(page.path).json["items"]
        return [film["src"] for item in items for film in item["films"] if film["src"]]

    assert shown() == []
    film.with_suffix(".plain.mp4").write_bytes(b"plain")
    assert [page.ask(source).body for source in shown()] == [b"plain"]
    # Who looks at the episode itself is told.
    assert page.ask(shown()[0].removesuffix("?plain=1")).body == film.read_bytes()


def test_the_list_of_runs_tells_how_far_a_review_is(page: Page, root: Path) -> None:
    bare = paired_run(root / "bare", [pair(1)])
    before = page.ask("/api/runs").json
    page.send()
    answer = page.ask(f"/api/runs?version={before['version']}").json
    runs = {run["name"]: run for run in answer["runs"]}
    assert runs["run"]["reviews"] == [
        {
            "name": "failures",
            "title": "Review failures",
            "page": "review",
            "items": 4,
            "labelled": 1,
            "progress": {"ann": 1},
        }
    ]
    assert runs["bare"]["has_pairs"] and runs["bare"]["reviews"] == []
    (bare / "reviews").mkdir()
    review_path(bare, "failures").write_text("{")
    (broken,) = next(run for run in page.ask("/api/runs").json["runs"] if run["name"] == "bare")["reviews"]
    assert broken["problem"].startswith("bare/reviews/failures.json is damaged")


def test_a_review_page_is_served_and_a_review_that_is_not_there_is_not(page: Page) -> None:
    assert b"review.js" in page.ask("/review").body
    for path in (page.path + "x", page.path.replace("failures", "%2e%2e"), "/api/review/unknown/failures"):
        assert page.ask(path).status == 404
        assert page.send(path=path).status in (404, 405)
    assert page.ask(f"{page.path}?annotator=%1b").status == 400


# What is written


def test_an_annotation_is_appended_whole(page: Page) -> None:
    sent = page.whole(further=["grasp stability"], text="it slips\nand then it bumps into the table ✓")
    answer = page.send(sent)
    assert answer.status == 200 and answer.json["progress"] == {"ann": 1}
    (line,) = page.stored()
    assert {**line, **sent} == line and set(line) - set(sent) == {"time", "version"}
    page.send(page.whole(label="grasp stability"))
    assert len(page.stored()) == 2
    assert page.ask(f"{page.path}?annotator=ann").json["mine"][sent["item"]]["label"] == "grasp stability"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": None}, 403), ({"origin": "null"}, 403), ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:7861"}, 403), ({"origin": "http://127.0.0.1:7860"}, 403),
        ({"origin": "http://localhost:7860.evil.example"}, 403), ({"origin": "file://localhost:7860"}, 403),
        ({"origin": ""}, 403),
        ({"sec_fetch_site": "cross-site"}, 403), ({"sec_fetch_site": "same-site"}, 403),
        ({"sec_fetch_site": "none"}, 403),
        ({"host": "evil.example", "origin": "http://evil.example"}, 403), ({"host": ""}, 403),
        ({"x_robodx_write_token": None}, 403), ({"x_robodx_write_token": ""}, 403),
        ({"x_robodx_write_token": "guess"}, 403), ({"x_robodx_write_token": "ü"}, 403),
        ({"content_type": None}, 415), ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415), ({"content_type": "application/jsonx"}, 415),
        ({"content_length": None}, 411), ({"content_length": "-1"}, 411), ({"content_length": "9" * 30}, 411),
        ({"content_length": str(LONGEST_BODY + 1)}, 413),
    ],
)  # fmt: skip
def test_who_may_not_write_is_refused(refusing: Page, headers: dict[str, Any], status: int) -> None:
    assert refusing.send(**headers).status == status
    assert refusing.stored() == []


def test_a_browser_that_says_less_or_says_it_otherwise_may_write(page: Page) -> None:
    assert page.send(sec_fetch_site=None).status == 200
    assert page.send(content_type="application/json; charset=utf-8").status == 200
    assert page.send(host="LOCALHOST:7860").status == 200
    assert page.send(origin="https://localhost:7860").status == 200


def test_a_body_that_is_longer_than_it_says_is_refused(page: Page) -> None:
    answer = page.send(b" " * (LONGEST_BODY + 1), content_length="10")
    assert (answer.status, page.stored()) == (413, [])
    assert page.send(json.dumps(page.whole(text="\u2713" * 2000)).encode()).status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"])
def test_nothing_but_an_annotation_can_be_sent(refusing: Page, method: str) -> None:
    assert refusing.send(method=method).status == 405
    assert refusing.stored() == []


@pytest.mark.parametrize("path", ["/", "/api/runs", "/review", "/api/review/x", "/api/review/x/y/z", "/static/app.js"])
def test_nothing_is_sent_to_anywhere_else(refusing: Page, path: str) -> None:
    assert refusing.send(path=path).status == 405


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "no JSON"), (b"[" * 10_000, "no JSON"), (b"\xff", "no JSON"), (b"[]", "a table of keys"),
        ({"label": "nonsense"}, 'No label "nonsense"; there are grasp synthesis'), ({"item": "other"}, "no item"),
        ({"annotator": "<script>"}, "no name of an annotator"), ({"text": "x" * 2001}, "at most 2000"),
        ({"further": ["collision"]}, "given once"), ({"file": "../../x"}, 'has no "file"'),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_not_stored(refusing: Page, content: Any, says: str) -> None:
    answer = refusing.send(content if isinstance(content, bytes) else refusing.whole(**content))
    assert answer.status == 400 and says in answer.text
    assert refusing.stored() == []


def test_with_a_token_for_looking_the_cookie_is_needed_to_write(root: Path) -> None:
    page = Page(root, token="right")
    assert page.send(cookie=None).status == 403
    assert page.send(cookie=None, path=f"{page.path}?token=right").status == 403
    assert page.send(x_robodx_write_token="right").status == 403
    assert page.stored() == []
    elsewhere = {"host": "robot.lan:7860", "origin": "http://robot.lan:7860"}
    assert page.send(**elsewhere).status == 200
    assert page.send(**{**elsewhere, "origin": "http://evil.example"}).status == 403
    assert page.send(page.whole(), x_robodx_write_token=Page(root, token="right").review["write_token"]).status == 403


def test_a_page_of_a_viewer_that_was_started_again_is_told_to_reload(page: Page, root: Path) -> None:
    answer = Page(root).send(x_robodx_write_token=page.review["write_token"])
    assert answer.status == 403 and "reload" in answer.text


def test_nothing_is_written_or_read_outside_of_the_folder(page: Page, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "failures.jsonl"
    secret.write_text('{"secret": 1}\n')
    path = annotations_path(root / "run", "failures")
    path.symlink_to(secret)
    for answer in (page.send(), page.ask(page.path)):
        assert answer.status == 400 and "leads out of the folder" in answer.text and "secret" not in answer.text
    path.unlink()
    # Within the root a link is read, and still nothing is written by way of it.
    inside = root / "elsewhere.jsonl"
    inside.write_text("")
    path.symlink_to(inside)
    assert page.send().status == 503 and inside.read_text() == ""
    path.unlink()
    (root / "run" / "reviews").rename(outside / "reviews")
    (root / "run" / "reviews").symlink_to(outside / "reviews")
    assert page.send().status == 404 and page.ask(page.path).status == 404
    assert not (outside / "reviews" / "failures.jsonl").exists()
    (root / "run" / "reviews").unlink()
    (outside / "reviews").rename(root / "reviews")
    (root / "run" / "reviews").symlink_to(root / "reviews")
    answer = page.send()
    assert answer.status == 503 and "leads out of the folder" in answer.text
    assert not (root / "reviews" / "failures.jsonl").exists() and secret.read_text() == '{"secret": 1}\n'


def test_a_folder_that_cannot_be_written_to_is_told_of(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.open

    def read_only(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return really(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", read_only)
    answer = page.send()
    monkeypatch.undo()
    assert answer.status == 503
    assert answer.text == "It could not be saved in reviews/failures.jsonl: Permission denied"
    monkeypatch.setattr(os, "write", lambda file, content: 3)
    answer = page.send()
    monkeypatch.undo()
    assert answer.status == 503 and "No space left on device" in answer.text
    assert page.stored() == [] and page.send().status == 200


def test_a_damaged_line_is_told_and_the_rest_counts(page: Page, root: Path) -> None:
    page.send()
    path = annotations_path(root / "run", "failures")
    path.write_bytes(path.read_bytes() + b'{"item": "cut')
    shown = page.ask(f"{page.path}?annotator=ann").json
    assert len(shown["mine"]) == 1 and "it was cut off" in shown["problems"][0]
    assert page.send(page.whole(label="grasp stability")).status == 200
    assert page.ask(f"{page.path}?annotator=ann").json["progress"] == {"ann": 1}


def test_another_kind_of_review_needs_nothing_of_the_first(root: Path) -> None:
    """As accepting and rejecting pictures."""
    run = root / "run"
    first = read_review(run, "failures")
    labels = tuple(label for label in first.labels if not label.group)
    items = tuple(type(item)(f"picture {n}") for n, item in enumerate(first.items))
    write_review(run, Review("pictures", "Look at pictures", "Is it good?", labels, items))
    page = Page(root, "pictures")
    assert page.review["items"][0] == {"id": "picture 0", "facts": [], "films": [], "pictures": []}
    assert page.send(page.whole(label="no failure")).status == 200
    assert page.send(page.whole(label="collision")).status == 400
    assert page.stored() == [] and annotations_path(run, "pictures").read_text().count("\n") == 1


def test_a_folder_of_pictures_alone_is_shown_and_only_its_pictures_are_served(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    folder = sheet_folder(root / "set", 3)
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / PICTURES / "p2.png").symlink_to(tmp_path / "secret.png")
    (folder / PICTURES / "notes.txt").write_text("no picture")
    ask = Viewer(root)
    (run,) = ask("/api/runs").json["runs"]
    assert (run["name"], run["is_review_alone"], run["episodes"], run["problems"]) == ("set", True, 0, [])
    assert not run["is_live"] and not run["is_unfinished"]
    assert run["reviews"][0] | {"progress": None} == {
        "name": "fairness", "title": "Judge pictures", "page": "sheet", "items": 3, "labelled": 0, "progress": None,
    }  # fmt: skip
    shown = ask(f"/api/review/{run['id']}/fairness").json
    sources = [item["pictures"][0]["src"] for item in shown["items"]]
    assert sources == [f"/picture/{run['id']}/p0.png", f"/picture/{run['id']}/p1.png", None]
    assert "automatic" not in json.dumps(shown)
    answer = ask(sources[0])
    assert (answer.status, answer.headers["content-type"]) == (200, "image/png") and answer.body[1:4] == b"PNG"
    for name in ("p2.png", "p9.png", "notes.txt", "..%2Freviews%2Ffairness.json", "..%2F..%2F..%2Fsecret.png"):
        assert ask(f"/picture/{run['id']}/{name}").status == 404
    assert ask("/sheet").status == 200


def test_a_review_names_pictures_and_nothing_else(tmp_path: Path) -> None:
    folder = sheet_folder(tmp_path / "set", 2)
    review = read_review(folder, "fairness")
    assert review.is_sheet and review.items[0].pictures == (
        Picture("front", "p0.png", "Put the small object in the box."),
    )
    for name in ("../p0.png", "a/b.png", "p0.txt", "", ".png"):
        with pytest.raises(ValueError, match="no name of a picture"):
            Picture("front", name)
    path = review_path(folder, "fairness")
    whole = json.loads(path.read_text())
    whole["items"][0]["pictures"][0]["file"] = "../../secret.png"
    path.write_text(json.dumps(whole))
    with pytest.raises(UnreadableReview, match="no name of a picture"):
        read_review(folder, "fairness")
    # As reviews were written before there were pictures.
    for item in whole["items"]:
        del item["pictures"]
    path.write_text(json.dumps(whole))
    assert not read_review(folder, "fairness").is_sheet
