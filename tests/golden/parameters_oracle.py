#!/usr/bin/env python3
"""Parameters of Hugging Face transformers' text models: tests/golden/parameters/transformers.json.

    pip install torch transformers && tests/golden/parameters_oracle.py [--check | --hexaplan PROGRAM] [TYPE...]

For every model_type below: the configuration class's defaults and COUNT random small configurations, as `save_pretrained`
writes them, with the number of parameters per part of the model, counted on PyTorch's meta device. Building and testing do
not need this script. --check draws and counts again and compares with the committed file; --hexaplan lets the program read
--configs further configurations of each type, drawn from --seed, and compares every total; it must know every type that
transformers has a causal language model of.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

SEED, COUNT = 20261123, 3
FILE = pathlib.Path(__file__).parent / "parameters" / "transformers.json"

# --- Which types, and what of them is drawn ---------------------------------------------------------------------------

TYPES = """
llama mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe deepseek_v2 deepseek_v3 gemma gemma2 gemma3_text phi3 gpt_oss gpt2
gpt_neox bloom opt mpt glm glm4 glm4_moe dots1 ernie4_5 helium seed_oss stablelm gptj gpt_bigcode phi starcoder2 falcon
apertus arcee cohere cohere2 cwm exaone4 granite granite_swa hunyuan_v1_dense hyperclovax internlm3 iquestcoder minicpm3
ministral ministral3 olmo olmo2 olmo3 qwen2_vl_text qwen2_5_vl_text qwen3_vl_text smollm3 vaultgemma youtu glm4v_text
glm4v_moe_text glm4_moe_lite aria_text dbrx ernie4_5_moe exaone_moe flex_olmo granitemoe granitemoe_swa granitemoehybrid
granitemoeshared hunyuan_v1_moe hy_v3 llama4_text mellum minimax_m2 olmoe phimoe qwen3_vl_moe_text solar_open biogpt
codegen ctrl gpt_neo gpt-sw3 jais2 nemotron openai-gpt persimmon xglm qwen3_next qwen3_5_text qwen3_5_moe_text mamba2 bamba
nemotron_h falcon_h1 lfm2 lfm2_moe mamba falcon_mamba jamba minimax kimi_linear olmo_hybrid exaone sarvam_moe sarvam_mla
cohere2_moe flint kolibri1 lara_mini cohere_compass_text emu3_text_model phi4_multimodal mistral4
""".split()

# Of every type, under whichever name its class has; what depends on one another is drawn by settle().
ANY = dict(
    hidden_size=(48, 64, 96), n_embd=(48, 64, 96), d_model=(48, 64, 96),
    intermediate_size=(40, 56, 112), ffn_dim=(40, 56, 112), n_inner=(None, 40, 112), dff=(40, 112),
    intermediate_size_mlp=(40, 112), shared_intermediate_size=(16, 24),
    num_hidden_layers=(2, 3, 5, 6), n_layer=(2, 3, 5), n_layers=(2, 3, 5), num_layers=(2, 4, 6),
    num_attention_heads=(4, 8), n_head=(4, 8), n_heads=(4, 8), num_heads=(4, 8), attention_heads=(4, 8),
    num_key_value_heads=(1, 2, 4), head_dim=(8, 16), vocab_size=(97, 128, 250),
    max_position_embeddings=(64, 128), n_positions=(64, 128), max_seq_len=(64, 128),
    tie_word_embeddings=(False, True), attention_bias=(False, True), mlp_bias=(False, True), use_bias=(False, True),
    use_qkv_bias=(False, True), attention_out_bias=(False, True), qkv_bias=(False, True), bias=(False, True),
    use_qk_norm=(False, True), lm_head_bias=(False, True), use_parallel_residual=(False, True), multi_query=(False, True),
    num_experts=(4, 6), num_local_experts=(4, 6), n_routed_experts=(4, 8), moe_num_experts=(4, 6),
    num_experts_per_tok=(1, 2), moe_topk=(1, 2), moe_k=(1, 2), moe_intermediate_size=(16, 24),
    expert_ffn_hidden_size=(16, 24), n_shared_experts=(1, 2), num_shared_experts=(1, 2), moe_num_shared_experts=(1, 2),
    shared_expert_intermediate_size=(16, 40), first_k_dense_replace=(0, 1), norm_topk_prob=(False, True),
    decoder_sparse_step=(1, 2), q_lora_rank=(None, 12, 20), kv_lora_rank=(12, 16), qk_nope_head_dim=(8, 16),
    qk_rope_head_dim=(8,), v_head_dim=(8, 16), n_group=(1, 2), topk_group=(1,), sliding_window=(None, 16, 32),
    rotary_dim=(4, 8), intermediate_multiple_size=(2, 4), window_size=(16,), max_window_layers=(1, 2),
    use_sliding_window=(False, True), num_nextn_predict_layers=(0,), enable_bias=(False, True),
    do_layer_norm_before=(False, True), new_decoder_architecture=(False, True), parallel_attn=(False, True),
    interleave_moe_layer_step=(1, 2), qk_layernorm=(False, True), num_dense_layers=(1,),
)
# Of single types: None leaves to the class what its code ignores although its files say it, or does not accept.
LATENT = dict(num_key_value_heads=None, head_dim=None)
DBRX = dict(num_key_value_heads=None, tie_word_embeddings=None,
            attn_config=(dict(kv_n_heads=2, rope_theta=1e4), dict(kv_n_heads=1, rope_theta=5e5, clip_qkv=8)),
            ffn_config=(dict(ffn_hidden_size=24, moe_num_experts=4, moe_top_k=2),
                        dict(ffn_hidden_size=40, moe_num_experts=6, moe_top_k=1)))
DELTA = dict(linear_num_key_heads=(2, 4), linear_num_value_heads=(4, 8), linear_key_head_dim=(8, 16),
             linear_value_head_dim=(8, 16), linear_conv_kernel_dim=(3, 4))
MAMBA = dict(mamba_n_heads=(4, 8), mamba_n_groups=(1, 2, 4), mamba_d_state=(8, 16), mamba_d_conv=(3, 4),
             mamba_conv_bias=(False, True), mamba_proj_bias=(False, True))
CONVOLUTIONS = dict(conv_bias=(False, True), conv_L_cache=(3, 4), layer_types="convolutions")
SELECTIVE = dict(state_size=(8, 16), conv_kernel=(3, 4), expand=(1, 2), time_step_rank=("auto", 3), use_conv_bias=(False, True),
                 intermediate_size=(64, 160))
OWN = dict(
    mamba=SELECTIVE, falcon_mamba=SELECTIVE,
    jamba=dict(attn_layer_period=(2, 3), attn_layer_offset=(0, 1), expert_layer_period=(2, 3), expert_layer_offset=(0, 1),
               num_experts=(1, 4), mamba_d_state=(8, 16), mamba_d_conv=(3, 4), mamba_expand=(1, 2), mamba_dt_rank=("auto", 5),
               mamba_conv_bias=(False, True), mamba_proj_bias=(False, True)),
    minimax=dict(layer_types="states"),
    kimi_linear=dict(layer_types="states", num_key_value_heads=None, head_dim=None, num_experts_per_token=(1, 2),
                     linear_num_heads=(2, 4), linear_head_dim=(8, 16), linear_conv_kernel_dim=(3, 4)),
    olmo_hybrid=dict(DELTA, layer_types="states"),
    qwen3_next=DELTA, qwen3_5_text=DELTA, qwen3_5_moe_text=DELTA,
    mamba2=dict(hidden_size=(64,), num_heads=(8,), head_dim=(16,), state_size=(8, 16), n_groups=(1, 2, 4),
                conv_kernel=(3, 4), use_conv_bias=(False, True)),
    bamba=dict(MAMBA, head_dim=None, attn_layer_indices=(None, [0], [1])),
    nemotron_h=dict(layers_block_type="branches", mlp_bias=None, mamba_num_heads=(4, 8), mamba_head_dim=(8, 16),
                    ssm_state_size=(8, 16), n_groups=(1, 2, 4), conv_kernel=(3, 4), use_conv_bias=(False, True),
                    moe_shared_expert_intermediate_size=(16, 24), sliding_window=None),
    falcon_h1=dict(MAMBA, mamba_d_ssm=(None, 64, 128), mamba_rms_norm=(False, True), projectors_bias=(False, True)),
    lfm2=dict(CONVOLUTIONS, block_multiple_of=(8, 16), block_ffn_dim_multiplier=(None, 1.0, 1.3),
              block_auto_adjust_ff_dim=(False, True)),
    lfm2_moe=dict(CONVOLUTIONS, use_expert_bias=(False, True)),
    deepseek_v2=dict(LATENT, mlp_bias=None), helium=dict(head_dim="even"), deepseek_v3=LATENT, youtu=LATENT, mistral4=LATENT, minicpm3=LATENT, glm4_moe_lite=LATENT,
    mpt=dict(tie_word_embeddings=None), dbrx=DBRX,
    opt=dict(word_embed_proj_dim="hidden_size"), cohere2=dict(sliding_window=(16,)), cwm=dict(sliding_window=(16,)),
    exaone4=dict(sliding_window=(16, 32)), exaone_moe=dict(sliding_window=(16, 32), n_group=(1,)),
    olmo3=dict(sliding_window=(16,)), granite_swa=dict(sliding_window=(16,)), granitemoe_swa=dict(sliding_window=(16,)),
    vaultgemma=dict(sliding_window=(16,)), gemma2=dict(sliding_window=(16,)), gemma3_text=dict(sliding_window=(16,)),
    gpt_oss=dict(sliding_window=(16,)), mellum=dict(sliding_window=(16,)), qwen2_moe=dict(sliding_window=(16,)),
    smollm3=dict(sliding_window=(16,)), dots1=dict(sliding_window=(16,)), aria_text=dict(mlp_bias=None),
    hy_v3=dict(mlp_bias=None), ernie4_5_moe=dict(use_bias=None),
    gpt_neo=dict(num_layers=(2, 4), attention_types="layers"), granitemoehybrid=dict(MAMBA, layer_types="mixers"),
    qwen3_moe=dict(sliding_window=(16,)), qwen3_vl_moe_text=dict(sliding_window=None),
    hunyuan_v1_dense=dict(head_dim=(8, 16)), hunyuan_v1_moe=dict(head_dim=(8, 16)),
    sarvam_mla=LATENT, kolibri1=dict(sliding_window=(16,)), emu3_text_model=dict(pad_token_id=(0,)),
    exaone=dict(head_dim="even"), phi4_multimodal=dict(head_dim=None),
    cohere2_moe=dict(sliding_window=(16,), prefix_dense_intermediate_size=(None, 40), rms_norm_eps=(None, 1e-6),
                     num_shared_experts=(0, 1, 2), mlp_layer_types="sparse", expert_selection_fn=("softmax", "sigmoid")),
    flint=dict(sliding_window=(16,), layer_types="windows", mlp_only_layers=([], [0], [0, 1])),
    cohere_compass_text=dict(sliding_window=(16,), layer_types="windows", rope_parameters=[
        dict(sliding_attention=dict(rope_type="default", rope_theta=1e4), full_attention=full)
        for full in (None, dict(rope_type="default", rope_theta=1e6))]),
    lara_mini=dict(DELTA, sliding_window=(16,), layer_types="mixed"),
)
# What depends on what was drawn already.
FOLLOWS = dict(even=lambda said: said["hidden_size"] // said["num_attention_heads"],
               hidden_size=lambda said: said["hidden_size"],
               layers=lambda said: [[["global", "local"], said["num_layers"] // 2]],
               mixers=lambda said: [("mamba", "attention")[i % 3 == 1] for i in range(said["num_hidden_layers"])],
               sparse=lambda said: [("sparse", "dense")[i == 0] for i in range(said["num_hidden_layers"])],
               windows=lambda said: [("sliding_attention", "full_attention")[i % 3 == 1]
                                     for i in range(said["num_hidden_layers"])],
               mixed=lambda said: [("linear_attention", "sliding_attention", "full_attention")[i % 3]
                                   for i in range(said["num_hidden_layers"])],
               states=lambda said: [("linear_attention", "full_attention")[i % 3 == 1] for i in range(said["num_hidden_layers"])],
               convolutions=lambda said: [("conv", "full_attention")[i % 3 == 1] for i in range(said["num_hidden_layers"])],
               branches=lambda said: [("mamba", "mlp", "attention", "moe", "mamba")[i % said["num_attention_heads"] % 5]
                                      for i in range(said["num_attention_heads"] + 1)])


def drawn(kind, rng):
    """Random fields of a type."""
    keys = CONFIG_MAPPING[kind]().to_dict()
    said = dict(pad_token_id=None)
    for key, values in {**ANY, **OWN.get(kind, {})}.items():
        if values is None or (key not in keys and key != "word_embed_proj_dim"):
            continue
        said[key] = FOLLOWS[values](said) if isinstance(values, str) else rng.choice(values)
    return said


# Of no parameter of the language model.
NOISE = re.compile(r"transformers_version|architectures|dtype|_token_id$|^(id2label|label2id|output_.*|return_dict|problem_type|"
                   r"chunk_size_feed_forward|is_encoder_decoder|_name_or_path|time_step_(?!rank).*|cache_implementation|"
                   r"vision_config|audio_config)$")


def without_noise(config):
    return {k: without_noise(v) if isinstance(v, dict) else v for k, v in config.items() if not NOISE.search(k)}


def config_of(kind, fields):
    """What save_pretrained writes."""
    made = CONFIG_MAPPING[kind](**fields)
    return without_noise(json.loads(made.to_json_string(use_diff=True)))


# --- Counting ---------------------------------------------------------------------------------------------------------

# A parameter belongs to the first part whose pattern its name has.
PARTS = [(part, re.compile(pattern)) for part, pattern in [
    ("head", r"^lm_head|^embed_out|^output_projection"),
    ("state", r"\.(linear_attn|mamba|conv)\.|\.mixer\.(in_proj|x_proj|dt_proj|conv1d|dt_bias|A_log|D|norm|out_proj)\b"),
    ("attention", r"\.mixer\.[qkvo]_proj"),
    ("attention", r"(q|k|kv|query|key)(_a)?_?(layer)?_?norm|attn\.ln_?[qk]"),
    ("attention", r"\.attn\.(Wqkv|out_proj)"),
    ("shared", r"shared"),
    ("router", r"router|\.gate\.|moe_statics|correction_bias|expert_bias"),
    ("experts", r"expert"),
    ("norm", r"norm|\bln_"),
    ("embedding", r"embed|\bwte\b|\bwpe\b|^transformer\.w\."),
    ("attention", r"attn|attention|sinks"),
    ("mlp", r""),
]]


# Where layers that keep a state stand under the name of attention.
def keeps_state(name, config):
    layer, types = re.search(r"layers\.(\d+)\.self_attn\.", name), getattr(config, "layer_types", None)
    return layer and types and types[int(layer[1])] == "linear_attention"


def part_of(name, config):
    return "state" if keeps_state(name, config) else next(part for part, pattern in PARTS if pattern.search(name))


# Whose class no automatic one finds.
OWN_CLASSES = dict(emu3_text_model=transformers.Emu3ForCausalLM, mistral4=transformers.Mistral4ForCausalLM)


def model_of(config):
    """On the meta device, with its head where the type has a model of its own."""
    with torch.device("meta"):
        if config.model_type in OWN_CLASSES:
            return OWN_CLASSES[config.model_type](config)
        kind = type(config)
        known = kind in transformers.MODEL_FOR_CAUSAL_LM_MAPPING
        return (AutoModelForCausalLM if known else AutoModel).from_config(config)


# The language models of wrappers, which have the head.
TEXT_PARTS = ("qwen2_vl_text", "qwen2_5_vl_text", "qwen3_vl_text", "qwen3_vl_moe_text", "glm4v_text", "glm4v_moe_text")


# Towers that stand inside of language models.
BESIDE = re.compile(r"embed_tokens_extend\.")


# Types whose defaults are not planned: no number of experts per token.
WITHOUT_DEFAULTS = ("deepseek_v2",)


def counted(kind, fields):
    """Parameters by part, and the biases of routers that transformers keeps as buffers."""
    model = model_of(CONFIG_MAPPING[kind](**fields))
    out = {}
    tensors = [*model.named_parameters()]
    tensors += [(n, b) for n, b in model.named_buffers() if re.search(r"correction_bias|expert_bias", n)]
    for name, tensor in tensors:
        if BESIDE.search(name):
            continue
        part = part_of(name, model.config)
        out[part] = out.get(part, 0) + tensor.numel()
    c = model.config
    if kind in TEXT_PARTS and not getattr(c, "tie_word_embeddings", False):
        out["head"] = c.vocab_size * c.hidden_size
    return out


def case_of(kind, fields):
    return dict(config=dict(config_of(kind, fields), model_type=kind), parameters=counted(kind, fields))


def defaults_of(kind):
    """The configuration of the class's defaults; none where they are no model that its own code builds or that is planned."""
    if kind in WITHOUT_DEFAULTS:
        return []
    try:
        return [case_of(kind, {})]
    except Exception as error:
        print(f"{kind}: no defaults: {str(error).strip().splitlines()[-1][:120]}", file=sys.stderr)
        return []


