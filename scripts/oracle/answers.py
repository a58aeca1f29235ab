"""Questions of `hexaplan oracle` with PyTorch's answers, for tests: small models, as scenarios ask for them."""
import answer

LLAMA = dict(model_type="llama", hidden_size=512, intermediate_size=1408, num_hidden_layers=3, num_attention_heads=8,
             num_key_value_heads=2, vocab_size=8000, max_position_embeddings=2048, tie_word_embeddings=False)
QWEN3 = dict(LLAMA, model_type="qwen3", head_dim=64, use_sliding_window=False)
EXPERTS = dict(QWEN3, model_type="qwen3_moe", moe_intermediate_size=256, num_experts=16, num_experts_per_tok=4,
               norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[])
GPT2 = dict(model_type="gpt2", n_embd=512, n_head=8, n_layer=3, vocab_size=8000, n_positions=1024)


def cases():
    """{name: case}: a scenario, and the question that Hexaplan makes of it."""
    out = {}

    def add(name, config, framework="hf-eager", layout="dp1", recipe=None, **question):
        recipe = dict(dict(sequence=512, global_batch=1), **(recipe or {}))
        asked = dict(schema="hexaplan/oracle-question/1", steps="transformers", config=config, sequence=512, batch=1,
                     microbatches=1, weights="bf16", attention="sdpa", recompute="none", adapters=None, lora_rank=0,
                     lora_alpha=0, optimizer="fused", world=1, tp=1, sp=False, replicas=1, sharding="fsdp", reshard=False,
                     units="root", bucket_view=False)
        out[name] = dict(scenario=dict(schema="hexaplan/scenario/1", model=config, framework=framework, layout=layout,
                                       recipe=recipe), question=dict(asked, **question))

    bf16 = dict(parameter_dtype="bf16")
    add("llama", LLAMA, recipe=bf16)
    add("llama autocast, recomputed", LLAMA, recipe=dict(recompute="full"), weights="autocast", recompute="full")
    add("qwen3, eager attention", QWEN3, recipe=dict(bf16, attention="unfused"), attention="eager")
    add("experts", EXPERTS, recipe=bf16)
    add("gpt2 of two micro-batches", GPT2, recipe=dict(bf16, global_batch=2), microbatches=2)
    add("llama with lora", LLAMA, recipe=dict(fine_tune="lora", lora_rank=8), adapters="lora-all", lora_rank=8, lora_alpha=16)
    add("fsdp2", LLAMA, framework="fsdp2", layout="dp8 zero3", recipe=dict(global_batch=8), steps="fully_shard",
        weights="fp32", world=8, reshard=True)
    add("fsdp2 with tensor parallelism, recomputed", LLAMA, framework="fsdp2", layout="tp2 dp4 zero3 sp",
        recipe=dict(global_batch=4, recompute="full"), steps="fully_shard", weights="fp32", recompute="full", world=8, tp=2,
        sp=True, reshard=True)
    add("ddp", LLAMA, framework="ddp", layout="dp4", recipe=dict(bf16, global_batch=4), steps="ddp", world=4, sharding="ddp")
    return out


def measure(case):
    given = answer.answer_to(case["question"])
    given["versions"].pop("python")  # any that runs these packages
    return dict(case, answer=dict(schema=answer.SCHEMA, **given))
