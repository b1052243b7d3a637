"""A few trials of scripts/same_bits.py: no episode moves by a bit, and what would move is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import same_bits
from same_bits import Bits, Manifest, Section, compare, differences, hindrance, vanished

# By what a section of the manifest is called, selectors of some of its trials, and how many these are. None needs a
# picture.
SAMPLE = {
    "expert: expert carrier, seed 0": (("tasks/carrier/put_in",), 1),
    "expert: expert dynamic, seed 0": (("tasks/dynamic/colour_swap_pick",), 1),
    "faults: colour_blind, seed 0": (("tasks/language/conditional",), 1),
    "faults: weak_grip, seed 0": (("tasks/control/stack_cube",), 1),
    "stressors: expert packet_loss=v2, seed 0": (("tasks/carrier/put_in",), 1),
    "stressors: expert other_words=on, seed 0": (("tasks/control/stack_cube",), 1),
    "interventions: mirror, seed 0": ((), 2),
    "realtime: expert realtime:0.1, seed 0": (("tasks/dynamic/pick_sliding_cube",), 1),
    "open_loop: open_loop control, seed 0": (("tasks/control/stack_cube",), 1),
    "others: guess, seed 0": (("tasks/carrier/pick_up",), 1),
    "suites: expert isolation/control, seed 0": (("isolation/control/touch_sphere",), 2),
    "served: the expert's commands in joint, seed 0": (("tasks/primitive/pick_cube",), 1),
}
ONE = Bits("0f", "a1", "b2", "success 1.000")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    manifest, here = same_bits.read(), same_bits.facts()
    if reason := hindrance(Section((), {}), manifest.facts, here):
        pytest.skip(f"the manifest was made where bits are others: {reason}")
    return manifest


@pytest.mark.parametrize("name", SAMPLE)
def test_no_episode_moves_by_a_bit(name: str, manifest: Manifest, tmp_path: Path) -> None:
    (unit,) = (unit for unit in same_bits.units(seeds=1) if unit.name == name)
    selectors, count = SAMPLE[name]
    found = same_bits.section(replace(unit, case=replace(unit.case, selectors=selectors)), tmp_path).bits
    expected = {what: bits for what, bits in manifest.sections[name].bits.items() if what in found}
    assert len(found) == count
    assert differences(expected, found) == {}


def test_what_differs_is_told() -> None:
    before = {"a 0": ONE, "b 0": ONE, "c 0": ONE, "d 0": ONE}
    after = {"b 0": ONE._replace(motion="a2"), "c 0": ONE._replace(id="1f", outcome="failure 0.500"), "d 0": ONE}
    assert differences(before, after | {"e 0": ONE}) == {
        "a 0": "missing",
        "b 0": "motion",
        "c 0": "id, outcome success 1.000 → failure 0.500",
        "e 0": "new",
    }


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    sections = {
        "p: a, seed 0": Section((), {"a 0": ONE}),
        "p: b: c, seed 1": Section(("pictures",), {"x y=[1] 0": ONE}),
    }
    written = Manifest({"mujoco": "4.0.0", "source": "a b"}, sections)
    same_bits.write(written, tmp_path / "bits.txt")
    assert same_bits.read(tmp_path / "bits.txt") == written


def test_pictures_need_the_same_renderer() -> None:
    then = {name: "1" for name in (*same_bits.EVERY, "gl_renderer")}
    seen, unseen = Section(("pictures",), {}), Section((), {})
    assert hindrance(seen, then, then) is None
    assert hindrance(seen, then, then | {"gl_renderer": "2"}) == "gl_renderer was 1 and is 2"
    assert hindrance(unseen, then, then | {"gl_renderer": "2"}) is None
    assert hindrance(unseen, then, then | {"numpy": "2"}) == "numpy was 1 and is 2"


def test_what_nothing_is_run_for_any_more_is_told() -> None:
    there = "expert: expert carrier, seed 0"
    gone = ("expert: expert gone, seed 0", "expert: expert gone, seed 1", "act: gone, seed 0")
    manifest = Manifest({}, {name: Section((), {"a 0": ONE}) for name in (there, *gone)})
    assert vanished(manifest, ["expert"], 1) == ["expert: expert gone, seed 0"]
    assert compare([], manifest, {}, ["expert: expert gone, seed 0"])