def cases_of(kind, seed, count):
    """So many random configurations; what a class refuses is drawn again."""
    rng, cases = random.Random(f"{seed} {kind}"), []
    for _ in range(10 * count):
        if len(cases) == count:
            break
        try:
            cases.append(case_of(kind, drawn(kind, rng)))
        except Exception as error:  # classes refuse in many ways
            refused = str(error).strip().splitlines()[-1][:120]
            print(f"{kind}: drawn again: {refused}", file=sys.stderr)
    assert len(cases) == count, f"{kind}: nearly every draw is refused"
    return cases


# --- Files and the program --------------------------------------------------------------------------------------------

def written(types):
    """A line for each configuration."""
    lines = [f'"{kind}": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]"
             for kind, cases in types.items()]
    return (f'{{"written_by": "tests/golden/parameters_oracle.py", "transformers": "{transformers.__version__}", '
            f'"seed": {SEED}, "types": {{\n' + ",\n".join(lines) + "\n}}\n")


def total_of_program(program, config, folder):
    """What the program counts; None where it refuses the file."""
    path = pathlib.Path(folder) / "config.json"
    path.write_text(json.dumps(config))
    run = subprocess.run([program, "estimate", "--model", str(path), "--cluster", "1xH100", "--seq", "16", "--json"],
                         capture_output=True, text=True)
    if run.returncode not in (0, 3):
        print(f"  refused: {run.stderr.strip()[:300]}")
        return None
    return json.loads(run.stdout)["parameters"]


