#!/usr/bin/env python3
"""Training steps of Hugging Face transformers, for the executor to reproduce: tests/golden/transformers/*.json.

    pip install torch transformers && tests/golden/transformers_oracle.py [--check | --hexaplan PROGRAM] [NAME...]

One file per case: three AdamW steps of `AutoModelForCausalLM.from_config` of a tiny configuration, in float64 with eager
attention. `config` is what the configuration class writes into config.json. Building and testing do not need this script;
--check computes everything again and compares it with the committed files. --hexaplan gives checkpoints of transformers to
the program, lets it train them under a layout, and loads what it saves.

Weights, tokens and the vectors that gradients are multiplied with are drawn from a counter, so that files need not hold
them: `counter_random` of validator/executor/parameters/initial_values.cpp, the stream of a tensor being the FNV-1a hash of
its name. A weight is center + scale * u with u uniform in (-1, 1). Tensors have the names, shapes and order of elements of
the checkpoint that `save_pretrained` writes: parameters are filled with their own element numbers, saved and read back, so
that fused and per-expert tensors need no code here.

For the loss's gradient before clipping at the first step, and for the change of the weights over all steps, a tensor is
stored as [Euclidean norm, dot products with three such uniform vectors, first element, last element].

Models without experts, whose choice rounding would change, also have `bf16`: how far loss and gradients of the first step are
from these in float64 when transformers computes in bfloat16, the larger of two orders of summation (all sequences at once,
and one by one with gradients added in float32). It depends on the machine's kernels, and --check leaves it out.

executor/rope_frequencies.json has the inverse frequencies, in fp32, of every kind of scaling.
"""
import argparse
import contextlib
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

SEED, SEQUENCE, BATCH, STEPS = 20261123, 12, 4, 3
OPTIMIZER = dict(learning_rate=1e-2, beta1=0.9, beta2=0.95, epsilon=1e-8, weight_decay=0.1, clip=0.1)
FOLDER = pathlib.Path(__file__).parent / "transformers"

# --- Numbers from a counter ----------------------------------------------------------------------------------------

GAMMA = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def counter_random(seed, stream, count):
    """The first `count` 64-bit numbers of a stream."""
    start = np.uint64(mix(mix(seed + GAMMA & MASK) ^ stream))
    with np.errstate(over="ignore"):
        z = start + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(GAMMA)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def stream_of(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def uniform(seed, name, count):
    """Uniform in (-1, 1)."""
    bits = counter_random(seed, stream_of(name), count) >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) * 2.0**-52 - 1


def tokens_of(vocab):
    """Sequence i of SEQUENCE + 1 tokens, as validator/executor/step/token_source.cpp draws them."""
    count = STEPS * BATCH * (SEQUENCE + 1)
    drawn = counter_random(SEED, 0x746F6B656E73, count) % np.uint64(vocab)
    return torch.from_numpy(drawn.astype(np.int64)).view(STEPS, BATCH, SEQUENCE + 1)


# --- Models --------------------------------------------------------------------------------------------------------

# Four layers, so that two stages of two chunks are possible; what a window, a group or a scaling does shows within twelve
# tokens. No dropout: Hexaplan's steps have none.
LLAMA = dict(hidden_size=24, intermediate_size=20, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
             vocab_size=58, max_position_embeddings=64, tie_word_embeddings=False, pad_token_id=None, bos_token_id=None,
             eos_token_id=None)
HEADS = dict(LLAMA, head_dim=8)
WIDE = dict(LLAMA, hidden_size=32)  # head_dim 8, of which a part is rotated
MHA = {k: v for k, v in LLAMA.items() if k != "num_key_value_heads"}
EXPERTS = dict(HEADS, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, router_aux_loss_coef=0.0,
               norm_topk_prob=True)
GPT2 = dict(n_embd=24, n_layer=4, n_head=4, n_positions=16, vocab_size=58, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
            bos_token_id=None, eos_token_id=None)
LATENT = dict(MHA, q_lora_rank=10, kv_lora_rank=12, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=8, head_dim=4,
              n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=12, n_group=4,
              topk_group=2, first_k_dense_replace=1, routed_scaling_factor=2.5, num_key_value_heads=4,
              router_aux_loss_coef=0.0)
