#!/usr/bin/env python3
"""Steps of every optimizer that the executor runs, by the implementations that people train with: three, and
five of those that precondition gradients.

    python3 tests/golden/optimizer_oracle.py [NAME...]

writes tests/golden/executor/optimizers.json, which tests/validator/proofs/optimizers_test.cpp reads, or those
of the named optimizers in it. Needs torch >= 2.9 (torch.optim.AdamW, SGD, Muon), timm (Lamb), lion-pytorch,
transformers (Adafactor), bitsandbytes (the PyTorch form of its 8-bit blockwise update), galore-torch (which needs
tensorly) and apollo-torch; soap.py of nikhilvyas/SOAP@a1e5535 and distributed_shampoo of
facebookresearch/optimizers@f606606 (Python >= 3.12), on PYTHONPATH. All compute in float64: what their authors fix to a narrower type is widened here, so that
differences are differences of the definition. Bases of what a matrix maps to zero, which decompositions leave
open, are the executor's (eigenbases.h). Singular vectors get signs by the rule of the executor, which matters
where moments outlive a subspace (decompositions leave signs open), and random numbers are the executor's.

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


def run(make, steps=STEPS):
    """Values after some steps of the optimizers that `make` gives for the parameters."""
    params = parameters()
    optimizers = make(params)
    for step in range(1, steps + 1):
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
    float32 = float = torch.float64

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


# --- subspaces: GaLore, APOLLO ---

RANK, INTERVAL = 3, 2
GALORE_SCALE, APOLLO_SCALE, MINI_SCALE = 0.25, 1.0, 128.0
MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def counter_random(seed, stream, counter):
    """validator/executor/parameters/initial_values.h."""
    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        return z ^ (z >> 31)
    return mix((mix(mix((seed + GAMMA) & MASK) ^ stream) + (counter + 1) * GAMMA) & MASK)


def counter_normal(seed, stream, counter):
    a, b = (((counter_random(seed, stream, 2 * counter + k) >> 11) + 0.5) * 2.0 ** -53 for k in (0, 1))
    return math.sqrt(-2 * math.log(a)) * math.cos(2 * math.pi * b)


def stream_of(name):
    """Of a tensor of unit 0."""
    hashed = 0xCBF29CE484222325
    for c in name.encode():
        hashed = (hashed ^ c) * 0x100000001B3 & MASK
    return (hashed + 8 * GAMMA) & MASK


# The first two lie in one tensor.
STREAMS = {"first": stream_of("two"), "second": (stream_of("two") + 1) & MASK, "tall": stream_of("tall")}


def signed_svd():
    """torch.linalg.svd, where the largest component of every singular vector is positive."""
    svd = torch.linalg.svd

    def decompose(matrix, full_matrices=True):
        u, s, vh = svd(matrix, full_matrices=full_matrices)
        def signs(rows):
            return torch.sign(rows.gather(1, rows.abs().argmax(1, keepdim=True)))
        return u * signs(u.T).T, s, vh * signs(vh)
    return decompose


def projected_groups(params, **subspace):
    """Vectors neither decay nor are projected."""
    matrices = [p for p in params.values() if p.ndim > 1]
    return [{"params": matrices, "weight_decay": RATES["weight_decay"], "update_proj_gap": INTERVAL,
             "proj_type": "std", **subspace},
            {"params": [p for p in params.values() if p.ndim == 1], "weight_decay": 0.0}]


def with_wide_svd(make):
    """Gradients are decomposed in float64, not in float32."""
    svd, as_float = torch.linalg.svd, torch.Tensor.float
    torch.linalg.svd, torch.Tensor.float = signed_svd(), lambda self: self.double()
    values = make()
    torch.linalg.svd, torch.Tensor.float = svd, as_float
    return values


def galore():
    from galore_torch.adamw import AdamW

    def make(params):
        return [AdamW(projected_groups(params, rank=RANK, scale=GALORE_SCALE), lr=LR, betas=BETAS, eps=EPS,
                      no_deprecation_warning=True)]
    return {"updated": with_wide_svd(lambda: run(make))}


def blockwise_8bit(p, g, state, step, decay):
    """bitsandbytes' step of one parameter, in place."""
    from bitsandbytes import functional
    from bitsandbytes.backends.triton import kernels_optim
    if not isinstance(kernels_optim.torch, Wide):
        kernels_optim.torch = Wide("torch")
        for name in ("_quantize_blockwise_pytorch", "_dequantize_blockwise_pytorch"):
            function = getattr(kernels_optim, name)
            setattr(kernels_optim, name, getattr(function, "_torchdynamo_orig_callable", function))
    signed, unsigned = (functional.create_dynamic_map(signed=s) for s in (True, False))
    if not state:
        state["codes"] = [torch.zeros(p.numel(), dtype=torch.uint8) for _ in range(2)]
        state["scales"] = [torch.zeros(math.ceil(p.numel() / 256), dtype=torch.float64) for _ in range(2)]
    flat = p.flatten()
    kernels_optim.optimizer_update_8bit_blockwise_pytorch(
        flat, g.flatten(), *state["codes"], *BETAS, 0.0, 0.0, EPS, step, LR, signed, unsigned, *state["scales"],
        decay, 1.0, False, optimizer_name="adam")
    return flat.reshape(p.shape)


