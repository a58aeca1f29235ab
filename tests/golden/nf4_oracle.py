#!/usr/bin/env python3
"""Numbers in 4 bits by bitsandbytes, for the executor to reproduce bit for bit: tests/golden/quantised/nf4.json.

    pip install torch transformers bitsandbytes numpy && tests/golden/nf4_oracle.py [--check]

NF4 in blocks of 64, and the same with scales in 8 bits ("double quantisation"). Numbers are scale * u^3 with u uniform in (-1, 1),
drawn by name as transformers_oracle.py draws weights, so that most are small beside the largest of a block.
"""
import argparse
import json
import pathlib
import sys

import bitsandbytes
import bitsandbytes.functional as bnb
import numpy
import torch

import transformers_oracle as base

FILE = pathlib.Path(__file__).parent / "quantised" / "nf4.json"

# Count, what they are multiplied by, elements that are zero from the front.
CASES = dict(one_block=(64, 1.0, 0), weights=(4096, 0.02, 0), zeros=(256, 1.0, 130), remainder=(1000, 3.0, 0), large=(640, 1e30, 0),
             small=(640, 1e-30, 0), scales_of_scales=(33000, 0.05, 0))


def numbers(name):
    count, scale, zeros = CASES[name]
    u = base.uniform(base.SEED, name, count)
    x = (u * u * u * scale).astype(numpy.float32)
    x[:zeros] = 0
    return torch.from_numpy(x)


def hexadecimal(tensor):
    return tensor.flatten().numpy().tobytes().hex()


def scales_quantised(scales, mean):
    """Codes and scales of an NF4 matrix's scales, and those scales again. In float64, of which bitsandbytes takes the nearest code, as
    its GPU kernels do: its CPU kernel for float32 looks codes up in a table and takes a neighbour within 1e-5 of the middle."""
    shifted = scales - mean
    code = bnb.quantize_blockwise(shifted, blocksize=256)[1].code
    codes, largest = torch.ops.bitsandbytes.quantize_blockwise.default(shifted.double(), code, 256)
    return codes, largest, bnb.dequantize_blockwise(codes, absmax=largest, code=code, blocksize=256) + mean


def golden(name):
    x = numbers(name)
    codes, state = bnb.quantize_4bit(x, blocksize=64, quant_type="nf4")
    numbers_again = bnb.dequantize_4bit(codes, state)
    scales, mean = state.absmax, state.absmax.mean()
    scale_codes, scales_of_scales, state.absmax = scales_quantised(scales, mean)
    count, scale, zeros = CASES[name]
    return dict(count=count, scale=scale, zeros=zeros, codes=hexadecimal(codes), scales=hexadecimal(scales),
                numbers=hexadecimal(numbers_again.flatten()[:512]), mean=hexadecimal(mean),
                scale_codes=hexadecimal(scale_codes), scales_of_scales=hexadecimal(scales_of_scales),
                numbers_of_scale_codes=hexadecimal(bnb.dequantize_4bit(codes, state).flatten()[-512:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    options = parser.parse_args()
    fresh = dict(written_by="tests/golden/nf4_oracle.py", bitsandbytes=bitsandbytes.__version__, torch=torch.__version__, seed=base.SEED,
                 cases={name: golden(name) for name in CASES})
    if options.check:
        kept = json.loads(FILE.read_text())
        if kept["cases"] != fresh["cases"]:
            sys.exit("bitsandbytes computes other numbers than the committed ones")
        return
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(fresh, indent=1) + "\n")


if __name__ == "__main__":
    main()
