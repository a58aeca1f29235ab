#!/usr/bin/env python3
"""Writes the golden steps that the executor has to reproduce: tests/golden/executor/*.json.

    pip install torch && tests/golden/llama_oracle.py [NAME...]

One training step of a two-layer Llama and of a two-layer mixture of experts, in float64 with PyTorch's autograd and
torch.optim.AdamW, written against the published definitions and knowing nothing of the executor:
RMSNorm (arXiv:1910.07467 eq. 4), RoPE in halves (arXiv:2104.09864 eq. 34; the pairing of Hugging Face's
modeling_llama.py), GQA (arXiv:2305.13245), SwiGLU (arXiv:2002.05202 eq. 6), untied output layer, mean cross-entropy;
top-k of a softmax over all experts (arXiv:2101.03961 section 2.2, arXiv:2405.04434 eq. 20-22), shared expert
(arXiv:2401.06066 eq. 9), balance loss per sequence (arXiv:2412.19437 eq. 17-20) averaged over sequences. No token is
dropped but in capacity_moe and capacity_moe_cut, as NVIDIA/Megatron-LM drops them (megatron/core/transformer/moe/moe_utils.py,
get_capacity and apply_router_token_dropping with drop_policy "probs"): of the tokens that a rank routes, the most probable.
What Hugging Face's models make of the same is in transformers_oracle.py. Building and testing do not need this script.

Format of a file: `parameters` maps the usual names (query, key and value, gate and up apart; one entry per expert) to
`shape` (output features first), `value`, `gradient` of the whole loss before clipping, and `updated` after one step of
AdamW with the gradient clipped to `optimizer.clip`; arrays are flat, row-major. `tokens` is one stream: sequence i reads
tokens [i*s, i*s + s) and its targets are one further.
"""
import json
import math
import pathlib
import sys

import torch
from torch.nn.functional import cross_entropy, linear, silu

SEED = 20261121
DENSE = dict(layers=2, hidden=16, heads=4, kv_heads=2, head_dim=4, ffn=20, vocab=29, rope_theta=10000.0, norm_eps=1e-5)
MOE = dict(layers=2, hidden=12, heads=4, kv_heads=2, head_dim=4, vocab=23, rope_theta=10000.0, norm_eps=1e-5, experts=4,
           top_k=2, expert_ffn=8, shared_ffn=6, balance_coefficient=0.01)
# Tokens of a sequence of 8 that are routed together: all, or those of each rank under zig-zag context parallelism over 2
# ranks and sequence parallelism over 2. Three and one of four experts' mean of 4 and 1 tokens are taken.
CAPACITY = dict(MOE, capacity_factor=0.75, routed_together=[list(range(8))])
CAPACITY_CUT = dict(MOE, capacity_factor=0.75, renormalise=True, routed_together=[[0, 1], [6, 7], [2, 3], [4, 5]])
OPTIMIZER = dict(learning_rate=1e-2, beta1=0.9, beta2=0.95, epsilon=1e-8, weight_decay=0.1, clip=0.1)
BATCH, SEQUENCE = 2, 8


def parameter_shapes(m):
    h, q, kv = m["hidden"], m["heads"] * m["head_dim"], m["kv_heads"] * m["head_dim"]
    yield "embedding", (m["vocab"], h)
    for i in range(m["layers"]):
        p = f"layers.{i}."
        yield from [(p + "norm1", (h,)), (p + "query", (q, h)), (p + "key", (kv, h)), (p + "value", (kv, h)),
                    (p + "output", (h, q)), (p + "norm2", (h,))]
        ffns = [("mlp", m["ffn"])] if "ffn" in m else \
            [("shared", m["shared_ffn"])] + [(f"experts.{e}", m["expert_ffn"]) for e in range(m["experts"])]
        if "experts" in m:
            yield p + "router", (m["experts"], h)
        for name, f in ffns:
            yield from [(f"{p}{name}.gate", (f, h)), (f"{p}{name}.up", (f, h)), (f"{p}{name}.down", (h, f))]
    yield "norm", (h,)
    yield "head", (m["vocab"], h)


def initial_parameters(m):
    """Decimals of four digits, so that files stay small and the doubles are exactly those that were used."""
    out = {}
    for name, shape in parameter_shapes(m):
        values = torch.randn(shape, dtype=torch.float64)
        values = 1 + 0.1 * values if len(shape) == 1 else values * 1.2 / math.sqrt(shape[-1])
        out[name] = torch.round(values, decimals=4).requires_grad_()
    return out


def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def rotate(x, theta):
    """x: batch, heads, sequence, head_dim; dimension i is paired with i + head_dim/2."""
    s, d = x.shape[-2:]
    angle = torch.outer(torch.arange(s, dtype=x.dtype), theta ** (-torch.arange(0, d, 2, dtype=x.dtype) / d))
    a, b = x[..., :d // 2], x[..., d // 2:]
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)


