#!/usr/bin/env python3
"""Training steps of adapters by Hugging Face PEFT, for the executor to reproduce: tests/golden/adapters/*.json.

    pip install torch transformers peft bitsandbytes && tests/golden/adapters_oracle.py [--check] [NAME...]

One file per case: three AdamW steps of a LoRA or IA3 beside a model of transformers_oracle.py, in float64. `model` names the case
there, which has the frozen weights. Adapters are drawn like those weights: scale * u with u uniform in (-1, 1), both
matrices, so that gradients of both are seen; IA3's scales and DoRA's magnitudes are 1 + scale * u. Of every adapter the file has the loss's gradient before clipping at the first
step and the change over all steps, as fingerprints. QLoRA: the layers' matrices are what bitsandbytes makes of them in 4 bits and back.
"""
import argparse
import pathlib
import sys

import bitsandbytes.functional as bnb
import peft
import torch
import transformers
from torch.nn.functional import cross_entropy

import nf4_oracle
import transformers_oracle as base

FOLDER = pathlib.Path(__file__).parent / "adapters"
LINEAR = "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split()
OPT = "q_proj k_proj v_proj out_proj fc1 fc2".split()
PHI = "q_proj k_proj v_proj dense fc1 fc2".split()
# Modules that are one matrix in Hexaplan, whose blocks go on across the seam.
TOGETHER = [("k_proj", "v_proj"), ("gate_proj", "up_proj")]

# Hexaplan's targets, and the modules of the model that PEFT calls by name.
CASES = dict(
    llama=dict(model="llama", rank=3, targets="all-linear", modules=LINEAR),
    llama_mlp=dict(model="llama_yarn", rank=2, targets="mlp", modules=LINEAR[4:]),
    qwen2_qv=dict(model="qwen2", rank=2, targets="qv", modules=["q_proj", "v_proj"]),
    mistral_attention=dict(model="mistral", rank=4, targets="attention", modules=LINEAR[:4]),
    gemma2_qkv=dict(model="gemma2", rank=2, targets="qkv", modules=LINEAR[:3]),
    opt=dict(model="opt", rank=3, targets="all-linear", modules=OPT),
    mistral_alpha=dict(model="mistral", rank=3, alpha=8, targets="all-linear", modules=LINEAR),
    # DoRA: a magnitude for every output of an adapted layer.
    dora_llama=dict(model="llama", rank=3, targets="all-linear", modules=LINEAR, dora=True),
    dora_qwen2_qv=dict(model="qwen2", rank=2, targets="qv", modules=["q_proj", "v_proj"], dora=True),
    dora_gemma2_attention=dict(model="gemma2", rank=2, alpha=5, targets="attention", modules=LINEAR[:4], dora=True),
    dora_opt=dict(model="opt", rank=3, targets="all-linear", modules=OPT, dora=True),
    qdora_phi=dict(model="phi", rank=2, targets="all-linear", modules=PHI, dora=True, in_4_bits="nf4"),
    # QLoRA: scales in 32 bits, or in 8.
    qlora_stablelm=dict(model="stablelm", rank=3, targets="all-linear", modules=LINEAR, in_4_bits="nf4"),
    qlora_phi=dict(model="phi", rank=2, targets="all-linear", modules=PHI, in_4_bits="nf4"),
    qlora_llama=dict(model="llama", rank=2, targets="attention", modules=LINEAR[:4], in_4_bits="nf4"),
    qlora_llama_double=dict(model="llama", rank=3, targets="all-linear", modules=LINEAR, in_4_bits="nf4-dq"),
    qlora_phi_double=dict(model="phi", rank=2, targets="mlp", modules=PHI[4:], in_4_bits="nf4-dq"),
    # Biases that train beside them, and modules that train as a whole: embed_tokens, lm_head.
    bias_qwen2=dict(model="qwen2", rank=2, targets="attention", modules=LINEAR[:4], bias="lora-only"),
    bias_opt=dict(model="opt", rank=3, targets="all-linear", modules=OPT, bias="all"),
    bias_phi_mlp=dict(model="phi", rank=2, targets="mlp", modules=PHI[4:], bias="lora-only", saved="head"),
    bias_dora_starcoder2=dict(model="starcoder2", rank=2, targets="attention", modules=LINEAR[:4], bias="all", dora=True),
    saved_llama=dict(model="llama", rank=3, targets="all-linear", modules=LINEAR, saved="both"),
    saved_mistral=dict(model="mistral", rank=2, targets="qv", modules=["q_proj", "v_proj"], saved="embedding"),
    # IA3: no rank; modules as in PEFT's own mapping, its feedforward module last.
    ia3_llama=dict(model="llama", modules=["k_proj", "v_proj", "down_proj"]),
    ia3_qwen2=dict(model="qwen2", modules=["k_proj", "v_proj", "down_proj"]),
    ia3_gemma2=dict(model="gemma2", modules=["k_proj", "v_proj", "down_proj"]),
    ia3_opt=dict(model="opt", modules=["k_proj", "v_proj", "fc2"]),
    ia3_saved_mistral=dict(model="mistral", modules=["k_proj", "v_proj", "down_proj"], saved="both"),
)
SAVED = dict(embedding=["embed_tokens"], head=["lm_head"], both=["embed_tokens", "lm_head"])


