"""Trains the learned policies on demonstrations: `act`, `act_no_language`, and `flow` on the tokens of a trained `act`.

    robodx generate alpha carrier generated --hz 10 --disturb 0.006 --out data
    python examples/training/train.py --data data --network act --out runs/act
    python examples/training/export.py runs/act/last.pt act.onnx
    robodx run capability --policy onnx:act.onnx

All frames are held in memory, on the GPU if there is one. The same command goes on where it was cut off. `reproduce.py`
runs all of this as it was run for the weights that ship.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from arguments import training
from frames import Chosen, Frames
from network import Act, Flow, Shape, normalised_actions, weights_digest, with_rotation_6d
from torch import Tensor, nn

from robodx.learned.acting import POSITION

# Of `act_no_language`, so that all weights that ship stay small.
SMALL: dict[str, Any] = {"width": 96, "channels": (24, 48, 64, 96), "encoder_layers": 3, "decoder_layers": 1}
# Pictures are shifted by up to so many pixels, and made brighter or darker by up to this share.
SHIFT, BRIGHTNESS = 4, 0.15
# The learning rate rises over so many steps, then falls as a cosine to this share of the highest.
WARM_UP_STEPS, LOWEST_RATE = 500, 0.02
TELL_EVERY_S = 10.0


def main() -> None:
    options, begun = training(__doc__), time.monotonic()
    torch.manual_seed(options.seed)
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    options.out.mkdir(parents=True, exist_ok=True)
    act, init = (
        torch.load(path, map_location=device, weights_only=True) if path else None
        for path in (options.act, options.init)
    )
    frames = Frames.load(
        options.data,
        options.cache or options.out / "frames",
        chosen=Chosen(options.share, tuple(options.without)),
        workers=options.workers,
        vocabulary=(act or init or {}).get("vocabulary"),
        device=device,
    )
    print(
        f"{len(frames.train)} frames to train on and {len(frames.held_out)} held out, {len(frames.vocabulary)} words, "
        f"on {device}; loaded in {time.monotonic() - begun:.0f} s",
        flush=True,
    )
    learner = Learner(options, frames, device, act, init)
    learner.resume()
    learner.train()


class Learner:
    """One training: a network, its moving average, and where it stands."""

    def __init__(
        self,
        options: argparse.Namespace,
        frames: Frames,
        device: torch.device,
        act: dict[str, Any] | None = None,
        init: dict[str, Any] | None = None,
    ) -> None:
        """`act` is the checkpoint whose tokens a flow reads, `init` the one whose weights this training begins with."""
        self.options, self.device, self.frames, self.act = options, device, frames, act
        self.encoder: Act | None = None
        # Pictures have their channels last, and so have the convolutions.
        self.network = self._network().to(device, memory_format=torch.channels_last)
        # A moving average of the weights does better than the last of them.
        self.average = self._network().to(device, memory_format=torch.channels_last).requires_grad_(False)
        self.init = None if init is None else weights_digest(init["average"])
        if init is not None:
            self._begin_with(init)
        self.average.load_state_dict(self.network.state_dict())
        theirs, mine = self.network.state_dict(), self.average.state_dict()
        moving = [name for name, value in mine.items() if value.is_floating_point()]
        self._moving = [mine[name] for name in moving], [theirs[name] for name in moving]
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), options.rate, weight_decay=0.01, fused=device.type == "cuda"
        )
        self.step, self.seconds = 0, 0.0
        self.loss: Callable[..., Tensor] = self._flow_loss if options.network == "flow" else self._act_loss
        # As it is trained, which may be compiled.
        self.training_loss = self.loss

    def _network(self) -> nn.Module:
        options, frames = self.options, self.frames
        if self.act is not None:
            shape = Shape.of(self.act["shape"])
            if (shape.cameras, self.act["hz"], self.act["state"]) != (frames.cameras, frames.hz, frames.state_names):
                raise SystemExit(f"{options.act} was trained with other cameras, state or rate than the data have")
            self.encoder = Act(shape).to(self.device, memory_format=torch.channels_last).eval().requires_grad_(False)
            self.encoder.load_state_dict(self.act["average"])
            return Flow(shape)
        shape = Shape(frames.cameras, frames.state.shape[1], len(frames.vocabulary))
        if options.network == "act_no_language":
            shape = replace(shape, words=0, **SMALL)
        network = Act(shape)
        state = with_rotation_6d(frames.state)
        network.encoder.state_mean.copy_(state.mean(0))
        # Of numbers that hardly change, the smallest change must not count for much.
        network.encoder.state_std.copy_(state.std(0).clamp(min=0.01))
        return network

    # Training.

    def train(self) -> None:
        if self.options.compile:
            self._compile()
        begun = time.monotonic() - self.seconds
        told, since = time.monotonic(), self.step
        losses: list[Tensor] = []
        done = self._done(begun)
        while done < 1.0:
            losses.append(self._train_step(done))
            self.step += 1
            before, done = done, self._done(begun)
            if time.monotonic() - told > TELL_EVERY_S or done >= 1.0:
                self.seconds = time.monotonic() - begun
                speed = (self.step - since) / max(time.monotonic() - told, 1e-6)
                self._tell(torch.stack(losses).mean().item(), speed, done)
                told, since, losses = time.monotonic(), self.step, []
            # Of so many checkpoints, whether the next is due.
            is_kept = int(self.options.keep * done + 1e-9) > int(self.options.keep * before + 1e-9)
            if self.step % self.options.save_every == 0 or is_kept or done >= 1.0:
                self.seconds = time.monotonic() - begun
                self._save(is_kept=is_kept)

    def _done(self, begun: float) -> float:
        """The share of the training that is behind it, by time or by steps."""
        if self.options.minutes is None:
            return min(self.step / self.options.steps, 1.0)
        return min((time.monotonic() - begun) / (60 * self.options.minutes), 1.0)

    def _compile(self) -> None:
        """If that can be done here: a first step, whose gradients are thrown away, shows it."""
        begun, buffers = time.monotonic(), [one.clone() for one in self.network.buffers()]
        compiled = torch.compile(self.loss, dynamic=False)
        self.network.train()
        try:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                loss = compiled(self.network, *self._batch(self.frames.train, self.options.batch))
            loss.backward()
            loss.item()
        except Exception as error:
            # Of its many kinds of errors none is ours to tell apart: it is slower without, and no worse.
            print(f"not compiled: {type(error).__name__}: {str(error).splitlines()[:1]}", flush=True)
        else:
            self.training_loss = compiled
            print(f"compiled in {time.monotonic() - begun:.0f} s", flush=True)
        self.optimiser.zero_grad(set_to_none=True)
        for kept, now in zip(buffers, self.network.buffers(), strict=True):
            now.copy_(kept)

    def _rate(self, done: float) -> float:
        cosine = 0.5 * (1 + math.cos(math.pi * done))
        warm: float = min(self.step / WARM_UP_STEPS, 1.0)
        return float(self.options.rate) * warm * (LOWEST_RATE + (1 - LOWEST_RATE) * cosine)

    def _train_step(self, done: float) -> Tensor:
        options = self.options
        # By the step, so that a resumed training draws what comes next, and not again what it began with.
        torch.manual_seed(int(np.random.SeedSequence((options.seed, self.step)).generate_state(1, np.uint64)[0]))
        rate = self._rate(done)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.network.train()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = self.training_loss(self.network, *self._batch(self.frames.train, options.batch))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        self._update_ema()
        return loss.detach()

    @torch.no_grad()
    def _update_ema(self) -> None:
        """The moving average of the weights; at first faster, so that it forgets where it began."""
        mine, theirs = self._moving
        torch._foreach_lerp_(mine, theirs, max(1 / (self.step + 2), 1e-3))

    def _batch(
        self, among: Tensor, size: int, *, augments: bool = True
    ) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
        at = among[torch.randint(len(among), (size,), device=self.device)]
        frames = self.frames
        images = {name: pictures[at] for name, pictures in frames.images.items()}
        if augments:
            images = {name: _augmented(pictures) for name, pictures in images.items()}
        state = frames.state[at]
        chunk = self.network.shape.chunk
        target = normalised_actions(frames.chunks(at, chunk), state[:, :POSITION])
        return images, state, frames.words[frames.instruction[at]], target

    def _act_loss(
        self, network: nn.Module, images: dict[str, Tensor], state: Tensor, words: Tensor, target: Tensor
    ) -> Tensor:
        chunk, _, _ = network(images, state, words)
        return F.l1_loss(chunk.float(), target)

    def _flow_loss(
        self, network: nn.Module, images: dict[str, Tensor], state: Tensor, words: Tensor, target: Tensor
    ) -> Tensor:
        assert self.encoder is not None
        with torch.no_grad():
            _, tokens, mask = self.encoder(images, state, words)
        noise, time = torch.randn_like(target), torch.rand(len(target), device=target.device)
        share = time[:, None, None]
        velocity = network.velocity(share * target + (1 - share) * noise, time, tokens, mask)
        return F.mse_loss(velocity.float(), target - noise)

    @torch.no_grad()
    def _held_out_loss(self) -> float:
        self.average.eval()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = self.loss(self.average, *self._batch(self.frames.held_out, self.options.batch, augments=False))
        return loss.item()

    # Keeping.

    def _tell(self, loss: float, speed: float, done: float) -> None:
        held_out = self._held_out_loss()
        left_s = self.seconds * (1 - done) / max(done, 1e-6)
        print(
            f"step {self.step:6d}, {100 * done:3.0f}%  loss {loss:.4f}  held out {held_out:.4f}  "
            f"{speed:5.1f} steps/s  {self.seconds / 60:5.1f} min, {left_s / 60:.1f} min left",
            flush=True,
        )
        log = self.options.out / "log.csv"
        is_new = not log.exists()
        with log.open("a", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(["step", "seconds", "loss", "held_out_loss", "rate", "done"])
            numbers = [f"{loss:.5f}", f"{held_out:.5f}", f"{self._rate(done):.2e}", f"{done:.4f}"]
            writer.writerow([self.step, f"{self.seconds:.1f}", *numbers])
        draw_losses(log, self.options.out / "loss.svg")

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a training to be resumed."""
        frames, shape = self.frames, self.network.shape
        return {
            "network": self.options.network, "shape": shape.as_dict(), "data": frames.digest,
            "share": self.options.share, "without": sorted(self.options.without),
            "vocabulary": frames.vocabulary if shape.words else [],
            "act": weights_digest(self.act["average"]) if self.act is not None else None,
            "init": self.init, "batch": self.options.batch, "rate": self.options.rate, "seed": self.options.seed,
        }  # fmt: skip

    def _save(self, *, is_kept: bool) -> None:
        frames = self.frames
        known: dict[str, Any] = {
            **self._identity(), "average": self.average.state_dict(), "hz": frames.hz, "step": self.step,
            "state": frames.state_names, "trained": self._trained(),
        }  # fmt: skip
        if is_kept:
            _write({**known, "average": _halved(known["average"])}, self.options.out / f"step_{self.step:06}.pt")
        # What export.py and a flow need, without what only a resumed training does.
        _write(known, self.options.out / "average.pt")
        going_on = {
            "weights": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "seconds": self.seconds,
        }
        _write({**known, **going_on}, self.options.out / "last.pt")

    def _trained(self) -> dict[str, Any]:
        """For the card of the network."""
        options = self.options
        names = ("minutes", "steps", "batch", "rate", "share", "without", "seed")
        return {
            **{name: getattr(options, name) for name in names},
            "steps": options.steps if options.minutes is None else None, "seconds": round(self.seconds, 1),
            "init": self.init, "frames": len(self.frames.train), "held_out_frames": len(self.frames.held_out),
            "device": torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu",
            "torch": str(torch.__version__),
        }  # fmt: skip

    def _begin_with(self, stored: dict[str, Any]) -> None:
        """The weights of another training, whose words, cameras and numbers of state are the same."""
        mine = {"shape": self.network.shape.as_dict(), "hz": self.frames.hz, "state": self.frames.state_names}
        if differing := [name for name, value in mine.items() if stored[name] != value]:
            raise SystemExit(f"{self.options.init} is of another network or other data ({', '.join(differing)})")
        self.network.load_state_dict(stored["average"])

    def resume(self) -> None:
        last = self.options.out / "last.pt"
        if not last.exists():
            return
        stored = torch.load(last, map_location=self.device, weights_only=True)
        if differing := [name for name, value in self._identity().items() if stored.get(name) != value]:
            raise SystemExit(
                f"{last} is of another training ({', '.join(differing)}): choose another folder with --out"
            )
        self.network.load_state_dict(stored["weights"])
        self.average.load_state_dict(stored["average"])
        self.optimiser.load_state_dict(stored["optimiser"])
        self.step, self.seconds = stored["step"], stored["seconds"]
        forget_after(self.options.out / "log.csv", self.step)
        print(f"going on at step {self.step} of {last}", flush=True)


