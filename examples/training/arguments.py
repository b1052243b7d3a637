"""The options of train.py and export.py, which can be read where there is no PyTorch."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

NETWORKS = ("act", "act_no_language", "flow")
REPLAN = 4


def training(about: str | None = None, words: Sequence[str] | None = None) -> argparse.Namespace:
    """Of train.py."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", required=True, nargs="+", help="data sets of demonstrations, each a path or FORMAT:PATH"
    )
    parser.add_argument("--network", choices=NETWORKS, default="act")
    parser.add_argument("--act", type=Path, help="with --network flow: the trained checkpoint whose tokens it reads")
    parser.add_argument("--init", type=Path, help="a trained checkpoint of such a network to begin with: fine-tuning")
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoints, the log and the loss curve")
    parser.add_argument("--cache", type=Path, help="folder of decoded frames, to be shared between trainings")
    parser.add_argument("--steps", type=int, default=14000)
    parser.add_argument("--minutes", type=float, help="train so long instead, however many steps that is")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=6e-4, help="highest learning rate; warm-up, then a cosine")
    parser.add_argument("--share", type=float, default=1.0, help="share of each task's episodes to train on")
    parser.add_argument("--without", nargs="*", default=[], metavar="FAMILY", help="families not to train on")
    parser.add_argument("--keep", type=int, default=5, help="checkpoints to keep, spread over the training")
    parser.add_argument("--save-every", type=int, default=1000, help="steps between checkpoints to resume from")
    parser.add_argument("--workers", type=int, default=2, help="processes that decode pictures")
    parser.add_argument(
        "--compile", action="store_true", help="compile the network: a minute to start, then faster; if it can be"
    )
    parser.add_argument("--device", help="default: the GPU if there is one")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    if options.act and options.init:
        parser.error("--init is for networks that are trained by themselves, not for a flow")
    if (options.network == "flow") != (options.act is not None):
        parser.error("--network flow needs --act CHECKPOINT, and only that does")
    return options


def exporting(about: str | None = None, words: Sequence[str] | None = None) -> argparse.Namespace:
    """Of export.py."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoder", default="act.onnx", help="of a flow: the file beside it with the act's network")
    parser.add_argument("--replan", type=int, default=REPLAN, help="actions executed before the next query")
    return parser.parse_args(words)
