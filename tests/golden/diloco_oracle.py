#!/usr/bin/env python3
"""Writes tests/golden/executor/diloco.json: two replicas of the Llama of llama_oracle.py that train apart between
outer steps, in float64 with PyTorch's autograd, torch.optim.AdamW and torch.optim.SGD(nesterov=True).

    pip install torch && tests/golden/diloco_oracle.py

DiLoCo (arXiv:2311.08105 algorithm 1): each replica clips and takes EVERY steps of AdamW on sequences of its own; then the
mean over replicas of (parameters of the last outer step - parameters) is the gradient of the outer optimizer, and
both begin anew from what it makes. A second outer step shows its momentum. AdamW's moments stay the replica's own.
Building and testing do not need this script.

Format: as llama_oracle.py writes it; `updated` is what parameters are after `steps` steps, `losses` and
`gradient_norms` are means over replicas, of which replica r reads sequences [r*b, r*b + b) of every step's global
batch. `plain` is the same with one replica, an outer learning rate of 1 and no momentum: steps of AdamW alone.
"""
import copy
import json
import pathlib

import torch
from llama_oracle import DENSE, OPTIMIZER, SEED, SEQUENCE, initial_parameters, losses

REPLICAS, EVERY, STEPS, OF_REPLICA = 2, 2, 4, 2
OUTER = dict(replicas=REPLICAS, every=EVERY, learning_rate=0.7, momentum=0.9)


def inner_optimizer(params):
    decayed = [t for t in params if t.dim() > 1]
    others = [t for t in params if t.dim() == 1]
    return torch.optim.AdamW([dict(params=decayed, weight_decay=OPTIMIZER["weight_decay"]),
                              dict(params=others, weight_decay=0.0)], lr=OPTIMIZER["learning_rate"],
                             betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]), eps=OPTIMIZER["epsilon"])


def train(start, sequences, replicas):
    """Parameters after all steps, and every step's means. sequences: steps, replicas, sequences, tokens."""
    shared = {n: t.detach().clone().requires_grad_() for n, t in start.items()}
    outer = torch.optim.SGD(list(shared.values()), lr=OUTER["learning_rate"], momentum=OUTER["momentum"], nesterov=True)
    own = [copy.deepcopy(shared) for _ in range(replicas)]
    inner = [inner_optimizer(list(p.values())) for p in own]
    means = []
    for step, batch in enumerate(sequences, 1):
        norms, step_losses = [], []
        for params, optimizer, tokens in zip(own, inner, batch):
            optimizer.zero_grad()
            loss, _ = losses(params, tokens, DENSE)
            loss.backward()
            norms.append(torch.nn.utils.clip_grad_norm_(params.values(), OPTIMIZER["clip"]).item())
            step_losses.append(loss.item())
            optimizer.step()
        means.append((sum(step_losses) / replicas, sum(norms) / replicas))
        if step % EVERY:
            continue
        for name, t in shared.items():
            t.grad = sum(t.detach() - params[name].detach() for params in own) / replicas
        outer.step()
        with torch.no_grad():
            for params in own:
                for name, t in shared.items():
                    params[name].copy_(t)
    return own[0], means


def plain(start, sequences):
    params = {n: t.detach().clone().requires_grad_() for n, t in start.items()}
    optimizer = inner_optimizer(list(params.values()))
    for tokens in sequences:
        optimizer.zero_grad()
        losses(params, tokens, DENSE)[0].backward()
        torch.nn.utils.clip_grad_norm_(params.values(), OPTIMIZER["clip"])
        optimizer.step()
    return params


def main():
    torch.manual_seed(SEED)
    start = initial_parameters(DENSE)
    batch = REPLICAS * OF_REPLICA
    stream = torch.randint(DENSE["vocab"], (STEPS * batch * SEQUENCE + 1,))
    tokens = stream.unfold(0, SEQUENCE + 1, SEQUENCE).reshape(STEPS, REPLICAS, OF_REPLICA, SEQUENCE + 1)
    updated, means = train(start, tokens, REPLICAS)
    alone = plain(start, tokens.flatten(1, 2))
    entries = {n: dict(shape=list(t.shape), value=t.detach().flatten().tolist(),
                       updated=updated[n].detach().flatten().tolist(), plain=alone[n].detach().flatten().tolist())
               for n, t in start.items()}
    text = json.dumps(dict(written_by="tests/golden/diloco_oracle.py", torch=torch.__version__, seed=SEED, model=DENSE,
                           optimizer=OPTIMIZER, outer=OUTER, steps=STEPS, batch=batch, tokens=stream.tolist(),
                           sequence=SEQUENCE, losses=[loss for loss, _ in means],
                           gradient_norms=[norm for _, norm in means], parameters=entries),
                      separators=(",", ":")).replace('"parameters":', '\n"parameters":')
    (pathlib.Path(__file__).parent / "executor" / "diloco.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
