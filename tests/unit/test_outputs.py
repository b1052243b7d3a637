"""No output replaces a file of a run, whatever command writes it and however its place is spelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hostile.commands import Command, commands

from robodx.errors import UserError
from robodx.fairness import validating
from robodx.records.contents import PARTS, refuse_part_of_run
from robodx.report.page import write
from tests.commands import call
from tests.reporting import episode, run_folder

ROOT = Path(__file__).parents[2]
# A run file is read while the command is still parsed.
PLACES = {
    f"{command.name} {one.flag or one.name}": (command, one.name)
    for command in commands()
    for one in command.parameters
    if one.kind == "path" and not one.is_list and one.name != "config"
}
# Of a required parameter, where another one is tried: none is looked at before the path is.
SOME = {"path": "x", "text": "x", "number": "1", "whole number": "1"}


def _words(command: Command, name: str, path: Path) -> list[str]:
    options, arguments = command.name.split(), ["--"]
    for one in command.parameters:
        if one.name != name and not one.is_required:
            continue
        value = str(path) if one.name == name else SOME[one.kind]
        if one.flag is None:
            arguments.append(value)
        else:
            options += [one.flag, value]
    return options + arguments


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_folder(tmp_path / "run", [episode("control/a", 0), episode("control/b", 0, success=False)])


def test_commands_are_found_by_looking_at_them() -> None:
    """One that is added is tried below, too."""
    assert {"report --out", "leaderboard --csv", "data show --out", "data convert target"} <= PLACES.keys()
    assert {"run --out", "why --out", "review --export", "check --write-preset"} <= PLACES.keys()


@pytest.mark.parametrize("place", PLACES)
def test_no_command_takes_a_file_of_a_run_for_its_output(place: str, run: Path, tmp_path: Path) -> None:
    part = run / ("run.json" if len(place) % 2 else "episodes/all.parquet")
    before = part.read_bytes()
    said = call(*_words(*PLACES[place], part), cwd=tmp_path, expect=2)
    assert said == f"robodx: {part} is a part of the run {run}: name another place, or the run itself\n"
    assert part.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["run"]


def test_a_part_is_known_however_it_is_spelled(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(run)
    (tmp_path / "page.html").symlink_to(run / "run.json")
    (tmp_path / "new.csv").symlink_to(run / "episodes" / "part-00009.parquet")
    (tmp_path / "films").mkdir()
    (run / "videos").symlink_to(tmp_path / "films")
    (run / ".lock").touch()
    monkeypatch.chdir(run)
    spelled = ["run.json", "RUN.json", "./x/../run.json", "../run/run.json", "../link/run.json", "../page.html"]
    spelled += ["../new.csv", "episodes", "Episodes/x", "episodes/data/set", "videos/film.mp4", ".lock"]
    spelled += ["design.parquet", "pairs.parquet", "trajectories/x.npz", "pictures/x.png", "reviews/failures.jsonl"]
    for each in spelled:
        with pytest.raises(UserError, match="is a part of the run"):
            refuse_part_of_run(Path(each))
    # Damaged, it is still a run.
    (run / "run.json").unlink()
    with pytest.raises(UserError, match="is a part of the run"):
        refuse_part_of_run(Path("episodes/all.parquet"))


def test_other_places_are_free_also_in_a_run(run: Path, tmp_path: Path) -> None:
    run_folder(run / "why", [episode("control/a", 0)])
    for each in (run, run / "why", run / "report.html", run / "run.csv", run / "episodes" / ".." / "x.html"):
        refuse_part_of_run(each)
    (tmp_path / "episodes").mkdir()
    refuse_part_of_run(tmp_path / "episodes" / "film.mp4")
    refuse_part_of_run(tmp_path / "run.json")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refuse_part_of_run(tmp_path / "loop" / "x")
    with pytest.raises(UserError, match="is a part of the run"):
        refuse_part_of_run(run / "why" / "run.json")


def test_everything_a_run_holds_is_a_part_of_it() -> None:
    golden = ROOT / "tests" / "golden" / "run-v4"
    files = [path for path in golden.rglob("*") if path.is_file()]
    assert files and {validating.FILE, validating.CHECKS, validating.JUDGEMENTS} <= PARTS
    for path in files:
        with pytest.raises(UserError, match="is a part of the run"):
            refuse_part_of_run(path)


def test_a_set_of_instances_is_no_place_for_outputs(tmp_path: Path) -> None:
    """It has no folder of episodes."""
    (tmp_path / validating.FILE).touch()
    for name in (validating.FILE, validating.CHECKS, validating.JUDGEMENTS):
        with pytest.raises(UserError, match="is a part of the run"):
            refuse_part_of_run(tmp_path / name)
    refuse_part_of_run(tmp_path / "page.html")


def test_a_report_does_not_follow_its_own_link_into_the_run(run: Path) -> None:
    """Its usual place is not given as an option."""
    (run / "report.html").symlink_to("run.json")
    before = (run / "run.json").read_bytes()
    with pytest.raises(UserError, match="is a part of the run"):
        write(run / "report.html", "<p>")
    assert (run / "run.json").read_bytes() == before


def test_an_export_to_a_folder_replaces_nothing_of_another_run(run: Path, tmp_path: Path) -> None:
    other = run_folder(tmp_path / "other", [episode("control/a", 0)])
    before = (other / "run.json").read_bytes()
    said = call("export", run, "--to", "csv", "-o", other, "--force", cwd=tmp_path, expect=2)
    assert "is a part of the run" in said and (other / "run.json").read_bytes() == before


def test_outputs_beside_the_records_are_written(run: Path, tmp_path: Path) -> None:
    assert "Wrote run/page.tex" in call("report", "run", "--latex", "-o", "run/page.tex", cwd=tmp_path)
    for _ in range(2):
        call("export", "run", "--to", "csv", "-o", "run/tables", "--force", cwd=tmp_path)
    assert json.loads((run / "tables" / "run.json").read_text())
