"""Names are unique, wrong ones are answered with the nearest right ones, and folders are found without lists."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

import robodx.perturbations
from robodx.errors import UserError
from robodx.records.table import to_table
from robodx.registry import Registry, UnknownName, discover, unknown
from robodx.running.request import Request
from robodx.running.rounds import plan_round
from robodx.sim.robot import ROBOTS
from robodx.tasks.base import TASKS, task


@pytest.fixture
def fruit() -> Registry[int]:
    registry: Registry[int] = Registry("fruit")
    for name, value in (("plum", 3), ("apple", 1), ("orchard/pear", 2)):
        assert registry.add(name, value) == value
    return registry


def test_entries_are_found_by_name_and_listed_in_order(fruit: Registry[int]) -> None:
    assert fruit["plum"] == 3 and "plum" in fruit and "fig" not in fruit
    assert list(fruit) == ["apple", "orchard/pear", "plum"]
    assert fruit.entries() == [1, 2, 3] and len(fruit) == 3


def test_unknown_name_suggests_the_nearest(fruit: Registry[int]) -> None:
    with pytest.raises(UnknownName, match=r'^No fruit "appel". Did you mean "apple"\?$'):
        fruit["appel"]


def test_last_part_of_a_name_is_suggested_in_full(fruit: Registry[int]) -> None:
    with pytest.raises(UnknownName, match=r'No fruit "pear". Did you mean .*"orchard/pear"'):
        fruit["pear"]


def test_name_near_nothing_lists_all(fruit: Registry[int]) -> None:
    with pytest.raises(UnknownName, match=r"There are: apple, orchard/pear, plum\."):
        fruit["zzzzzz"]
    assert unknown("fruit", "fig", ()) == 'No fruit "fig". There are: none.'


def test_duplicate_raises_and_keeps_the_first(fruit: Registry[int]) -> None:
    with pytest.raises(ValueError, match=r'a fruit named "plum" is registered already'):
        fruit.add("plum", 99)
    assert fruit["plum"] == 3


def test_discovering_again_registers_nothing_twice() -> None:
    before = list(TASKS)
    discover("tasks")
    assert list(TASKS) == before
    assert {"control/stack_cube", "primitive/pick_cube"} <= set(TASKS) and "panda" in ROBOTS


def test_discover_imports_a_new_file_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "robodx.perturbations.found_by_its_file"
    (tmp_path / "found_by_its_file.py").write_text("IS_IMPORTED = True\n")
    monkeypatch.setattr(robodx.perturbations, "__path__", [*robodx.perturbations.__path__, str(tmp_path)])
    try:
        discover("perturbations")
        assert sys.modules[name].__dict__["IS_IMPORTED"]
    finally:
        sys.modules.pop(name, None)
        vars(robodx.perturbations).pop("found_by_its_file", None)


def test_discover_loads_entry_points_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere_robodx.py").write_text("IS_IMPORTED = True\n")
    info = tmp_path / "elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[robodx]\nelsewhere = elsewhere_robodx\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert any(entry.name == "elsewhere" for entry in importlib.metadata.entry_points(group="robodx"))
    try:
        discover("robots")
        assert "elsewhere_robodx" in sys.modules
    finally:
        sys.modules.pop("elsewhere_robodx", None)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("capabilty", r'No suite "capabilty". Did you mean "capability"'),
        ("capability/lnaguage", r'capability/lnaguage: No task, family or tier "lnaguage". Did you mean "language"'),
        ("capability/esy", r'capability/esy: No task, family or tier "esy". Did you mean "easy"'),
        ("capability/x", r"Families: primitive, .*\. Tiers, also after a family and a slash: easy, medium, hard\."),
        ("capability/", "has an empty part"),
        ("mine/x", r'No task, family or tier "mine/x". Families: adaptability, bias, carrier, control'),
        ("meanx", r'No task, family or tier "meanx". Families: adaptability, bias, carrier, control'),
        ("isolation/contrl", r'Did you mean "control"'),
    ],
)
def test_a_wrong_selector_names_what_was_meant(selector: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_round(Request((selector,), "still", 1), to_table([]))


@pytest.mark.parametrize("selector", ["easy", "capability/easy"])
def test_a_tier_alone_selects_its_tasks_of_all_families(selector: str) -> None:
    planned = plan_round(Request((selector,), "still", 1), to_table([]))
    asked = {one.trial.task for one in planned}
    is_easy = {task.id for task in TASKS.entries() if task.tier == "easy"}
    within = is_easy if selector == "easy" else {name for name in is_easy if "capability" in TASKS[name].tags}
    assert asked == within and len({TASKS[name].family for name in asked}) > 5


@pytest.mark.parametrize("wrong", [{"chance": 1.5}, {"chance": 0.0}, {"tier": "esay"}, {"family": "a/b"}])
def test_a_wrong_declaration_of_a_task_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UserError):
        task(**{"family": "mine", "varies": (), "chance": 1.0, **wrong})  # type: ignore[arg-type]
