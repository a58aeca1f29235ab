#!/usr/bin/env python3
"""Fits presets/calibration/<gpu>.json from published kernel measurements.

    fit_kernels.py --gemm aic_gemm.csv --attention aic_attention_fwd_causal.csv --out presets/calibration

aic_gemm.csv:      system,dtype,m,n,k,time_us,tflops     ai-dynamo/aiconfigurator (Apache-2.0), GEMM tables
aic_attention…csv: system,seq,head_dim,tflops_causal_half   the same repository, context attention, forward

GEMM (docs/formulas.md#T1): time = 2·V·(k + k_half) / (peak · share · 2^correction(V, k)), where V is the area m·n rounded up
to whole waves of tiles (V = (1-q)·area + q·waves·SMs·tile, best of the tiles). V never decreases with m or n, and the
correction's slopes are limited, so the fitted time never decreases with m, n or k either.
Quantised GEMMs of the source contain the cast of the activations; the cast is fitted as bytes and left out, because
the operation list carries it as a memory-bound step.
"""
import argparse, json, math, pathlib
import numpy as np
import pandas as pd

AIC = "ai-dynamo/aiconfigurator@095f58a (TensorRT-LLM 1.0.0 / 1.3.0rc20 kernels, idle GPU, random data)"
DATE = "2026-11"

# Dense datasheet peaks in TFLOP/s that the shares refer to; the reader rescales when a preset states another peak.
GPUS = {
    "a100-80-sxm": dict(aic="a100_sxm", sms=108, bw=2039e9, peak={"bf16": 312}),
    "h100-80-sxm": dict(aic="h100_sxm", sms=132, bw=3350e9, peak={"bf16": 989, "fp8": 1979}),
    "h200": dict(aic="h200_sxm", sms=132, bw=4800e9, peak={"bf16": 989, "fp8": 1979}),
    "b200": dict(aic="b200_sxm", sms=148, bw=8000e9, peak={"bf16": 2250, "fp8": 4500, "nvfp4": 9000}),
    "b300": dict(aic="b300_sxm", sms=148, bw=8000e9, peak={"bf16": 2250, "fp8": 4500, "nvfp4": 13500}),
    "gb200": dict(aic="gb200", sms=152, bw=8000e9, peak={"bf16": 2500, "fp8": 5000, "nvfp4": 10000}),
    "gb300": dict(aic="gb300", sms=152, bw=8000e9, peak={"bf16": 2500, "fp8": 5000, "nvfp4": 15000}),
    "l40s": dict(aic="l40s", sms=142, bw=864e9, peak={"bf16": 362, "fp8": 733}),
}
DTYPES = {"bfloat16": ("bf16", "bf16"), "fp8": ("fp8", "fp8"), "fp8_block": ("fp8-block", "fp8"), "nvfp4": ("nvfp4", "nvfp4")}

AREA = np.array([18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 31], float)  # log2 of the quantised area
DEPTH = np.array([10, 11, 12, 13, 14, 16], float)                         # log2 k
MAX_SLOPE = 0.6  # of log2 correction per log2 k: below k/(k + k_half) at k = 1024 for every k_half allowed here


def hat(x, knots):
    x = np.clip(x, knots[0], knots[-1])
    i = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    w = (x - knots[i]) / (knots[i + 1] - knots[i])
    out = np.zeros((len(x), len(knots)))
    out[np.arange(len(x)), i] = 1 - w
    out[np.arange(len(x)), i + 1] += w
    return out


def quantised_area(m, n, sms, tiles, q):
    best = None
    for tm, tn, cost in tiles:
        area = np.ceil(m / tm) * np.ceil(n / tn) * tm * tn
        waves = np.ceil(area / (sms * tm * tn))
        v = cost * ((1 - q) * area + q * waves * sms * tm * tn)
        best = v if best is None else np.minimum(best, v)
    return best


def smoothness(na, nk):
    """Rows that pull neighbours together, so that empty corners of the grid continue the nearest data."""
    rows = []
    index = lambda a, k: a * nk + k
    for a in range(na):
        for k in range(nk):
            for b, l in ((a + 1, k), (a, k + 1)):
                if b < na and l < nk:
                    row = np.zeros(na * nk)
                    row[index(a, k)], row[index(b, l)] = 1, -1
                    rows.append(row)
    return np.array(rows)