LATENT_DENSE = {k: v for k, v in LATENT.items() if not any(word in k for word in ("expert", "group", "rout", "moe", "dense"))}


def rope(kind, **fields):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=fields.pop("theta", 10000.0), **fields))


CASES = dict(
    llama=dict(LLAMA, model_type="llama", rms_norm_eps=1e-5, **rope("default", theta=500000.0)),
    llama_llama3_scaling=dict(HEADS, model_type="llama", tie_word_embeddings=True, **rope(
        "llama3", theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=16)),
    llama_yarn=dict(LLAMA, model_type="llama", attention_bias=True, mlp_bias=True, **rope(
        "yarn", theta=100.0, factor=4.0, beta_fast=4.0, beta_slow=1.0, original_max_position_embeddings=16)),
    mistral=dict(HEADS, model_type="mistral", rms_norm_eps=1e-2, sliding_window=5, **rope("default", theta=1e6)),
    mixtral=dict(HEADS, model_type="mixtral", num_local_experts=4, num_experts_per_tok=2, sliding_window=None,
                 router_aux_loss_coef=0.0),
    qwen2=dict(LLAMA, model_type="qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=2),
    qwen2_moe=dict(EXPERTS, model_type="qwen2_moe", shared_expert_intermediate_size=10, decoder_sparse_step=2,
                   norm_topk_prob=False),
    qwen3=dict(HEADS, model_type="qwen3", tie_word_embeddings=True),
    qwen3_moe=dict(EXPERTS, model_type="qwen3_moe", mlp_only_layers=[0]),
    qwen3_next=dict(EXPERTS, model_type="qwen3_next", shared_expert_intermediate_size=10, mlp_only_layers=[0],
                    layer_types=["full_attention"] * 4, **rope("default", partial_rotary_factor=0.5)),
    qwen3_5_text=dict(HEADS, model_type="qwen3_5_text", layer_types=["full_attention"] * 4, attention_bias=True,
                      **rope("default", partial_rotary_factor=0.5)),
    phi3=dict(WIDE, model_type="phi3", partial_rotary_factor=0.5, sliding_window=None, resid_pdrop=0.0, embd_pdrop=0.0,
              rms_norm_eps=1e-6),
    gemma=dict(HEADS, model_type="gemma", tie_word_embeddings=True, num_key_value_heads=1),
    gemma2=dict(HEADS, model_type="gemma2", tie_word_embeddings=True, sliding_window=5, query_pre_attn_scalar=10,
                attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    gemma3_text=dict(HEADS, model_type="gemma3_text", tie_word_embeddings=True, sliding_window=5,
                     query_pre_attn_scalar=10, layer_types=["sliding_attention", "full_attention"] * 2),
    gpt_oss=dict(HEADS, model_type="gpt_oss", num_local_experts=4, num_experts_per_tok=2, sliding_window=5,
                 intermediate_size=12, swiglu_limit=1.0, router_aux_loss_coef=0.0, **rope(
                     "yarn", theta=150.0, factor=4.0, beta_fast=4.0, beta_slow=1.0, truncate=False,
                     original_max_position_embeddings=16)),
    deepseek_v2=dict(LATENT, model_type="deepseek_v2", topk_method="group_limited_greedy", norm_topk_prob=False),
    deepseek_v3=dict(LATENT, model_type="deepseek_v3", norm_topk_prob=True),
    deepseek_v3_no_query_rank=dict(LATENT, model_type="deepseek_v3", q_lora_rank=None, norm_topk_prob=True, **rope(
        "yarn", theta=100.0, factor=4.0, beta_fast=4.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=0.7,
        original_max_position_embeddings=16)),
    gpt2=dict(GPT2, model_type="gpt2"),
    gpt_neox=dict(MHA, hidden_size=32, model_type="gpt_neox", hidden_dropout=0.0, attention_dropout=0.0),
    gpt_neox_sequential=dict(MHA, hidden_size=32, model_type="gpt_neox",
                             use_parallel_residual=False, rotary_pct=0.75),
    bloom=dict(model_type="bloom", hidden_size=24, n_layer=4, n_head=4, vocab_size=58, hidden_dropout=0.0,
               attention_dropout=0.0, pad_token_id=None, bos_token_id=None, eos_token_id=None),
    opt=dict(MHA, model_type="opt", ffn_dim=20, dropout=0.0, word_embed_proj_dim=24, max_position_embeddings=16,
             tie_word_embeddings=True, intermediate_size=None),
    opt_post_norm=dict(MHA, model_type="opt", ffn_dim=20, dropout=0.0, word_embed_proj_dim=24, max_position_embeddings=16,
                       tie_word_embeddings=True, do_layer_norm_before=False, intermediate_size=None),
    mpt=dict(model_type="mpt", d_model=24, n_layers=4, n_heads=4, expansion_ratio=4, max_seq_len=16, vocab_size=58,
             attn_config=dict(attn_pdrop=0), resid_pdrop=0.0, emb_pdrop=0.0),
    phi=dict(WIDE, model_type="phi", partial_rotary_factor=0.5, resid_pdrop=0.0, embd_pdrop=0.0),
    gptj=dict(GPT2, model_type="gptj", rotary_dim=4, tie_word_embeddings=False),
    starcoder2=dict(LLAMA, model_type="starcoder2", sliding_window=5, residual_dropout=0.0, embedding_dropout=0.0,
                    tie_word_embeddings=True),
    stablelm=dict(WIDE, model_type="stablelm", partial_rotary_factor=0.25, use_qkv_bias=True),
    falcon=dict(model_type="falcon", hidden_size=24, num_hidden_layers=4, num_attention_heads=4, vocab_size=58,
                multi_query=False, parallel_attn=True, new_decoder_architecture=True, num_kv_heads=2, bias=False,
                alibi=False, hidden_dropout=0.0, attention_dropout=0.0, max_position_embeddings=64,
                pad_token_id=None, bos_token_id=None, eos_token_id=None),
    falcon_7b=dict(model_type="falcon", hidden_size=24, num_hidden_layers=4, num_attention_heads=4, vocab_size=58,
                   multi_query=True, parallel_attn=True, new_decoder_architecture=False, bias=False, alibi=False,
                   hidden_dropout=0.0, attention_dropout=0.0, max_position_embeddings=64, pad_token_id=None,
                   bos_token_id=None, eos_token_id=None),
    gpt_bigcode=dict(GPT2, model_type="gpt_bigcode", multi_query=True),
    glm=dict(HEADS, model_type="glm", attention_bias=True),
    glm4=dict(HEADS, model_type="glm4", attention_bias=False),
    glm4_moe=dict(HEADS, model_type="glm4_moe", n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=2,
                  moe_intermediate_size=12, n_group=2, topk_group=1, first_k_dense_replace=1, norm_topk_prob=True,
                  routed_scaling_factor=1.5, use_qk_norm=True, attention_bias=True, num_nextn_predict_layers=0,
                  router_aux_loss_coef=0.0),
    dots1=dict(HEADS, model_type="dots1", n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=2,
               moe_intermediate_size=12, n_group=2, topk_group=1, first_k_dense_replace=1, norm_topk_prob=True,
               routed_scaling_factor=1.5, sliding_window=None, router_aux_loss_coef=0.0),
    ernie4_5=dict(HEADS, model_type="ernie4_5", use_bias=True, tie_word_embeddings=True),
    helium=dict(LLAMA, model_type="helium", head_dim=6),
    seed_oss=dict(HEADS, model_type="seed_oss", attention_bias=True, attention_out_bias=False, mlp_bias=True,
                  residual_dropout=0.0, attention_dropout=0.0),
    granite=dict(LLAMA, model_type="granite", embedding_multiplier=3.0, residual_multiplier=0.4, attention_multiplier=0.3,
                 logits_scaling=2.0, attention_bias=True, mlp_bias=True),
    granite_swa=dict(LLAMA, model_type="granite_swa", embedding_multiplier=3.0, residual_multiplier=0.4,
                     attention_multiplier=0.3, logits_scaling=2.0, sliding_window=5, tie_word_embeddings=True),
    hyperclovax=dict(HEADS, model_type="hyperclovax", residual_multiplier=0.4, attention_multiplier=0.3,
                     logits_scaling=2.0, use_post_norm=True),
    cohere=dict(LLAMA, model_type="cohere", logit_scale=0.3, tie_word_embeddings=True),
    cohere2=dict(HEADS, model_type="cohere2", logit_scale=0.3, tie_word_embeddings=True, sliding_window=5,
                 layer_types=["sliding_attention", "full_attention"] * 2),
    olmo=dict(LLAMA, model_type="olmo", clip_qkv=0.5),
    olmo2=dict(LLAMA, model_type="olmo2"),
    olmo3=dict(LLAMA, model_type="olmo3", sliding_window=5),
    smollm3=dict(LLAMA, model_type="smollm3", no_rope_layer_interval=2, tie_word_embeddings=True),
    exaone4=dict(LLAMA, model_type="exaone4", sliding_window=5),
    nemotron=dict(WIDE, model_type="nemotron", attention_bias=True, head_dim=8, hidden_dropout=0.0, attention_dropout=0.0),
    arcee=dict(LLAMA, model_type="arcee", mlp_bias=True),
    jais2=dict(HEADS, model_type="jais2"),
    cwm=dict(HEADS, model_type="cwm", sliding_window=5, bos_token_id=1, eos_token_id=[2]),
    ministral=dict(HEADS, model_type="ministral", sliding_window=5),
    internlm3=dict(HEADS, model_type="internlm3", attention_bias=True, mlp_bias=True),
    vaultgemma=dict(HEADS, model_type="vaultgemma", tie_word_embeddings=True, sliding_window=5, query_pre_attn_scalar=10,
                    attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    youtu=dict(LATENT_DENSE, model_type="youtu", tie_word_embeddings=True),
    minicpm3=dict(LATENT_DENSE, model_type="minicpm3", tie_word_embeddings=True, rms_norm_eps=1e-6),
    gpt_neo=dict(model_type="gpt_neo", hidden_size=24, num_layers=4, num_heads=4, vocab_size=58, window_size=5,
                 attention_types=[[["global", "local"], 2]], max_position_embeddings=16, resid_dropout=0.0,
                 embed_dropout=0.0, attention_dropout=0.0, bos_token_id=None, eos_token_id=None),
    openai_gpt=dict(GPT2, model_type="openai-gpt"),
    biogpt=dict(MHA, model_type="biogpt", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                activation_dropout=0.0, max_position_embeddings=16, tie_word_embeddings=True),
    granitemoe=dict(LLAMA, model_type="granitemoe", embedding_multiplier=3.0, residual_multiplier=0.4,
                    attention_multiplier=0.3, logits_scaling=2.0, num_local_experts=4, num_experts_per_tok=2,
                    router_aux_loss_coef=0.0),
    granitemoeshared=dict(LLAMA, model_type="granitemoeshared", residual_multiplier=0.4, attention_multiplier=0.3,
                          num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=12,
                          router_aux_loss_coef=0.0),
    olmoe=dict(LLAMA, model_type="olmoe", num_experts=4, num_experts_per_tok=2, router_aux_loss_coef=0.0),
    flex_olmo=dict(LLAMA, model_type="flex_olmo", num_experts=4, num_experts_per_tok=2, router_aux_loss_coef=0.0),
    minimax_m2=dict(HEADS, model_type="minimax_m2", num_local_experts=4, num_experts_per_tok=2, router_aux_loss_coef=0.0,
                    rotary_dim=4),
    exaone_moe=dict(LLAMA, model_type="exaone_moe", sliding_window=5, num_experts=8, num_experts_per_tok=2,
                    moe_intermediate_size=12, num_shared_experts=1, n_group=2, topk_group=1),
    mellum=dict(HEADS, model_type="mellum", sliding_window=5, num_local_experts=4, num_experts_per_tok=2,
                moe_intermediate_size=12, layer_types=["sliding_attention", "full_attention"] * 2,
                router_aux_loss_coef=0.0),
    solar_open=dict({k: v for k, v in HEADS.items() if k != "intermediate_size"}, model_type="solar_open",
                    n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=12, n_group=2,
                    topk_group=1, attention_bias=True),
    glm4_moe_lite=dict(LATENT, model_type="glm4_moe_lite", rms_norm_eps=1e-6),
    hy_v3=dict(HEADS, model_type="hy_v3", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
               num_shared_experts=1),
    exaone=dict(LLAMA, model_type="exaone", attention_bias=True, mlp_bias=True),
    cohere_compass_text=dict(HEADS, model_type="cohere_compass_text", tie_word_embeddings=True, sliding_window=5,
                             layer_types=["sliding_attention", "full_attention"] * 2, rope_parameters=dict(
                                 full_attention=None, sliding_attention=dict(rope_type="default", rope_theta=10000.0))),
    cohere2_moe=dict({**HEADS, "intermediate_size": 12}, model_type="cohere2_moe", logit_scale=0.3, tie_word_embeddings=True,
                     num_experts=4, num_experts_per_tok=2, num_shared_experts=2, shared_expert_combination_strategy="sum",
                     expert_selection_fn="sigmoid", first_k_dense_replace=1, prefix_dense_intermediate_size=20,
                     sliding_window=5, sliding_window_pattern=2),
    cohere2_moe_rms=dict({**HEADS, "intermediate_size": 12}, model_type="cohere2_moe", tie_word_embeddings=True,
                         rms_norm_eps=1e-4, num_experts=4, num_experts_per_tok=2, sliding_window=5, sliding_window_pattern=2),
    flint=dict(HEADS, model_type="flint", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
               shared_expert_intermediate_size=10, sliding_window=5, mlp_only_layers=[0], router_aux_loss_coef=0.0,
               layer_types=["sliding_attention", "full_attention"] * 2),
    sarvam_moe=dict(HEADS, model_type="sarvam_moe", n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=2,
                    moe_intermediate_size=12, n_group=2, topk_group=1, first_k_dense_replace=1, attention_bias=True,
                    num_nextn_predict_layers=0, router_aux_loss_coef=0.0),
    sarvam_mla=dict(LATENT, model_type="sarvam_mla", q_lora_rank=None, n_group=1, topk_group=1),
)


@contextlib.contextmanager
def float64_alone():
    """What modeling code does in fp32 whatever the model's type (norms, rotations, softmax) is done in float64."""
    kept = torch.float32, torch.float, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = kept


def make_model(fields):
    settings = {k: v for k, v in fields.items() if k != "model_type"}
    config = transformers.CONFIG_MAPPING[fields["model_type"]](**settings, attn_implementation="eager")
    config._experts_implementation = "eager"
    with float64_alone():
        return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float64).double().train()


def state_of(model):
    """What save_pretrained saves, as tensors to read and write in place; tied ones once."""
    state, seen = [], set()
    saved = set(model.state_dict())
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if name in saved and id(tensor) not in seen:
            seen.add(id(tensor))
            state.append(tensor)
    return state


def checkpoint_indices(model):
    """Name in the checkpoint -> positions of its elements among those of state_of(model), one tensor behind the other."""
    first = 0
    with torch.no_grad():
        for tensor in state_of(model):
            tensor.copy_(torch.arange(first, first + tensor.numel(), dtype=torch.float64).view(tensor.shape))
            first += tensor.numel()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        loaded = load_file(folder + "/model.safetensors")
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    indices = {name: t.to(torch.int64) for name, t in loaded.items()}
    found = torch.cat([t.flatten() for t in indices.values()])
    assert torch.equal(found.sort().values, torch.arange(first)), "the checkpoint is not a permutation of the state"
    return indices, config


def spread_of(name, shape):
    """Center and scale of a tensor's values."""
    if name.endswith(("bias", "sinks")):
        return 0.0, 0.2
    if len(shape) == 1:
        return 1.0, 0.2
    return 0.0, round(2.0 / math.sqrt(min(shape[-1], shape[-2])), 3)


def decays(name, shape):
    """As the executor has it: matrices and tables, but not the biases of stacked experts."""
    return len(shape) > 1 and not name.endswith("bias")


def flatten(tensors):
    return torch.cat([t.detach().flatten() for t in tensors])


def fingerprint(name, tensor):
    v = tensor.flatten().numpy()
    dots = [float(np.dot(uniform(SEED + k, name, v.size), v)) for k in (1, 2, 3)]
    return [float(np.linalg.norm(v)), *dots, float(v[0]), float(v[-1])]


def zero_gradients_where_none(state):
    return [t.grad if t.grad is not None else torch.zeros_like(t) for t in state]


def parameter_groups(model, indices, state):
    """Whether a parameter decays depends on its name in the checkpoint."""
    starts, first = {}, 0
    for tensor in state:
        starts[id(tensor)] = (first, first + tensor.numel())
        first += tensor.numel()
    groups = ([], [])
    for p in model.parameters():
        low, high = starts[id(p)]
        inside = [(name, index.shape) for name, index in indices.items() if ((index >= low) & (index < high)).any()]
        rules = {decays(*of) for of in inside}
        assert len(rules) == 1, inside
        groups[rules.pop()].append(p)
    return groups


@float64_alone()
def steps_of(model, indices, constants=OPTIMIZER, begins=lambda step: None):
    """Loss of every step, the first step's gradients and norm, the weights at the end. Calls `begins` before each."""
    state = state_of(model)
    never, always = parameter_groups(model, indices, state)
    optimizer = torch.optim.AdamW(
        [dict(params=always, weight_decay=constants["weight_decay"]), dict(params=never, weight_decay=0.0)],
        lr=constants["learning_rate"], betas=(constants["beta1"], constants["beta2"]), eps=constants["epsilon"])
    losses, norms, gradients = [], [], None
    for step, batch in enumerate(tokens_of(model.config.vocab_size)):
        begins(step)
        optimizer.zero_grad()
        logits = model(input_ids=batch[:, :-1], use_cache=False).logits
        assert logits.dtype == torch.float64
        loss = cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        if gradients is None:
            gradients = flatten(zero_gradients_where_none(state))
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), constants["clip"]).item())
        losses.append(loss.item())
        optimizer.step()
    return losses, norms, gradients, flatten(state)


