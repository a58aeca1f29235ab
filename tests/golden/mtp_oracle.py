#!/usr/bin/env python3
"""Writes the golden steps with multi-token prediction: tests/golden/executor/mtp_*.json.

    pip install torch && tests/golden/mtp_oracle.py [NAME...]

The models of llama_oracle.py with modules behind them (arXiv:2412.19437 section 2.2), in float64 with PyTorch's autograd,
knowing nothing of the executor. Module k reads what the final norm of the main model, or of module k-1, has made, and the
embedding of the token k steps ahead: both normed, side by side with the embedding first (equation 21; the order of
deepseek-ai/DeepSeek-V3's eh_proj), a projection, a layer like the last one, a final norm of its own, the shared output
layer. What is read is normed, as NVIDIA/Megatron-LM megatron/core/transformer/multi_token_prediction.py hands it on. Its
loss is a mean over the tokens that have a target k+1 ahead in their sequence, as Megatron's loss mask makes it; the losses
are averaged over the modules and count LAMBDA times (equation 25; Megatron-LM's default, DeepSeek-V3's from its 10th
trillion of tokens on, section 4.2). Where a sequence has no token k steps ahead the embedding is zero: no loss sees it.

The format is llama_oracle.py's; layers.{L}... behind the model's own are modules, with enorm, hnorm, eh_proj and norm.
`loss` is the whole loss without the balance losses; tied models have no `head`. Building and testing do not need this script.
"""
import json
import pathlib
import sys

import torch
from torch.nn.functional import cross_entropy, linear

from llama_oracle import (BATCH, DENSE, MOE, OPTIMIZER, SEED, SEQUENCE, attention, initial_parameters, mixture,
                          parameter_shapes, rms_norm, swiglu, update)
import llama_oracle

LAMBDA = 0.1
BASE_SHAPES = parameter_shapes


def shapes_with_modules(m):
    """Those of a model with as many layers more, less what tied embeddings share."""
    h = m["hidden"]
    for name, shape in BASE_SHAPES(dict(m, layers=m["layers"] + m["modules"])):
        if name == "head" and m["tied"]:
            continue
        yield name, shape
    for i in range(m["layers"], m["layers"] + m["modules"]):
        p = f"layers.{i}."
        yield from [(p + "enorm", (h,)), (p + "hnorm", (h,)), (p + "eh_proj", (h, 2 * h)), (p + "norm", (h,))]


def layer(x, params, i, m):
    """What the layer makes, and its balance loss."""
    def p(name):
        return params[f"layers.{i}.{name}"]
    x = x + attention(rms_norm(x, p("norm1"), m["norm_eps"]), p, m)
    y = rms_norm(x, p("norm2"), m["norm_eps"])
    if "experts" not in m:
        return x + swiglu(y, p, "mlp"), 0
    out, balance = mixture(y, p, m)
    return x + out, balance


def embeddings_ahead(params, tokens, k):
    """Of the tokens k steps ahead of a sequence's inputs."""
    out = params["embedding"][tokens[:, k:k + SEQUENCE]]
    return torch.cat((out, out.new_zeros(out.shape[0], SEQUENCE - out.shape[1], out.shape[2])), 1)


def losses(params, tokens, m):
    def norm(x, weight):
        return rms_norm(x, params[weight], m["norm_eps"])

    def loss_of(y, ahead):
        logits = linear(y, params["embedding" if m["tied"] else "head"])
        return cross_entropy(logits[:, :SEQUENCE + 1 - ahead].flatten(0, 1), tokens[:, ahead:].flatten())

    x, balance = embeddings_ahead(params, tokens, 0), torch.zeros((), dtype=torch.float64)
    for i in range(m["layers"]):
        x, of_layer = layer(x, params, i, m)
        balance = balance + of_layer
    y = norm(x, "norm")
    loss = loss_of(y, 1)
    for k in range(1, m["modules"] + 1):
        i = m["layers"] + k - 1
        both = torch.cat((norm(embeddings_ahead(params, tokens, k), f"layers.{i}.enorm"), norm(y, f"layers.{i}.hnorm")), -1)
        x, of_layer = layer(linear(both, params[f"layers.{i}.eh_proj"]), params, i, m)
        balance = balance + of_layer
        y = norm(x, f"layers.{i}.norm")
        loss = loss + LAMBDA / m["modules"] * loss_of(y, k + 1)
    return loss, balance


def golden_step(m):
    params = initial_parameters(m)
    stream = torch.randint(m["vocab"], (BATCH * SEQUENCE + 1,))
    tokens = stream.unfold(0, SEQUENCE + 1, SEQUENCE)
    loss, balance = losses(params, tokens, m)
    (loss + balance).backward()
    entries = {n: dict(shape=list(t.shape), value=t.detach().flatten().tolist(), gradient=t.grad.flatten().tolist())
               for n, t in params.items()}
    norm = update(list(params.values()))
    for name, t in params.items():
        entries[name]["updated"] = t.detach().flatten().tolist()
    return dict(written_by="tests/golden/mtp_oracle.py", torch=torch.__version__, seed=SEED, model=m, optimizer=OPTIMIZER,
                tokens=stream.tolist(), sequence=SEQUENCE, loss=loss.item(), balance_loss=balance.item(),
                gradient_norm=norm.item(), parameters=entries)


MODELS = {
    "mtp": dict(DENSE, modules=1, tied=False),
    "mtp2_tied": dict(DENSE, modules=2, tied=True),
    "mtp_moe": dict(MOE, modules=1, tied=False),
    "mtp2_moe": dict(MOE, layers=1, experts=2, top_k=1, modules=2, tied=False),
}


def main():
    llama_oracle.parameter_shapes = shapes_with_modules  # of initial_parameters
    folder = pathlib.Path(__file__).parent / "executor"
    for name in sys.argv[1:] or MODELS:
        torch.manual_seed(SEED)
        text = json.dumps(golden_step(MODELS[name]), separators=(",", ":")).replace('"parameters":', '\n"parameters":')
        (folder / f"{name}.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