def solve(D, y):
    """Robust ridge regression (Huber by reweighting) with smoothness."""
    S = smoothness(len(AREA), len(DEPTH))
    base = 1.5 * S.T @ S + 0.02 * np.eye(D.shape[1])
    w = np.ones(len(y))
    for _ in range(3):
        c = np.linalg.solve(D.T @ (D * w[:, None]) + base, D.T @ (y * w))
        r = y - D @ c
        w = np.minimum(1, 0.08 / np.maximum(np.abs(r), 1e-9))
    return c, r


def fit_gemm(x, gpu, dtype, peak, floor):
    m, n, k = (x[c].to_numpy(float) for c in "mnk")
    quantised = dtype != "bf16"
    train = np.random.default_rng(7).random(len(x)) < 0.7

    def evaluate(q, costs, k_half, cast_passes, rows):
        tiles = [(256, 128, 1.0), (128, 256, 1.0), (128, 128, costs[0]), (64, 64, costs[1])]
        area = quantised_area(m, n, gpu["sms"], tiles, q)
        seconds = x.time_us.to_numpy() * 1e-6 - floor
        cast = (m * k * cast_passes / (0.8 * gpu["bw"]) + floor) if quantised else 0.0
        net = np.maximum(seconds - cast, 0.25 * seconds)
        rate = np.log2(2 * area * (k + k_half) / net / (peak * 1e12))
        centre = np.median(rate[rows])
        D = np.einsum("ia,ik->iak", hat(np.log2(area), AREA), hat(np.log2(k), DEPTH)).reshape(len(m), -1)
        coef, _ = solve(D[rows], rate[rows] - centre)
        predicted = 2 * area * (k + k_half) / (peak * 1e12) / 2 ** (centre + D @ coef) + cast + floor
        return np.log(x.time_us.to_numpy() * 1e-6 / predicted), centre, coef, tiles

    best = None
    every = np.ones(len(x), bool)
    for q in (0.2, 0.4, 0.6, 0.8):
        for c128 in (1.05, 1.15):
            for k_half in (96, 192, 320):
                for passes in ((2.0, 3.0, 5.0, 8.0, 12.0) if quantised else (0.0,)):
                    r = evaluate(q, (c128, 1.5), k_half, passes, train)[0][train]
                    loss = np.mean(np.minimum(np.abs(r), 0.3))
                    if best is None or loss < best[0]:
                        best = (loss, q, (c128, 1.5), k_half, passes)
    _, q, costs, k_half, passes = best
    held = evaluate(q, costs, k_half, passes, train)[0][~train]
    r, centre, coef, tiles = evaluate(q, costs, k_half, passes, every)
    grid = coef.reshape(len(AREA), len(DEPTH))
    for j in range(1, len(DEPTH)):  # time never falls with k
        grid[:, j] = np.minimum(grid[:, j], grid[:, j - 1] + MAX_SLOPE * (DEPTH[j] - DEPTH[j - 1]))
    for i in range(1, len(AREA)):  # … nor with the area
        grid[i] = np.minimum(grid[i], grid[i - 1] + 0.9 * (AREA[i] - AREA[i - 1]))
    curve = {
        "peak": f"{peak} TFLOP/s",
        "share": round(float(2**centre), 4),
        "k_half": k_half,
        "quantisation": q,
        "tiles": [[tm, tn, c] for tm, tn, c in tiles],
        "area_log2": [int(v) for v in AREA],
        "k_log2": [int(v) for v in DEPTH],
        "correction_log2": [[round(float(v), 3) for v in row] for row in grid],
        "holdout": {"points": int((~train).sum()), "median": round(float(np.median(np.abs(held))), 4),
                    "p90": round(float(np.quantile(np.abs(held), 0.9)), 4)},
    }
    return curve, held, passes


def gemm_curves(data, name):
    gpu, curves, spread = GPUS[name], {}, []
    for source, (dtype, peak) in DTYPES.items():
        x = data[(data.system == gpu["aic"]) & (data.dtype == source)]
        if x.empty:
            continue
        curves[dtype], held, passes = fit_gemm(x, gpu, dtype, gpu["peak"][peak], 2e-6)
        spread.append(held.std())
        h = curves[dtype]["holdout"]
        print(f"{name:12} {dtype:9} share {curves[dtype]['share']:.3f} q {curves[dtype]['quantisation']} k_half {curves[dtype]['k_half']:3}"
              f" cast {passes} B  hold-out n {h['points']} median {h['median']:.3f} p90 {h['p90']:.3f}", flush=True)
    return curves, max(spread)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--gemm", required=True); p.add_argument("--attention", required=True); p.add_argument("--out", required=True)
    a = p.parse_args()
    data = pd.read_csv(a.gemm)
    for name in GPUS: gemm_curves(data, name)