def golden_model(fields):
    """The model with its weights; what save_pretrained makes of it, and those weights in the same order."""
    model = make_model(fields)
    with float64_alone():
        indices, config = checkpoint_indices(model)
    flat = torch.empty(sum(i.numel() for i in indices.values()), dtype=torch.float64)
    for name, index in indices.items():
        center, scale = spread_of(name, index.shape)
        flat[index] = torch.from_numpy(center + scale * uniform(SEED, name, index.numel())).view(index.shape)
    first = 0
    with torch.no_grad():
        for tensor in state_of(model):
            tensor.copy_(flat[first:first + tensor.numel()].view(tensor.shape))
            first += tensor.numel()
    return model, indices, config, flat


def bf16_gradients(model, sequences_at_once):
    """Loss and gradients of the first step of a model in bfloat16, added up in float32."""
    state, loss_sum = state_of(model), 0.0
    sums = [torch.zeros_like(t, dtype=torch.float32) for t in state]
    batch = tokens_of(model.config.vocab_size)[0]
    for part in batch.split(sequences_at_once):
        model.zero_grad()
        logits = model(input_ids=part[:, :-1], use_cache=False).logits.float()
        loss = cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten()) * len(part) / len(batch)
        loss.backward()
        loss_sum += loss.item()
        for total, gradient in zip(sums, zero_gradients_where_none(state)):
            total += gradient.float()
    return loss_sum, flatten(sums).double()


