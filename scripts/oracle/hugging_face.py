"""One rank's training step of Hugging Face models at real dimensions: what `hf-eager` says, from the framework itself.

A case runs at two depths, so that what a layer keeps is a difference that holds nothing else.
"""
import contextlib
import functools

import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM

from live_bytes import LiveBytes, Phases, count_by_layer, count_by_tensor, follow_modules, states_of, tensors_of

transformers.logging.set_verbosity_error()
DTYPE = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"


def no_packed_documents():
    """Position ids without data cannot be searched for documents; a row holds one. Older versions do not search."""
    with contextlib.suppress(ModuleNotFoundError):
        import transformers.masking_utils as masks
        masks.find_packed_sequence_indices = lambda position_ids: None


class FusedAttention(torch.autograd.Function):
    """What fused CUDA kernels keep where value heads are narrower than key heads: the CPU's would store the scores."""

    @staticmethod
    def forward(ctx, q, k, v):
        out = q.new_empty(q.shape[0], q.shape[2], q.shape[1], v.shape[3]).transpose(1, 2)
        ctx.save_for_backward(q, k, v, out, q.new_empty(q.shape[:3], dtype=torch.float32))
        return out

    @staticmethod
    def backward(ctx, gradient):
        return tuple(torch.empty_like(t) for t in ctx.saved_tensors[:3])


def fused_attention():
    composed = torch.nn.functional.scaled_dot_product_attention

    def attention(query, key, value, *args, **kwargs):
        if query.shape[-1] == value.shape[-1]:
            return composed(query, key, value, *args, **kwargs)
        if torch.is_autocast_enabled("cpu"):  # which knows the composed operation, not this one
            query, key, value = (t.to(torch.get_autocast_dtype("cpu")) for t in (query, key, value))
        return FusedAttention.apply(query, key, value)

    torch.nn.functional.scaled_dot_product_attention = attention


@functools.cache
def prepare_for_fakes():
    """Before a step without data, once. Steps on a real device run transformers as it is."""
    no_packed_documents()
    fused_attention()