def _augmented(pictures: Tensor) -> Tensor:
    """Shifted by some pixels, each picture by others, and brighter or darker."""
    count, height, width, _ = pictures.shape
    device = pictures.device
    down, right = torch.randint(-SHIFT, SHIFT + 1, (2, count, 1), device=device)
    rows = (torch.arange(height, device=device) + down).clamp(0, height - 1)
    columns = (torch.arange(width, device=device) + right).clamp(0, width - 1)
    shifted = pictures[torch.arange(count, device=device)[:, None, None], rows[:, :, None], columns[:, None, :]]
    light = 1 + BRIGHTNESS * (2 * torch.rand(count, 1, 1, 1, device=device) - 1)
    return (shifted * light).clamp(0, 255).to(torch.uint8)


def _halved(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices in half precision, as they are exported: of checkpoints that are only looked at there are many."""
    return {name: value.half() if value.ndim > 1 else value for name, value in weights.items()}


def _write(content: dict[str, Any], path: Path) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    torch.save(content, part)
    part.replace(path)


def forget_after(log: Path, step: int) -> None:
    """Leave out lines of steps that are done again."""
    if log.exists():
        head, *lines = log.read_text().splitlines()
        kept = [line for line in lines if int(line.partition(",")[0]) <= step]
        log.write_text("\n".join([head, *kept]) + "\n")


def draw_losses(log: Path, out: Path) -> None:
    """The loss over the steps, in training and on episodes that were held out, as an SVG."""
    with log.open(newline="") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    wide, high, edge = 640, 320, 48
    last = max(row["step"] for row in rows)
    values = [math.log10(max(row[name], 1e-6)) for row in rows for name in ("loss", "held_out_loss")]
    low, top = math.floor(min(values) * 4) / 4, math.ceil(max(values) * 4) / 4

    def place(step: float, loss: float) -> str:
        share = (math.log10(max(loss, 1e-6)) - low) / max(top - low, 0.25)
        return f"{edge + (wide - 2 * edge) * step / last:.1f},{high - edge - (high - 2 * edge) * share:.1f}"

    lines = []
    for name, colour, dashes, says in (
        ("loss", "#2266aa", "", "training"),
        ("held_out_loss", "#cc5522", "4 3", "held out"),
    ):
        points = " ".join(place(row["step"], row[name]) for row in rows)
        x, y = place(rows[-1]["step"], rows[-1][name]).split(",")
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-dasharray="{dashes}"/>')
        above = 6 if name == "loss" else -14
        lines.append(f'<text x="{x}" y="{float(y) - above}" fill="{colour}" text-anchor="end">{says}</text>')
    ticks = [low + index * (top - low) / 4 for index in range(5)]
    lines += [
        f'<text x="{edge - 6}" y="{high - edge - (high - 2 * edge) * index / 4 + 4:.1f}" text-anchor="end">'
        f"{10**tick:.3g}</text>"
        for index, tick in enumerate(ticks)
    ]
    lines.append(f'<text x="{wide - edge}" y="{high - edge + 18}" text-anchor="end">{last:.0f} steps</text>')
    out.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        'font-family="sans-serif" font-size="12">'
        f'<rect width="{wide}" height="{high}" fill="white"/>{"".join(lines)}</svg>\n'
    )


if __name__ == "__main__":
    main()