def bf16_errors(model, indices, loss, gradients):
    """Distances of loss and every gradient from those in float64, the larger of two orders of summation."""
    narrow = transformers.AutoModelForCausalLM.from_config(model.config, dtype=torch.bfloat16).train()
    with torch.no_grad():
        for to, of in zip(state_of(narrow), state_of(model)):
            to.copy_(of)
    runs = [bf16_gradients(narrow, sequences_at_once) for sequences_at_once in (BATCH, 1)]
    tensors = {name: max((g[index] - gradients[index]).norm().item() for _, g in runs) for name, index in indices.items()}
    return dict(loss=max(abs(l - loss) for l, _ in runs), gradients={n: float(f"{e:.4g}") for n, e in tensors.items()})


def has_experts(config):
    return any("expert" in key for key in config)


def golden(fields):
    model, indices, config, flat = golden_model(fields)
    narrow_model, _, _, _ = golden_model(fields)
    losses, norms, gradients, updated = steps_of(model, indices)
    tensors = {}
    for name, index in indices.items():
        center, scale = spread_of(name, index.shape)
        tensors[name] = dict(shape=list(index.shape), center=center, scale=scale,
                             gradient=fingerprint(name, gradients[index]),
                             change=fingerprint(name, updated[index] - flat[index]))
    for key in ("transformers_version", "architectures", "dtype"):
        config.pop(key, None)
    result = dict(written_by="tests/golden/transformers_oracle.py", torch=torch.__version__,
                  transformers=transformers.__version__, seed=SEED, sequence=SEQUENCE, batch=BATCH, steps=STEPS,
                  optimizer=OPTIMIZER, losses=losses, gradient_norms=norms, config=config)
    if not has_experts(config):
        result["bf16"] = bf16_errors(narrow_model, indices, losses[0], gradients)
    return dict(result, tensors=tensors)


