#!/usr/bin/env python3
"""Writes three golden steps of Adafactor of whole models: tests/golden/executor/adafactor_*.json.

    pip install torch transformers && tests/golden/adafactor_oracle.py [NAME...]

The models of llama_oracle.py, dense with tied embeddings and with experts, in float64 with PyTorch's autograd and
transformers.optimization.Adafactor the way in which transformers' Trainer makes it for `optim="adafactor"`
(trainer_optimizer.py _get_adafactor: a learning rate that is given, no scaling by parameters). Every linear layer and
every expert is a parameter of its own. Each step reads two further sequences.

The format is llama_oracle.py's, with `losses` and `gradient_norms` (before clipping) of every step, balance losses
included, and what `steps` steps make of every parameter. Building and testing do not need this script.
"""
import json
import pathlib
import sys

import torch
from transformers.optimization import Adafactor

from llama_oracle import BATCH, DENSE, MOE, OPTIMIZER, SEED, SEQUENCE, initial_parameters, losses

STEPS = 3


def golden_steps(m):
    params = initial_parameters(m)
    if m.get("tied", False):
        del params["head"]
    values = {name: t.detach().flatten().tolist() for name, t in params.items()}
    stream = torch.randint(m["vocab"], (STEPS * BATCH * SEQUENCE + 1,))
    sequences = stream.unfold(0, SEQUENCE + 1, SEQUENCE)
    decayed = [t for t in params.values() if t.dim() > 1]
    others = [t for t in params.values() if t.dim() == 1]
    optimizer = Adafactor([dict(params=decayed, weight_decay=OPTIMIZER["weight_decay"]),
                           dict(params=others, weight_decay=0.0)],
                          lr=OPTIMIZER["learning_rate"], scale_parameter=False, relative_step=False)
    all_losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        whole = dict(params, head=params["embedding"]) if m.get("tied", False) else params
        loss, balance = losses(whole, sequences[step * BATCH:(step + 1) * BATCH], m)
        (loss + balance).backward()
        norm = torch.nn.utils.clip_grad_norm_(list(params.values()), OPTIMIZER["clip"])
        optimizer.step()
        all_losses.append((loss + balance).item())
        norms.append(norm.item())
    entries = {name: dict(shape=list(t.shape), value=values[name], updated=t.detach().flatten().tolist())
               for name, t in params.items()}
    return dict(written_by="tests/golden/adafactor_oracle.py", torch=torch.__version__, seed=SEED, model=m,
                optimizer=OPTIMIZER, steps=STEPS, tokens=stream.tolist(), sequence=SEQUENCE, losses=all_losses,
                gradient_norms=norms, parameters=entries)


def main():
    folder = pathlib.Path(__file__).parent / "executor"
    models = {"adafactor_tied": dict(DENSE, tied=True), "adafactor_moe": MOE}
    for name in sys.argv[1:] or models:
        torch.manual_seed(SEED)
        text = json.dumps(golden_steps(models[name]), separators=(",", ":")).replace('"parameters":', '\n"parameters":')
        (folder / f"{name}.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