def check_program(program, types, seed, count):
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in types:
            wrong = 0
            for case in defaults_of(kind) + cases_of(kind, seed, count):
                expected = sum(case["parameters"].values())
                got = total_of_program(program, case["config"], folder)
                if got != expected:
                    wrong += 1
                    print(f"  {kind}: {got} instead of {expected}: {json.dumps(case['config'])}")
            print(f"{kind}: " + ("as transformers" if wrong == 0 else f"{wrong} of {count + 1} wrong"))
            failed += [kind] if wrong else []
    if failed:
        sys.exit("the program counts other parameters than transformers: " + " ".join(failed))
    check_known(program)


def check_known(program):
    """Every type of a causal language model that transformers has is read, or refused with a reason."""
    unknown = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        for kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            path.write_text(json.dumps(dict(model_type=kind, text_config={})))
            run = subprocess.run([program, "estimate", "--model", str(path), "--cluster", "1xH100", "--json"],
                                 capture_output=True, text=True)
            unknown += [kind] if "expected one of" in run.stderr else []
    if unknown:
        sys.exit("types of transformers that the program knows nothing of: " + " ".join(unknown))
    print(f"{len(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)} types are read, or refused with a reason")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed file instead of writing it")
    parser.add_argument("--hexaplan", metavar="PROGRAM", help="compare this program's totals on further configurations")
    parser.add_argument("--configs", type=int, default=40, help="so many of each type (default 40)")
    parser.add_argument("--seed", type=int, default=SEED, help="they are drawn from this number")
    parser.add_argument("types", nargs="*", metavar="TYPE")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    types = options.types or TYPES
    if options.hexaplan:
        return check_program(options.hexaplan, types, options.seed, options.configs)
    fresh = {kind: cases_of(kind, SEED, COUNT) for kind in types}
    if options.check:
        kept = json.loads(FILE.read_text())["types"]
        wrong = [kind for kind in types if fresh[kind] != kept.get(kind)]
        if wrong:
            sys.exit("transformers counts other parameters than the committed ones: " + " ".join(wrong))
        return
    FILE.write_text(written(fresh))


if __name__ == "__main__":
    main()