def galore_8bit():
    """galore_torch.adamw8bit.AdamW8bit.step with bitsandbytes' PyTorch form: its own class runs on GPUs."""
    from galore_torch.galore_projector import GaLoreProjector
    params = {name: p.detach() for name, p in parameters().items()}
    states = {name: {} for name in params}
    projectors = {name: GaLoreProjector(RANK, update_proj_gap=INTERVAL, scale=GALORE_SCALE, proj_type="std")
                  for name, p in params.items() if p.ndim > 1}

    def train():
        for step in range(1, STEPS + 1):
            for name, shape, at, count in slices():
                g = torch.tensor([gradient(step, at + k) for k in range(count)], dtype=torch.float64).reshape(shape)
                if name not in projectors:
                    params[name] = blockwise_8bit(params[name], g, states[name], step, 0.0)
                    continue
                low = projectors[name].project(g, step - 1)
                moved = blockwise_8bit(torch.zeros_like(low), low, states[name], step, 0.0)
                params[name] = params[name] + projectors[name].project_back(moved)
                params[name] = params[name] * (1 - LR * RATES["weight_decay"])
        return [x for name in SHAPES for x in params[name].flatten().tolist()]
    return {"updated": with_wide_svd(train)}


def apollo(rank, scale, scale_type):
    from apollo_torch import random_projector
    from apollo_torch.apollo import AdamW
    names, step = [name for name in SHAPES if name != "vector"], [0]

    def shared_normal(shape, seed, device=None, dtype=None):
        of_columns = shape[1] == rank and shape[0] != rank
        rows = shape[::-1] if of_columns else shape
        values = [counter_normal(step[0], STREAMS[names[seed]], i) for i in range(math.prod(shape))]
        matrix = torch.tensor(values, dtype=torch.float64).reshape(rows)
        return matrix.T if of_columns else matrix
    random_projector.stable_randn, random_projector.next_seed = shared_normal, lambda seed, adv=0: seed
    as_float, torch.Tensor.float = torch.Tensor.float, lambda self: self.double()

    def make(params):
        groups = projected_groups(params, rank=rank, scale=scale, proj="random", scale_type=scale_type)
        optimizer = AdamW(groups, lr=LR, betas=BETAS, eps=EPS)
        for number, name in enumerate(names):
            optimizer.state[params[name]]["seed"] = number

        class Counted:
            def step(self):
                step[0] += 1
                optimizer.step()
        return [Counted()]
    values = run(make)
    torch.Tensor.float = as_float
    return {"updated": values}


# --- second moments of rows and columns: SOAP, Shampoo ---

PRECONDITIONED_STEPS, FREQUENCY = 5, 2
# Blocks of which two gradients tell all second moments: of what maps to zero roots magnify rounding.
SOAP_DIM, SHAMPOO_DIM = 16, 8
ROUNDING = 1e-12


