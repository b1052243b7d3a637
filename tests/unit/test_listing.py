"""`robodx list KIND WORD…`: only what each word is true of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robodx.catalogue import KINDS, rows
from robodx.errors import UserError
from robodx.tasks.base import TASKS
from robodx.terminal.listing import listing
from tests.commands import call


def names(kind: str, *words: str) -> list[str]:
    return [next(iter(row.values())) for row in rows(kind, words)]


def test_tasks_are_listed_by_family_tier_suite_selector_or_word() -> None:
    entries = TASKS.entries()
    assert names("tasks", "control") == [task.id for task in entries if task.family == "control"]
    assert names("tasks", "hard") == [task.id for task in entries if task.tier == "hard"]
    assert names("tasks", "capability") == [task.id for task in entries if "capability" in task.tags]
    assert (
        names("tasks", "control/hard") == names("tasks", "control", "hard") == names("tasks", "capability/control/hard")
    )
    assert names("tasks", "control/stack_cube") == ["control/stack_cube"]
    # A word of a name or of what is said of it; a family is not looked for in the words of others.
    peg = names("tasks", "peg")
    assert {"control/insert_peg", "primitive/stand_peg"} <= set(peg) and len(peg) < len(entries) / 2
    assert names("tasks", "PEG", "control") == [name for name in peg if name.startswith("control/")]


def test_other_kinds_are_listed_by_a_word_of_their_names_or_descriptions() -> None:
    assert names("perturbations", "camera_") == ["camera_blank", "camera_disconnect"]
    assert "frozen_state" in names("perturbations", "state")
    for kind in KINDS:
        first = names(kind)[0]
        assert first in names(kind, first), kind


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("tasks", "contrl"), 'No task "contrl". Did you mean "control"'),
        (("tasks", "control/hrd"), 'No task "control/hrd". Did you mean'),
        (("tasks", "xyzzy"), 'No task "xyzzy". There are: adaptability, bias, carrier, control'),
        (("tasks", "meanx"), 'No task "meanx". There are: adaptability, bias, carrier, control'),
        (("tasks", "control", "spatial"), "no task is all of: control, spatial"),
        (("policies", "exprt"), 'No policy "exprt". Did you mean "expert"'),
    ],
)
def test_what_matches_nothing_is_told_with_what_is_near(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        rows(words[0], words[1:])
    assert told in str(refused.value)
    assert told in call("list", *words, "--json", cwd=tmp_path, expect=2)


def test_the_command_lists_what_was_asked_for_as_text_and_as_json(tmp_path: Path) -> None:
    listed = json.loads(call("list", "tasks", "control", "easy", "--json", cwd=tmp_path))
    assert [row["task"] for row in listed] == names("tasks", "control/easy")
    shown = call("list", "tasks", "control", "easy", cwd=tmp_path)
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("control/")] == names(
        "tasks", "control/easy"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_listings_are_no_wider_than_the_terminal(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = rows(kind)
    texts = [value for row in listed for value in row.values() if isinstance(value, str)]
    assert all(text.isprintable() for text in texts)
    for columns in (40, 60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = call("list", kind, cwd=tmp_path)
        assert max(map(len, shown.splitlines())) <= columns
        if columns < 80:
            continue
        assert "\\u" not in shown
        for row in listed:
            assert f"\n{next(iter(row.values()))} " in shown
    # Without a terminal.
    monkeypatch.delenv("COLUMNS")
    assert max(map(len, call("list", kind, cwd=tmp_path).splitlines())) <= 120


def test_short_rows_stay_rows() -> None:
    assert listing([{"camera": "wrist", "on": "panda"}], cut=True).lines == ["camera  on", "wrist   panda"]
    assert listing([{"a": "x"}], cut=True).lines == ["a", "x"]


def test_of_what_is_asked_for_nothing_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    (row,) = rows("interventions", ["target position"])
    shown = call("list", "interventions", "target position", cwd=tmp_path)
    assert "…" not in shown and set(row["values"].replace(",", "").split()) <= set(shown.replace(",", "").split())
    whole = call("list", "interventions", cwd=tmp_path)
    assert "Cells that end in … are cut; whole: robodx list interventions WORD, or --json." in whole