# --- Rotary positions ------------------------------------------------------------------------------------------------

# What transformers' rope_utils make of a head of 16 columns, two tokens longer than the original length.
ROPES = dict(
    plain=dict(rope_theta=500000.0), partial=dict(rope_theta=10000.0, partial_rotary_factor=0.75),
    linear=dict(rope_theta=10000.0, rope_scaling=dict(rope_type="linear", factor=8.0)),
    dynamic=dict(rope_theta=10000.0, rope_scaling=dict(rope_type="dynamic", factor=2.0)),
    llama3=dict(rope_theta=500000.0, rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                                                        high_freq_factor=4.0, original_max_position_embeddings=8192)),
    yarn=dict(rope_theta=10000.0, rope_scaling=dict(rope_type="yarn", factor=40.0, beta_fast=32, beta_slow=1, mscale=1.0,
                                                    mscale_all_dim=0.7, original_max_position_embeddings=4096)),
    yarn_gpt_oss=dict(rope_theta=150000.0, rope_scaling=dict(rope_type="yarn", factor=32.0, beta_fast=32.0, beta_slow=1.0,
                                                             truncate=False, original_max_position_embeddings=4096)),
    longrope=dict(rope_theta=10000.0, original_max_position_embeddings=4096, max_position_embeddings=131072,
                  rope_scaling=dict(type="longrope", short_factor=[1 + i / 10 for i in range(8)],
                                    long_factor=[2.0 + i for i in range(8)])),
)


