"""Megatron-Core's own GPTModel on one rank of a fake world: parameters under tensor, pipeline, interleaved and expert
parallelism, and the messages of tensor parallelism in one forward and backward pass.

Layers are of the local specification. Transformer Engine's, which training takes, have the same parameters and messages; what
they keep is their kernels' affair and not seen here.
"""
import contextlib
import sys
import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.distributed.fake_pg import FakeStore

warnings.filterwarnings("ignore")
# Megatron asks for a device, its streams and random numbers: the answers of a machine that has none.
torch.cuda.current_device = lambda: torch.device("cpu")
torch.cuda.is_available = lambda: False
torch.cuda.Stream = lambda *_, **__: None

from megatron.core import parallel_state  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402

from live_bytes import LiveBytes, messages_of  # noqa: E402


class NoRandomNumbers:
    def fork(self, *_):
        return contextlib.nullcontext()

    def is_initialized(self):
        return True

    def add(self, *_):
        pass


for module in [m for m in sys.modules.values() if getattr(m, "__name__", "").startswith("megatron")]:
    if hasattr(module, "get_cuda_rng_tracker"):
        module.get_cuda_rng_tracker = lambda *_, **__: NoRandomNumbers()

SEQUENCE = 4096
MODELS = {
    "llama-3-8b": dict(num_hidden_layers=8, hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                       num_key_value_heads=8, vocab_size=128256, model_type="llama"),
    "mixtral-8x7b": dict(num_hidden_layers=4, hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                         num_key_value_heads=8, vocab_size=32000, num_local_experts=8, num_experts_per_tok=2,
                         model_type="mixtral"),
}


def cases():
    """{name: case}: a rank of a world of eight."""
    out = {}

    def add(model="llama-3-8b", rank=0, tp=1, pp=1, vpp=1, ep=1, etp=1):
        parts = [f"{word}{n}" for word, n in (("tp", tp), ("pp", pp), ("vpp", vpp), ("ep", ep)) if n > 1]
        parts += [f"etp{etp}"] if ep > 1 and tp > 1 else []
        name = " ".join(["megatron-core", model, *(parts or ["dp8"]), *([f"rank {rank}"] if rank else [])])
        out[name] = dict(model=model, rank=rank, tp=tp, pp=pp, vpp=vpp, ep=ep, etp=etp, sequence=SEQUENCE)

    for tp in (1, 2, 4, 8):
        add(tp=tp)
    for rank in (0, 2, 7):
        add(tp=2, pp=4, rank=rank)
    for rank in (0, 7):
        add(pp=2, rank=rank)
        add(pp=2, vpp=2, rank=rank)
        add(tp=2, pp=2, vpp=4, rank=rank)
    for tp, ep, etp in ((1, 1, 1), (1, 2, 1), (1, 8, 1), (2, 4, 1), (2, 2, 2), (4, 2, 4)):
        add("mixtral-8x7b", tp=tp, ep=ep, etp=etp)
    add("mixtral-8x7b", pp=2, ep=4)
    return out


def config_of(case, c):
    experts = {}
    if "num_local_experts" in c:
        experts = dict(num_moe_experts=c["num_local_experts"], moe_router_topk=c["num_experts_per_tok"],
                       moe_ffn_hidden_size=c["intermediate_size"], moe_token_dispatcher_type="alltoall")
    return TransformerConfig(
        num_layers=c["num_hidden_layers"], hidden_size=c["hidden_size"], ffn_hidden_size=c["intermediate_size"],
        num_attention_heads=c["num_attention_heads"], num_query_groups=c["num_key_value_heads"], gated_linear_unit=True,
        activation_func=F.silu, add_bias_linear=False, normalization="RMSNorm", hidden_dropout=0.0, attention_dropout=0.0,
        bf16=True, params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16, use_cpu_initialization=True,
        perform_initialization=False, bias_activation_fusion=False, masked_softmax_fusion=False,
        gradient_accumulation_fusion=False, persist_layer_norm=False, tensor_model_parallel_size=case["tp"],
        pipeline_model_parallel_size=case["pp"],
        virtual_pipeline_model_parallel_size=case["vpp"] if case["vpp"] > 1 else None,
        expert_model_parallel_size=case["ep"], expert_tensor_parallel_size=case["etp"], **experts)


def chunks_of(case, c):
    """The rank's model chunks."""
    config = config_of(case, c)
    spec = get_gpt_layer_local_spec(num_experts=c.get("num_local_experts"), moe_grouped_gemm=False, normalization="RMSNorm")
    for chunk in range(case["vpp"]):
        which = dict(ignore_virtual=False, vp_stage=chunk) if case["vpp"] > 1 else {}
        unit = 128 * case["tp"]  # as Megatron-LM pads vocabularies (--make-vocab-size-divisible-by)
        yield GPTModel(config, spec, vocab_size=-(-c["vocab_size"] // unit) * unit, max_sequence_length=SEQUENCE, position_embedding_type="rope",
                       share_embeddings_and_output_weights=False, parallel_output=True,
                       pre_process=parallel_state.is_pipeline_first_stage(**which),
                       post_process=parallel_state.is_pipeline_last_stage(**which),
                       **(dict(vp_stage=chunk) if case["vpp"] > 1 else {}))


def messages(model):
    """Without those of the loss, which are in fp32."""
    ids = torch.zeros(1, SEQUENCE, dtype=torch.int64)
    mask = torch.zeros(1, 1, SEQUENCE, SEQUENCE, dtype=torch.bool)
    mode = LiveBytes()
    with mode:
        loss = model(ids, ids, mask, labels=ids)
        mode.backward = True
        loss.sum().backward()
    return [m for m in messages_of(mode) if m["dtype"] != "fp32"]


def measure(case):
    dist.init_process_group("fake", rank=case["rank"], world_size=8, store=FakeStore())
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=case["tp"], pipeline_model_parallel_size=case["pp"],
        virtual_pipeline_model_parallel_size=case["vpp"] if case["vpp"] > 1 else None,
        expert_model_parallel_size=case["ep"], expert_tensor_parallel_size=case["etp"], create_gloo_process_groups=False)
    config = MODELS[case["model"]]
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            chunks = list(chunks_of(case, config))
            out = dict(case, config=config, parameters=sum(p.numel() for m in chunks for p in m.parameters()))
            if case["tp"] > 1 and case["pp"] == 1 and case["model"] == "llama-3-8b":
                out["collectives"] = messages(chunks[0])
            return out
    finally:
        parallel_state.destroy_model_parallel()
        dist.destroy_process_group()
