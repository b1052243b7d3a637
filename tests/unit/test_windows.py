"""Samples for training: chunks and histories stop at the ends of an episode, and say where they are padded."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from robodx.datasets.formats.base import UnreadableData
from robodx.datasets.mixtures import Mixture
from robodx.datasets.schema import DataSet, Demonstration, Images, InMemory, Pictures
from robodx.datasets.windows import KEPT_EPISODES, Window, Windows
from robodx.errors import UserError
from robodx.registry import UnknownName
from tests.demonstrations import FEATURES, TINY, demonstration, format_registered, in_memory, stored


def test_a_chunk_begins_at_the_step_and_repeats_the_last_action_of_its_episode() -> None:
    windows = Windows(in_memory(5, 3), Window(chunk=4))
    assert len(windows) == 8
    sample = windows[3]
    assert sample["action"].tolist() == [[0, 3], [0, 4], [0, 4], [0, 4]]
    assert sample["action_is_pad"].tolist() == [False, False, True, True]
    whole = windows[1]
    assert whole["action"].tolist() == [[0, 1], [0, 2], [0, 3], [0, 4]] and not whole["action_is_pad"].any()


def test_a_history_ends_at_the_step_and_repeats_the_first_observation() -> None:
    sample = Windows(in_memory(5, 3), Window(history=3))[6]
    assert sample["observation.state"][:, 0].tolist() == [0, 0, 1]
    assert sample["observation.images.front"][:, 0, 0, 0].tolist() == [10, 10, 11]
    assert sample["observation_is_pad"].tolist() == [True, False, False]
    assert sample["action"].tolist() == [1, 1]


def test_without_chunk_and_history_there_is_no_axis_of_time() -> None:
    sample = Windows(in_memory(5))[4]
    assert sample["action"].shape == (2,) and sample["observation.state"].tolist() == [4, 0, -4]
    assert sample["observation.images.front"].shape == (8, 12, 3)
    assert "action_is_pad" not in sample and "observation_is_pad" not in sample


def test_a_sample_says_where_it_is_from_and_what_was_said_at_its_step() -> None:
    windows = Windows(in_memory(5, 3))
    sample = windows[4]
    assert (sample["episode_index"], sample["frame_index"], sample["dataset_index"]) == (0, 4, 0)
    assert sample["timestamp"] == pytest.approx(0.4) and sample["task"] == "put it down" and sample["next.success"]
    assert windows[5]["task"] == "lift the cube" and not windows[5]["next.success"]


@pytest.mark.parametrize("window", [Window(), Window(chunk=3), Window(history=2, cameras=["wrist"], state=[]),
                                    Window(chunk=1, history=1, state=["gripper"])])  # fmt: skip
def test_every_sample_has_the_declared_shapes_and_types(window: Window) -> None:
    windows = Windows(in_memory(3, 1), window)
    for index in range(len(windows)):
        sample = windows[index]
        assert set(sample) == set(windows.kinds)
        for name, kind in windows.kinds.items():
            if kind.dtype == "str":
                assert isinstance(sample[name], str)
            else:
                assert (sample[name].shape, str(sample[name].dtype)) == kind, name


def test_cameras_and_state_are_those_that_are_named_in_that_order() -> None:
    windows = Windows(in_memory(4), Window(cameras=["wrist"], state=["gripper", "joints"]))
    assert windows[2]["observation.state"].tolist() == [-2, 2, 0]
    assert windows.state_names == ["gripper.opening", "joints.j1", "joints.j2"]
    assert [name for name in windows[2] if "images" in name] == ["observation.images.wrist"]
    with pytest.raises(UnknownName, match=r'No camera in the data "wirst". Did you mean "wrist"'):
        Windows(in_memory(4), Window(cameras=["wirst"]))
    with pytest.raises(UnknownName, match=r'No vector of the state in the data "joint". Did you mean "joints"'):
        Windows(in_memory(4), Window(state=["joint"]))


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="chunk is 0: it must be 1 or more"):
        Window(chunk=0)
    with pytest.raises(UserError, match="history is -1: it must be 1 or more"):
        Window(history=-1)


def test_only_pictures_of_the_window_are_read_and_each_once() -> None:
    asked: list[Sequence[int]] = []
    features = replace(FEATURES, cameras={"front": (8, 12)})

    def read(steps: Sequence[int]) -> Images:
        asked.append(list(steps))
        return np.zeros((len(steps), 8, 12, 3), np.uint8)

    episode = replace(demonstration(6, features=features), images={"front": Pictures(6, read)})
    Windows(InMemory(features, [episode]), Window(chunk=6, history=4))[1]
    assert asked == [[0, 1]]


def test_a_mixture_comes_in_its_drawn_order_and_another_in_another_epoch() -> None:
    mixture = Mixture([(in_memory(4), 1), (in_memory(3, 3), 1)])
    windows = Windows(mixture)
    places = [tuple(int(sample[f"{name}_index"]) for name in ("dataset", "episode", "frame"))
              for sample in (windows[index] for index in range(len(windows)))]  # fmt: skip
    assert places == [mixture[index] for index in range(len(mixture))]
    windows.set_epoch(1)
    assert places != [windows.order[index] for index in range(len(windows))]


def test_a_path_is_one_data_set_in_order_and_a_spelled_mixture_is_drawn(tmp_path: Path) -> None:
    with format_registered():
        first, second = stored(tmp_path / "a.tiny", 3), stored(tmp_path / "b,c.tiny", 2)
        assert [Windows(str(first)).order[index].step for index in range(3)] == [0, 1, 2]
        assert len(Windows(f"{first}*2")) == 6
        assert len(Windows(second)) == 2, "a Path may have a comma"


def test_windows_of_a_path_travel_without_data_and_open_it_where_they_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def read(path: Path) -> DataSet:
        opened.append(path)
        return TINY.read(path)

    with format_registered(replace(TINY, read=read)):
        windows = Windows(str(stored(tmp_path / "a.tiny", 40)), Window(chunk=2))
        before = windows[3]
        sent = pickle.dumps(windows)
        assert len(sent) < 2000
        opened.clear()
        arrived = pickle.loads(sent)
        assert opened == [] and len(arrived) == 40
        assert arrived[3]["action"].tolist() == before["action"].tolist() and len(opened) == 1
        arrived[4]
        assert len(opened) == 1, "it stays open"
        monkeypatch.setattr("robodx.datasets.windows.os.getpid", lambda: -5)
        with pytest.raises(UserError, match='multiprocessing_context="spawn"'):
            arrived[4]


def test_a_few_episodes_are_kept_and_no_more() -> None:
    class Counting(InMemory):
        read: ClassVar[list[int]] = []

        def __getitem__(self, index: int) -> Demonstration:
            self.read.append(index)
            return super().__getitem__(index)

    data = Counting(FEATURES, in_memory(*[2] * (KEPT_EPISODES + 1)).demonstrations)
    windows = Windows(data)
    data.read.clear()
    windows[0], windows[1]
    assert data.read == [0]
    for episode in range(KEPT_EPISODES + 1):
        windows[2 * episode]
    windows[2 * KEPT_EPISODES]
    assert data.read == list(range(KEPT_EPISODES + 1))
    windows[0]
    assert data.read[-1] == 0 and len(data.read) == KEPT_EPISODES + 2


def test_what_a_data_set_does_not_say_is_in_no_sample() -> None:
    features = replace(FEATURES, hz=None)
    told = demonstration(3, features=features)
    untold = InMemory(features, [replace(told, success=None)])
    assert not {"next.success", "timestamp"} & (Windows(untold)[0].keys() | Windows(untold).kinds.keys())
    said_elsewhere = replace(features, about={"missing": ["success"]})
    assert "next.success" not in Windows(InMemory(said_elsewhere, [told]))[0]
    with pytest.raises(UnreadableData, match="episode 1 does not say whether it was solved"):
        Windows(InMemory(features, [told, replace(told, success=None)]))[4]