def rope_frequencies():
    out = {}
    for name, rope in ROPES.items():
        c = dict(dict(model_type="phi3" if name == "longrope" else "llama", hidden_size=64, num_attention_heads=4,
                      max_position_embeddings=8192), **rope)
        made = transformers.CONFIG_MAPPING[c["model_type"]](**{k: v for k, v in c.items() if k != "model_type"})
        made.standardize_rope_params()
        kind = made.rope_parameters["rope_type"]
        for length in (8, c["max_position_embeddings"] + 2):
            if kind == "default":  # the linear kind with nothing to divide by
                made.rope_parameters["factor"] = 1.0
            frequencies, magnitude = ROPE_INIT_FUNCTIONS["linear" if kind == "default" else kind](made, "cpu", seq_len=length)
            out[f"{name}_{length}"] = dict(config=c, sequence=length, magnitude=magnitude,
                                           frequencies=[float(f"{x:.9g}") for x in frequencies.tolist()])
    return out


# --- Files ---------------------------------------------------------------------------------------------------------

def written(result):
    text = json.dumps(result, separators=(",", ":"))
    return text.replace('"tensors":', '\n"tensors":').replace(']},"', ']},\n"') + "\n"


def written_ropes(ropes):
    return json.dumps(ropes, separators=(",", ":")).replace('},"', '},\n"') + "\n"


