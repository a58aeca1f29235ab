"""One rank's whole step under FSDP2, HSDP, DDP and tensor parallelism: memory by instant and every collective.

The model is torchtitan's Llama (rotation by complex numbers in fp32, GQA inside attention, silu(w1)·w3), the plan of tensor
parallelism its plan: one gather per block, losses over cut logits. Norms are one kernel, as on a GPU.
"""
import contextlib
from collections import defaultdict

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointWrapper, checkpoint_wrapper
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (BackwardPrefetch, FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy,
                                    ShardingStrategy, fully_shard)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, loss_parallel,
                                               parallelize_module)
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from live_bytes import (NAMES, LiveBytes, Phases, count_by_layer, count_by_tensor, follow_modules, messages_of, states_of,
                        tensors_of)


def on_real_tensors(function):
    """Meshes read the values of the tensors that they are made of."""
    def call(*args, **kwargs):
        with unset_fake_temporarily():
            return function(*args, **kwargs)
    return call


DeviceMesh.__init__ = on_real_tensors(DeviceMesh.__init__)
if hasattr(DeviceMesh, "_concatenate"):
    DeviceMesh._concatenate = staticmethod(on_real_tensors(DeviceMesh._concatenate))

LLAMA = {  # layers are cut where a case says so
    "llama-3-8b": dict(num_hidden_layers=32, hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                       num_key_value_heads=8, vocab_size=128256),
    "llama-3-70b": dict(num_hidden_layers=80, hidden_size=8192, intermediate_size=28672, num_attention_heads=64,
                        num_key_value_heads=8, vocab_size=128256),
    "llama-3.2-1b": dict(num_hidden_layers=16, hidden_size=2048, intermediate_size=8192, num_attention_heads=32,
                         num_key_value_heads=8, vocab_size=128256),
}


class RMSNorm(nn.Module):
    """nn.RMSNorm as its CUDA kernel keeps it, its input and a number per row; on the CPU it is six operations."""

    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight, x.new_empty(x.shape[:-1], dtype=torch.float32))
            return torch.empty_like(x)

        @staticmethod
        def backward(ctx, gradient):
            x, weight, _ = ctx.saved_tensors
            return torch.empty_like(x), torch.empty_like(weight)

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.Fused.apply(x, self.weight)


class ComposedNorm(RMSNorm):
    """The same as torchtune writes it."""

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight


