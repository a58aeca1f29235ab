"""What a call costs, in microseconds, best of seven rounds (docs/performance.md): PYTHONPATH=build/release/python python3 benchmarks/measure_python.py"""

import timeit

import hexaplan

CASES = {
    "Llama-3.1-8B, 16 GPUs": dict(model="llama-3.1-8b", cluster="16xH100", layout="tp2 pp2 zero1 sp", seq=8192, global_batch=64),
    "Llama-3.1-405B, 16,384 GPUs": dict(model="llama-3.1-405b", cluster="16384xH100", layout="tp8 pp16 zero1 sp", seq=8192, global_batch=2048),
    "DeepSeek-V3, 2,048 GPUs": dict(model="deepseek-v3", cluster="2048xH800", layout="pp16 ep64 zero1", seq=4096, global_batch=15360),
}


def microseconds(work, rounds=7, calls=500):
    return min(timeit.repeat(work, number=calls, repeat=rounds)) / calls * 1e6


for name, question in CASES.items():
    estimate = hexaplan.estimate(**question)
    rows = {
        "estimate, step_seconds read": lambda: hexaplan.estimate(**question).step_seconds,
        "estimate, every field made": lambda: hexaplan.estimate(**question).memory,
        "fields alone": lambda: hexaplan.Estimate(estimate._live()).memory,
        "pictures of a notebook": estimate._repr_html_,
    }
    for row, work in rows.items():
        print(f"{name:30} {row:30} {microseconds(work):8.1f}")
