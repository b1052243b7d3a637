"""The networks of the learned policies: pictures, words and state in, a chunk of tool poses out.

`Act` answers with one chunk; `Flow` draws one of many from noise, on the tokens of a trained `Act`.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from robodx.learned.acting import POSITION, REACH_M, ROTATION_6D, WIDTH

# Numbers of an attention head: the fast kernels of GPUs take multiples of 8.
HEAD = 32


@dataclass(frozen=True)
class Shape:
    """All that decides how large a network is; kept with its weights."""

    # Height and width of each camera's pictures.
    cameras: dict[str, int] = field(default_factory=lambda: {"front": 128, "wrist": 96})
    state: int = 15
    # Words that it knows, padding and the unknown word included; 0 for a network that reads none.
    words: int = 0
    longest: int = 40
    chunk: int = 12
    width: int = 160
    channels: tuple[int, int, int, int] = (24, 48, 128, 160)
    text_layers: int = 2
    encoder_layers: int = 4
    decoder_layers: int = 1
    # Of a flow on the tokens of this network.
    flow_layers: int = 2

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Shape:
        return cls(**{**stored, "channels": tuple(stored["channels"])})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = max(width // HEAD, 1)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` is added to the scores (batch, 1, 1, context): minus infinity where nothing is to be read."""
        query = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        key, value = self.key_value(context).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A transformer layer; with `crosses` it also reads from a context."""

    def __init__(self, width: int, *, crosses: bool = False, wider: int = 2) -> None:
        super().__init__()
        self.own_norm, self.own = nn.LayerNorm(width), Attention(width)
        self.cross_norm: nn.Module | None = nn.LayerNorm(width) if crosses else None
        self.cross: nn.Module | None = Attention(width) if crosses else None
        self.think_norm = nn.LayerNorm(width)
        self.think = nn.Sequential(nn.Linear(width, wider * width), nn.GELU(), nn.Linear(wider * width, width))

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        normed = self.own_norm(x)
        x = x + self.own(normed, normed, None if self.cross is not None else mask)
        if self.cross is not None and self.cross_norm is not None:
            x = x + self.cross(self.cross_norm(x), context, mask)
        return x + self.think(self.think_norm(x))


def _conv(inputs: int, outputs: int, size: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs))


class ImageEncoder(nn.Module):
    """A small residual CNN: pictures to tokens, one for each patch of 16 pixels; words tell it what to look for."""

    def __init__(self, shape: Shape, size: int) -> None:
        super().__init__()
        stem, *rest = shape.channels
        self.stem = _conv(3, stem, 5, 2)
        self.down = nn.ModuleList(_conv(a, b, 3, 2) for a, b in zip(shape.channels, rest, strict=False))
        self.first = nn.ModuleList(_conv(width, min(width, 96)) for width in rest)
        self.second = nn.ModuleList(_conv(min(width, 96), width) for width in rest)
        # A scale and a shift of every channel, from the words.
        self.words = nn.ModuleList(nn.Linear(shape.width, 2 * width) for width in rest) if shape.words else None
        self.out = nn.Linear(rest[-1], shape.width)
        self.place = nn.Parameter(torch.randn((size // 16) ** 2, shape.width) * 0.02)
        for layer in self.words or ():
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor, text_embedding: Tensor | None) -> Tensor:
        x = F.relu(self.stem(images))
        for index, down in enumerate(self.down):
            x = F.relu(down(x))
            y = F.relu(self.first[index](x))
            y = self.second[index](y)
            if self.words is not None and text_embedding is not None:
                scale, shift = self.words[index](text_embedding)[:, :, None, None].chunk(2, dim=1)
                y = y * (1 + scale) + shift
            x = F.relu(x + y)
        return self.out(x.flatten(2).transpose(1, 2)) + self.place


class Encoder(nn.Module):
    """Pictures (batch, height, width, 3) of bytes, state, word numbers → tokens, and which of them are padding."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        width = shape.width
        self.image_encoders = nn.ModuleDict({name: ImageEncoder(shape, size) for name, size in shape.cameras.items()})
        state_width = shape.state - 4 + ROTATION_6D
        self.state = nn.Sequential(nn.Linear(state_width, width), nn.GELU(), nn.Linear(width, width))
        # Set from the data.
        self.register_buffer("state_mean", torch.zeros(state_width))
        self.register_buffer("state_std", torch.ones(state_width))
        if shape.words:
            self.embed = nn.Embedding(shape.words, width)
            self.order = nn.Parameter(torch.randn(shape.longest, width) * 0.02)
            self.text = nn.ModuleList(Layer(width) for _ in range(shape.text_layers))
            self.text_norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, wider=3) for _ in range(shape.encoder_layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, images: dict[str, Tensor], state: Tensor, words: Tensor | None) -> tuple[Tensor, Tensor]:
        state_token = self.state((with_rotation_6d(state) - self.state_mean) / self.state_std)[:, None]
        tokens, text_embedding, text_mask = [state_token], None, None
        if words is not None and self.shape.words:
            text_mask = torch.zeros_like(words, dtype=state_token.dtype).masked_fill(words == 0, -1e4)
            text = self.embed(words) + self.order
            for layer in self.text:
                text = layer(text, mask=text_mask[:, None, None])
            text = self.text_norm(text)
            weight = (words != 0).to(text.dtype)[:, :, None]
            text_embedding = (text * weight).sum(1) / weight.sum(1).clamp(min=1.0)
            tokens.append(text)
        for name, image_encoder in self.image_encoders.items():
            pixels = images[name].permute(0, 3, 1, 2).to(state_token.dtype) / 127.5 - 1.0
            tokens.append(image_encoder(pixels, text_embedding))
        x = torch.cat(tokens, dim=1)
        mask = x.new_zeros(x.shape[0], x.shape[1])
        if text_mask is not None:
            mask = torch.cat([mask[:, :1], text_mask, mask[:, 1 + text_mask.shape[1] :]], dim=1)
        for layer in self.layers:
            x = layer(x, mask=mask[:, None, None])
        return self.norm(x), mask


