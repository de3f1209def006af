"""Writes small checkpoints with random weights, and what transformers computes in f32, as a file for tests in Java.

The packages torch, transformers and safetensors must be installed:

python3 export_checkpoints.py ../../../../test-support/src/main/resources/dev/athanor/testing/checkpoints.zip.gz
"""

from __future__ import annotations

import copy
import gzip
import io
import sys
import tempfile
import zipfile
from pathlib import Path

import safetensors.torch
import torch
import transformers as t

TIME = (2020, 1, 1, 0, 0, 0)
VOCABULARY = 30
TOKENS = torch.tensor([[5, 9, 2, 17, 4, 11, 3, 8], [3, 3, 28, 6, 1, 20, 7, 13]])
SIZES = {"vocab_size": VOCABULARY, "max_position_embeddings": 24, "hidden_size": 16, "intermediate_size": 24}
LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 4, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
DECODER = {**SIZES, **LAYERS, "num_key_value_heads": 2, "head_dim": 4}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 100.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8,
}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
PARTIAL = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
GRANITE = {
    "embedding_multiplier": 3.0,
    "residual_multiplier": 0.5,
    "attention_multiplier": 0.4,
    "logits_scaling": 2.0,
}
MAMBA = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_heads": 8,
    "head_dim": 4,
    "state_size": 6,
    "n_groups": 2,
    "chunk_size": 4,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
QWEN3 = {**DECODER, "head_dim": 8, "tie_word_embeddings": True}

ENCODER = {**SIZES, **LAYERS, "hidden_act": "gelu"}
PADDED = torch.tensor([[5, 9, 2, 17, 4, 11, 3, 8], [3, 3, 28, 6, 1, 1, 1, 1]])
MASK = torch.tensor([[1] * 8, [1] * 4 + [0] * 4])
KINDS = torch.tensor([[0] * 3 + [1] * 5, [0] * 8])

DECODERS: dict[str, tuple[type[t.PreTrainedModel], t.PretrainedConfig, torch.dtype]] = {
    "llama": (t.LlamaForCausalLM, t.LlamaConfig(**DECODER, rope_parameters=LLAMA3), torch.float32),
    "llama-bf16": (
        t.LlamaForCausalLM,
        t.LlamaConfig(**DECODER, attention_bias=True, rope_parameters=LINEAR),
        torch.bfloat16,
    ),
    "mistral": (t.MistralForCausalLM, t.MistralConfig(**DECODER, sliding_window=3), torch.float32),
    "qwen2": (t.Qwen2ForCausalLM, t.Qwen2Config(**{**DECODER, "num_key_value_heads": 4}), torch.float16),
    "qwen3": (
        t.Qwen3ForCausalLM,
        t.Qwen3Config(**QWEN3, use_sliding_window=True, sliding_window=4, max_window_layers=1),
        torch.float32,
    ),
    "gemma": (t.GemmaForCausalLM, t.GemmaConfig(**DECODER), torch.float32),
    "granite": (t.GraniteForCausalLM, t.GraniteConfig(**DECODER, **GRANITE), torch.float32),
    "mamba2": (t.Mamba2ForCausalLM, t.Mamba2Config(**MAMBA), torch.float32),
    "phi3": (t.Phi3ForCausalLM, t.Phi3Config(**DECODER, sliding_window=None, rope_parameters=PARTIAL), torch.float32),
}

ENCODERS: dict[str, tuple[type[t.PreTrainedModel], t.PretrainedConfig, torch.dtype]] = {
    "bert": (t.BertModel, t.BertConfig(**ENCODER), torch.float32),
    "bert-head": (
        t.BertForMaskedLM,
        t.BertConfig(**{**ENCODER, "hidden_act": "gelu_new", "tie_word_embeddings": False}),
        torch.bfloat16,
    ),
    "roberta": (
        t.RobertaModel,
        t.RobertaConfig(**{**ENCODER, "pad_token_id": 1, "bos_token_id": 0, "type_vocab_size": 1}),
        torch.float32,
    ),
    "distilbert": (
        t.DistilBertModel,
        t.DistilBertConfig(
            vocab_size=VOCABULARY, max_position_embeddings=24, dim=16, hidden_dim=24, n_layers=2, n_heads=4
        ),
        torch.float32,
    ),
}


def randomized(model: t.PreTrainedModel, dtype: torch.dtype) -> t.PreTrainedModel:
    """Draws all parameters, among them those of norms and biases; rounds them to bf16, to be compressed."""
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn_like(parameter) * (0.3 if parameter.dim() > 1 else 0.1)
            base = parameter if parameter.dim() == 1 else 0
            parameter.copy_((base + noise).to(torch.bfloat16))
    return model.to(dtype).eval()


def decoder(name: str) -> dict[str, bytes | str]:
    make, config, dtype = DECODERS[name]
    config._attn_implementation = "eager"
    model = randomized(make(config), dtype)
    with torch.no_grad():
        logits = copy.deepcopy(model).float()(TOKENS).logits
    return files(model, {"tokens": TOKENS}, {"logits": logits})


def encoder(name: str) -> dict[str, bytes | str]:
    make, config, dtype = ENCODERS[name]
    config._attn_implementation = "eager"
    model = randomized(make(config), dtype)
    inputs = {"input_ids": PADDED, "attention_mask": MASK}
    if config.model_type == "bert":
        inputs["token_type_ids"] = KINDS
    with torch.no_grad():
        computed = copy.deepcopy(model.base_model).float()(**inputs)
    return files(model, inputs, {key: value for key, value in computed.items() if value is not None})


def files(
    model: t.PreTrainedModel, inputs: dict[str, torch.Tensor], outputs: dict[str, torch.Tensor]
) -> dict[str, bytes | str]:
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return {
            "config.json": Path(folder, "config.json").read_text(),
            "model.safetensors": Path(folder, "model.safetensors").read_bytes(),
            "inputs.safetensors": safetensors.torch.save(inputs),
            "outputs.safetensors": safetensors.torch.save({k: v.contiguous() for k, v in outputs.items()}),
        }


def main() -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        for name in [*DECODERS, *ENCODERS]:
            torch.manual_seed(0)
            written = decoder(name) if name in DECODERS else encoder(name)
            for key, contents in written.items():
                file.writestr(zipfile.ZipInfo(f"{name}/{key}", TIME), contents)
    with open(sys.argv[1], "wb") as out, gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) as packed:
        packed.write(memory.getvalue())


if __name__ == "__main__":
    main()