def completed_eigh(eigh):
    """torch.linalg.eigh, where vectors of what the matrix maps to zero are the executor's."""
    def decompose(matrix):
        values, vectors = eigh(matrix)
        basis = vectors.flip(1)
        kept = int((values > ROUNDING * values[-1]).sum())
        rest = torch.eye(len(matrix), dtype=matrix.dtype) - basis[:, :kept] @ basis[:, :kept].T
        for column in range(kept, len(matrix)):
            farthest = 0
            for i in range(1, len(matrix)):
                if rest[i, i] > rest[farthest, farthest] + ROUNDING:
                    farthest = i
            vector = rest[:, farthest] / rest[:, farthest].norm()
            basis[:, column] = vector
            rest = rest - torch.outer(vector, vector)
        return values, basis.flip(1)
    return decompose


def with_adamw(params, optimizer):
    """What preconditions nothing else is updated beside AdamW."""
    vectors = [p for p in params.values() if p.ndim == 1]
    return [optimizer, torch.optim.AdamW(vectors, lr=LR, betas=BETAS, eps=EPS, weight_decay=0.0)]


def soap():
    from soap import SOAP

    def make(params):
        matrices = [p for p in params.values() if p.ndim > 1]
        return with_adamw(params, SOAP(matrices, lr=LR, betas=BETAS, eps=EPS, weight_decay=RATES["weight_decay"],
                                       precondition_frequency=FREQUENCY, max_precond_dim=SOAP_DIM))
    eigh, as_float = torch.linalg.eigh, torch.Tensor.float
    torch.linalg.eigh, torch.Tensor.float = completed_eigh(eigh), lambda self: self.double()
    torch.set_default_dtype(torch.float64)
    values = run(make, PRECONDITIONED_STEPS)
    torch.set_default_dtype(torch.float32)
    torch.linalg.eigh, torch.Tensor.float = eigh, as_float
    return {"updated": values}


def shampoo():
    from distributed_shampoo import (AdamPreconditionerConfig, DistributedShampoo,
                                     RootInvShampooPreconditionerConfig)
    from distributed_shampoo import distributed_shampoo as module
    module.torch = Wide("torch")

    def make(params):
        matrices = [p for p in params.values() if p.ndim > 1]
        return with_adamw(params, DistributedShampoo(
            matrices, lr=LR, betas=BETAS, epsilon=1e-12, weight_decay=RATES["weight_decay"],
            max_preconditioner_dim=SHAMPOO_DIM, precondition_frequency=FREQUENCY,
            grafting_config=AdamPreconditionerConfig(beta2=RATES["beta2"], epsilon=EPS),
            preconditioner_config=RootInvShampooPreconditionerConfig(factor_matrix_dtype=torch.float64,
                                                                     inv_factor_matrix_dtype=torch.float64)))
    torch.set_default_dtype(torch.float64)
    values = run(make, PRECONDITIONED_STEPS)
    torch.set_default_dtype(torch.float32)
    return {"updated": values}


def widened(make):
    """Where bfloat16, which Muon's iteration would round to, is float64."""
    narrow, torch.bfloat16 = torch.bfloat16, torch.float64
    values = run(make)
    torch.bfloat16 = narrow
    return values


def main():
    makers = {"adamw-8bit": adamw_8bit, "muon": lambda: {"updated": widened(muon)}, "galore": galore,
              "galore-8bit": galore_8bit, "apollo": lambda: apollo(RANK, APOLLO_SCALE, "channel"),
              "apollo-mini": lambda: apollo(1, MINI_SCALE, "tensor"), "soap": soap, "shampoo": shampoo}
    for name, make in [("adamw", adamw), ("sgd", sgd), ("lion", lion), ("lamb", lamb), ("adafactor", adafactor)]:
        makers[name] = lambda make=make: {"updated": run(make)}
    path = pathlib.Path(__file__).parent / "executor" / "optimizers.json"
    out = {"made_by": "tests/golden/optimizer_oracle.py", "steps": STEPS, "rates": RATES,
           "projection": {"rank": RANK, "interval": INTERVAL},
           "preconditioning": {"steps": PRECONDITIONED_STEPS, "frequency": FREQUENCY, "soap_dim": SOAP_DIM,
                               "shampoo_dim": SHAMPOO_DIM}}
    if sys.argv[1:]:
        out = {**json.loads(path.read_text()), **out}
    for name in sys.argv[1:] or makers:
        out[name] = makers[name]()
    path.write_text(json.dumps(out, separators=(",", ":")).replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
