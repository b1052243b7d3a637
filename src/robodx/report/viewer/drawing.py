"""Films that are drawn when somebody asks for them: one at a time, and each by a process of its own."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from robodx.errors import UserError
from robodx.records.film_name import film_name
from robodx.report.viewer.finding import is_inside
from robodx.report.viewer.library import Run

MOST_WAITING = 50
LONGEST_PROBLEM = 800
# A process whose viewer has ended ends at its next picture in any case.
ENDING_S = 10.0


class Draw(Protocol):
    """Draws the film of an episode into its run's folder; yields how many pictures are done, and of how many.

    A `UserError` says in a sentence why it cannot. Who closes it before its end ends the drawing.
    """

    def __call__(self, run: Path, trial_id: str) -> Generator[tuple[int, int]]: ...


@dataclass
class Order:
    """A film that was asked for, and how far it is."""

    run: Path
    trial_id: str
    is_begun: bool = False
    done: int = 0
    total: int = 0
    is_over: bool = False
    problem: str | None = None


class Films:
    """Several requests may ask at once; who asks for what is asked for already waits for the same film."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._lock = threading.Lock()
        self._orders: dict[tuple[Path, str], Order] = {}
        self._waiting: deque[Order] = deque()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def told(self, run: Run, row: Mapping[str, Any]) -> dict[str, Any]:
        """How far the film of an episode is: absent, waiting, drawing, drawn or failed."""
        if run.video(row) is not None:
            return _told("drawn")
        with self._lock:
            order = self._orders.get((run.found.path, row["trial_id"]))
            if order is None:
                return _told("absent")
            if order.problem is not None:
                return _told("failed", problem=order.problem)
            if order.is_over and not (order.run / "videos" / film_name(row)).exists():
                # It was drawn, and removed since.
                return _told("absent")
            # One that is over is found when the folder is next looked at.
            return _told("drawing" if order.is_begun else "waiting", done=order.done, total=order.total)

    def ask(self, run: Run, row: Mapping[str, Any], root: Path) -> dict[str, Any]:
        """Have it drawn, unless it is there or is being drawn already."""
        if self.told(run, row)["state"] in ("absent", "failed"):
            order = Order(run.found.path, row["trial_id"])
            order.problem = _hindrance(run, row, root)
            with self._lock:
                if order.problem is None and len(self._waiting) >= MOST_WAITING:
                    order.problem = f"{MOST_WAITING} films are waiting to be drawn already: ask again later."
                self._orders[order.run, order.trial_id] = order
                if order.problem is None:
                    self._waiting.append(order)
                    self._start(root)
        return self.told(run, row)

    def close(self) -> None:
        """End what is being drawn, at its next picture; what is not finished is not kept."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
            thread = self._thread
        if thread is not None:
            thread.join(ENDING_S)

    def _start(self, root: Path) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, args=(root,), daemon=True)
            self._thread.start()

    def _work(self, root: Path) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                order = self._waiting.popleft()
                order.is_begun = True
            try:
                with closing(self._draw(order.run, order.trial_id)) as drawing:
                    for done, total in drawing:
                        order.done, order.total = done, total
                        if self._is_closed:
                            break
            except UserError as error:
                order.problem = _shortened(str(error), root)
            except Exception as error:  # whatever it is, the next film is to be drawn
                order.problem = _shortened(f"The film cannot be drawn: {type(error).__name__}: {error}", root)
            order.is_over = True


def _told(state: str, *, done: int = 0, total: int = 0, problem: str | None = None) -> dict[str, Any]:
    return {"state": state, "done": done, "total": total, "problem": problem}


def _hindrance(run: Run, row: Mapping[str, Any], root: Path) -> str | None:
    """Why there will be no film, as far as the files tell: nothing outside of the folder is read or written for it."""
    if row["outcome"] == "error":
        return "The episode ended in an error, and there is nothing to film."
    folder, name = run.found.path, f"{row['trial_id']}.npz"
    trajectory = folder / "trajectories" / name
    # The id is a file's name here, and a damaged table may say anything.
    if trajectory.name != name or trajectory.parent != folder / "trajectories":
        return "Its trajectory lies outside of the folder."
    if not os.path.lexists(trajectory):
        return "Its trajectory is gone, and with it what could be drawn: the same robodx run runs the episode again."
    used = [folder / "run.json", trajectory, *(folder / "episodes").glob("*.parquet"), folder / "videos"]
    for path in used:
        if os.path.lexists(path) and not is_inside(path, root):
            return f"{path.relative_to(folder)} of this run leads out of the folder, and no film is drawn from it."
    return None


def _shortened(text: str, root: Path) -> str:
    """Who looks need not know where on this machine the runs lie."""
    return text.replace(f"{root}/", "").replace(str(root), root.name)[:LONGEST_PROBLEM]
