#!/usr/bin/env python3
"""Three steps of every optimizer that the executor runs, by the implementations that people train with.

    python3 tests/golden/optimizer_oracle.py [NAME...]

writes tests/golden/executor/optimizers.json, which tests/validator/proofs/optimizers_test.cpp reads, or those
of the named optimizers in it. Needs torch >= 2.9 (torch.optim.AdamW, SGD, Muon), timm (Lamb), lion-pytorch,
transformers (Adafactor) and bitsandbytes (the PyTorch form of its 8-bit blockwise update). All compute in
float64: what their authors fix to a narrower type is widened
here, so that differences are differences of the definition.

Values and gradients follow from formulas that the test repeats.
"""
import json
import math
import pathlib
import sys
import types

import torch

STEPS = 3
RATES = {"learning_rate": 0.02, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-6, "momentum": 0.95,
         "weight_decay": 0.1}
# A vector, two matrices that lie together, and a tall one, one behind the other in a flat buffer.
SHAPES = {"vector": (20,), "first": (8, 20), "second": (8, 20), "tall": (12, 5)}


def value(i):
    return 0.3 * math.sin(1.7 * i + 0.3)


def gradient(step, i):
    return 0.05 * math.cos(0.9 * i * step + 0.1) * (1 + i % 7)


def slices():
    at = 0
    for name, shape in SHAPES.items():
        count = math.prod(shape)
        yield name, shape, at, count
        at += count


def parameters():
    return {name: torch.nn.Parameter(torch.tensor([value(at + k) for k in range(count)],
                                                  dtype=torch.float64).reshape(shape))
            for name, shape, at, count in slices()}


def run(make):
    """Values after three steps of the optimizers that `make` gives for the parameters."""
    params = parameters()
    optimizers = make(params)
    for step in range(1, STEPS + 1):
        for name, shape, at, count in slices():
            params[name].grad = torch.tensor([gradient(step, at + k) for k in range(count)],
                                             dtype=torch.float64).reshape(shape)
        for optimizer in optimizers:
            optimizer.step()
    return [x for name in SHAPES for x in params[name].detach().flatten().tolist()]


def groups(params):
    """Vectors do not decay."""
    return [{"params": [p for p in params.values() if p.ndim > 1], "weight_decay": RATES["weight_decay"]},
            {"params": [p for p in params.values() if p.ndim == 1], "weight_decay": 0.0}]


LR, BETAS, EPS = RATES["learning_rate"], (RATES["beta1"], RATES["beta2"]), RATES["epsilon"]


def adamw(params):
    return [torch.optim.AdamW(groups(params), lr=LR, betas=BETAS, eps=EPS)]


def sgd(params):
    return [torch.optim.SGD(groups(params), lr=LR, momentum=RATES["momentum"])]


def lion(params):
    from lion_pytorch import Lion
    return [Lion(groups(params), lr=LR, betas=BETAS)]


def lamb(params):
    from timm.optim.lamb import Lamb
    return [Lamb(groups(params), lr=LR, betas=BETAS, eps=EPS, max_grad_norm=None, foreach=False)]


def adafactor(params):
    """As transformers' Trainer makes it (trainer_optimizer.py _get_adafactor)."""
    from transformers.optimization import Adafactor
    return [Adafactor(groups(params), lr=LR, scale_parameter=False, relative_step=False)]


def muon(params):
    matrices = [p for p in params.values() if p.ndim > 1]
    vectors = [p for p in params.values() if p.ndim == 1]
    return [torch.optim.Muon(matrices, lr=LR, momentum=RATES["momentum"],
                             weight_decay=RATES["weight_decay"], adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(vectors, lr=LR, betas=BETAS, eps=EPS, weight_decay=0.0)]


class Wide(types.ModuleType):
    """torch, where float32 is float64."""
    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


def adamw_8bit():
    """The whole buffer as one parameter, so that its blocks are the buffer's."""
    from bitsandbytes import functional
    from bitsandbytes.backends.triton import kernels_optim
    kernels_optim.torch = Wide("torch")
    quantise = kernels_optim._quantize_blockwise_pytorch
    kernels_optim._quantize_blockwise_pytorch = getattr(quantise, "_torchdynamo_orig_callable", quantise)
    as_float, torch.Tensor.float = torch.Tensor.float, lambda self: self.double()
    signed, unsigned = (functional.create_dynamic_map(signed=s) for s in (True, False))
    size = sum(count for _, _, _, count in slices())
    blocks = math.ceil(size / 256)
    p = torch.tensor([value(i) for i in range(size)], dtype=torch.float64)
    codes = [torch.zeros(size, dtype=torch.uint8) for _ in range(2)]
    scales = [torch.zeros(blocks, dtype=torch.float64) for _ in range(2)]
    for step in range(1, STEPS + 1):
        g = torch.tensor([gradient(step, i) for i in range(size)], dtype=torch.float64)
        kernels_optim.optimizer_update_8bit_blockwise_pytorch(
            p, g, codes[0], codes[1], *BETAS, 0.0, 0.0, EPS, step, LR, signed, unsigned, scales[0], scales[1],
            RATES["weight_decay"], 1.0, False, optimizer_name="adam")
    torch.Tensor.float = as_float
    return {"updated": p.tolist(), "signed_map": signed.tolist(), "unsigned_map": unsigned.tolist(),
            "first_codes": codes[0].tolist(), "second_codes": codes[1].tolist(),
            "first_scales": scales[0].tolist(), "second_scales": scales[1].tolist()}


def widened(make):
    """Where bfloat16, which Muon's iteration would round to, is float64."""
    narrow, torch.bfloat16 = torch.bfloat16, torch.float64
    values = run(make)
    torch.bfloat16 = narrow
    return values


def main():
    makers = {"adamw-8bit": adamw_8bit, "muon": lambda: {"updated": widened(muon)}}
    for name, make in [("adamw", adamw), ("sgd", sgd), ("lion", lion), ("lamb", lamb), ("adafactor", adafactor)]:
        makers[name] = lambda make=make: {"updated": run(make)}
    path = pathlib.Path(__file__).parent / "executor" / "optimizers.json"
    out = {"made_by": "tests/golden/optimizer_oracle.py", "steps": STEPS, "rates": RATES}
    if sys.argv[1:]:
        out = json.loads(path.read_text())
    for name in sys.argv[1:] or makers:
        out[name] = makers[name]()
    path.write_text(json.dumps(out, separators=(",", ":")).replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
