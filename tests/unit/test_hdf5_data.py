"""Demonstrations in HDF5: ours come back bit for bit, and files of robomimic and LIBERO are read as they are."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from robodx.datasets.formats.base import FORMATS, UnreadableData, locate, open_data, writable
from robodx.datasets.hdf5.writing import write
from robodx.datasets.schema import Demonstration
from robodx.datasets.writing import check_target, write_data
from robodx.errors import UserError
from tests.sample_data import FEATURES, assert_holds, demonstration, write_and_die

Change = Callable[[Any], None]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    path = tmp_path / "ours.hdf5"
    write(path, FEATURES, [demonstration(0), demonstration(1, steps=7)])
    return path


def robomimic(path: Path, change: Change = lambda file: None, *, demonstrations: int = 2) -> Path:
    """As robomimic's own scripts write it, with numbers in float64."""
    rng = np.random.default_rng(0)
    environment = {"env_name": "Lift", "type": 1, "env_kwargs": {"robots": ["Panda"], "control_freq": 20}}
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = 3 * demonstrations
        data.attrs["env_args"] = json.dumps(environment)
        for index in range(demonstrations):
            demo = data.create_group(f"demo_{index}")
            demo.attrs["num_samples"] = 3
            demo.attrs["model_file"] = "<mujoco/>"
            demo["actions"] = rng.normal(size=(3, 7))
            demo["states"] = rng.normal(size=(3, 32))
            demo["rewards"] = np.array([0.0, 0.0, 1.0])
            demo["dones"] = np.array([0, 0, 1])
            for obs in ("obs", "next_obs"):
                demo[f"{obs}/agentview_image"] = rng.integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
                demo[f"{obs}/agentview_depth"] = rng.random((3, 8, 8, 1))
                demo[f"{obs}/robot0_eef_pos"] = rng.normal(size=(3, 3))
        file["mask/train"] = np.array([b"demo_0"])
        file["mask/20_percent"] = np.array([b"demo_0"])
        file["mask/valid"] = np.array([b"demo_1"])
        change(file)
    return path


def libero(path: Path, says: str) -> Path:
    """As LIBERO's create_dataset.py writes it."""
    rng = np.random.default_rng(1)
    environment = {"type": 1, "env_name": "Libero_Tabletop", "env_kwargs": {"robots": ["Panda"], "control_freq": 20}}
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_name"] = "Libero_Tabletop"
        data.attrs["problem_info"] = json.dumps({"problem_name": "x", "domain_name": "y", "language_instruction": says})
        data.attrs["macros_image_convention"] = "opengl"
        data.attrs["bddl_file_name"] = "put.bddl"
        data.attrs["env_args"] = json.dumps(environment)
        demo = data.create_group("demo_0")
        demo.attrs["num_samples"] = 2
        demo.attrs["init_state"] = rng.normal(size=5)
        for name, width in {"gripper_states": 2, "joint_states": 7, "ee_states": 6}.items():
            demo[f"obs/{name}"] = rng.normal(size=(2, width))
        for name in ("agentview_rgb", "eye_in_hand_rgb"):
            demo[f"obs/{name}"] = rng.integers(0, 256, (2, 8, 8, 3), dtype=np.uint8)
        demo["actions"] = rng.normal(size=(2, 7))
        demo["robot_states"] = rng.normal(size=(2, 9))
        demo["rewards"] = np.array([0, 1], np.uint8)
        demo["dones"] = np.array([0, 1], np.uint8)
    return path


def test_ours_come_back_as_they_were(tmp_path: Path) -> None:
    wanted = [
        demonstration(0, split="train"),
        demonstration(1, steps=5, says=["take it"] * 3 + ["put it — dort"] * 2, split="half, train"),
        demonstration(2, is_success_known=False),
    ]
    wanted += [demonstration(3 + index) for index in range(9)]  # demo_10 comes after demo_9
    write(tmp_path / "new" / "data.hdf5", FEATURES, iter(wanted))
    data = open_data(str(tmp_path / "new" / "data.hdf5"))
    assert_holds(data, wanted)
    assert [data[index].is_solved for index in range(3)] == [True, True, None]
    assert "hdf5" in writable()