# Published dimensions; depths are the case's. `period`: layers after which a pattern repeats.
MODELS = {
    "llama-3-8b": dict(model_type="llama", hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                       num_key_value_heads=8, vocab_size=128256, tie_word_embeddings=False),
    "llama-2-7b": dict(model_type="llama", hidden_size=4096, intermediate_size=11008, num_attention_heads=32,
                       num_key_value_heads=32, vocab_size=32000, tie_word_embeddings=False),
    "mistral-7b": dict(model_type="mistral", hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                       num_key_value_heads=8, vocab_size=32768, sliding_window=None, tie_word_embeddings=False),
    "qwen2.5-7b": dict(model_type="qwen2", hidden_size=3584, intermediate_size=18944, num_attention_heads=28,
                       num_key_value_heads=4, vocab_size=152064, tie_word_embeddings=False, use_sliding_window=False),
    "qwen3-8b": dict(model_type="qwen3", hidden_size=4096, intermediate_size=12288, num_attention_heads=32,
                     num_key_value_heads=8, head_dim=128, vocab_size=151936, tie_word_embeddings=False,
                     use_sliding_window=False),
    "olmo-2-7b": dict(model_type="olmo2", hidden_size=4096, intermediate_size=11008, num_attention_heads=32,
                      num_key_value_heads=32, vocab_size=100352, tie_word_embeddings=False),
    "gemma-2-9b": dict(model_type="gemma2", hidden_size=3584, intermediate_size=14336, num_attention_heads=16,
                       num_key_value_heads=8, head_dim=256, vocab_size=256000, sliding_window=4096),
    "gemma-3-1b": dict(model_type="gemma3_text", hidden_size=1152, intermediate_size=6912, num_attention_heads=4,
                       num_key_value_heads=1, head_dim=256, vocab_size=262144, sliding_window=512),
    "gpt2-xl": dict(model_type="gpt2", n_embd=1600, n_head=25, vocab_size=50257, n_positions=1024, resid_pdrop=0.0,
                    embd_pdrop=0.0, attn_pdrop=0.0),
    "pythia-6.9b": dict(model_type="gpt_neox", hidden_size=4096, intermediate_size=16384, num_attention_heads=32,
                        vocab_size=50432, rotary_pct=0.25, max_position_embeddings=4096, hidden_act="gelu",
                        tie_word_embeddings=False),
    "phi-3-mini": dict(model_type="phi3", hidden_size=3072, intermediate_size=8192, num_attention_heads=32,
                       num_key_value_heads=32, vocab_size=32064, sliding_window=None, tie_word_embeddings=False,
                       pad_token_id=0),
    "glm-4-9b": dict(model_type="glm4", hidden_size=4096, intermediate_size=13696, num_attention_heads=32,
                     num_key_value_heads=2, head_dim=128, vocab_size=151552, tie_word_embeddings=False, pad_token_id=0,
                     eos_token_id=0),
    "command-r": dict(model_type="cohere", hidden_size=8192, intermediate_size=22528, num_attention_heads=64,
                      num_key_value_heads=64, vocab_size=256000, eos_token_id=0),
    "mixtral-8x7b": dict(model_type="mixtral", hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                         num_key_value_heads=8, num_local_experts=8, num_experts_per_tok=2, vocab_size=32000,
                         tie_word_embeddings=False, sliding_window=None),
    "qwen3-30b-a3b": dict(model_type="qwen3_moe", hidden_size=2048, intermediate_size=6144, moe_intermediate_size=768,
                          num_attention_heads=32, num_key_value_heads=4, head_dim=128, num_experts=128,
                          num_experts_per_tok=8, vocab_size=151936, tie_word_embeddings=False, norm_topk_prob=True,
                          decoder_sparse_step=1, mlp_only_layers=[]),
    "moonlight-16b-a3b": dict(model_type="deepseek_v3", hidden_size=2048, intermediate_size=11264,
                              moe_intermediate_size=1408, num_attention_heads=16, num_key_value_heads=16,
                              n_routed_experts=64, num_experts_per_tok=6, n_shared_experts=2, n_group=1, topk_group=1,
                              first_k_dense_replace=1, kv_lora_rank=512, q_lora_rank=None, qk_nope_head_dim=128,
                              qk_rope_head_dim=64, v_head_dim=128, vocab_size=163840, tie_word_embeddings=False),
}
PERIODS = {"gemma-2-9b": 2, "gemma-3-1b": 6}
SEQUENCES = {"gpt2-xl": 1024}
EAGER_ONLY = {"gemma-2-9b"}  # caps of the scores
ADAPTERS = {
    "lora-attention": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "lora-qv": ["q_proj", "v_proj"],
    "lora-qkv": ["q_proj", "k_proj", "v_proj"],
    "lora-mlp": ["gate_proj", "up_proj", "down_proj"],
    "lora-all": "all-linear",
}


def cases():
    """{name: case}: every model in both kinds of 16-bit training, with both kinds of attention, with and without full
    checkpointing; adapters by the modules that have them."""
    out = {}

    def add(model, weights="bf16", attention="sdpa", recompute="none", adapters=None, dora=False, batch=1, sequence=4096):
        parts = [weights, attention, recompute] + ([adapters.replace("lora", "dora") if dora else adapters] if adapters else [])
        sequence = SEQUENCES.get(model, sequence)
        shape = [] if (batch, sequence) == (1, SEQUENCES.get(model, 4096)) else [f"b{batch}", f"s{sequence}"]
        out[" ".join([model, *parts, *shape])] = dict(model=model, weights=weights, attention=attention, recompute=recompute,
                                                      adapters=adapters, **({"dora": True} if dora else {}), batch=batch,
                                                      sequence=sequence)
    for model in MODELS:
        for weights in ("bf16", "autocast"):
            for attention in ("eager",) if model in EAGER_ONLY else ("sdpa", "eager"):
                for recompute in ("none", "full"):
                    add(model, weights, attention, recompute)
    add("llama-3-8b", batch=4, sequence=1024)
    add("llama-3-8b", weights="fp32")
    for adapters in ADAPTERS:
        add("llama-3-8b", adapters=adapters)
        add("qwen3-8b", adapters=adapters)
    add("llama-3-8b", adapters="ia3")
    for adapters in ("lora-all", "lora-qv"):
        add("llama-3-8b", adapters=adapters, dora=True)
        add("qwen2.5-7b", adapters=adapters, dora=True)
    add("llama-3-8b", recompute="full", adapters="lora-all", dora=True)
    add("llama-3-8b", recompute="full", adapters="lora-all")
    add("llama-3-8b", weights="autocast", adapters="lora-qv")
    add("llama-3-8b", weights="autocast", adapters="lora-all")
    return out


