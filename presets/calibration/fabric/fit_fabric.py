#!/usr/bin/env python3
"""Writes <gpu>.json (measured curves inside a node) and networks.json (how networks perform) beside this file.

    fit_fabric.py --nccl aic_nccl.csv --collectives collectives.csv --startup nanotron_startup_bandwidth.csv \
                  --p5 aws-gpu-communication-benchmark/data --p5-two-nodes awsome-distributed-training/micro-benchmarks/nccl-tests/README.md \
                  --moe aic_moe_alltoall.csv --price build/release/price_collectives [--out FOLDER]

nccl         nccl-tests tables of ai-dynamo/aiconfigurator@095f58a5 (system, collective, n_gpus, size_bytes, time_us)
collectives  stas00/ml-engineering@744d01e, DebarghaG/estimate-train-time@1ac4d5e, VIA-Research/vTrain@f8dda84, bigscience
p5           nccl-tests on 2 ... 32 AWS p5 nodes, crazyguitar/aws-gpu-communication-benchmark@fd167f9: nccl_all_gather.csv, nccl_all_reduce.csv
p5-two-nodes all_reduce_perf on 2 of them, aws-samples/awsome-distributed-training@7217859 micro-benchmarks/nccl-tests/README.md
startup      bandwidth measured at the start of the nanotron scaling runs (1 GiB of fp32, huggingface/nanotron branch
             nouamane/bench2, measure_bandwidth); a second p5 cluster, all-reduce only: gather and scatter go through torch's list
             interface, whose time grows with the ranks
moe          DeepEP times of the same aiconfigurator tables
price        the cost model itself: `ninja price_collectives`
"""
import argparse
import json
import pathlib
import subprocess

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

KINDS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "broadcast"]
CURVES = {  # file: (system in the table, presets it holds for, architecture, GB/s per GPU and direction)
    "a100": ("a100_sxm", ["a100-80-sxm", "a100-40-sxm"], "ampere", 300),
    "h100": ("h100_sxm", ["h100-80-sxm", "h100-96-hbm2e"], "hopper", 450),
    "h200": ("h200_sxm", ["h200"], "hopper", 450),
    "b200": ("b200_sxm", ["b200", "b200-750w"], "blackwell", 900),
    "b300": ("b300_sxm", ["b300"], "blackwell", 900),
    "gb200": ("gb200", ["gb200"], "blackwell", 900),
    "gb300": ("gb300", ["gb300"], "blackwell", 900),
}
# The machines of nanotron's scaling runs alone: the p90 of what they measured as they began, the rate 0.9 times what fits
# it, chosen by hand over step times of the runs. Medians mix sound and broken runs.
NANOTRON = {"efficiency": 0.7, "base": 0.0, "hop": 289.3}
NANOTRON_FIT = {
    "all_gather_4_to_64_nodes_log_ratio": {"points": 5, "median": 0.0767, "p90": 0.1516},
    "all_reduce_4_to_64_nodes_log_ratio": {"points": 5, "median": 0.1091, "p90": 0.1878},
    "reduce_scatter_4_to_64_nodes_log_ratio": {"points": 5, "median": 0.0735, "p90": 0.1137},
    "best_runs_efficiency": 0.778, "training_over_best": 0.9}
NANOTRON_SOURCE = (
    "The machines of nanotron's scaling benchmark (AWS p5) alone, whose published runs are predicted with it: fitted to 1 "
    "GiB all-reduce, all-gather, reduce-scatter at the start of the runs (4 to 64 nodes; p90; the errors in `fit` are of "
    "that). Gathers and scatters went through torch's list interface, so that part of the latency is the host's. Efficiency "
    "0.70 = 0.9 x 0.778 was chosen by hand looking at step times of these runs, rows that docs/accuracy.md also scores")
AIC = "nccl-tests, ai-dynamo/aiconfigurator@095f58a5 src/aiconfigurator/systems/data (Apache-2.0)"


def bus_factor(kind, n):
    """nccl-tests doc/PERFORMANCE.md: bus bandwidth = factor · size / time."""
    return {"all_reduce": 2 * (n - 1) / n, "send_recv": 1.0, "broadcast": 1.0}.get(kind, (n - 1) / n)


