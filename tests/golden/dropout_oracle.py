#!/usr/bin/env python3
"""Training steps with dropout by Hugging Face transformers, for the executor to reproduce: tests/golden/dropout/*.json.

    pip install torch transformers && tests/golden/dropout_oracle.py [--check] [NAME...]

One file per case: three AdamW steps of a model of transformers_oracle.py, in float64 and with eager attention, that leaves
out of attention's probabilities and of what attention and MLP add to the residual stream what the executor leaves out: the
masks are drawn here once more, by Philox4x32-10 (Salmon et al., SC 2011) from the place of a number in the model and the
batch (validator/executor/device/dropout.h). GPT-2 has modules that do; where a model has none, the output of the last
module before the sum is changed. Of every tensor the file has the loss's gradient before clipping at the first step, as fingerprints.
"""
import argparse
import pathlib
import sys

import numpy as np
import torch
import transformers

import transformers_oracle as base

FOLDER = pathlib.Path(__file__).parent / "dropout"
CASES = dict(gpt2=dict(model="gpt2", rate=0.2), llama=dict(model="llama", rate=0.1), gemma2=dict(model="gemma2", rate=0.3))
SCORES, ATTENTION, MLP, SITES = 0, 1, 2, 3
STREAM = 0x64726F70


def philox(counter, key):
    """counter: four arrays of 32-bit words."""
    c = [np.asarray(word, dtype=np.uint64) for word in np.broadcast_arrays(*counter)]
    low, high, word = key & 0xFFFFFFFF, key >> 32, np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(low), b & word, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(high), a & word]
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return c


class Dropout:
    """What is left of ones, sequences first; of the step that `step` says."""

    def __init__(self, rate):
        self.rate, self.step = rate, 0

    def begin(self, step):
        self.step = step

    def factors(self, layer, site, sequences, positions, columns, heads=1):
        key = int(base.counter_random(base.SEED, STREAM, self.step + 1)[self.step])
        s, h, p, c = np.ogrid[:sequences, :heads, :positions, :columns]
        words = philox([c // 4, p, s, ((layer * SITES + site) << 16) | h], key)
        word = np.choose(np.broadcast_to(c % 4, words[0].shape), words)
        kept = word >= np.uint64(round(self.rate * 2**32))
        return torch.from_numpy(kept / (1 - self.rate))

    def of_scores(self, layer, p):
        return p * self.factors(layer, SCORES, p.shape[0], p.shape[2], p.shape[3], p.shape[1])

    def of_hidden(self, layer, site, x):
        return x * self.factors(layer, site, x.shape[0], x.shape[1], x.shape[2])[:, 0]


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def bind(function, *arguments):
    return lambda x: function(*arguments, x)


def drop_out(model, dropout):
    """Every layer's three dropouts."""
    gpt2 = model.config.model_type == "gpt2"
    current = []  # the layer whose attention runs
    for i, layer in enumerate(model.transformer.h if gpt2 else model.model.layers):
        attention = layer.attn if gpt2 else layer.self_attn
        attention.register_forward_pre_hook(lambda *_, i=i: current.append(i))
        if gpt2:
            attention.resid_dropout = Module(bind(dropout.of_hidden, i, ATTENTION))
            layer.mlp.dropout = Module(bind(dropout.of_hidden, i, MLP))
            continue
        # Norms behind the branches stand before the sum.
        behind = hasattr(layer, "post_feedforward_layernorm")
        last = {ATTENTION: layer.post_attention_layernorm if behind else attention.o_proj,
                MLP: layer.post_feedforward_layernorm if behind else layer.mlp.down_proj}
        for site, module in last.items():
            module.register_forward_hook(lambda _m, _in, out, i=i, site=site: dropout.of_hidden(i, site, out))
    # Eager attention passes its probabilities, which alone have four sides, through this function.
    torch.nn.functional.dropout = lambda x, *_, **__: dropout.of_scores(current[-1], x) if x.dim() == 4 else x


def golden(case):
    kept = torch.nn.functional.dropout
    model, indices, _, _ = base.golden_model(base.CASES[case["model"]])
    model.set_attn_implementation("eager")
    dropout = Dropout(case["rate"])
    drop_out(model.train(), dropout)
    losses, norms, gradients, _ = base.steps_of(model, indices, begins=dropout.begin)
    torch.nn.functional.dropout = kept
    tensors = {name: dict(gradient=base.fingerprint(name, gradients[index])) for name, index in indices.items()}
    return dict(written_by="tests/golden/dropout_oracle.py", torch=torch.__version__,
                transformers=transformers.__version__, model=case["model"], rate=case["rate"], losses=losses,
                gradient_norms=norms, tensors=tensors)


def differences(fresh, kept):
    pairs = [("losses", fresh["losses"], kept["losses"], 1.0)]
    for name, tensor in fresh["tensors"].items():
        pairs.append((name, tensor["gradient"], kept["tensors"][name]["gradient"], kept["gradient_norms"][0]))
    for what, a, b, floor in pairs:
        worst = max(abs(x - y) for x, y in zip(a, b)) / max(floor, abs(b[0]))
        if worst > 1e-9:
            yield what, worst


def main():
    options = base.parsed(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    failed = base.write_or_compare(options, FOLDER, CASES, golden, differences)
    if failed:
        sys.exit("transformers computes other steps than the committed ones: " + ", ".join(failed))


if __name__ == "__main__":
    main()
