#!/usr/bin/env python3
"""Writes rows of published training runs out of tables that public repositories hold beside their launch scripts.

usage: repository_rows.py FOLDER_OF_CLONES [OUTPUT_FOLDER]

Every table is read from a named commit of a clone FOLDER_OF_CLONES/<repository>; layouts, batches, overlap and recomputation stand in the same file or in the launch
scripts beside it. Tables without an input that matters are left out:
  NVIDIA/dgxc-benchmarking    DeepSeek-V3, Llama 4 (routing, recomputation), Nemotron-H (hybrid), LoRA (targets), Hugging Face (samples per second with start-up)
  KempnerInstitute/KempnerForge    mixtures of experts (own dispatch), runs whose data pipeline is part of the time
Not needed for build or test.
"""
import csv
import re
import subprocess
import sys
from pathlib import Path

from select_rows import COLUMNS

LLAMA = {"arch": "llama", "gated_mlp": 1, "tied_embeddings": 0, "learned_positions": 0, "linear_bias": 0}
GPT = {"arch": "gpt", "gated_mlp": 0, "tied_embeddings": 1, "learned_positions": 1, "linear_bias": 1}
# LayerNorm, squared ReLU, rotary positions, no biases.
NEMOTRON = {"arch": "gpt", "gated_mlp": 0, "tied_embeddings": 0, "learned_positions": 0, "linear_bias": 0}