def spread(log_ratio):
    x = np.abs(np.asarray(log_ratio, float))
    return {"points": int(x.size), "median": round(float(np.median(x)), 4), "p90": round(float(np.quantile(x, 0.9)), 4)}


# --- inside a node ---------------------------------------------------------------------------------------------------

def thinned(curve):
    """Smallest size, then factors of 4 up to 64 KiB and 2 beyond; times made non-decreasing."""
    sizes, times = curve.index.to_numpy(float), np.maximum.accumulate(curve.to_numpy(float))
    keep = [i for i, s in enumerate(sizes) if i == 0 or s > 65536 or round(np.log2(s / sizes[0])) % 2 == 0]
    return sizes[keep], times[keep]


def read_curve(sizes, times, at):
    x, y, p = np.log2(sizes), np.log2(times), np.log2(np.asarray(at, float))
    rate = (sizes[-1] - sizes[-2]) / (times[-1] - times[-2])
    beyond = times[-1] + (2**p - sizes[-1]) / rate
    return np.where(p > x[-1], beyond, 2 ** np.interp(p, x, y))


def curves_of(table):
    """{(kind, ranks): (sizes, times)} of one system: median over NCCL versions and repetitions."""
    result = {}
    for (kind, ranks), rows in table.groupby(["kind", "n_gpus"]):
        result[kind, int(ranks)] = thinned(rows.groupby("size_bytes").time_us.median())
    return result


def log_ratio(table, curves):
    """log(curve / measured) of every row whose curve exists."""
    out = []
    for (kind, ranks), rows in table.groupby(["kind", "n_gpus"]):
        if (kind, ranks) in curves:
            out.extend(np.log(read_curve(*curves[kind, ranks], rows.size_bytes) / rows.time_us))
    return out


def write_curves(path, gpus, source, date, curves, fit):
    rows = [{"kind": kind, "ranks": ranks, "size_bytes": [int(s) for s in sizes],
             "microseconds": [float(f"{t:.4g}") for t in times]} for (kind, ranks), (sizes, times) in sorted(curves.items())]
    head = {"schema": "hexaplan/fabric/1", "gpus": gpus, "date": date, "source": source, "fit": fit}
    text = json.dumps(head, indent=2)[:-2] + ',\n  "collectives": [\n'
    path.write_text(text + ",\n".join("    " + json.dumps(r) for r in rows) + "\n  ]\n}\n")


def fit_inside(nccl, collectives, out):
    report = {}
    nccl = nccl.assign(kind=nccl.collective.replace({"alltoall": "all_to_all"}))
    for name, (system, gpus, _, _) in CURVES.items():
        table = nccl[nccl.system == system]
        older = table[~table.table_version.isin(["2.29.2"])]
        fit = {"all_log_ratio": spread(log_ratio(table, curves_of(table)))}
        held_out = log_ratio(table[table.table_version == "2.29.2"], curves_of(older))
        if held_out:
            fit["held_out_nccl_2_29_2_log_ratio"] = spread(held_out)
        elsewhere = log_ratio(ml_engineering(collectives, name), curves_of(table))
        if elsewhere:
            fit["held_out_ml_engineering_from_16_MiB_log_ratio"] = spread(elsewhere)
        write_curves(out / f"{name}.json", gpus, AIC + f", {system}", "2026-01", curves_of(table), fit)
        report[name] = fit
    return report | fit_vtrain(collectives, out)


def ml_engineering(collectives, name):
    """all_reduce_bench.py and nccl-tests on 8 GPUs of one node, 16 MiB to 16 GiB, of stas00/ml-engineering@744d01e."""
    t = collectives[collectives.source.str.contains("ml-engineering") & (collectives.nodes == 1) & (collectives.gpus == 8) &
                    collectives.gpu.str.startswith(name.upper()) & (collectives.size_bytes >= 2**24) &
                    ~collectives.algo.fillna("").str.contains("off")]
    t = t[~((t.collective == "all_reduce") & (t.algo == "Ring"))].assign(kind=t.collective, n_gpus=8)
    return t.assign(time_us=[bus_factor(r.kind, 8) * r.size_bytes / (r.busbw_GBps * 1e3) for r in t.itertuples()])