def attention(x, p, m):
    b, s, _ = x.shape
    d, groups = m["head_dim"], m["heads"] // m["kv_heads"]
    q, k, v = (linear(x, p(n)).view(b, s, -1, d).transpose(1, 2) for n in ("query", "key", "value"))
    q, k = rotate(q, m["rope_theta"]), rotate(k, m["rope_theta"])
    k, v = (t.repeat_interleave(groups, dim=1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(d)
    scores = scores.masked_fill(torch.ones(s, s, dtype=torch.bool).triu(1), -math.inf)
    return linear((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, s, -1), p("output"))


def swiglu(x, p, name):
    return linear(silu(linear(x, p(name + ".gate"))) * linear(x, p(name + ".up")), p(name + ".down"))


def within_capacity(weights, chosen, m):
    """1 where an expert takes the token that chose it. weights, chosen: micro-batches of one sequence each, tokens, experts."""
    taken = torch.zeros_like(chosen)
    for rows in m["routed_together"]:
        capacity = math.ceil(len(rows) * m["top_k"] / m["experts"] * m["capacity_factor"])
        most_probable = weights[:, rows].topk(capacity, dim=1).indices
        taken[:, rows] = torch.zeros_like(weights[:, rows]).scatter(1, most_probable, 1.0)
    return taken * chosen


def mixture(x, p, m):
    """Every expert sees every token and is weighted by zero where the router did not choose it."""
    e, k = m["experts"], m["top_k"]
    prob = linear(x, p("router")).softmax(-1)
    chosen = torch.zeros_like(prob).scatter(-1, prob.topk(k, -1).indices, 1.0)
    weights = chosen * prob
    if m.get("renormalise", False):
        weights = weights / weights.sum(-1, keepdim=True)
    if "capacity_factor" in m:
        taken = within_capacity(weights.detach(), chosen, m)
        DROPPED.append(int((chosen - taken).sum()))
        weights = weights * taken
    y = swiglu(x, p, "shared")
    for i in range(e):
        y = y + weights[..., i:i + 1] * swiglu(x, p, f"experts.{i}")
    fraction = chosen.sum(1) * e / (k * x.shape[1])  # per sequence; not differentiated
    balance = m["balance_coefficient"] * (fraction * prob.mean(1)).sum(-1).mean()
    return y, balance


DROPPED = []  # copies of tokens, by layer


def update(params):
    """Clips and steps; returns the norm before clipping."""
    norm = torch.nn.utils.clip_grad_norm_(params, OPTIMIZER["clip"])
    decayed = [t for t in params if t.dim() > 1]
    others = [t for t in params if t.dim() == 1]
    torch.optim.AdamW([dict(params=decayed, weight_decay=OPTIMIZER["weight_decay"]), dict(params=others, weight_decay=0.0)],
                      lr=OPTIMIZER["learning_rate"], betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]),
                      eps=OPTIMIZER["epsilon"]).step()
    return norm


def losses(params, tokens, m):
    x, balance = params["embedding"][tokens[:, :-1]], torch.zeros((), dtype=torch.float64)
    for i in range(m["layers"]):
        def p(name, layer=i):
            return params[f"layers.{layer}.{name}"]
        x = x + attention(rms_norm(x, p("norm1"), m["norm_eps"]), p, m)
        y = rms_norm(x, p("norm2"), m["norm_eps"])
        if "experts" in m:
            out, layer_balance = mixture(y, p, m)
            balance = balance + layer_balance
        else:
            out = swiglu(y, p, "mlp")
        x = x + out
    logits = linear(rms_norm(x, params["norm"], m["norm_eps"]), params["head"])
    return cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()), balance


def golden_step(m):
    params = initial_parameters(m)
    stream = torch.randint(m["vocab"], (BATCH * SEQUENCE + 1,))
    tokens = stream.unfold(0, SEQUENCE + 1, SEQUENCE)  # each sequence begins with the last target of the one before
    DROPPED.clear()
    loss, balance = losses(params, tokens, m)
    assert "capacity_factor" not in m or min(DROPPED) > 0, "the step must drop tokens"
    (loss + balance).backward()
    entries = {n: dict(shape=list(t.shape), value=t.detach().flatten().tolist(), gradient=t.grad.flatten().tolist())
               for n, t in params.items()}
    norm = update(list(params.values()))
    for name, t in params.items():
        entries[name]["updated"] = t.detach().flatten().tolist()
    return dict(written_by="tests/golden/llama_oracle.py", torch=torch.__version__, seed=SEED, model=m,
                optimizer=OPTIMIZER, tokens=stream.tolist(), sequence=SEQUENCE, loss=loss.item(), balance_loss=balance.item(),
                gradient_norm=norm.item(), parameters=entries)


def main():
    folder = pathlib.Path(__file__).parent / "executor"
    folder.mkdir(exist_ok=True)
    steps = {"llama": lambda: golden_step(DENSE), "llama_moe": lambda: golden_step(MOE),
             "renormalised_moe": lambda: golden_step(dict(MOE, renormalise=True, balance_coefficient=0.03)),
             "capacity_moe": lambda: golden_step(CAPACITY), "capacity_moe_cut": lambda: golden_step(CAPACITY_CUT)}
    for name in sys.argv[1:] or steps:
        torch.manual_seed(SEED)
        text = json.dumps(steps[name](), separators=(",", ":")).replace('"parameters":', '\n"parameters":')
        (folder / f"{name}.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
