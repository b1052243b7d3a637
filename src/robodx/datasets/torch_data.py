"""Data sets for PyTorch: samples by number, as tensors, for a DataLoader with any number of workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robodx.datasets.mixtures import By
from robodx.datasets.schema import Features
from robodx.datasets.windows import ONE_FRAME, Source, Window, Windows

# Pictures as bytes (3, height, width), or (history, 3, height, width), to whatever the network takes.
Transform = Callable[[Any], Any]


class TorchData:
    """A map-style data set. It is no subclass of torch's, which DataLoader does not ask for: torch is imported late.

    `transform` gets the pictures of one camera as bytes, of a whole history at once; without one they become float32
    from 0 to 1. With workers that are spawned, a transform is a function of a module, not a lambda.
    """

    def __init__(
        self,
        source: Source,
        window: Window = ONE_FRAME,
        *,
        transform: Transform | None = None,
        seed: int = 0,
        by: By = "frames",
    ) -> None:
        self._windows = Windows(source, window, seed=seed, by=by)
        self._transform = transform or as_floats

    @property
    def features(self) -> Features:
        return self._windows.features

    @property
    def state_names(self) -> list[str]:
        """What the numbers of `observation.state` are called."""
        return self._windows.state_names

    def set_epoch(self, epoch: int) -> None:
        """Another order of a mixture, before a DataLoader is asked for the next epoch."""
        self._windows.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self._windows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        import torch

        # Samplers may give tensors.
        sample = self._windows[int(index)]
        for name, value in sample.items():
            if name.startswith("observation.images."):
                sample[name] = self._transform(torch.as_tensor(value).movedim(-1, -3).contiguous())
            elif not isinstance(value, str):
                sample[name] = torch.as_tensor(value)
        return sample


def as_floats(pictures: Any) -> Any:
    """Bytes as float32 from 0 to 1."""
    return pictures.float() / 255.0
