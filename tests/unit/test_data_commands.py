"""`robodx data`: what is in a data set, a film of it, and its conversion, which leaves nothing half done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from robodx.datasets.formats.base import DataFormat, UnreadableData, locate, open_data
from robodx.datasets.schema import DataSet, InMemory
from robodx.datasets.survey import MOST_READ, survey
from robodx.datasets.writing import write_data
from robodx.errors import UserError
from robodx.video.demonstrations import LINE, film_demonstration, frames
from robodx.video.lettering import written
from tests.commands import call
from tests.demonstrations import FEATURES, TINY, demonstration, documented, format_registered, in_memory, stored


@pytest.fixture(autouse=True)
def tiny() -> Iterator[None]:
    with format_registered():
        yield


def read_only(name: str = "frozen") -> DataFormat:
    return replace(TINY, name=name, write=None, is_at=lambda path: False)


def shown(place: Path, *words: str) -> Any:
    return json.loads(call("data", "show", place, *words, "--json", cwd=place.parent))


def test_show_tells_what_is_in_a_data_set(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.tiny", 5, 2)
    found = shown(path)
    assert (found["format"], found["robot"], found["episodes"], found["frames"]) == ("tiny", "panda", 2, 7)
    assert found["hours"] == pytest.approx(7 / 10 / 3600) and found["cameras"] == {"front": [8, 12], "wrist": [8, 8]}
    assert found["instructions"] == {"lift the cube": 2, "put it down": 1}
    assert found["tasks"] == {"test/even": 1, "test/odd": 1} and found["success"] == 1.0
    steps, numbers, openings = found["state"]
    assert steps == {"vector": "joints", "name": "j1", "least": 0, "mean": pytest.approx(11 / 7), "most": 4}
    assert (numbers["most"], openings["name"], openings["least"]) == (1, "opening", -4)
    said = call("data", "show", path, cwd=tmp_path)
    for text in ("a.tiny: tiny, robot panda", "2 episodes, 7 frames, 10 Hz", "front 8×12, wrist 8×8", "put it down",
                 "solved: 100.0% of 2 episodes", "test/odd", "state gripper"):  # fmt: skip
        assert text in said, text


def test_show_says_what_is_not_recorded(tmp_path: Path) -> None:
    episode = demonstration(3)
    features = replace(FEATURES, hz=None, cameras={})
    bare = replace(episode, images={}, success=None, instructions=("",) * 3, metadata={"seed": 5})
    write_data(tmp_path / "a.tiny", "tiny", features, [bare])
    said = call("data", "show", "a.tiny", "--episode", "0", cwd=tmp_path)
    for text in ("steps per second not recorded", "solved: not recorded", "No instructions.", "No tasks.", "seed: 5",
                 "whether it was solved is not recorded", "cameras (height×width): none"):  # fmt: skip
        assert text in said, text
    found = shown(tmp_path / "a.tiny")
    assert (found["hz"], found["hours"], found["success"]) == (None, None, None)
    unsaid = InMemory(replace(FEATURES, about={"missing": ["success"]}), [episode])
    assert survey(locate(str(tmp_path / "a.tiny")), unsaid).success is None


def test_show_tells_numbers_that_are_not_finite_apart(tmp_path: Path) -> None:
    action = np.array([[np.nan, 1], [np.nan, np.inf], [np.nan, 3]], dtype=np.float32)
    write_data(tmp_path / "a.tiny", "tiny", FEATURES, [replace(demonstration(3), action=action)])
    first, second = shown(tmp_path / "a.tiny")["action"]
    assert first == {"vector": "action", "name": "dx", "least": None, "mean": None, "most": None}
    assert (second["least"], second["mean"], second["most"]) == (1, 2, 3)


def test_names_and_texts_of_a_foreign_data_set_do_not_steer_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b[2J\u202e"
    features = replace(FEATURES, robot=hostile, about={hostile: hostile}, action=(hostile, "dy"))
    episode = replace(demonstration(2), instructions=(hostile,) * 2, metadata={"task": hostile, hostile: hostile})
    write_data(tmp_path / "a.tiny", "tiny", features, [episode])
    (tmp_path / "a.tiny.md").write_text(hostile)
    said = call("data", "show", "a.tiny", "--episode", "0", cwd=tmp_path)
    assert not set(hostile) & set(said) - set("[2J") and said.count("\\u001b") >= 7


def test_names_and_texts_of_a_foreign_data_set_stay_on_one_line(tmp_path: Path) -> None:
    hostile = "a\nsolved: 100.0% of 9 episodes"
    features = replace(FEATURES, robot=hostile, about={hostile: hostile}, action=(hostile, "dy"))
    features = replace(features, cameras={hostile: (8, 12), "wrist": (8, 8)})
    episode = demonstration(2)
    images = {hostile: episode.images["front"], "wrist": episode.images["wrist"]}
    episode = replace(episode, images=images, instructions=(hostile,) * 2, metadata={"task": hostile, hostile: hostile})
    write_data(tmp_path / "a.tiny", "tiny", features, [episode])
    shown = call("data", "show", "a.tiny", "--episode", "0", cwd=tmp_path).splitlines()
    assert not [line for line in shown if line.startswith("solved")]
    assert sum("\\u000asolved" in line for line in shown) >= 7
    written = ["  solved: 100.0% of 1 episode", "", "1 instruction:", "1 task:", "Episode 0: 2 steps, 0.2 s, solved"]
    assert [line for line in written if line not in shown] == []


def test_of_many_episodes_some_are_read_from_the_first_to_the_last(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.tiny", 1)
    data = in_memory(*[1] * (MOST_READ + 50))
    done: list[tuple[int, int]] = []
    found = survey(locate(str(path)), data, lambda *counts: done.append(counts))
    assert (found.episodes, found.frames, found.episodes_read) == (MOST_READ + 50, MOST_READ + 50, MOST_READ)
    assert (found.action[0].least, found.action[0].most) == (0, MOST_READ + 49) and done[-1] == (MOST_READ, MOST_READ)


def test_show_begins_with_the_card_without_its_header(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.tiny", 2)
    (tmp_path / "a.tiny.md").write_text("---\nlicense: mit\n---\n# Cubes\n\nLifted by an expert.\n")
    assert shown(path)["card"] == ["# Cubes", "Lifted by an expert."]
    assert "Lifted by an expert." in call("data", "show", path, cwd=tmp_path)


def test_show_tells_of_one_episode_and_of_where_its_instruction_changes(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.tiny", 5, 2)
    assert shown(path, "--episode", "0")["episode"] == {
        "episode": 0, "steps": 5, "instructions": {"0": "lift the cube", "3": "put it down"}, "is_solved": True,
        "metadata": {"task": "test/even"},
    }  # fmt: skip
    assert 'from step 3: "put it down"' in call("data", "show", path, "--episode", "0", cwd=tmp_path)
    said = call("data", "show", path, "--episode", "2", cwd=tmp_path, expect=2)
    assert "has no episode 2: it has 2, and the first is 0" in said


def test_a_film_shows_the_cameras_side_by_side_above_the_instruction(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.tiny", 5, 3)
    assert shown(path, "--episode", "1", "-o", "film.mp4")["film"] == "film.mp4"
    with av.open(str(tmp_path / "film.mp4")) as file:
        images = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
        assert file.streams.video[0].average_rate == 10
    # 8 pixels high becomes 256: 32 times as large.
    assert len(images) == 3 and images[0].shape[1] == 12 * 32 + LINE + 8 * 32
    for step, image in enumerate(images):
        assert abs(int(image[100, 100, 0]) - (10 + step)) <= 3, "the picture of the step"
    assert images[0][256:].max() > 200 and images[0][100].max() < 50, "white letters below, none above"


def test_a_film_is_as_high_as_its_longest_instruction_and_shows_the_one_of_the_step() -> None:
    episode = replace(demonstration(5), instructions=("go",) * 4 + ("lift it and " * 20,))
    images = list(frames(episode))
    assert len({image.shape for image in images}) == 1 and all(side % 2 == 0 for side in images[0].shape[:2])
    assert images[4][256:].sum() > 10 * images[0][256:].sum() > 0


def test_words_are_dots_and_what_has_no_letter_is_a_box() -> None:
    assert _art("T").splitlines()[2] == ".#####.."
    assert len({_art(chr(code)) for code in range(ord(" "), ord("~") + 1)}) == 95, "no two look the same"
    assert _art("é") == _art("–") and "#" not in _art(" ")


def _art(letter: str) -> str:
    dots = written([letter], 8, 1)[..., 0]
    return "\n".join("".join("#" if dot else "." for dot in row) for row in dots)


def test_what_cannot_be_filmed_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.tiny", 2)
    assert "film.gif is no .mp4" in call("data", "show", path, "-o", "film.gif", cwd=tmp_path, expect=2)
    with pytest.raises(UserError, match="no cameras"):
        film_demonstration(tmp_path / "x.mp4", replace(demonstration(2), images={}), 10)
    assert [one.name for one in tmp_path.iterdir()] == ["a.tiny"]


def test_formats_are_listed_with_what_they_can(tmp_path: Path) -> None:
    with format_registered(read_only()):
        rows = {row["format"]: row for row in json.loads(call("list", "formats", "--json", cwd=tmp_path))}
    assert rows["tiny"] == {"format": "tiny", "reads": "yes", "writes": "yes", "summary": TINY.summary}
    assert rows["frozen"]["writes"] == "no"


def test_a_path_that_is_no_data_set_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert "there is no data set b.tiny" in call("data", "show", "b.tiny", cwd=tmp_path, expect=2)
    assert "a.txt is no data set of a known format" in call("data", "show", "a.txt", cwd=tmp_path, expect=2)
    assert 'No data set format "tinny". Did you mean "tiny"' in call("data", "show", "tinny:x", cwd=tmp_path, expect=2)


def test_convert_writes_the_same_episodes(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.tiny", 3, 2)
    other = replace(TINY, name="other", suffix=".other", is_at=lambda path: path.suffix == ".other")
    with format_registered(other):
        said = call("data", "convert", path, "b.other", "--format", "other", cwd=tmp_path)
        assert "Wrote b.other: 2 episodes" in said
        was, now = open_data(str(path)), open_data(str(tmp_path / "b.other"))
        assert now.features == was.features and len(now) == 2
        for one, two in zip(episodes_of(was), episodes_of(now), strict=True):
            assert one.instructions == two.instructions and one.metadata == two.metadata
            assert np.array_equal(one.action, two.action)
            assert np.array_equal(one.images["wrist"].all(), two.images["wrist"].all())


def episodes_of(data: DataSet) -> list[Any]:
    return [data[index] for index in range(len(data))]


def test_convert_overwrites_nothing_and_refuses_before_reading(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.tiny", 2)
    there = tmp_path / "b.tiny"
    there.write_text("mine")
    with format_registered(read_only()):
        for target, form, wrong in (
            ("b.tiny", "tiny", "b.tiny is there already"),
            ("c.tiny", "frozen", "data sets of format frozen are only read; written are: "),
            ("c.tiny", "tinny", 'No data set format "tinny"'),
            ("x/c.tiny", "tiny", "there is no folder x to write c.tiny to"),
        ):
            assert wrong in call("data", "convert", path, target, "--format", form, cwd=tmp_path, expect=2)
    assert there.read_text() == "mine" and {one.name for one in tmp_path.iterdir()} == {"a.tiny", "b.tiny"}


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_conversion_that_fails_leaves_nothing_behind(tmp_path: Path, is_folder: bool) -> None:
    def write(path: Path, features: Any, demonstrations: Any) -> None:
        (path / "data").mkdir(parents=True) if is_folder else path.write_text("half")
        list(demonstrations)

    def read(path: Path) -> DataSet:
        raise UnreadableData(f"{path} is damaged")

    def broken() -> Iterator[Any]:
        yield demonstration(2)
        read(Path("a"))

    with format_registered(replace(TINY, name="other", write=write)):
        with pytest.raises(UnreadableData, match="damaged"):
            write_data(tmp_path / "b.tiny", "other", FEATURES, broken())
        assert list(tmp_path.iterdir()) == []
        write_data(tmp_path / "b.tiny", "other", FEATURES, [])
        assert [one.name for one in tmp_path.iterdir()] == ["b.tiny"]


@pytest.mark.parametrize("heading", ["Reading", "Mixtures"])
def test_the_examples_of_the_docs_run(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path / "cubes.tiny", 7, 5)
    stored(tmp_path / "bins.tiny", 6)
    monkeypatch.chdir(tmp_path)
    exec(documented(heading), {})
    assert {"Reading": "(7, 2)", "Mixtures": "30 (0.8, 0.2)"}[heading] in capsys.readouterr().out
