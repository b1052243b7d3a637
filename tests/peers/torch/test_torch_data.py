"""PyTorch's own DataLoader reads data sets and mixtures, with and without workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, random_split

from robodx.datasets.formats.base import FORMATS
from robodx.datasets.torch_data import TorchData
from robodx.datasets.windows import Window
from robodx.errors import UserError
from tests.demonstrations import TINY, documented, in_memory, stored

# When it is imported, so that spawned workers know the format, too: they import what the transform is from.
if TINY.name not in FORMATS:
    FORMATS.add(TINY.name, TINY)


def halved(pictures: torch.Tensor) -> torch.Tensor:
    assert pictures.dtype == torch.uint8
    return pictures[..., ::2, ::2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stored(tmp_path / "a.tiny", 5, 3, 4)


def test_a_sample_is_tensors_channels_first_and_pictures_are_floats(path: Path) -> None:
    data = TorchData(str(path), Window(chunk=4, history=2))
    sample = data[torch.tensor(6)]
    assert sample["observation.images.front"].shape == (2, 3, 8, 12)
    assert sample["observation.images.front"][1].unique() == pytest.approx(11 / 255)
    assert sample["observation.state"].dtype == sample["action"].dtype == torch.float32
    assert sample["action"].tolist() == [[1, 1], [1, 2], [1, 2], [1, 2]]
    assert sample["action_is_pad"].tolist() == [False, False, True, True]
    assert sample["task"] == "lift the cube" and sample["frame_index"].dtype == torch.int64
    assert TorchData(str(path))[0]["observation.images.wrist"].shape == (3, 8, 8)


@pytest.mark.parametrize("how", [None, "spawn", "forkserver"])
def test_a_loader_gets_every_frame_once_with_any_workers(path: Path, how: str | None) -> None:
    data = TorchData(path, Window(chunk=3, history=2), transform=halved)
    loader: DataLoader[Any] = DataLoader(
        data, batch_size=4, shuffle=True, num_workers=2 if how else 0, multiprocessing_context=how
    )
    batches = list(loader)
    assert [len(batch["task"]) for batch in batches] == [4, 4, 4]
    assert batches[0]["observation.images.front"].shape == (4, 2, 3, 4, 6)
    assert batches[0]["action"].shape == (4, 3, 2)
    places = {(int(e), int(f)) for b in batches for e, f in zip(b["episode_index"], b["frame_index"], strict=True)}
    assert places == {(episode, step) for episode, steps in enumerate((5, 3, 4)) for step in range(steps)}
    for batch in batches:
        # The picture, the state and the action of a sample are of the same step.
        shown = batch["observation.images.wrist"][:, -1, 0, 0, 0].long()
        assert torch.equal(shown, 10 * batch["episode_index"] + batch["frame_index"])
        assert torch.equal(batch["action"][:, 0, 1], batch["observation.state"][:, -1, 0])


def test_forked_workers_are_refused_where_they_would_hang_and_read_what_is_in_memory(path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read in a forked process"):
        list(DataLoader(TorchData(path), num_workers=1, multiprocessing_context="fork"))
    loader: DataLoader[Any] = DataLoader(TorchData(in_memory(4)), num_workers=2, multiprocessing_context="fork")
    assert [int(batch["frame_index"]) for batch in loader] == [0, 1, 2, 3]


def test_workers_see_the_same_mixture_as_one_process_and_the_next_epoch_another(path: Path, tmp_path: Path) -> None:
    other = stored(tmp_path / "b.tiny", 6)
    data = TorchData(f"{path}*2,{other}*1", transform=halved)

    def drawn(workers: int) -> list[tuple[int, ...]]:
        loader: DataLoader[Any] = DataLoader(
            data, batch_size=5, num_workers=workers, multiprocessing_context="spawn" if workers else None
        )
        names = [f"{name}_index" for name in ("dataset", "episode", "frame")]
        return [tuple(int(b[name][i]) for name in names) for b in loader for i in range(len(b["task"]))]

    first = drawn(2)
    assert first == drawn(0)
    assert Counter(place[0] for place in first) == {0: 24, 1: 6}
    data.set_epoch(1)
    second = drawn(2)
    assert second != first and sorted(second) == sorted(first)


def test_torchs_own_tools_take_it(path: Path) -> None:
    train, test = random_split(TorchData(in_memory(6, 4)), [8, 2])
    assert len(train) == 8 and test[0]["action"].shape == (2,)


def test_a_network_learns_from_it(path: Path) -> None:
    """That the step follows from the state; a fixed seed and a fixed order."""
    torch.manual_seed(0)
    network = torch.nn.Linear(3, 2)
    loader: DataLoader[Any] = DataLoader(TorchData(path), batch_size=12)
    (batch,) = loader
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    losses = []
    for _ in range(200):
        loss = torch.nn.functional.mse_loss(network(batch["observation.state"]), batch["action"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.01 * losses[0]


REGISTERING = """
from robodx.datasets.formats.base import FORMATS
from tests.demonstrations import TINY

FORMATS.add(TINY.name, TINY)
"""


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    stored(tmp_path / "cubes.tiny", 5, 3)
    stored(tmp_path / "bins.tiny", 4)
    (tmp_path / "train.py").write_text(REGISTERING + documented("PyTorch"))
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ran = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, text=True, capture_output=True, timeout=240, env=os.environ | paths
    )
    assert "torch.Size([8, 2, 3, 8, 12]) torch.Size([8, 16, 2])" in ran.stdout, ran.stderr