def config_of(case, layers):
    fields = dict(MODELS[case["model"]])
    kind = fields.pop("model_type")
    fields["n_layer" if kind == "gpt2" else "num_hidden_layers"] = layers
    if kind != "gpt2":
        fields.setdefault("max_position_embeddings", 8192)
    return trained_config(kind, fields, case["attention"])


def trained_config(kind, fields, attention):
    """The config object of a model_type as training reads it: no cache."""
    config = AutoConfig.for_model(kind, **fields)
    config.use_cache = False
    config._attn_implementation = attention
    return config


def saved_modules(model, which):
    """PEFT's modules_to_save: what the model calls its word table and its output layer."""
    table, head = model.get_input_embeddings(), model.get_output_embeddings()
    wanted = {None: (), "embedding": (table,), "head": (head,), "both": (table, head)}[which]
    return [name for name, module in model.named_modules() if any(module is w for w in wanted)] or None


def adapted(model, case):
    from peft import IA3Config, LoraConfig, get_peft_model
    if case["adapters"] == "ia3":
        peft = IA3Config(task_type="CAUSAL_LM", target_modules=["k_proj", "v_proj", "down_proj"],
                         feedforward_modules=["down_proj"])
    else:
        peft = LoraConfig(r=case.get("lora_rank", 16), lora_alpha=case.get("lora_alpha", 16), lora_dropout=0.0,
                          use_dora=case.get("dora", False), task_type="CAUSAL_LM", target_modules=ADAPTERS[case["adapters"]],
                          bias=case.get("lora_bias", "none"), modules_to_save=saved_modules(model, case.get("saved_modules")))
    return get_peft_model(model, peft, autocast_adapter_dtype=True)


def make_fake(model):
    """Fake tensors in the place of the meta model's: Module.to cannot swap fake parameters. Tied ones stay one."""
    made = {}

    def fake(tensor):
        if id(tensor) not in made:
            made[id(tensor)] = (torch.empty(tensor.shape, dtype=tensor.dtype), tensor)
        return made[id(tensor)][0]

    parameters = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                if id(parameter) not in parameters:
                    parameters[id(parameter)] = (
                        torch.nn.Parameter(fake(parameter), requires_grad=parameter.requires_grad), parameter)
                module._parameters[name] = parameters[id(parameter)][0]
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = fake(buffer)


def made(case, config, device):
    dtype = torch.bfloat16 if case["weights"] == "bf16" else torch.float32
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, **{DTYPE: dtype})
        if case["adapters"]:
            # Frozen weights are loaded in 16 bits; under autocast everything is fp32.
            model = adapted(model, case)
    return model


def trained(model, case):
    """The model, ready for a step of the case."""
    model.train()
    if case["recompute"] == "full":
        model.gradient_checkpointing_enable()
        if case["adapters"]:
            model.enable_input_require_grads()
    return model


def built(case, config):
    model = made(case, config, "meta")
    make_fake(model)
    return trained(model, case)


def forward(case, model, ids, device):
    cast = torch.autocast(device, torch.bfloat16) if case["weights"] == "autocast" else contextlib.nullcontext()
    with cast:
        return model(input_ids=ids, labels=ids)


