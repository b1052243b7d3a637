"""Films on demand: one at a time, from pages of the viewer, into the run's own folder and nowhere else."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from robodx.errors import UserError
from robodx.records.film_name import film_name, is_captioned
from robodx.report.viewer import drawing, library
from robodx.report.viewer.drawing import Films
from robodx.video.on_demand import draw_film
from tests.filming import stored
from tests.unit.test_review_routes import Answer, Viewer
from tests.viewing import episode, write_run, write_trajectory


class Drawer:
    """Draws a film of two pictures, each when it is told to, and fails if it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_go = threading.Semaphore(0)
        self.fails: Exception | None = None
        self.closed = 0

    def __call__(self, run: Path, trial_id: str) -> Generator[tuple[int, int]]:
        self.asked.append(trial_id)
        try:
            for done in (1, 2):
                self.may_go.acquire(timeout=10)
                if self.fails is not None:
                    raise self.fails
                if done == 2:
                    (run / "videos").mkdir(exist_ok=True)
                    row = episode(int(trial_id, 16))
                    (run / "videos" / film_name(row)).write_bytes(b"film")
                yield done, 2
        finally:
            self.closed += 1


class Page:
    """A page of the viewer that asks for films as a browser does."""

    def __init__(self, root: Path, films: Films | None) -> None:
        self.ask = Viewer(root, films=films)
        (self.run,) = (run["id"] for run in self.ask("/api/runs").json["runs"])

    def path(self, number: int) -> str:
        return f"/api/film/{self.run}/{number:016x}"

    def told(self, number: int) -> Any:
        return self.ask(self.path(number)).json

    def shown(self, number: int) -> Any:
        """What the page of the episode is told of its film."""
        return self.ask(f"/api/episode/{self.run}/{number:016x}").json["film_state"]

    def draw(self, number: int, **headers: str | None) -> Answer:
        usual: dict[str, str | None] = {
            "origin": "http://localhost:7860", "sec_fetch_site": "same-origin", "content_type": "application/json",
            "content_length": "2", "x_robodx_write_token": self.told(number).get("write_token"),
        }  # fmt: skip
        return self.ask(self.path(number), "POST", b"{}", **{**usual, **headers})


@pytest.fixture(autouse=True)
def always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FRESH_S", 0.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run = write_run(tmp_path / "runs" / "run", [episode(1), episode(2), episode(3, outcome="error"), episode(4)])
    for number in (1, 2, 3):
        write_trajectory(run, f"{number:016x}")
    return tmp_path / "runs"


@pytest.fixture
def drawer() -> Drawer:
    return Drawer()


@pytest.fixture
def page(root: Path, drawer: Drawer) -> Iterator[Page]:
    films = Films(drawer)
    yield Page(root, films)
    for _ in range(100):
        drawer.may_go.release()
    films.close()


def until(holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("it did not come to hold in 5 s")


def test_films_are_drawn_one_at_a_time_and_each_only_once(page: Page, drawer: Drawer, root: Path) -> None:
    assert page.told(1)["state"] == page.shown(1) == "absent"
    assert page.draw(1).json["state"] in ("waiting", "drawing")
    until(lambda: page.told(1)["state"] == "drawing")
    assert page.draw(1).json["state"] == "drawing" and page.draw(2).json["state"] == "waiting"
    assert page.draw(2).json["state"] == page.shown(2) == "waiting"
    drawer.may_go.release()
    until(lambda: page.told(1)["done"] == 1)
    assert page.told(1)["total"] == 2 and drawer.asked == [f"{1:016x}"]
    drawer.may_go.release()
    until(lambda: page.told(1)["state"] == "drawn")
    assert page.ask(f"/video/{page.run}/{1:016x}").body == b"film"
    drawer.may_go.release(2)
    until(lambda: page.told(2)["state"] == "drawn")
    # What is there is not drawn again; what was removed may be.
    assert page.draw(1).json["state"] == "drawn" and drawer.asked == [f"{1:016x}", f"{2:016x}"]
    next((root / "run" / "videos").glob(f"*seed1-*-{f'{1:016x}'[:6]}.mp4")).unlink()
    assert page.told(1)["state"] == "absent" and page.draw(1).json["state"] != "drawn"


def test_what_cannot_be_drawn_is_a_sentence_and_may_be_asked_for_again(page: Page, drawer: Drawer, root: Path) -> None:
    drawer.fails = UserError(f"{root}/run/videos/x.mp4 cannot be written: No space left on device")
    drawer.may_go.release()
    page.draw(1)
    until(lambda: page.told(1)["state"] == "failed")
    # Not where on this machine it lies.
    assert page.told(1)["problem"] == "run/videos/x.mp4 cannot be written: No space left on device"
    drawer.fails = RuntimeError("odd")
    drawer.may_go.release()
    page.draw(1)
    until(lambda: "RuntimeError: odd" in (page.told(1)["problem"] or ""))
    drawer.fails = None
    drawer.may_go.release(2)
    page.draw(1)
    until(lambda: page.told(1)["state"] == "drawn")


def test_errors_and_lost_trajectories_are_told_at_once(page: Page, drawer: Drawer) -> None:
    assert "ended in an error" in page.draw(3).json["problem"]
    assert page.shown(3) is None
    assert "trajectory is gone" in page.draw(4).json["problem"]
    assert page.ask(page.path(77)).status == 404 and drawer.asked == []


@pytest.mark.parametrize("led", ["videos", "trajectories", "episodes/more.parquet", "trajectory", "run.json"])
def test_nothing_that_leads_out_of_the_folder_is_read_or_written(
    led: str, page: Page, drawer: Drawer, root: Path, tmp_path: Path
) -> None:
    run = root / "run"
    path = run / "trajectories" / f"{1:016x}.npz" if led == "trajectory" else run / led
    outside = tmp_path / "outside"
    if path.exists():
        path.rename(outside)
    elif led == "videos":
        outside.mkdir()
    else:
        outside.write_bytes((run / "episodes" / "all.parquet").read_bytes())
    path.symlink_to(outside)
    told = page.draw(1).json
    assert told["state"] == "failed" and "leads out of the folder" in told["problem"]
    assert drawer.asked == [] and not list(tmp_path.rglob("*.mp4"))


def test_ids_that_are_paths_draw_nothing(tmp_path: Path, drawer: Drawer) -> None:
    root = tmp_path / "runs"
    write_run(root / "run", [{**episode(1), "trial_id": "../../x"}])
    films = Films(drawer)
    page = Page(root, films)
    path = f"/api/film/{page.run}/..%2F..%2Fx"
    assert page.ask(path).status == 404 and drawer.asked == []
    run = library.Library(root).run(page.run)
    assert run is not None
    told = films.ask(run, {**episode(1), "trial_id": "../../x"}, root.resolve())
    assert told["problem"] == "Its trajectory lies outside of the folder." and drawer.asked == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x_robodx_write_token": "another"}, 403),
        ({"x_robodx_write_token": None}, 403),
        ({"origin": "http://elsewhere.example"}, 403),
        ({"origin": None}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"content_type": "text/plain"}, 415),
    ],
)
def test_only_pages_of_the_viewer_have_films_drawn(
    headers: dict[str, str | None], status: int, page: Page, drawer: Drawer
) -> None:
    assert page.draw(1, **headers).status == status and drawer.asked == []
    assert page.ask(page.path(1), "PUT").status == 405