def dims(layers, hidden, ffn, heads, kv_heads, vocab, seq):
    return {"layers": layers, "hidden": hidden, "ffn": ffn, "heads": heads, "kv_heads": kv_heads, "head_dim": hidden // heads, "vocab": vocab, "seq": seq}


MODELS = {
    "Llama-3.1-8B": LLAMA | dims(32, 4096, 14336, 32, 8, 128256, 8192),
    "Llama-3.1-70B": LLAMA | dims(80, 8192, 28672, 64, 8, 128256, 8192),
    "Llama-2-70B": LLAMA | dims(80, 8192, 28672, 64, 8, 32000, 4096),
    "Llama-3.1-405B": LLAMA | dims(126, 16384, 53248, 128, 16, 128256, 8192),
    "GPT3-175B": GPT | dims(96, 12288, 49152, 96, 96, 51200, 2048),
    "GPT3-5B": GPT | dims(24, 4096, 16384, 32, 32, 51200, 2048),
    "Nemotron-4-15B": NEMOTRON | dims(32, 6144, 24576, 48, 8, 256000, 4096),
    "Nemotron-4-340B": NEMOTRON | dims(96, 18432, 73728, 96, 8, 256000, 4096),
    "Grok-1": LLAMA
    | dims(64, 6144, 32768, 48, 8, 131072, 8192)
    | {"arch": "moe-llama", "n_experts": 8, "top_k": 2, "moe_ffn": 32768, "moe_routing": "drop"},
}
H100 = {"gpu": "h100-80-sxm", "intra_node": "nvlink4", "node_nic_gbps": 3200, "network_kind": "ib", "gpus_per_node": 8}
GB200 = {"gpu": "gb200", "intra_node": "nvl72", "node_nic_gbps": 1600, "network_kind": "ib", "gpus_per_node": 4}
MEGATRON = {
    "framework_profile": "megatron", "engine": "megatron-core", "cuda_graphs": "none", "compile": 0, "dp_overlap": 1, "zero": 1, "params_dtype": "bf16",
    "grad_dtype": "unknown", "recompute_norm": "none",
}
# ub_tp_comm_overlap of the launch scripts; since 25.02 of the recipes that they call (NVIDIA/NeMo@023dfbe nemo/collections/llm/recipes/nemotron4_15b.py, likewise
# the others: pretrain_performance_optimizations).
OVERLAPPED = {"tp_comm_overlap": 1}
BF16_GRADIENTS = {"grad_dtype": "bf16"}
# Weights are kept in fp32; what the custom policies keep beside the projections of attention: nothing (fp8), the MLP's output (bf16).
MAXTEXT = {
    "framework_profile": "maxtext", "engine": "maxtext", "compile": 1, "dp_overlap": 1, "zero": "fsdp-full", "params_dtype": "fp32", "grad_dtype": "unknown",
    "recompute_norm": "selective-modules", "recompute_modules": "layernorm;mlp;act", "sp": 0,
}
PAXML = MAXTEXT | {"engine": "paxml"}
SAVED_DOTS = {"recompute_modules": "layernorm;act"}
SAVED_PROJECTIONS = {"recompute_modules": "core_attn;layernorm;mlp;act"}

# commit, file, heading of the table, era, model, GPU, software, [GPUs, layers, tp, pp, vpp, cp, ep, micro-batch, global batch]
V2411, V2502, V2504, V2505 = "35a9aec", "5f23b67", "85380ff", "dfc8039"


def scaled(gpus, tp, pp, vpp, cp, mbs, gbs_per_gpu, ep=1, layers=None):
    """A weak scaling: the batch grows with the GPUs."""
    return [(n, layers, tp, pp, vpp, cp, ep, mbs, int(n * gbs_per_gpu)) for n in gpus]


TO_128 = [8, 16, 32, 64, 128]
TO_2048 = [64, 128, 256, 512, 1024, 2048]
NEMOTRON_15B = [16, 32, 64, 128, 256, 512, 1024, 2048]
L405_24 = [(32, 7, 8, 1, 1, 2, 1, 1, 126), (96, 21, 8, 3, 7, 2, 1, 1, 126), (192, 42, 8, 3, 7, 2, 1, 1, 252)] + scaled([576, 1152, 2304], 8, 9, 7, 2, 1, 252 / 576)
L405_25 = [(32, 8, 8, 1, 1, 2, 1, 1, 64), (64, 30, 8, 4, 8, 2, 1, 1, 64), (128, 62, 8, 4, 8, 2, 1, 1, 128)] + scaled([512, 1024, 2048], 8, 8, 8, 2, 1, 0.5)
GROK = [
    (8, 2, 4, 1, 1, 1, 2, 1, 1024), (16, 4, 4, 1, 1, 1, 4, 1, 1024), (32, 4, 4, 1, 1, 1, 8, 1, 1024), (64, 8, 4, 1, 1, 2, 8, 1, 1024),
    (128, 16, 4, 2, 8, 2, 8, 1, 1024), (256, 32, 4, 4, 8, 2, 8, 1, 1024),
] + scaled([512, 1024, 2048], 4, 8, 8, 2, 1, 2, ep=8)
GROK_SHORT = (8, 16, 32)  # GPUs whose runs had 4,096 tokens
STRONG = " Strong Scaling"
SELECTIVE = {"recompute_norm": "selective-core-attn"}

TABLES = [
    (V2411, "llama3.1/README_8b.md", "Llama 3.1 8b", "24.09", "Llama-3.1-8B", H100, MEGATRON, scaled(TO_128, 1, 1, 1, 2, 1, 16)),
    (V2411, "llama3.1/README_70b.md", "Llama 3.1 70b", "24.09", "Llama-3.1-70B", H100, MEGATRON | OVERLAPPED, scaled(TO_2048, 4, 4, 5, 2, 1, 2)),
    (V2411, "llama3.1/README_405b.md", "Llama 3.1 405b", "24.09", "Llama-3.1-405B", H100, MEGATRON | OVERLAPPED | BF16_GRADIENTS, L405_24),
    (V2411, "nemo_megatron/README_175b.md", "NeMo Megatron", "24.11", "GPT3-175B", H100, MEGATRON | OVERLAPPED, scaled(TO_2048[1:], 4, 8, 12, 1, 1, 2)),
    (V2411, "nemotron/README_15b.md", "Nemotron4 15b", "24.11", "Nemotron-4-15B", H100, MEGATRON | OVERLAPPED, scaled(NEMOTRON_15B, 4, 1, 1, 1, 4, 4)),
    (V2411, "nemotron/README_340b.md", "Nemotron4 340b", "24.11", "Nemotron-4-340B", H100, MEGATRON | OVERLAPPED | SELECTIVE, scaled(TO_2048[1:], 8, 8, 12, 1, 1, 0.25)),
    (V2411, "grok1/README_314b.md", "Grok 1 314b", "24.09", "Grok-1", H100, MEGATRON | {"tp_comm_overlap": 0}, GROK),
    (V2411, "maxtext/README_70b.md", "Maxtext", "2024-12", "Llama-2-70B", H100, MAXTEXT, scaled(TO_2048, 1, 1, 1, 1, 2, 2)),
    (V2411, "paxml/README_175b.md", "Paxml", "2024", "GPT3-175B", H100, PAXML | SAVED_PROJECTIONS, scaled(TO_2048[1:], 1, 1, 1, 1, 2, 2)),
    (V2411, "paxml/README_5b.md", "Paxml", "2024", "GPT3-5B", H100, PAXML | SAVED_DOTS, scaled([16, 32, 64, 128], 1, 1, 1, 1, 4, 4)),
    (V2502, "llama3.1/README_8b.md", "Llama 3.1 8b", "25.02", "Llama-3.1-8B", H100, MEGATRON, scaled(TO_128, 1, 1, 1, 2, 1, 16)),
    (V2502, "llama3.1/README_70b.md", "Llama 3.1 70b", "25.02", "Llama-3.1-70B", H100, MEGATRON | OVERLAPPED, scaled(TO_2048, 4, 4, 5, 2, 1, 2)),
    (V2502, "llama3.1/README_405b.md", "Llama 3.1 405b", "25.02", "Llama-3.1-405B", H100, MEGATRON | OVERLAPPED | BF16_GRADIENTS, L405_24),
    (V2502, "nemotron/README_15b.md", "Nemotron4 15b", "25.02", "Nemotron-4-15B", H100, MEGATRON | OVERLAPPED, scaled(NEMOTRON_15B, 4, 1, 1, 1, 4, 4)),
    (V2502, "maxtext/README_70b.md", "Maxtext", "2025", "Llama-3.1-70B", H100, MAXTEXT, scaled(TO_2048[1:], 1, 1, 1, 1, 2, 2)),
    (V2504, "llama3.1/README.md", "Llama 3.1 8b", "25.02.01", "Llama-3.1-8B", H100, MEGATRON, scaled(TO_128, 1, 1, 1, 2, 1, 16)),
    (V2504, "llama3.1/README.md", "Llama 3.1 70b", "25.02.01", "Llama-3.1-70B", H100, MEGATRON | OVERLAPPED,
     {"BF16": scaled(TO_2048, 4, 4, 5, 2, 1, 2), "FP8": scaled(TO_2048, 4, 8, 5, 1, 1, 2)}),
    (V2504, "llama3.1/README.md", "Llama 3.1 405b", "25.02.01", "Llama-3.1-405B", H100, MEGATRON | OVERLAPPED, L405_25),
    (V2504, "nemo_megatron/README_175b.md", "NeMo Megatron", "25.02", "GPT3-175B", H100, MEGATRON | OVERLAPPED, scaled(TO_2048[1:], 4, 8, 6, 1, 1, 2)),
    (V2504, "nemotron/README.md", "Nemotron4 15b", "25.02.01", "Nemotron-4-15B", H100, MEGATRON | OVERLAPPED, scaled(NEMOTRON_15B, 2, 1, 1, 1, 2, 4)),
    (V2504, "nemotron/README.md", "Nemotron4 340b", "25.02.01", "Nemotron-4-340B", H100, MEGATRON | OVERLAPPED, scaled(TO_2048[2:], 8, 8, 12, 1, 1, 0.25)),
    (V2504, "grok1/README_314b.md", "Grok 1 314b", "25.01", "Grok-1", H100, MEGATRON | {"tp_comm_overlap": 0}, GROK),
    (V2505, "llama3.1/README.md", "Llama3.1 405b", "25.04.01", "Llama-3.1-405B", GB200, MEGATRON | OVERLAPPED, scaled([128, 256, 512], 4, 8, 8, 2, 1, 0.5)),
    (V2505, "nemotron/README.md", "Nemotron 340b", "25.04.01", "Nemotron-4-340B", GB200, MEGATRON | OVERLAPPED, scaled([128, 256, 512], 8, 4, 12, 1, 1, 0.25)),
    (V2505, "nemotron/README.md", "Nemotron 340b" + STRONG, "25.04.01", "Nemotron-4-340B", GB200, MEGATRON | OVERLAPPED,
     [(n, None, 8, 4, 12, 1, 1, 1, 512) for n in (128, 256, 512)]),
]


def readme(clone, commit, path):
    return subprocess.run(["git", "-C", clone, "show", f"{commit}:{path}"], check=True, capture_output=True, text=True).stdout


def step_times(text, heading, precision, gpu):
    """The step times of the table that starts with `heading` and names the precision and the GPU."""
    lines = text.splitlines()
    strong = heading.endswith(STRONG)
    starts = re.compile(rf"^\|\s*{heading.removesuffix(STRONG)}\b.*{precision}\b")
    for at, line in enumerate(lines):
        if not starts.match(line) or gpu.upper() not in line.upper() or ("Strong" in line) != strong:
            continue
        for row in lines[at + 1 : at + 10]:
            if "step time (seconds" in row:
                cells = row.strip().strip("|").split("|")[1:]
                return [float(re.sub(r"\s", "", c)) for c in cells if c.strip()]
    return []


def dgxc_rows(clone):
    number = 0
    for commit, path, heading, era, model, gpu, software, layouts in TABLES:
        text = readme(clone, commit, path)
        for precision in ("BF16", "FP8"):
            times = step_times(text, heading, precision, "GB200" if gpu is GB200 else "H100")
            of_precision = layouts[precision] if isinstance(layouts, dict) else layouts
            if times and len(times) != len(of_precision):
                sys.exit(f"{commit}:{path}: {heading} {precision}: {len(times)} times for {len(of_precision)} layouts")
            for seconds, (n, layers, tp, pp, vpp, cp, ep, mbs, gbs) in zip(times, of_precision):
                number += 1
                dp = n // (tp * pp * cp)
                row = MODELS[model] | gpu | software | {
                    "case_id": f"DGXC-{number:03}", "source": f"NVIDIA/dgxc-benchmarking@{commit} {path}", "source_file": "dgxc_benchmarking", "outcome": "fits",
                    "model_name": model, "family": f"dgxc-{era}-{model}-{precision}", "confidence": "high", "engine_era": era, "n_gpus": n, "tp": tp, "pp": pp,
                    "vpp": vpp, "cp": cp, "ep": ep, "dp": dp, "sp": int(tp > 1), "micro_batch": mbs, "global_batch": gbs, "grad_accum": gbs // (mbs * dp),
                    "schedule": "none" if pp == 1 else "interleaved" if vpp > 1 else "1f1b", "vocab_method": "none", "stage_layout": "uniform",
                    "precision_norm": precision.lower(), "optimizer_norm": "adamw", "optimizer_in_backward": 0, "attention": "flash", "finetune": "pretrain",
                    "time_kind": "step", "measured_step_seconds": seconds, "step_from_utilisation": 0, "tiny_ci": 0, "scoreable_time": 1, "scoreable_memory": 0,
                    "scoreable_memory_ci": 0, "scoreable_oom": 0,
                }
                if precision == "FP8":
                    row["fp8_scaling"] = "tensor"
                if pp > 1:
                    row["pipeline_overlap"] = int(vpp > 1)
                if tp == 1:
                    row.pop("tp_comm_overlap", None)
                if layers:
                    row["layers"] = layers
                if model == "Grok-1" and n in GROK_SHORT:
                    row["seq"] = 4096
                # MaxText and Paxml replicate over groups of 16 nodes; the 5B model shards within its node.
                if software["framework_profile"] == "maxtext":
                    shard = 8 if model == "GPT3-5B" else 128 if n >= 512 or software["engine"] == "paxml" else n
                    if shard < n:
                        row |= {"zero": "fsdp-hybrid", "shard_size": shard}
                if (row["layers"] % (pp * vpp)) != 0:
                    row["stage_layout"] = "embedding-counts"
                yield row


# --- KempnerInstitute/KempnerForge: FSDP2 with tensor parallelism, four H200 per node ---

KEMPNER = "abbbac3"
H200_OF_FOUR = {"gpu": "h200", "intra_node": "nvlink4", "node_nic_gbps": 1600, "network_kind": "ib", "gpus_per_node": 4}
# Parameters and states in bf16, gradients reduced in fp32; sequence parallelism beside tensor parallelism; every block recomputed.
KEMPNER_FORGE = {
    "framework_profile": "fsdp2", "engine": "kempnerforge", "engine_era": "2026-04", "zero": "fsdp-full", "params_dtype": "bf16", "grad_dtype": "fp32",
    "recompute_norm": "full", "cuda_graphs": "none", "dp_overlap": 1,
}
KEMPNER_MODELS = {
    "7B": LLAMA | dims(32, 4096, 14336, 32, 8, 128256, 4096),
    "13B": LLAMA | dims(40, 5120, 17920, 40, 8, 128256, 4096),
    "70B": LLAMA | dims(80, 8192, 28672, 64, 8, 128256, 4096),
}
KEMPNER_BATCH = {"7B": (4, 2), "13B": (4, 4), "70B": (2, 4)}  # sequences per micro-batch, micro-batches


def kempner_rows(clone):
    path = "benchmarks/mfu_scaling/mfu_scaling.md"
    for line in readme(clone, KEMPNER, path).splitlines():
        cells = [c.strip().strip("*") for c in line.strip("| ").split("|")]
        if len(cells) != 9 or not cells[0].isdigit() or cells[3] not in KEMPNER_MODELS:
            continue
        number, gpus, _, model, parallelism, tokens_per_second = *cells[:5], float(cells[5].replace(",", ""))
        n = int(gpus)
        tp = int(re.search(r"TP=(\d+)", parallelism + " TP=1")[1])
        mbs, steps = KEMPNER_BATCH[model] if int(number) > 2 else (2, 4)
        dp = n // tp
        yield KEMPNER_MODELS[model] | H200_OF_FOUR | KEMPNER_FORGE | {
            "case_id": f"KEMP-{int(number):02}", "source": f"KempnerInstitute/KempnerForge@{KEMPNER} {path}", "source_file": "kempner_forge", "outcome": "fits",
            "model_name": f"Llama-3 {model}", "family": f"kempner-{model}", "confidence": "high", "n_gpus": n, "tp": tp, "pp": 1, "vpp": 1, "cp": 1, "ep": 1,
            "dp": dp, "sp": int(tp > 1), "micro_batch": mbs, "global_batch": mbs * steps * dp, "grad_accum": steps, "schedule": "none", "vocab_method": "none",
            "stage_layout": "uniform", "precision_norm": "bf16", "optimizer_norm": "adamw", "optimizer_in_backward": 0, "attention": "flash",
            "finetune": "pretrain", "compile": int(number != "8"), "async_tp": 0, "time_kind": "tokens",
            "measured_step_seconds": round(mbs * steps * dp * 4096 / tokens_per_second, 4), "step_from_utilisation": 0, "tiny_ci": 0,
            # Rank 0's torch.cuda.max_memory_allocated, in GiB (kempnerforge/metrics/memory.py).
            "memory_kind": "allocated-max-rank", "measured_memory_bytes": round(float(cells[7].removesuffix(" GB")) * 2**30), "memory_base_uncertain": 0,
            # Its output layer gathers the logits of all tensor-parallel ranks, which no column says.
            "scoreable_time": 1, "scoreable_memory": int(tp == 1), "scoreable_memory_ci": 0, "scoreable_oom": 0,
        } | ({"tp_comm_overlap": 0} if tp > 1 else {})


SOURCES = {
    "dgxc_benchmarking": ("dgxc-benchmarking", dgxc_rows),
    "kempner_forge": ("KempnerForge", kempner_rows),
}


def main(clones, folder):
    for source, (repository, rows) in SOURCES.items():
        table = list(rows(clones / repository))
        families = [row["family"] for row in table]
        for row in table:
            row["weight"] = round(families.count(row["family"]) ** -0.5, 5)
        with open(folder / f"{source}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)
        print(f"{source}: {len(table)} rows")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).parent / "rows")
