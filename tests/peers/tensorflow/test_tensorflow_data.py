"""tf.data reads data sets and mixtures."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from robodx.datasets.tensorflow_data import tensorflow_data
from robodx.datasets.windows import Window
from tests.demonstrations import documented, format_registered, in_memory, stored


def test_samples_have_the_declared_shapes_and_types_and_come_in_order() -> None:
    data = tensorflow_data(in_memory(5, 3), Window(chunk=4, history=2))
    assert data.cardinality() == 8
    spec = data.element_spec
    assert spec["observation.images.front"] == tf.TensorSpec((2, 8, 12, 3), tf.uint8)
    assert spec["action"] == tf.TensorSpec((4, 2), tf.float32) and spec["task"].dtype == tf.string
    samples = list(data.as_numpy_iterator())
    assert [int(sample["frame_index"]) for sample in samples] == [0, 1, 2, 3, 4, 0, 1, 2]
    assert samples[6]["action"].tolist() == [[1, 1], [1, 2], [1, 2], [1, 2]]
    assert samples[6]["action_is_pad"].tolist() == [False, False, True, True]
    assert samples[6]["observation.images.wrist"][:, 0, 0, 0].tolist() == [10, 11]
    assert samples[4]["task"] == b"put it down"


@pytest.mark.parametrize("window", [Window(), Window(chunk=1), Window(history=1, state=[])])
def test_every_window_fits_its_signature(window: Window) -> None:
    assert len(list(tensorflow_data(in_memory(3), window).as_numpy_iterator())) == 3


def test_shuffled_data_and_mixtures_batch_and_repeat(tmp_path: Path) -> None:
    frames = [int(sample["frame_index"]) for sample in tensorflow_data(in_memory(30), shuffle=True).as_numpy_iterator()]
    assert frames != sorted(frames) and sorted(frames) == list(range(30))
    with format_registered():
        first, second = stored(tmp_path / "a.tiny", 3), stored(tmp_path / "b.tiny", 2)
        batches = list(tensorflow_data(f"{first}*2,{second}").repeat(2).batch(4).as_numpy_iterator())
    assert [len(batch["task"]) for batch in batches] == [4, 4, 4, 4]
    assert sum(int((batch["dataset_index"] == 0).sum()) for batch in batches) == 12


def test_the_example_of_the_docs_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path / "cubes.tiny", 5, 3)
    monkeypatch.chdir(tmp_path)
    with format_registered():
        exec(documented("TensorFlow"), {})
    assert "(8, 2, 8, 12, 3) (8, 16, 2)" in capsys.readouterr().out