def test_without_films_nothing_is_drawn_and_no_button_is_shown(root: Path) -> None:
    page = Page(root, None)
    assert page.shown(1) is None
    assert page.ask(page.path(1)).status == 404 and not (root / "run" / "videos").exists()


def test_more_than_so_many_do_not_wait(page: Page, drawer: Drawer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "MOST_WAITING", 0)
    assert "waiting to be drawn already" in page.draw(1).json["problem"] and drawer.asked == []


def test_closing_ends_what_is_being_drawn(root: Path, drawer: Drawer) -> None:
    films = Films(drawer)
    page = Page(root, films)
    page.draw(1)
    page.draw(2)
    until(lambda: page.told(1)["state"] == "drawing")
    drawer.may_go.release()
    films.close()
    until(lambda: drawer.closed == 1)
    assert drawer.asked == [f"{1:016x}"] and not list(root.rglob("*.mp4"))


# The process that draws.


@pytest.mark.thorough
def test_a_process_draws_the_film_of_a_run_in_progress(tmp_path: Path) -> None:
    run = tmp_path / "run"
    row = stored(run, part="part-1", steps=3)
    assert list(draw_film(run, row["trial_id"]))[-1] == (4, 4)
    film = run / "videos" / film_name(row)
    assert is_captioned(film) and [path.name for path in (run / "videos").iterdir()] == [film.name]


@pytest.mark.thorough
def test_what_the_process_lacks_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    row = stored(run, steps=3)

    def problem(**said: Any) -> str:
        with pytest.raises(UserError) as told:
            list(draw_film(run, row["trial_id"], **said))
        return str(told.value)

    described = json.loads((run / "run.json").read_text())
    described["request"]["plugins"] = [["/home/me/my_task.py", "abc"], ["mine", ""]]
    write_run(run, [{**row, "task": "mine/own"}], about=described)
    told = problem()
    assert 'No task "mine/own"' in told and "robodx view --plugin /home/me/my_task.py --plugin mine" in told
    assert "There is no plugin file" in problem(plugins=["missing.py"])
    write_run(run, [row], about=described)
    monkeypatch.setenv("MUJOCO_GL", "disable")
    assert "OpenGL is missing here" in problem() and "robodx doctor" in problem()
    monkeypatch.delenv("MUJOCO_GL")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "mujoco.py").write_text("raise ImportError('no mujoco', name='mujoco')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'broken'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert "drawn with mujoco, which cannot be imported here" in problem()


@pytest.mark.thorough
def test_a_folder_that_cannot_be_written_to_is_a_sentence(tmp_path: Path) -> None:
    run = tmp_path / "run"
    row = stored(run, steps=3)
    (run / "videos").write_bytes(b"a file")
    with pytest.raises(UserError, match="cannot be written"):
        list(draw_film(run, row["trial_id"]))


@pytest.mark.thorough
def test_a_drawing_that_is_closed_leaves_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    row = stored(run, steps=90)
    with closing(draw_film(run, row["trial_id"])) as pictures:
        assert next(pictures)[0] >= 1
    assert list((run / "videos").iterdir()) == []
