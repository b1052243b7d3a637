"""Writes a trained network as ONNX, with its weights in half precision: export.py runs/act/average.pt act.onnx

A `flow` needs the `act` that it was trained on beside it, under the name given by --encoder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from arguments import REPLAN, exporting
from network import Act, Flow, Shape, weights_digest
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from robodx.learned.acting import WIDTH
from robodx.learned.networks import CARD, ENCODER, ENCODER_DIGEST, file_digest

# Smaller tensors are left as they are: they weigh nothing, and some are no weights.
SMALL = 64


class Flat(nn.Module):
    """With its pictures one by one, as ONNX names them."""

    def __init__(self, act: Act) -> None:
        super().__init__()
        self.act, self.names = act, list(act.shape.cameras)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        *pictures, state = inputs[: len(self.names) + 1]
        words = inputs[len(self.names) + 1] if self.act.shape.words else None
        chunk, tokens, mask = self.act(dict(zip(self.names, pictures, strict=True)), state, words)
        return chunk, tokens, mask


def main() -> None:
    options = exporting(__doc__)
    stored = torch.load(options.checkpoint, map_location="cpu", weights_only=True)
    export(stored, options.out, replan=options.replan, encoder=options.encoder)
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB")


def export(stored: dict[str, Any], out: Path, *, replan: int = REPLAN, encoder: str = "act.onnx") -> None:
    shape, is_flow = Shape.of(stored["shape"]), stored["network"] == "flow"
    pictures = [torch.zeros(1, size, size, 3, dtype=torch.uint8) for size in shape.cameras.values()]
    inputs = [
        *pictures,
        torch.zeros(1, shape.state),
        *([torch.ones(1, shape.longest, dtype=torch.long)] * bool(shape.words)),
    ]
    names = [*shape.cameras, "state", *["words"] * bool(shape.words)]
    network: nn.Module = Flat(Act(shape))
    outputs = ["chunk", "tokens", "mask"]
    if is_flow:
        _, tokens, mask = network.eval()(*inputs)
        inputs, names = (
            [torch.zeros(1, shape.chunk, WIDTH), tokens.detach(), mask.detach()],
            ["noise", "tokens", "mask"],
        )
        network, outputs = Flow(shape), ["chunk"]
        network.load_state_dict(stored["average"])
    else:
        network.act.load_state_dict(stored["average"])
    program = torch.onnx.export(
        network.eval(), tuple(inputs), input_names=names, output_names=outputs, dynamo=True, verbose=False
    )
    model = halved(program.model_proto)
    card: dict[str, Any] = {
        "cameras": shape.cameras, "hz": stored["hz"], "chunk": shape.chunk, "replan": replan,
        "vocabulary": stored["vocabulary"], "longest": shape.longest, "is_stochastic": is_flow,
        "about": {
            "network": stored["network"], "steps": stored["step"], "state": stored["state"],
            "weights": weights_digest(stored["average"]), "trained": stored.get("trained", {}),
        },
    }  # fmt: skip
    if is_flow:
        card |= {ENCODER: encoder, ENCODER_DIGEST: _encoder_digest(out.with_name(encoder), stored["act"])}
    helper.set_model_props(model, {CARD: json.dumps(card)})
    onnx.checker.check_model(model)
    out.write_bytes(model.SerializeToString())


def _encoder_digest(path: Path, act: str) -> str:
    """Of the file, which must hold the `act` whose tokens the flow was trained on."""
    if not path.is_file():
        raise SystemExit(f"there is no network {path}: export the act that the flow was trained on first")
    cards = [json.loads(one.value) for one in onnx.load(path).metadata_props if one.key == CARD]
    if not any(card["about"].get("weights") == act for card in cards):
        raise SystemExit(f"{path} is not the network that the flow was trained on")
    return file_digest(path)


def halved(model: onnx.ModelProto) -> onnx.ModelProto:
    """Weights of 16 bits, made 32 again when the file is loaded: half the size, and the speed of 32."""
    graph, casts = model.graph, []
    for weight in graph.initializer:
        if weight.data_type != TensorProto.FLOAT or np.prod(weight.dims) < SMALL:
            continue
        name, half = weight.name, f"{weight.name}.half"
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), half))
        casts.append(helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    # What the exporter noted of values is told of weights that now have other names.
    del graph.value_info[:]
    for node in graph.node:
        del node.metadata_props[:]
    del model.metadata_props[:]
    return model


if __name__ == "__main__":
    main()