def head_width(c):
    return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.repeats = c.get("repeats", False)
        self.head = head_width(c)
        h, q, kv = c["hidden_size"], c["num_attention_heads"] * self.head, c["num_key_value_heads"] * self.head
        self.wq, self.wk, self.wv = (nn.Linear(h, n, bias=False) for n in (q, kv, kv))
        self.wo = nn.Linear(q, h, bias=False)

    def forward(self, x, rotation):
        batch, tokens, _ = x.shape
        q, k, v = (w(x).view(batch, tokens, -1, self.head) for w in (self.wq, self.wk, self.wv))

        def rotated(t):
            pairs = torch.view_as_complex(t.float().reshape(*t.shape[:-1], -1, 2))
            return torch.view_as_real(pairs * rotation).flatten(3).type_as(t)

        q, k = rotated(q), rotated(k)
        if self.repeats:
            k, v = (t.repeat_interleave(q.shape[2] // t.shape[2], dim=2) for t in (k, v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])
        return self.wo(out.transpose(1, 2).contiguous().view(batch, tokens, -1))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        h, f = c["hidden_size"], c["intermediate_size"]
        self.w1, self.w2, self.w3 = nn.Linear(h, f, bias=False), nn.Linear(f, h, bias=False), nn.Linear(h, f, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention, self.feed_forward = Attention(c), FeedForward(c)
        norm = ComposedNorm if c.get("repeats") else RMSNorm
        self.attention_norm, self.ffn_norm = norm(c["hidden_size"]), norm(c["hidden_size"])

    def forward(self, x, rotation):
        h = x + self.attention(self.attention_norm(x), rotation)
        return h + self.feed_forward(self.ffn_norm(h))


class Llama(nn.Module):
    def __init__(self, c, sequence):
        super().__init__()
        self.tok_embeddings = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList([Block(c) for _ in range(c["num_hidden_layers"])])
        self.norm = (ComposedNorm if c.get("repeats") else RMSNorm)(c["hidden_size"])
        self.output = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)
        if c.get("tie_word_embeddings"):
            self.output.weight = self.tok_embeddings.weight
        rotation = torch.zeros(1, sequence, 1, head_width(c) // 2, dtype=torch.complex64)
        self.register_buffer("rotation", rotation, persistent=False)
        self.skips_head = False

    def forward(self, ids):
        x = self.tok_embeddings(ids)
        for layer in self.layers:
            x = layer(x, self.rotation)
        x = self.norm(x)
        return x if self.skips_head else self.output(x)


def cases():
    """{name: case}. Fewer layers than the model has say as much and take seconds; groups of different sizes are told apart."""
    out = {}

    def add(name, model="llama-3-8b", layers=8, world=8, sequence=8192, batch=1, recompute="none", sharding="fsdp",
            reshard=True, replicas=1, tp=1, sp=False, microbatches=1, optimizer="fused", weights="fp32", units="root",
            bucket_view=False, loss="whole"):
        out[name] = dict(model=model, num_layers=layers, world=world, sequence=sequence, batch=batch, recompute=recompute,
                         sharding=sharding, reshard=reshard, replicas=replicas, tp=tp, sp=sp, microbatches=microbatches,
                         optimizer=optimizer, weights=weights, units=units, bucket_view=bucket_view,
                         **({"loss": loss} if loss != "whole" else {}))

    add("fsdp")
    add("fsdp full", recompute="full")
    add("fsdp op", recompute="op")
    add("fsdp batch 2", batch=2)
    add("fsdp 4 micro-batches full", recompute="full", microbatches=4)
    add("fsdp 64 ranks full", world=64, recompute="full")
    add("fsdp 256 ranks full", world=256, recompute="full")
    add("fsdp s1024 full", sequence=1024, recompute="full")
    add("fsdp s1024 full foreach", sequence=1024, recompute="full", optimizer="foreach")
    add("fsdp s1024 full units", sequence=1024, recompute="full", units="ends")
    add("fsdp full units", recompute="full", units="ends")
    add("fsdp full foreach", recompute="full", optimizer="foreach")
    add("fsdp bf16 full", recompute="full", weights="bf16")
    add("fsdp reshard off", reshard=False)
    add("fsdp reshard off full", reshard=False, recompute="full")
    add("fsdp reshard off 4 micro-batches full", reshard=False, recompute="full", microbatches=4)
    add("hsdp full", world=128, replicas=16, recompute="full")
    add("hsdp s1024 full", world=128, replicas=16, sequence=1024, recompute="full")
    add("tp", world=32, tp=8)
    add("tp full", world=32, tp=8, recompute="full")
    add("tp sp", world=32, tp=8, sp=True)
    add("tp sp full", world=32, tp=8, sp=True, recompute="full")
    add("tp2 sp", world=16, tp=2, sp=True)
    add("70b full", model="llama-3-70b", layers=4, world=64, recompute="full")
    add("70b op", model="llama-3-70b", layers=4, world=256, recompute="op")
    add("70b tp sp", model="llama-3-70b", layers=4, world=256, tp=8, sp=True)
    add("70b tp sp full", model="llama-3-70b", layers=4, world=128, tp=8, sp=True, recompute="full")
    add("1b fsdp", model="llama-3.2-1b", layers=16, sequence=4096)
    for weights in ("fp32", "bf16"):
        for view in (False, True):
            add(f"ddp {weights} {'views' if view else 'copies'}", model="llama-3.2-1b", layers=16, sequence=4096,
                sharding="ddp", weights=weights, bucket_view=view)
    add("ddp fp32 full s1024", model="llama-3.2-1b", layers=16, sequence=1024, sharding="ddp", recompute="full")
    add("fsdp whole model", layers=32, recompute="full")
    add("fsdp1", sharding="fsdp1")
    add("fsdp1 full", sharding="fsdp1", recompute="full")
    add("fsdp1 s1024 full", sharding="fsdp1", sequence=1024, recompute="full")
    add("fsdp1 reshard off", sharding="fsdp1", reshard=False)
    add("fsdp1 4 micro-batches full", sharding="fsdp1", recompute="full", microbatches=4)
    # torchtitan 0.3: embedding and head are units, the loss is made of chunks, checkpoints run to their end.
    for recompute in ("none", "full", "op"):
        words = "" if recompute == "none" else f" {recompute}"
        if recompute != "full":
            add(f"fsdp{words} units", recompute=recompute, units="ends")
        add(f"fsdp{words} units chunked", recompute=recompute, units="ends", loss="chunked")
    add("fsdp s1024 full units chunked", sequence=1024, recompute="full", units="ends", loss="chunked")
    add("fsdp full units foreach", recompute="full", units="ends", optimizer="foreach")
    add("fsdp full units chunked foreach", recompute="full", units="ends", loss="chunked", optimizer="foreach")
    add("fsdp batch 2 full units chunked", batch=2, recompute="full", units="ends", loss="chunked")
    add("hsdp full units", world=128, replicas=16, recompute="full", units="ends")
    add("hsdp full units chunked", world=128, replicas=16, recompute="full", units="ends", loss="chunked")
    add("70b full units chunked", model="llama-3-70b", layers=4, world=64, recompute="full", units="ends", loss="chunked")
    add("tp sp full units", world=32, tp=8, sp=True, recompute="full", units="ends")
    return out


def config_of(case):
    return dict(LLAMA[case["model"]], num_hidden_layers=case["num_layers"])


def mesh_of(case):
    shape, names = [case["world"] // case["tp"]], ["dp"]
    if case["replicas"] > 1:
        shape, names = [case["replicas"], shape[0] // case["replicas"]], ["replicate", "shard"]
    if case["tp"] > 1:
        shape, names = shape + [case["tp"]], names + ["tp"]
    return init_device_mesh("cpu", tuple(shape), mesh_dim_names=tuple(names))


def cut_by_tensor(model, mesh, sequence_parallel):
    layout = Shard(1) if sequence_parallel else Replicate()
    parallelize_module(model, mesh, {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=layout),
        "output": ColwiseParallel(input_layouts=layout, output_layouts=Shard(-1))})
    for block in model.layers:
        parallelize_module(block, mesh, {
            "attention": PrepareModuleInput(input_layouts=(layout, None), desired_input_layouts=(Replicate(), None)),
            "attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(),
            "attention.wo": RowwiseParallel(output_layouts=layout),
            "feed_forward": PrepareModuleInput(input_layouts=(layout,), desired_input_layouts=(Replicate(),)),
            "feed_forward.w1": ColwiseParallel(), "feed_forward.w3": ColwiseParallel(),
            "feed_forward.w2": RowwiseParallel(output_layouts=layout)})


def every_second_product():
    """torchtitan's policy per operation: attention and every second matrix product are kept."""
    kept = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
            torch.ops._c10d_functional.reduce_scatter_tensor.default}
    counts = defaultdict(int)

    def policy(context, function, *_, **__):
        if function == torch.ops.aten.mm.default:
            counts[context.is_recompute] += 1
            keeps = counts[context.is_recompute] % 2 == 1
        else:
            keeps = function in kept
        return CheckpointPolicy.MUST_SAVE if keeps else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def checkpointed(model, recompute, early_stop):
    if recompute == "none":
        return
    how = dict(context_fn=every_second_product) if recompute == "op" else {}
    if not early_stop:
        how["early_stop"] = False
    for i, block in enumerate(model.layers):
        model.layers[i] = checkpoint_wrapper(block, preserve_rng_state=False, **how)


def sharded(model, case, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    mesh = mesh["replicate", "shard"] if case["replicas"] > 1 else mesh["dp"]
    how = dict(mesh=mesh, mp_policy=policy)
    for block in model.layers:
        fully_shard(block, reshard_after_forward=case["reshard"], **how)
    if case["units"] == "ends":
        fully_shard(model.tok_embeddings, reshard_after_forward=case["reshard"], **how)
        fully_shard([model.norm, model.output], reshard_after_forward=False, **how)
    return fully_shard(model, **how)


def flat(model, case):
    """FSDP1: a unit's parameters are one, gathered whole and cut in flat pieces. Whether single parameters were written to
    beside it is told by addresses, which fake tensors have not: where a unit stays gathered, single ones are not kept."""
    kind = CheckpointWrapper if case["recompute"] != "none" else Block
    strategy = ShardingStrategy.FULL_SHARD if case["reshard"] else ShardingStrategy.SHARD_GRAD_OP
    return FullyShardedDataParallel(
        model, auto_wrap_policy=ModuleWrapPolicy({kind}), sharding_strategy=strategy, use_orig_params=case["reshard"],
        mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, cast_forward_inputs=False),
        backward_prefetch=BackwardPrefetch.BACKWARD_POST, device_id=torch.device("cpu"))


def replicated(model, case):
    model = DistributedDataParallel(model, gradient_as_bucket_view=case["bucket_view"], init_sync=False,
                                    broadcast_buffers=False)

    def reduced(state, bucket):
        # An all-reduce in place hands its buffer back; the fake group's work has no result.
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        state.append((bucket.buffer().dtype, bucket.buffer().numel() * bucket.buffer().element_size()))
        return done

    buckets = []
    model.register_comm_hook(buckets, reduced)

    class SameBuckets:
        """After its first step the reducer reads data to order the buckets anew."""

        def __init__(self, reducer):
            object.__setattr__(self, "reducer", reducer)

        def __getattr__(self, name):
            return (lambda *_: False) if name == "_rebuild_buckets" else getattr(self.reducer, name)

    model.reducer = SameBuckets(model.reducer)
    return model, buckets


LOSS_CHUNKS = 8


class HandOver(torch.autograd.Function):
    """The gradient that was made chunk by chunk goes to the layers."""

    @staticmethod
    def forward(ctx, hidden, gradient, loss):
        ctx.save_for_backward(gradient)
        return loss.detach()

    @staticmethod
    def backward(ctx, _):
        return ctx.saved_tensors[0], None, None


def chunked_loss(hidden, labels, head):
    """torchtitan's ChunkedLossWrapper: a chunk's logits have their backward before the next chunk's are made."""
    chunks = [c.detach().contiguous().requires_grad_() for c in hidden.chunk(LOSS_CHUNKS, dim=1)]
    gradient = torch.empty(hidden.shape, dtype=torch.float32)
    total = torch.zeros((), dtype=torch.float32)
    head.set_reshard_after_forward(False)
    head.set_reshard_after_backward(False)
    head.set_requires_gradient_sync(False, recurse=False)
    head.unshard()
    for chunk, mine, place in zip(chunks, labels.chunk(LOSS_CHUNKS, dim=1), gradient.chunk(LOSS_CHUNKS, dim=1)):
        if chunk is chunks[-1]:
            head.set_requires_gradient_sync(True, recurse=False)
        loss = F.cross_entropy(head(chunk).flatten(0, 1).float(), mine.flatten(), reduction="sum")
        total = total + loss.detach()
        loss.backward()
        place.copy_(chunk.grad)
        chunk.grad = None
    head.set_reshard_after_forward(True)
    head.set_reshard_after_backward(True)
    head.reshard()
    return HandOver.apply(hidden, gradient.to(hidden.dtype), total)


class Run:
    def __init__(self, case, config, mesh):
        self.case = case
        torch.set_default_dtype(torch.bfloat16 if case["weights"] == "bf16" else torch.float32)
        # Where plain DDP is used, layers are torchtune's: composed norms, keys and values repeated to all heads.
        core = Llama(dict(config, repeats=case["sharding"] == "ddp"), case["sequence"])
        torch.set_default_dtype(torch.float32)
        self.parameters = sum(p.numel() for p in core.parameters())
        self.core, self.chunked = core, case.get("loss") == "chunked"
        core.skips_head = self.chunked
        self.tensor_mesh = mesh["tp"] if case["tp"] > 1 else None
        if self.tensor_mesh is not None:
            cut_by_tensor(core, self.tensor_mesh, case["sp"])
        checkpointed(core, case["recompute"], early_stop=not self.chunked)
        self.buckets = []
        if case["sharding"] == "ddp":
            self.model, self.buckets = replicated(core, case)
        elif case["sharding"] == "fsdp1":
            self.model = flat(core, case)
        else:
            self.model = sharded(core, case, mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), fused=case["optimizer"] == "fused",
                                           foreach=case["optimizer"] == "foreach")
        self.ids = torch.zeros(case["batch"], case["sequence"], dtype=torch.int64)
        self.mode = LiveBytes()
        follow_modules(core, self.mode)
        Phases(core.layers, None if self.chunked else core.output, self.mode)
        self.mode.claim([list(self.model.parameters()), list(self.model.buffers()), self.ids], "state", state=True)
        self.kept = self.states = None

    def loss_of(self, logits):
        labels = self.ids.flatten()
        if self.tensor_mesh is None:
            return F.cross_entropy(logits.flatten(0, 1).float(), labels)
        logits = DTensor.from_local(logits, self.tensor_mesh, [Shard(-1)], run_check=False)
        labels = DTensor.from_local(labels, self.tensor_mesh, [Replicate()], run_check=False)
        return F.cross_entropy(logits.flatten(0, 1).float(), labels)

    def step(self):
        case, mode = self.case, self.mode
        casts = case["sharding"] == "ddp" and case["weights"] == "fp32"
        for _ in range(case["microbatches"]):
            mode.phase, mode.backward = "forward", False
            with contextlib.ExitStack() as stack:
                if self.tensor_mesh is not None:
                    stack.enter_context(loss_parallel())
                with torch.autocast("cpu", torch.bfloat16, enabled=casts):
                    out = self.model(self.ids)
                if self.chunked and self.kept is None:
                    self.kept = [s for s in mode.storages.values() if not s.state and s.phase == "forward"]
                mode.backward = self.chunked
                loss = chunked_loss(out, self.ids, self.core.output) if self.chunked else self.loss_of(out)
                del out
                if self.kept is None:
                    self.kept = [s for s in mode.storages.values() if not s.state and s.phase == "forward"]
                mode.backward = True
                if self.chunked:
                    mode.phase = "head backward"
                loss.backward()
                del loss
        self.states = states_of(self.model.parameters(), self.optimizer)
        mode.phase = "optimizer step"
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def run(case, config):
    """A rank's second step: the first makes the moments and FSDP's groups."""
    dist.init_process_group("fake", rank=0, world_size=case["world"], store=FakeStore())
    try:
        mesh = mesh_of(case)
        with FakeTensorMode(allow_non_fake_inputs=True):
            run = Run(case, config, mesh)
            mode = run.mode
            with mode, mode.resizes():
                run.step()
                for s in mode.storages.values():
                    s.state = True
                run.kept = None
                run.buckets.clear()
                mode.forget()
                run.step()
    finally:
        dist.destroy_process_group()
    return run


def measure(case):
    done = run(case, config_of(case))
    return dict(case, config=dict(config_of(case), model_type="llama"), parameters=done.parameters,
                peaks=done.mode.peaks_by_phase(), kept=tensors_of(count_by_tensor(done.kept)),
                buckets=[len(done.buckets), sum(b for _, b in done.buckets)], collectives=messages_of(done.mode))


def answer(question, told):
    """The whole model of a question (answer.py), its layers each by itself."""
    told("a step of torchtitan's Llama on one rank")
    done = run(question, question["config"])
    # The first step's buckets, which DDP cuts anew before its second: their number says nothing.
    buckets = [dict(phase="backward", kind="all_reduce", group=question["world"], dtype=NAMES[dtype], calls=None,
                    bytes=sum(size for d, size in done.buckets if d == dtype)) for dtype in dict(done.buckets)]
    return dict(parameters=done.parameters, trained_parameters=done.parameters, states=done.states,
                kept=count_by_layer(done.kept), peaks=done.mode.peaks_by_phase(),
                collectives=messages_of(done.mode) + buckets, flops=None)