def fit_vtrain(collectives, out):
    """vTrain measured all-reduce on 2 … 8 GPUs: V100 curves; A100 as a check of the interpolation over rank counts."""
    rows = collectives[collectives.source.str.contains("vTrain") & (collectives.nodes == 1)]
    rows = rows.assign(kind="all_reduce", n_gpus=rows.gpus.astype(int))
    v100 = rows[rows.gpu == "V100"]
    even = curves_of(v100[v100.n_gpus.isin([2, 4, 8])])
    odd = (3, 5, 6, 7)
    fit = {"all_log_ratio": spread(log_ratio(v100, curves_of(v100))),
           "other_rank_counts_from_2_4_8_log_ratio": spread(between_counts(v100, even, odd))}
    write_curves(out / "v100.json", ["v100-32", "v100-16"],
                 "nccl-tests all-reduce, VIA-Research/vTrain@f8dda84 trace/v100 (NVLink inside a node)", "2023",
                 curves_of(v100), fit)
    a100 = rows[rows.gpu == "A100"]
    a100_even = curves_of(a100[a100.n_gpus.isin([2, 4, 8])])
    return {"v100": fit, "a100 (vTrain, check only)": {
        "other_rank_counts_from_2_4_8_log_ratio": spread(between_counts(a100, a100_even, odd))}}


def between_counts(rows, curves, counts):
    out = []
    for n in counts:
        low, high = (2, 4) if n < 4 else (4, 8)
        share = np.log(n / low) / np.log(high / low)
        r = rows[rows.n_gpus == n]
        a, b = (read_curve(*curves["all_reduce", k], r.size_bytes) for k in (low, high))
        out.extend(np.log(a * (b / a) ** share / r.time_us))
    return out


# --- between nodes ---------------------------------------------------------------------------------------------------

class Model:
    """The cost model's times for rows (kind, bytes, ranks, members, node, sharing, architecture, fabric, inside, card)."""

    def __init__(self, tool):
        self.tool = tool

    def __call__(self, rows, efficiency, base, hop, congestion=0.0, free=1.0):
        text = "\n".join(" ".join(map(str, (KINDS.index(r[0]), *r[1:], efficiency, base, hop, congestion, free))) for r in rows)
        done = subprocess.run([self.tool], input=text, capture_output=True, text=True, check=True)
        return np.array([float(x) for x in done.stdout.split()])


def fit_network(model, rows, measured, fixed=None, start=(0.8, 5.0, 10.0)):
    """Efficiency, base and hop latency (us) that minimise log(model/measured), robustly; `fixed` holds some of them."""
    fixed = fixed or {}
    names = [n for n in ("efficiency", "base", "hop") if n not in fixed]
    first = dict(zip(("efficiency", "base", "hop"), start))
    low = {"efficiency": 0.01, "base": 0.0, "hop": 0.0}
    high = {"efficiency": 1.0, "base": 2000.0, "hop": 500.0}

    def residual(x):
        return np.log(model(rows, **dict(zip(names, x)), **fixed) / measured)

    best = least_squares(residual, [first[n] for n in names], loss="soft_l1", f_scale=0.1, diff_step=0.02,
                         bounds=([low[n] for n in names], [high[n] for n in names]),
                         x_scale=[{"efficiency": 0.1, "base": 20, "hop": 20}[n] for n in names])
    return dict(zip(names, best.x)) | fixed, residual(best.x)


P5 = (8, 8, 1, "hopper", "switch", 450, 50)


def p5_rows(folder, two_nodes):
    """(row, microseconds) of both columns: 2 to 32 nodes from 32 MiB, and 2 nodes from 1 MiB."""
    rows, measured = [], []
    for kind in ("all_gather", "all_reduce"):
        table = pd.read_csv(folder / f"nccl_{kind}.csv")
        for r in table.to_dict("records"):
            size = r["size(MB)"] * 2**20
            for place in ("out", "in"):
                rows.append((kind, size, r["GPUs"], *P5))
                measured.append(size / (r[f"{place} algbw(GB/s)"] * 1e3))
    lines = two_nodes.read_text().split("on 2x p5.48xlarge")[1].split("```")[1].splitlines()
    cells = [line.split()[1:] for line in lines if line.startswith("0:") and line.split()[1].isdigit()]
    for c in cells:
        if int(c[0]) >= 2**20:
            rows += [("all_reduce", int(c[0]), 16, *P5)] * 2
            measured += [float(c[5]), float(c[9])]
    return rows, np.array(measured)


