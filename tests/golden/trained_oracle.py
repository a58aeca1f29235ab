#!/usr/bin/env python3
"""Parameters that Hugging Face PEFT trains beside frozen presets: tests/golden/adapters/trained.json.

    pip install torch transformers peft && tests/golden/trained_oracle.py [--check]

For every case: a preset, whose config.json transformers builds on PyTorch's meta device, PEFT's LoraConfig, and what
get_nb_trainable_parameters counts then: the adapters, the biases that train beside them (LoraConfig.bias), and the
modules that train as a whole (modules_to_save). Building and testing do not need this script.
"""
import argparse
import json
import pathlib
import sys

import peft
import torch
import transformers

GOLDEN = pathlib.Path(__file__).parent
FILE = GOLDEN / "adapters" / "trained.json"
PRESETS = GOLDEN.parent.parent / "presets" / "models"
SAVED = dict(embedding=["embed_tokens", "wte", "embed_in", "word_embeddings"], head=["lm_head", "embed_out"])
SAVED["both"] = SAVED["embedding"] + SAVED["head"]
QUERY_VALUE = ["q_proj", "v_proj"]
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]

# Preset, Hexaplan's targets, PEFT's, bias, modules that are saved.
CASES = [
    ("qwen2.5-7b", "all-linear", "all-linear", "all", "none"),
    ("qwen2.5-7b", "all-linear", "all-linear", "lora-only", "none"),
    ("qwen2.5-7b", "attention", ATTENTION, "lora-only", "none"),
    ("qwen2.5-7b", "qv", QUERY_VALUE, "lora-only", "none"),
    ("qwen2.5-7b", "mlp", ["gate_proj", "up_proj", "down_proj"], "lora-only", "both"),
    ("qwen2.5-0.5b", "all-linear", "all-linear", "all", "none"),
    ("llama-3.1-8b", "all-linear", "all-linear", "all", "none"),
    ("llama-3.1-8b", "all-linear", "all-linear", "none", "both"),
    ("llama-3.1-8b", "qv", QUERY_VALUE, "none", "head"),
    ("llama-3.1-8b", "qv", QUERY_VALUE, "none", "embedding"),
    ("llama-2-13b", "all-linear", "all-linear", "none", "both"),
    ("mistral-7b", "attention", ATTENTION, "none", "head"),
    ("opt-6.7b", "all-linear", "all-linear", "all", "none"),
    ("opt-6.7b", "all-linear", "all-linear", "lora-only", "none"),
    ("phi-2", "all-linear", "all-linear", "all", "none"),
    ("phi-2", "all-linear", "all-linear", "lora-only", "both"),
    ("phi-2", "mlp", ["fc1", "fc2"], "lora-only", "head"),
    ("starcoder2-7b", "all-linear", "all-linear", "all", "none"),
    ("stablelm-2-1.6b", "all-linear", "all-linear", "all", "head"),
    ("gpt2-xl", "all-linear", "all-linear", "all", "none"),
    ("gpt2-xl", "all-linear", "all-linear", "lora-only", "none"),
    ("bloom-7b1", "all-linear", "all-linear", "all", "none"),
    ("pythia-6.9b", "all-linear", "all-linear", "all", "both"),
    ("pythia-6.9b", "all-linear", "all-linear", "lora-only", "none"),
    ("gpt-oss-20b", "attention", ATTENTION, "all", "head"),
    ("mixtral-8x7b", "attention", ATTENTION, "all", "both"),
]


def config_of(preset):
    config = dict(json.loads((PRESETS / f"{preset}.json").read_text())["config"])
    kind = config.pop("model_type")
    return transformers.CONFIG_MAPPING[kind](**config)


def trained(preset, targets, modules, bias, saved):
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config_of(preset))
        names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
        wanted = [name for name in SAVED.get(saved, []) if name in names]
        model = peft.get_peft_model(model, peft.LoraConfig(
            r=16, lora_alpha=16, target_modules=modules, bias=bias.replace("-", "_"), modules_to_save=wanted or None,
            task_type="CAUSAL_LM"), autocast_adapter_dtype=False)
    return model.get_nb_trainable_parameters()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="count again and compare with the committed file")
    check = parser.parse_args().check
    rows = [dict(model=case[0], rank=16, targets=case[1], bias=case[3], saved=case[4], trained=trained(*case)) for case in CASES]
    fresh = dict(written_by="tests/golden/trained_oracle.py", torch=torch.__version__, transformers=transformers.__version__,
                 peft=peft.__version__, rows=rows)
    if check:
        kept = json.loads(FILE.read_text())["rows"]
        wrong = [str(row) for row in rows if row not in kept]
        if wrong or len(kept) != len(rows):
            sys.exit("PEFT trains other numbers of parameters than the committed ones: " + ", ".join(wrong))
        return
    head = json.dumps({key: value for key, value in fresh.items() if key != "rows"}, indent=1)[:-2]
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    FILE.write_text(f"{head},\n \"rows\": [\n{lines}\n ]\n}}\n")


if __name__ == "__main__":
    main()