def adapters_of(model):
    """Name as in adapter_model.safetensors without its prefix -> parameter; what is the model's own has its name there."""
    found = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            name = name.removeprefix("base_model.model.").replace(".default", "")
            found[name.replace(".base_layer", "").replace(".modules_to_save", "")] = parameter
    return found


def is_drawn(name):
    return ".lora_" in name or name.endswith(".ia3_l")


def begins_with_one(name):
    return name.endswith(".ia3_l") or ".lora_magnitude_vector" in name


def scale_of(name, shape):
    if begins_with_one(name):
        return 0.3
    return round(1.0 / shape[-1] ** 0.5, 3) if ".lora_A." in name else 0.3


def there_and_back(weight, twice):
    """What NF4 makes of a matrix. The mean of the scales is added up in float64: the order of sums is nobody's."""
    codes, state = bnb.quantize_4bit(weight.float().contiguous(), blocksize=64, quant_type="nf4")
    if twice:
        mean = state.absmax.double().mean().float()
        state.absmax = nf4_oracle.scales_quantised(state.absmax, mean)[2]
    return bnb.dequantize_4bit(codes, state).double()


def keep_in_4_bits(model, twice):
    """Every linear layer but the output layer (transformers integrations/bitsandbytes.py, get_keys_to_not_convert)."""
    linear = {name: m for name, m in model.named_modules() if isinstance(m, torch.nn.Linear) and ".layers." in name}
    for name in list(linear):
        stem, _, last = name.rpartition(".")
        group = next((pair for pair in TOGETHER if last in pair and f"{stem}.{pair[0]}" in linear and f"{stem}.{pair[1]}" in linear), [last])
        names = [f"{stem}.{one}" for one in group]
        if any(one not in linear for one in names):
            continue
        modules = [linear.pop(one) for one in names]
        weights = [m.weight.detach() for m in modules]
        made = there_and_back(torch.cat(weights), twice).split([len(w) for w in weights])
        for module, weight in zip(modules, made):
            if not twice and all(w.numel() % 64 == 0 for w in weights):
                assert torch.equal(weight, there_and_back(module.weight.detach(), twice)), "modules are matrices of their own there"
            module.weight.copy_(weight)


def frozen_model(case):
    """Outside of float64_alone: bitsandbytes computes in float32."""
    model, _, _, _ = base.golden_model(base.CASES[case["model"]])
    if "in_4_bits" in case:
        with torch.no_grad():
            keep_in_4_bits(model, case["in_4_bits"] == "nf4-dq")
    return model