def differences(fresh, kept):
    """Relative differences of everything that a step computes; the versions may differ."""
    if fresh["config"] != kept["config"]:
        yield "config", [k for k in {*fresh["config"], *kept["config"]} if fresh["config"].get(k) != kept["config"].get(k)]
    if set(fresh["tensors"]) != set(kept["tensors"]):
        yield "tensors", sorted(set(fresh["tensors"]) ^ set(kept["tensors"]))
        return
    pairs = [("losses", fresh["losses"], kept["losses"], 1.0)]
    total = kept["gradient_norms"][0]
    for name, t in fresh["tensors"].items():
        for what, floor in (("gradient", total), ("change", 1.0)):
            pairs.append((f"{what} of {name}", t[what], kept["tensors"][name][what], floor))
    for what, a, b, floor in pairs:
        worst = max(abs(x - y) for x, y in zip(a, b)) / max(floor, abs(b[0]))
        if worst > 1e-9:
            yield what, worst


# --- Checkpoints of the program ------------------------------------------------------------------------------------

# What `hexaplan run` trains with (validator/executor/optimizer/adamw.h).
DEFAULTS = dict(learning_rate=1e-2, beta1=0.9, beta2=0.95, epsilon=1e-5, weight_decay=0.1, clip=1.0)
LAYOUTS = ("dp1", "tp2 sp pp2", "dp2 zero3")


