"""Data sets for TensorFlow: the same samples as a tf.data.Dataset with a fixed signature."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from robodx.datasets.mixtures import By
from robodx.datasets.windows import ONE_FRAME, Sample, Source, Window, Windows
from robodx.streams import Streams


def tensorflow_data(
    source: Source, window: Window = ONE_FRAME, *, shuffle: bool = False, seed: int = 0, by: By = "frames"
) -> Any:
    """A tf.data.Dataset of samples: pictures are bytes (height, width, 3), texts are strings.

    It runs once through all frames. With `shuffle` a data set is read in a random order, which costs no buffer; a
    mixture is shuffled anyway. Batching, repeating and prefetching are for tf.data.
    """
    import tensorflow as tf

    windows = Windows(source, window, seed=seed, by=by)

    epochs = count()

    def generate() -> Iterator[Sample]:
        # Called anew for each epoch, as by `repeat`.
        epoch = next(epochs)
        windows.set_epoch(epoch)
        numbers = Streams(seed).rng("shuffle", epoch).permutation(len(windows)) if shuffle else range(len(windows))
        return (windows[int(number)] for number in numbers)

    signature = {
        name: tf.TensorSpec(kind.shape, tf.string if kind.dtype == "str" else tf.as_dtype(kind.dtype))
        for name, kind in windows.kinds.items()
    }
    found = tf.data.Dataset.from_generator(generate, output_signature=signature)
    return found.apply(tf.data.experimental.assert_cardinality(len(windows)))