class Act(nn.Module):
    """An action-chunking transformer: as many queries as actions read from the tokens."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, self.encoder = shape, Encoder(shape)
        self.queries = nn.Parameter(torch.randn(shape.chunk, shape.width) * 0.02)
        self.decoder = nn.ModuleList(Layer(shape.width, crosses=True) for _ in range(shape.decoder_layers))
        self.head = nn.Sequential(nn.LayerNorm(shape.width), nn.Linear(shape.width, WIDTH))

    def forward(self, images: dict[str, Tensor], state: Tensor, words: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """The chunk (batch, actions, 10) as the network writes it, and the tokens that it was read from."""
        tokens, mask = self.encoder(images, state, words)
        x = self.queries.expand(len(tokens), -1, -1)
        for layer in self.decoder:
            x = layer(x, tokens, mask[:, None, None])
        return self.head(x), tokens, mask


class Flow(nn.Module):
    """Flow matching: a velocity that carries noise to actions, along straight lines, given the tokens of an `Act`."""

    def __init__(self, shape: Shape, steps: int = 6) -> None:
        super().__init__()
        self.shape, self.steps = shape, steps
        self.enter = nn.Linear(WIDTH, shape.width)
        self.queries = nn.Parameter(torch.randn(shape.chunk, shape.width) * 0.02)
        self.time = nn.Sequential(nn.Linear(64, shape.width), nn.GELU(), nn.Linear(shape.width, shape.width))
        self.decoder = nn.ModuleList(Layer(shape.width, crosses=True) for _ in range(shape.flow_layers))
        self.head = nn.Sequential(nn.LayerNorm(shape.width), nn.Linear(shape.width, WIDTH))
        self.register_buffer("waves", torch.exp(torch.linspace(0.0, 5.0, 32)))

    def velocity(self, noisy: Tensor, time: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        phase = time[:, None] * self.waves
        when = self.time(torch.cat([phase.sin(), phase.cos()], dim=1))
        x = self.enter(noisy) + self.queries + when[:, None]
        for layer in self.decoder:
            x = layer(x, tokens, mask[:, None, None])
        return self.head(x)

    def forward(self, noise: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """From noise (batch, actions, 10) to a chunk, in a few equal steps."""
        x = noise
        for step in range(self.steps):
            time = x.new_full((len(x),), step / self.steps)
            x = x + self.velocity(x, time, tokens, mask) / self.steps
        return x


def normalised_actions(actions: Tensor, tool: Tensor) -> Tensor:
    """Actions (batch, n, 8) in the base as the network predicts them (batch, n, 10), by the tool's place (batch, 3)."""
    position = (actions[..., :POSITION] - tool[:, None]) / REACH_M
    return torch.cat([position, rotation_6d(actions[..., 3:7]), actions[..., 7:]], dim=-1)


def with_rotation_6d(state: Tensor) -> Tensor:
    """The state with six numbers in place of the tool's quaternion, of which q and −q are the same rotation."""
    return torch.cat([state[..., :3], rotation_6d(state[..., 3:7]), state[..., 7:]], dim=-1)


def rotation_6d(quaternion: Tensor) -> Tensor:
    """The first two axes of a rotation: six numbers that change smoothly, which quaternions do not."""
    w, x, y, z = F.normalize(quaternion, dim=-1).unbind(-1)
    first = (1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y))
    second = (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x))
    return torch.stack([*first, *second], dim=-1)


def weights_digest(weights: dict[str, Tensor]) -> str:
    """The same for the same weights, on any device."""
    found = hashlib.blake2b(digest_size=16)
    for name, value in sorted(weights.items()):
        found.update(name.encode() + value.cpu().numpy().tobytes())
    return found.hexdigest()