def test_h5py_alone_finds_what_robomimic_looks_for(ours: Path) -> None:
    wanted = demonstration(1, steps=7)
    with h5py.File(ours) as file:
        assert file["data"].attrs["total"] == 11
        assert json.loads(file["data"].attrs["env_args"])["env_kwargs"] == {"control_freq": 20.0}
        assert json.loads(file["data"].attrs["problem_info"])["language_instruction"] == "put the cup away"
        demo = file["data/demo_1"]
        assert demo.attrs["num_samples"] == 7
        assert demo.attrs["language_instruction"] == "put the cup away"
        np.testing.assert_array_equal(demo["actions"][:], wanted.action)
        assert demo["rewards"][:].tolist() == [0, 0, 0, 0, 0, 1, 1]
        assert demo["dones"][:].tolist() == [0, 0, 0, 0, 0, 0, 1]
        np.testing.assert_array_equal(demo["obs/joint_positions"][:], wanted.state["joint_positions"])
        np.testing.assert_array_equal(demo["obs/front_image"][3], wanted.images["front"].read([3])[0])
        assert demo["obs/front_image"].chunks == (1, 6, 8, 3)
        assert demo["obs/front_image"].compression == "gzip"


def test_the_same_demonstrations_give_the_same_bytes_at_another_time(ours: Path, tmp_path: Path) -> None:
    time.sleep(1.1)  # HDF5's clock counts seconds
    write(tmp_path / "again.hdf5", FEATURES, [demonstration(0), demonstration(1, steps=7)])
    assert (tmp_path / "again.hdf5").read_bytes() == ours.read_bytes()


def test_unknown_success_writes_no_rewards(tmp_path: Path) -> None:
    write(tmp_path / "data.hdf5", FEATURES, [demonstration(0, is_success_known=False)])
    with h5py.File(tmp_path / "data.hdf5") as file:
        assert {"rewards", "success"}.isdisjoint(file["data/demo_0"])


def test_splits_are_masks(tmp_path: Path) -> None:
    write(tmp_path / "data.hdf5", FEATURES, [demonstration(0, split="train"), demonstration(1, split="train, half")])
    with h5py.File(tmp_path / "data.hdf5") as file:
        assert {name: file["mask"][name][:].tolist() for name in file["mask"]} == {
            "train": [b"demo_0", b"demo_1"],
            "half": [b"demo_1"],
        }


def test_a_killed_write_leaves_no_data_set(tmp_path: Path) -> None:
    write_and_die("hdf5", tmp_path / "data.hdf5")
    assert not (tmp_path / "data.hdf5").exists() and [path.suffix for path in tmp_path.iterdir()] == [".part"]
    with pytest.raises(UnreadableData, match="no data set of a known format"):
        open_data(str(tmp_path))


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def some() -> Iterator[Demonstration]:
        yield demonstration(0)
        raise RuntimeError("the simulator")

    with pytest.raises(RuntimeError, match="the simulator"):
        write(tmp_path / "data.hdf5", FEATURES, some())
    with pytest.raises(UserError, match="no demonstrations"):
        write(tmp_path / "data.hdf5", FEATURES, [])
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_as_the_features_say_is_refused(tmp_path: Path) -> None:
    odd = demonstration(1)
    state = {"joint_positions": odd.state["joint_positions"]}
    odd = Demonstration(odd.instructions, odd.images, state, odd.action, odd.success)
    with pytest.raises(UserError, match=r"episode 1 has widths of state .*gripper_opening"):
        write(tmp_path / "data.hdf5", FEATURES, [demonstration(0), odd])
    with pytest.raises(UserError, match=r"metadata plan = .* no place"):
        write(tmp_path / "data.hdf5", FEATURES, [demonstration(0, plan=["a", "b"])])


def test_robomimic_files_are_read(tmp_path: Path) -> None:
    path = robomimic(tmp_path / "lift.hdf5")
    data = open_data(str(path))
    assert (data.features.hz, data.features.robot) == (20.0, "Panda")
    assert data.features.cameras == {"agentview": (8, 8)}
    assert data.features.state == {"robot0_eef_pos": ("robot0_eef_pos_0", "robot0_eef_pos_1", "robot0_eef_pos_2")}
    assert len(data.features.action) == 7
    assert data.features.about == {
        "env_name": "Lift",
        "success": "where the reward is 1",
        "ignored": ["obs/agentview_depth", "next_obs", "states"],
        "missing": ["instruction"],
    }
    assert len(data) == 2
    first = data[0]
    with h5py.File(path) as file:
        np.testing.assert_array_equal(first.action, file["data/demo_0/actions"][:].astype(np.float32))
        np.testing.assert_array_equal(first.images["agentview"].read([1]), file["data/demo_0/obs/agentview_image"][1:2])
    assert first.success is not None
    assert first.success.tolist() == [False, False, True]
    assert first.instructions == ("",) * 3
    assert first.metadata == {"split": "20_percent, train"}
    assert data[1].metadata == {"split": "valid"}


