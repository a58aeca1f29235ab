#!/usr/bin/env python3
"""Writes tests/golden/<source_file>.csv: the scoreable rows of tables of published measurements.

usage: select_rows.py OUTPUT_FOLDER TABLE.csv [TABLE.csv ...]

Keeps disturbed rows, too, which are scored apart, and the normalised columns that `hexaplan accuracy` reads, the identity of each row and its citation; drops the
publisher's free text. Not needed for build or test.
"""
import csv
import sys
from pathlib import Path

IDENTITY = "case_id source source_file outcome model_name family confidence".split()
SOFTWARE = """engine engine_era tp_comm_overlap pipeline_overlap dp_overlap async_tp cuda_graphs compile power_limited fp8_scaling
moe_dispatcher ep_overlap""".split()
MODEL = """arch gated_mlp tied_embeddings learned_positions linear_bias fused_norm layers hidden ffn heads kv_heads head_dim
vocab n_experts top_k moe_ffn shared_experts first_k_dense dense_ffn q_lora_rank kv_lora_rank qk_rope_dim moe_routing seq""".split()
HARDWARE = "gpu intra_node node_nic_gbps network_kind n_gpus gpus_per_node".split()
LAYOUT = """tp pp vpp cp ep etp dp sp micro_batch global_batch grad_accum zero shard_size schedule vocab_method
stage_layout""".split()
NUMERICS = """framework_profile precision_norm params_dtype grad_dtype optimizer_norm optimizer_in_backward offload ce_kind
attention recompute_norm recompute_layers recompute_modules dropout base_dtype finetune lora_rank trainable_params""".split()
MEASURED = """time_kind measured_step_seconds step_from_utilisation memory_kind measured_memory_bytes
memory_base_uncertain measured_reserved_bytes""".split()
SCORING = "tiny_ci scoreable_time scoreable_memory scoreable_memory_ci scoreable_oom missing_inputs excluded_because rank_group weight".split()
COLUMNS = IDENTITY + SOFTWARE + MODEL + HARDWARE + LAYOUT + NUMERICS + MEASURED + SCORING
SCOREABLE = [c for c in SCORING if c.startswith("scoreable_")]


def main(output: Path, tables: list[str]) -> None:
    groups: dict[str, list[dict[str, str]]] = {}
    for table in tables:
        with open(table, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["excluded_because"] or any(row[c] == "1" for c in SCOREABLE):
                    groups.setdefault(row["source_file"], []).append(row)
    output.mkdir(parents=True, exist_ok=True)
    for source, rows in sorted(groups.items()):
        with open(output / f"{source}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"{source}: {len(rows)} rows")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