def adapted_model(case, model):
    config = config_of(case)
    model = peft.get_peft_model(model, config, autocast_adapter_dtype=False).double().train()
    with torch.no_grad():
        for name, parameter in adapters_of(model).items():
            if not is_drawn(name):
                continue
            drawn = scale_of(name, parameter.shape) * base.uniform(base.SEED, name, parameter.numel())
            mean = 1.0 if begins_with_one(name) else 0.0
            parameter.copy_(torch.from_numpy(mean + drawn).view(parameter.shape))
    return model


def config_of(case):
    if "rank" not in case:
        return peft.IA3Config(target_modules=case["modules"], feedforward_modules=case["modules"][2:],
                              modules_to_save=SAVED.get(case.get("saved")))
    return peft.LoraConfig(r=case["rank"], lora_alpha=case.get("alpha", 2 * case["rank"]), lora_dropout=0.0,
                           bias=case.get("bias", "none").replace("-", "_"), modules_to_save=SAVED.get(case.get("saved")),
                           use_dora=case.get("dora", False), target_modules=case["modules"])


def golden(case):
    frozen = frozen_model(case)
    with base.float64_alone():
        model = adapted_model(case, frozen)
        adapters = adapters_of(model)
        before = {name: p.detach().clone() for name, p in adapters.items()}
        constants = base.OPTIMIZER
        # Biases do not decay (huggingface/transformers src/transformers/trainer.py, get_decay_parameter_names).
        groups = [dict(params=[p for name, p in adapters.items() if not name.endswith(".bias")]),
                  dict(params=[p for name, p in adapters.items() if name.endswith(".bias")], weight_decay=0.0)]
        optimizer = torch.optim.AdamW(groups, lr=constants["learning_rate"], eps=constants["epsilon"],
                                      betas=(constants["beta1"], constants["beta2"]),
                                      weight_decay=constants["weight_decay"])
        losses, norms, gradients = [], [], None
        for batch in base.tokens_of(model.config.vocab_size):
            optimizer.zero_grad()
            logits = model(input_ids=batch[:, :-1], use_cache=False).logits
            assert logits.dtype == torch.float64
            loss = cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            loss.backward()
            if gradients is None:
                gradients = {name: p.grad.clone() for name, p in adapters.items()}
            norms.append(torch.nn.utils.clip_grad_norm_(adapters.values(), constants["clip"]).item())
            losses.append(loss.item())
            optimizer.step()
    tensors = {name: dict(shape=list(p.shape), **({"scale": scale_of(name, p.shape)} if is_drawn(name) else {}),
                          gradient=base.fingerprint(name, gradients[name]),
                          change=base.fingerprint(name, p.detach() - before[name]))
               for name, p in sorted(adapters.items())}
    return dict(written_by="tests/golden/adapters_oracle.py", torch=torch.__version__,
                transformers=transformers.__version__, peft=peft.__version__, model=case["model"],
                **{key: case[key] for key in ("rank", "alpha", "targets", "dora", "in_4_bits", "bias", "saved") if key in case}, trained=sum(p.numel() for p in adapters.values()), losses=losses,
                gradient_norms=norms, tensors=tensors)


def differences(fresh, kept):
    if set(fresh["tensors"]) != set(kept["tensors"]):
        yield "tensors"
        return
    pairs = [("losses", fresh["losses"], kept["losses"], 1.0)]
    for name, tensor in fresh["tensors"].items():
        for what, floor in (("gradient", kept["gradient_norms"][0]), ("change", 1.0)):
            pairs.append((f"{what} of {name}", tensor[what], kept["tensors"][name][what], floor))
    for what, a, b, floor in pairs:
        worst = max(abs(x - y) for x, y in zip(a, b)) / max(floor, abs(b[0]))
        if worst > 1e-9:
            yield what, worst


def main():
    options = base.parsed(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    failed = base.write_or_compare(options, FOLDER, CASES, golden, differences)
    if failed:
        sys.exit("PEFT computes other steps than the committed ones: " + ", ".join(failed))


if __name__ == "__main__":
    main()