def startup_rows(startup):
    """All-reduce of 1 GiB on 4 to 64 nodes, microseconds of the p90: the medians are 0.31 ms per rank, whatever is sent."""
    t = startup[(startup.scope == "world") & (startup.nodes >= 4) & (startup.collective == "all_reduce")]
    return ([("all_reduce", 2**30, r.gpus, *P5) for r in t.itertuples()],
            np.array([bus_factor("all_reduce", r.gpus) * 2**30 / (r.p90_GBps * 1e3) for r in t.itertuples()]))


def table_rows(table, gpu, inside, card, members, node, fabric, architecture):
    rows = []
    for r in table.itertuples():
        per = min(int(r.gpus), members)
        rows.append((r.collective, r.size_bytes, int(r.gpus), per, node, 1, architecture, fabric, inside, card))
    return rows


def network_entry(name, kinds, parameters, source, fit=None, congestion=0.0, free=1, **more):
    entry = {"name": name, "kinds": kinds, **more, "provenance": "measured" if fit else "prior",
             "bandwidth_efficiency": round(parameters["efficiency"], 3),
             "base_latency": f"{parameters['base']:.1f} us", "hop_latency": f"{parameters['hop']:.1f} us",
             "congestion_per_doubling": congestion, "congestion_free_nodes": free, "source": source}
    return entry | ({"fit": fit} if fit else {})


def fit_vista(model, collectives):
    t = collectives[collectives.interconnect.fillna("").str.contains("Vista") & (collectives.collective == "all_reduce")]
    rows = table_rows(t, "gh200", 450, 50, 1, 1, "switch", "hopper")
    p, residual = fit_network(model, rows, t.time_us.to_numpy(float), fixed={"hop": 0.0, "base": 0.0})
    s = collectives[collectives.interconnect.fillna("").str.contains("Vista") & (collectives.collective == "send_recv")]
    check = model(table_rows(s, "gh200", 450, 50, 1, 1, "switch", "hopper"), **p)
    return p, {"all_reduce_2_4_8_nodes_log_ratio": spread(residual),
               "held_out_send_recv_log_ratio": spread(np.log(check / s.time_us))}


def fit_p6(model, collectives):
    t = collectives[collectives.interconnect.fillna("").str.contains("EFA v4") & (collectives.size_bytes >= 1e6)]
    rows = table_rows(t, "b200", 900, 50, 8, 8, "switch", "blackwell")
    measured = bus_factor("all_reduce", 32) * t.size_bytes.to_numpy() / (t.busbw_GBps.to_numpy() * 1e3)
    p, residual = fit_network(model, rows, measured, fixed={"hop": 75.0})
    return p, {"all_reduce_4_nodes_from_1_MiB_log_ratio": spread(residual)}


def fit_p5(model, folder, two_nodes, startup):
    rows, measured = p5_rows(folder, two_nodes)
    p, residual = fit_network(model, rows, measured, fixed={"base": 0.0}, start=(0.8, 0, 50))
    kinds = np.array([r[0] for r in rows])
    fit = {f"{kind}_2_to_32_nodes_log_ratio": spread(residual[kinds == kind]) for kind in sorted(set(kinds))}
    elsewhere, _ = fit_network(model, *startup_rows(startup), fixed={"base": 0.0, "hop": p["hop"]})
    fit["nanotron_start_up_all_reduce_efficiency"] = round(elsewhere["efficiency"], 3)
    return p, fit


