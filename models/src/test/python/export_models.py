"""Exports small models with random weights from PyTorch as a file for tests in Java.

The packages torch, transformers, onnx and onnxscript must be installed:

python3 export_models.py ../../../../test-support/src/main/resources/dev/athanor/testing/onnx-models.zip.gz
"""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import torch
import transformers as t

TIME = (2020, 1, 1, 0, 0, 0)
VOCABULARY = 30
TOKENS = torch.tensor([[5, 9, 2, 17, 4], [3, 3, 28, 6, 1]])
LAYER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 24}
TEXT = {"vocab_size": VOCABULARY, "max_position_embeddings": 16, **LAYER}
DECODER = {**TEXT, "num_key_value_heads": 2, "use_cache": False, "pad_token_id": 0}
VISION = {"image_size": 16, "patch_size": 8, **LAYER}


def image(size: int) -> torch.Tensor:
    return torch.randn(1, 3, size, size)


def whisper() -> torch.nn.Module:
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = t.WhisperConfig(
        vocab_size=VOCABULARY, max_source_positions=8, num_mel_bins=4, **sizes, **heads, **tokens
    )
    return t.WhisperModel(config).encoder


class Experts(torch.nn.Module):
    """A block in which two of four experts compute each token."""

    def __init__(self) -> None:
        super().__init__()
        self.router = torch.nn.Linear(16, 4, bias=False)
        self.up = torch.nn.Parameter(torch.randn(4, 16, 24) / 4)
        self.down = torch.nn.Parameter(torch.randn(4, 24, 16) / 5)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        weights, chosen = torch.topk(torch.softmax(self.router(x), dim=-1), 2, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        inner = torch.nn.functional.silu(torch.einsum("bsh,bskhi->bski", x, self.up[chosen]))
        each = torch.einsum("bski,bskih->bskh", inner, self.down[chosen])
        return {"y": x + (each * weights.unsqueeze(-1)).sum(dim=2)}


MODELS: dict[str, Callable[[], tuple[torch.nn.Module, torch.Tensor]]] = {
    "bert": lambda: (t.BertModel(t.BertConfig(**TEXT), add_pooling_layer=False), TOKENS),
    "deberta": lambda: (
        t.DebertaV2Model(
            t.DebertaV2Config(**TEXT, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=4)
        ),
        TOKENS,
    ),
    "gpt2": lambda: (
        t.GPT2Model(
            t.GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=1, n_head=2, n_positions=16, use_cache=False)
        ),
        TOKENS,
    ),
    "llama": lambda: (t.LlamaForCausalLM(t.LlamaConfig(**DECODER)), TOKENS),
    "gemma2": lambda: (t.Gemma2ForCausalLM(t.Gemma2Config(**DECODER, head_dim=4)), TOKENS),
    "mamba": lambda: (
        t.MambaModel(
            t.MambaConfig(
                vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=1, state_size=4, use_cache=False
            )
        ),
        TOKENS,
    ),
    "t5": lambda: (
        t.T5EncoderModel(
            t.T5Config(vocab_size=VOCABULARY, d_model=16, d_kv=4, d_ff=24, num_layers=1, num_heads=4)
        ),
        TOKENS,
    ),
    "whisper": lambda: (whisper(), torch.randn(1, 4, 16)),
    "experts": lambda: (Experts(), torch.randn(2, 5, 16)),
    "vit": lambda: (t.ViTModel(t.ViTConfig(**VISION), add_pooling_layer=False), image(16)),
    "swin": lambda: (
        t.SwinModel(t.SwinConfig(image_size=16, patch_size=4, embed_dim=8, depths=[2], num_heads=[2], window_size=2)),
        image(16),
    ),
    "resnet": lambda: (
        t.ResNetModel(
            t.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic")
        ),
        image(16),
    ),
    "convnext": lambda: (
        t.ConvNextModel(t.ConvNextConfig(hidden_sizes=[4, 8], depths=[1, 1], num_stages=2)),
        image(16),
    ),
}


class FirstOutput(torch.nn.Module):
    """A model whose only output is the first of another one."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> Any:
        return next(iter(self.model(x).values()))


def files(model: torch.nn.Module, x: torch.Tensor) -> dict[str, bytes | str]:
    for config in (m.config for m in model.modules() if hasattr(m, "config")):
        config._attn_implementation = "eager"
    first = FirstOutput(model.eval())
    with torch.no_grad():
        y = first(x)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        torch.onnx.export(
            first, (x,), path, input_names=["x"], output_names=["y"], opset_version=18, external_data=False
        )
        exported = onnx.load(path)
    for node in exported.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    exported.graph.ClearField("value_info")
    exported.ClearField("metadata_props")
    tensors = {
        key: onnx.numpy_helper.from_array(value.numpy(), name).SerializeToString()
        for key, value, name in (("input0", x, "x"), ("output0", y, "y"))
    }
    return {"model": exported.SerializeToString(), **tensors, "tolerance": "1e-3 1e-4"}


def main() -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        for name, make in MODELS.items():
            torch.manual_seed(0)
            for key, contents in files(*make()).items():
                file.writestr(zipfile.ZipInfo(f"{name}/{key}", TIME), contents)
    with open(sys.argv[1], "wb") as out, gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) as packed:
        packed.write(memory.getvalue())


if __name__ == "__main__":
    main()