def reward(values: list[float]) -> Change:
    def change(file: Any) -> None:
        del file["data/demo_1/rewards"]
        file["data/demo_1/rewards"] = np.array(values)

    return change


def no_reward_anywhere(file: Any) -> None:
    for demo in file["data"].values():
        demo["rewards"][:] = 0


def no_rewards(file: Any) -> None:
    for demo in file["data"].values():
        del demo["rewards"]


def test_a_demonstration_without_reward_is_not_solved_where_others_are(tmp_path: Path) -> None:
    data = open_data(str(robomimic(tmp_path / "lift.hdf5", reward([0, 0, 0]))))
    assert [data[0].is_solved, data[1].is_solved] == [True, False]


@pytest.mark.parametrize("change", [reward([0.1, 0.2, 1.0]), no_reward_anywhere, no_rewards])
def test_success_is_unknown_where_rewards_do_not_tell_it(change: Change, tmp_path: Path) -> None:
    data = open_data(str(robomimic(tmp_path / "lift.hdf5", change)))
    assert data[0].success is None
    assert data[0].is_solved is None
    assert next(data[0].steps()).success is None
    assert "success" in data.features.about["missing"]


def test_a_file_without_observations_or_rate_says_so(tmp_path: Path) -> None:
    def change(file: Any) -> None:
        del file["data"].attrs["env_args"]
        for demo in file["data"].values():
            del demo["obs"]
            demo.attrs["ep_meta"] = json.dumps({"lang": "open the drawer"})

    data = open_data(str(robomimic(tmp_path / "states.hdf5", change)))
    assert (data.features.hz, data.features.robot, data.features.cameras) == (None, "unknown", {})
    assert data.features.about["missing"] == ["hz"]
    assert data[0].instruction == "open the drawer"
    with pytest.raises(UserError, match="does not say how many steps a second"):
        _ = data.features.known_hz


def test_libero_files_are_read_and_their_oddities_told(tmp_path: Path) -> None:
    path = libero(tmp_path / "put_demo.hdf5", "put the bowl on the plate")
    data = open_data(str(path))
    assert set(data.features.cameras) == {"agentview", "eye_in_hand"}
    assert {name: len(names) for name, names in data.features.state.items()} == {
        "ee_states": 6,
        "gripper_states": 2,
        "joint_states": 7,
    }
    assert "upside down" in data.features.about["pictures"]
    assert "after its action" in data.features.about["observations"]
    assert data.features.about["missing"] == []
    assert data.features.about["ignored"] == ["robot_states"]
    assert data[0].instructions == ("put the bowl on the plate",) * 2
    assert data[0].is_solved is True
    with h5py.File(path) as file:  # not turned over
        np.testing.assert_array_equal(data[0].images["agentview"].all(), file["data/demo_0/obs/agentview_rgb"][:])


def test_a_folder_of_files_is_one_data_set(tmp_path: Path) -> None:
    libero(tmp_path / "a_demo.hdf5", "put it here")
    libero(tmp_path / "b_demo.hdf5", "put it there")
    data = open_data(str(tmp_path))
    assert [data[index].instruction for index in range(len(data))] == ["put it here", "put it there"]
    assert data[-1].instruction == "put it there"
    with pytest.raises(IndexError):
        data[2]


def no_actions(file: Any) -> None:
    del file["data/demo_1/actions"]


def fewer_states(file: Any) -> None:
    del file["data/demo_1/obs/robot0_eef_pos"]
    file["data/demo_1/obs/robot0_eef_pos"] = np.zeros((2, 3))


def wider_states(file: Any) -> None:
    del file["data/demo_1/obs/robot0_eef_pos"]
    file["data/demo_1/obs/robot0_eef_pos"] = np.zeros((3, 4))


def larger_pictures(file: Any) -> None:
    del file["data/demo_1/obs/agentview_image"]
    file["data/demo_1/obs/agentview_image"] = np.zeros((3, 9, 9, 3), np.uint8)


def no_steps(file: Any) -> None:
    for name in ("actions", "rewards", "obs/agentview_image", "obs/robot0_eef_pos"):
        shape = (0, *file[f"data/demo_1/{name}"].shape[1:])
        dtype = file[f"data/demo_1/{name}"].dtype
        del file[f"data/demo_1/{name}"]
        file[f"data/demo_1/{name}"] = np.zeros(shape, dtype)