def fit_perlmutter(model, collectives):
    t = collectives[collectives.interconnect.fillna("").str.contains("Perlmutter") & (collectives.nodes > 1) &
                    (collectives.collective == "all_reduce")]
    rows = [(r.collective, r.size_bytes, int(r.gpus), int(r.gpus // r.nodes), 4, 1, "ampere", "mesh", 300, 25)
            for r in t.itertuples()]
    p, residual = fit_network(model, rows, t.time_us.to_numpy(float), fixed={"hop": 0.0, "base": 0.0}, start=(0.05, 0, 0))
    return p, {"all_reduce_2_to_8_nodes_log_ratio": spread(residual)}


def deep_ep_share(moe):
    """Attained share of a 50 GB/s card in DeepEP's combine on 4 nodes: distinct remote nodes a token goes to, bf16."""
    t = moe[(moe.nodes == 4) & moe.op.str.contains("combine.*sms=20") & (moe.num_tokens_per_rank == 4096)]
    remote = 3 * (1 - (3 / 4) ** t.topk)
    return float((t.num_tokens_per_rank * t.hidden * 2 * remote / (t.time_us * 1e-6) / 50e9).median())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("nccl", "collectives", "startup", "moe", "price"):
        parser.add_argument("--" + name, required=True)
    for name in ("p5", "p5-two-nodes"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    args = parser.parse_args()
    collectives = pd.read_csv(args.collectives)
    report = fit_inside(pd.read_csv(args.nccl), collectives, args.out)
    for name, fit in report.items():
        print(name, json.dumps(fit))
    model = Model(args.price)
    ndr, ndr_fit = fit_vista(model, collectives)
    p6, p6_fit = fit_p6(model, collectives)
    p5, p5_fit = fit_p5(model, args.p5, args.p5_two_nodes, pd.read_csv(args.startup))
    tcp, tcp_fit = fit_perlmutter(model, collectives)
    print("DeepEP combine on 4 nodes, share of a card:", round(deep_ep_share(pd.read_csv(args.moe)), 3))
    prior = {"efficiency": 0.85, "base": 0.0, "hop": 0.0}
    networks = [
        network_entry("ib", ["ib", "ib-hdr", "ib-ndr", "ib-edr", "ib-xdr", "infiniband"], ndr,
                      "Fitted: NCCL all-reduce on Vista (GH200, one NDR card per node), "
                      "DebarghaG/estimate-train-time@1ac4d5e; other rates take the same share", ndr_fit),
        network_entry("efa v4", ["efa"], p6,
                      "Fitted: all_reduce_bench.py on 4 AWS p6-b200 nodes, stas00/ml-engineering@744d01e "
                      "network/README.md l.1400; hop: the 75 us that aws-ofi-nccl reports to NCCL (platform_data_map)",
                      p6_fit, architectures=["blackwell"]),
        network_entry("efa", ["efa"], p5,
                      "Fitted: nccl-tests on AWS p5, all-gather and all-reduce of 32 MiB to 8 GiB on 2 to 32 nodes "
                      "(crazyguitar/aws-gpu-communication-benchmark@fd167f9 data), all-reduce from 1 MiB on 2 nodes "
                      "(aws-samples/awsome-distributed-training@7217859 micro-benchmarks/nccl-tests/README.md)", p5_fit),
        network_entry("efa-nanotron", ["efa-nanotron"], NANOTRON, NANOTRON_SOURCE, NANOTRON_FIT),
        network_entry("omni-path", ["omni-path", "opa"], {"efficiency": 0.42, "base": 0.0, "hop": 0.0},
                      "bigscience experiments/bandwidth: 21 GB/s on 4 nodes, 14 on 16 (printed figures doubled, the "
                      "script of that time halved them) of 4 x 100 Gbit/s per node; two points, no fit",
                      congestion=0.2, free=4),
        network_entry("slingshot", ["slingshot"], prior, "Prior: between ib and efa; needs the aws-ofi-nccl plug-in, "
                      "without it see ethernet"),
        network_entry("roce", ["roce"], prior, "Prior: below ib; congestion control of RoCE costs some "
                      "(arXiv:2407.21783 section 3.3.1)"),
        network_entry("ethernet", ["ethernet", "tcp", "sockets"], prior,
                      "Ceiling fitted: NCCL through the host's TCP stack on Perlmutter (4 x A100, 4 x 200 Gbit/s, no "
                      "plug-in), DebarghaG/estimate-train-time@1ac4d5e; share below it: prior", tcp_fit,
                      ceiling=f"{tcp['efficiency'] * 25:.2f} GB/s"),
        network_entry("unknown", [], prior, "Prior for a network of unknown kind"),
    ]
    for entry in networks:
        print(entry["name"], json.dumps({k: v for k, v in entry.items() if k not in ("name", "kinds", "source")}))
    text = json.dumps({"schema": "hexaplan/networks/1", "networks": networks}, indent=2)
    (args.out / "networks.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
