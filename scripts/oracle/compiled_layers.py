"""What a compiled layer of torchtitan's Llama keeps for backward: AOTAutograd's partitioner, which torch.compile uses, says
which values the forward graph hands to the backward graph. No GPU, no data and no kernels are needed.
"""
import operator

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._functorch.aot_autograd import aot_function
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table
from torch._subclasses.fake_tensor import FakeTensorMode

from live_bytes import NAMES
from whole_steps import LLAMA, Block, head_width

VIEWS = {"view", "permute", "alias", "transpose", "t", "unsqueeze", "squeeze", "_conj", "_reshape_alias", "expand"}


class Norm(nn.Module):
    """nn.RMSNorm as the compiler sees it: its decomposition."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


def cases():
    """{name: case}"""
    out = {}

    def add(model, sequence, batch=1):
        name = f"{model} compiled s{sequence}" + (f" b{batch}" if batch > 1 else "")
        out[name] = dict(model=model, sequence=sequence, batch=batch, weights="bf16", recompute="none")

    add("llama-3-8b", 8192)
    add("llama-3-8b", 2048)
    add("llama-3-8b", 4096, batch=2)
    add("llama-3-70b", 8192)
    add("llama-3.2-1b", 4096)
    return out


def operation(node):
    if node.target is operator.getitem:
        node = node.args[0]
    packet = getattr(node.target, "_overloadpacket", None)
    return packet.__name__ if packet is not None else node.op


def made_by(node):
    """The node whose memory this one is."""
    while operation(node) in VIEWS:
        node = node.args[0]
    return node


def module_of(node, modules):
    """Of the nearest parameter that it is made from."""
    ring, seen = [node], set()
    while ring:
        for n in ring:
            if n.name in modules:
                return modules[n.name]
        seen.update(ring)
        ring = [a for n in ring for a in n.all_input_nodes if a not in seen]
    return ""


def kept_values(block, names, batch, sequence, width, rotation):
    """{node: its module} of what the forward graph of the compiled block hands on, in memory of its own."""
    found = {}

    def forward(gm, inputs):
        nodes = list(gm.graph.nodes)
        places = [n for n in nodes if n.op == "placeholder"]
        # Inputs of the graph: the parameters in their order, then the layer's input and the rotation.
        modules = {p.name: name.rpartition(".")[0] for p, name in zip(places, names)}
        others = {p.name for p in places[len(names):] if tuple(p.meta["val"].shape) != (batch, sequence, width)}
        results = next(n for n in nodes if n.op == "output").args[0]
        values = {made_by(n): None for n in results[1:] if hasattr(n, "meta") and hasattr(n.meta.get("val"), "shape")}
        for n in values:
            if n.name not in modules and n.name not in others:
                found[n] = "" if n.op == "placeholder" else module_of(n, modules)
        return gm.forward

    def call(parameters, x, rotation):
        return torch.func.functional_call(block, dict(zip(names, parameters)), (x, rotation))

    parameters = [nn.Parameter(torch.empty(p.shape, dtype=p.dtype)) for p in block.parameters()]
    x = torch.empty(batch, sequence, width, dtype=torch.bfloat16, requires_grad=True)
    aot_function(call, fw_compiler=forward, bw_compiler=lambda gm, _: gm.forward,
                 partition_fn=min_cut_rematerialization_partition, decompositions=select_decomp_table())(parameters, x, rotation)
    return found


def measure(case):
    config = dict(LLAMA[case["model"]], model_type="llama")
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("meta"):
        block = Block(config)
        block.attention_norm, block.ffn_norm = Norm(config["hidden_size"]), Norm(config["hidden_size"])
    torch.set_default_dtype(torch.float32)
    names = [name for name, _ in block.named_parameters()]
    with FakeTensorMode(allow_non_fake_inputs=True):
        rotation = torch.zeros(1, case["sequence"], 1, head_width(config) // 2, dtype=torch.complex64)
        values = kept_values(block, names, case["batch"], case["sequence"], config["hidden_size"], rotation)
    kept = [dict(module="layers.*" + (f".{module}" if module else ""), operation=operation(n), dtype=NAMES[n.meta["val"].dtype],
                 elements=n.meta["val"].numel(), count=1) for n, module in values.items()]
    return dict(case, config=config, kept=kept)