def differences_of_training(program, fields, layout):
    """The largest difference between weights that the program trained and saved, and those that PyTorch trained; None where
    the program refuses the model or the layout."""
    model, indices, _, _ = golden_model(fields)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder + "/given")
        config = pathlib.Path(folder) / "given" / "config.json"
        said = json.loads(config.read_text())  # transformers leaves multi-token-prediction modules out
        config.write_text(json.dumps({k: 0 if k == "num_nextn_predict_layers" else v for k, v in said.items()}))
        run = subprocess.run(
            [program, "run", "--weights", folder + "/given", "--save-weights", folder + "/trained", "--layout", layout,
             "--dtype", "f64", "--seq", str(SEQUENCE), "--global-batch", str(BATCH), "--steps", str(STEPS), "--seed",
             str(SEED), "--learning-rate", str(DEFAULTS["learning_rate"]), "--no-store"], capture_output=True, text=True)
        if run.returncode == 3:
            return None
        assert run.returncode == 0, run.stderr
        trained = transformers.AutoModelForCausalLM.from_pretrained(folder + "/trained", dtype=torch.float64)
    _, _, _, expected = steps_of(model, indices, DEFAULTS)
    return (flatten(state_of(trained)) - expected).abs().max().item()


def check_program(program, names):
    failed = []
    for name in names:
        for layout in LAYOUTS:
            worst = differences_of_training(program, CASES[name], layout)
            print(f"{name}, {layout}: " + ("refused" if worst is None else f"weights differ by at most {worst:.1e}"))
            failed += [name] if worst is not None and not worst < 1e-8 else []
    if failed:
        sys.exit("weights that hexaplan trained are not those that PyTorch trained: " + ", ".join(failed))


def parsed(parser):
    """Options of a script that writes or compares goldens."""
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    parser.add_argument("names", nargs="*", metavar="NAME")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return parser.parse_args()


def write_or_compare(options, folder, cases, golden_of, differences_of):
    """Writes the golden of every case that was asked for, or compares it; returns the names of those that differ."""
    folder.mkdir(exist_ok=True)
    failed = []
    for name in options.names or cases:
        result, path = golden_of(cases[name]), folder / f"{name}.json"
        if not options.check:
            path.write_text(written(result))
            print(f"{name}: losses {result['losses']}, {len(result['tensors'])} tensors")
            continue
        wrong = list(differences_of(result, json.loads(path.read_text())))
        print(f"{name}: {'as committed' if not wrong else wrong}")
        failed += [name] if wrong else []
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hexaplan", metavar="PROGRAM", help="let this program train checkpoints, and load what it saves")
    options = parsed(parser)
    if options.hexaplan:
        return check_program(options.hexaplan, options.names or CASES)
    failed = write_or_compare(options, FOLDER, CASES, golden, differences)
    ropes, path = rope_frequencies(), FOLDER.parent / "executor" / "rope_frequencies.json"
    if not options.check:
        path.write_text(written_ropes(ropes))
    elif ropes != json.loads(path.read_text()):
        failed.append(path.name)
    if failed:
        sys.exit("transformers computes other steps than the committed ones: " + ", ".join(failed))


if __name__ == "__main__":
    main()