@pytest.mark.parametrize("change", [no_actions, fewer_states, wider_states, larger_pictures, no_steps])
def test_an_odd_demonstration_is_refused_by_the_name_of_its_file(change: Change, tmp_path: Path) -> None:
    data = open_data(str(robomimic(tmp_path / "lift.hdf5", change)))
    assert len(data[0]) == 3
    with pytest.raises(UnreadableData, match=r"lift\.hdf5"):
        data[1]


def broken_arguments(file: Any) -> None:
    file["data"].attrs["env_args"] = "{"


def no_group(file: Any) -> None:
    del file["data"]


def no_demonstrations(file: Any) -> None:
    del file["data/demo_0"], file["data/demo_1"]


def an_array_for_a_group(file: Any) -> None:
    del file["data"]
    file["data"] = np.zeros(3)


@pytest.mark.parametrize("change", [broken_arguments, no_group, no_demonstrations, an_array_for_a_group])
def test_a_file_of_another_layout_is_refused_by_its_name(change: Change, tmp_path: Path) -> None:
    with pytest.raises(UnreadableData, match=r"lift\.hdf5"):
        open_data(str(robomimic(tmp_path / "lift.hdf5", change)))


def test_a_cut_or_overwritten_file_is_refused_by_its_name(ours: Path) -> None:
    whole = ours.read_bytes()
    for content in (whole[:-100], whole[:50], b"", b"no HDF5" * 100):
        ours.write_bytes(content)
        with pytest.raises(UnreadableData, match=r"ours\.hdf5"):
            open_data(str(ours))


def test_a_damaged_picture_is_refused_by_the_name_of_its_file(ours: Path) -> None:
    with h5py.File(ours) as file:
        place = file["data/demo_0/obs/front_image"].id.get_chunk_info(2)
    content = bytearray(ours.read_bytes())
    content[place.byte_offset : place.byte_offset + place.size] = bytes(place.size)
    ours.write_bytes(content)
    pictures = open_data(str(ours))[0].images["front"]
    assert pictures.read([0, 1]).shape == (2, 6, 8, 3)  # one picture is read without the others
    with pytest.raises(UnreadableData, match=r"ours\.hdf5"):
        pictures.read([2])


def test_without_h5py_it_says_what_to_install(ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UserError, match=r"h5py.*pip install 'robodx\[data\]'"):
        FORMATS["hdf5"].read(ours)
    with pytest.raises(UserError, match=r"pip install 'robodx\[data\]'"):
        write(tmp_path / "new.hdf5", FEATURES, [demonstration(0)])


def test_a_file_is_found_beside_json_of_the_same_name(tmp_path: Path) -> None:
    """Only ManiSkill's files, which end in .h5, belong to such JSON."""
    for name in ("demo.hdf5", "demo.h5", "demo.json"):
        (tmp_path / name).touch()
    found = {
        name: [one.name for one in FORMATS.entries() if one.is_at(tmp_path / name)] for name in ("demo.hdf5", "demo.h5")
    }
    assert found == {"demo.hdf5": ["hdf5"], "demo.h5": ["maniskill"]}


@pytest.mark.parametrize("name", ["a.hdf5", "a.h5", "a.HDF5", "a.H5"])
def test_a_file_is_written_and_found_by_any_of_its_endings(name: str, tmp_path: Path) -> None:
    write_data(tmp_path / name, "hdf5", FEATURES, [demonstration(0)])
    assert locate(str(tmp_path / name)).format.name == "hdf5" and len(open_data(str(tmp_path / name))) == 1
    # And in a folder of files.
    assert len(open_data(str(tmp_path))) == 1


def test_endings_of_maniskill_are_compared_without_case(tmp_path: Path) -> None:
    (tmp_path / "a.H5").touch()
    (tmp_path / "a.json").touch()
    assert locate(str(tmp_path / "a.H5")).format.name == "maniskill"


def test_a_name_that_would_be_read_as_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("{}")
    with pytest.raises(UserError, match=r"data\.h5 would be read as a data set of ManiSkill, because .*data\.json"):
        check_target(tmp_path / "data.h5", "hdf5")
    check_target(tmp_path / "data.hdf5", "hdf5")
    with pytest.raises(UserError, match="is there already"):
        check_target(Path(), "lerobot")
