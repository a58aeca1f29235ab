#!/usr/bin/env python3
"""Small checkpoints as Hugging Face's libraries write them: tests/golden/weights.

    pip install torch transformers && tests/golden/safetensors_golden.py

types.safetensors has a tensor of every type that weights come in; sharded/ is a GPT-2 in bf16 that save_pretrained cut into
files. Element i of a tensor is ((7 i + length of its name) mod 64 - 32) / 32: exact in every type.
"""
import pathlib

import torch
import transformers
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).parent / "weights"


def values(name, shape):
    count = torch.Size(shape).numel()
    return ((torch.arange(count) * 7 + len(name)) % 64 - 32).view(shape) / 32


def main():
    FOLDER.mkdir(exist_ok=True)
    shapes = dict(zeta=((2, 3), torch.float16), alpha=((70,), torch.bfloat16), beta=((1, 2), torch.float64),
                  scalar=((), torch.float32), gamma=((3, 1), torch.float16), omega=((5,), torch.float32))
    save_file({n: values(n, s).to(t) for n, (s, t) in shapes.items()}, FOLDER / "types.safetensors",
              metadata=dict(format="pt"))
    config = transformers.GPT2Config(n_embd=8, n_layer=2, n_head=2, n_positions=8, vocab_size=16, bos_token_id=None,
                                     eos_token_id=None)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(values(name, parameter.shape))
    model.save_pretrained(FOLDER / "sharded", max_shard_size="2KB")
    (FOLDER / "sharded" / "generation_config.json").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