def layers_of(model):
    """The decoder layers, whose ends part the phases of backward."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    for module in base.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == base.config.num_hidden_layers:
            return module
    raise SystemExit(f"{type(base).__name__}: no list of layers found")


def step(case, model, ids, mode, optimizer):
    """One step. The storages that are alive when the first forward has ended, beside states; bytes of states."""
    kept = None
    for _ in range(case.get("microbatches", 1)):
        mode.phase = "forward"
        out = forward(case, model, ids, "cpu")
        loss = out.loss
        if kept is None:
            kept = [s for s in mode.storages.values() if not s.state and s.phase in ("forward", "loss")]
        del out  # Trainer.compute_loss hands on the loss alone
        loss.backward()
        del loss
    states = states_of(model.parameters(), optimizer)
    mode.phase = "optimizer step"
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return kept, states


def flops(case, config):
    """Of forward and backward, attention in full, without what fused attention computes again."""
    prepare_for_fakes()

    def grouped(a, b, *_, **__):
        return 2 * a[0] * a[1] * b[-1]
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = built(case, config)
        ids = torch.zeros(case["batch"], case["sequence"], dtype=torch.int64)
        with FlopCounterMode(display=False, custom_mapping={torch.ops.aten._grouped_mm: grouped}) as counter:
            model(input_ids=ids, labels=ids).loss.backward()
    again = sum(n for op, n in counter.get_flop_counts()["Global"].items() if "attention" in str(op) and "backward" in str(op))
    return counter.get_total_flops() - again // 5  # of five products of backward, one is forward's


def run(case, config):
    prepare_for_fakes()
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = built(case, config)
        ids = torch.zeros(case["batch"], case["sequence"], dtype=torch.int64)
        mode = LiveBytes()
        follow_modules(model, mode)
        Phases(layers_of(model), model.get_output_embeddings(), mode)
        mode.claim([list(model.parameters()), list(model.buffers()), ids], "state", state=True)
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], fused=True)
        with mode:
            step(case, model, ids, mode, optimizer)  # makes the moments
            for s in mode.storages.values():
                s.state = True
            mode.forget()
            kept, states = step(case, model, ids, mode, optimizer)
        return dict(kept=kept, states=states, peaks=mode.peaks_by_phase(), kernels=dict(mode.kernels),
                    parameters=sum(p.numel() for p in model.parameters()),
                    trained=sum(p.numel() for p in model.parameters() if p.requires_grad))


def in_layer(key):
    return ".*" in key[0]


def measure(case):
    period = PERIODS.get(case["model"], 1)
    shallow, deep = (2, 3) if period == 1 else (period, 2 * period)
    a, b = run(case, config_of(case, shallow)), run(case, config_of(case, deep))
    fewer, kept = count_by_tensor(a["kept"]), count_by_tensor(b["kept"])
    layer = {k: n - fewer.get(k, 0) for k, n in kept.items() if n != fewer.get(k, 0)}
    head = {k: n for k, n in kept.items() if not in_layer(k)}
    kernels = {k: (b["kernels"][k] - a["kernels"].get(k, 0)) / (deep - shallow) for k in ("forward", "backward")}
    out = dict(case, config=config_of(case, deep).to_diff_dict(), depths=[shallow, deep], parameters=b["parameters"],
               trained_parameters=b["trained"], layers=deep - shallow, layer=tensors_of(layer), head=tensors_of(head),
               peaks=b["peaks"], kernels=kernels)
    if case["recompute"] == "none" and not case["adapters"] and case["weights"] == "bf16" and "v_head_dim" not in MODELS[case["model"]]:
        out["flops"] = flops(case, config_of(case, deep))
    return out


def answer(question, told):
    """The whole model of a question (answer.py), its layers each by itself."""
    fields = dict(question["config"])
    config = trained_config(fields.pop("model_type"), fields, question["attention"])
    for name, value in vars(config).items():
        if "drop" in name and isinstance(value, float):
            setattr(config, name, 0.0)
    kind = AutoModelForCausalLM._model_mapping[type(config)]
    if question["attention"] == "sdpa" and not getattr(kind, "_supports_sdpa", True):
        raise SystemExit(f"{kind.__name__} has no fused attention in transformers: --attention unfused")
    told("a step of transformers' model")
    b = run(question, config)
    out = dict(parameters=b["parameters"], trained_parameters=b["trained"], states=b["states"],
               kept=count_by_layer(b["kept"]), peaks=b["peaks"], collectives=[], flops=None)
    if question["recompute"] == "none" and not question["adapters"] and question["microbatches"] == 1:
        told("its FLOPs")
        out["flops"] = flops(question, config)
    return out
