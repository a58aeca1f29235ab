"""The same of transformers 4.44 (July 2024), which repeats keys and values for fused attention as well; without models that
search their experts' tokens, for which there is no data.
"""
from hugging_face import SEQUENCES, measure as measure_case

EAGER_ONLY = {"phi-3-mini"}
MODELS = ("llama-3-8b", "llama-2-7b", "mistral-7b", "qwen2.5-7b", "gpt2-xl", "pythia-6.9b", "phi-3-mini")


def cases():
    """{name: case}"""
    return {f"transformers 4.44 {model} {weights} {attention} none":
            dict(model=model, weights=weights, attention=attention, recompute="none", adapters=None, batch=1,
                 sequence=SEQUENCES.get(model, 4096))
            for model in MODELS for weights in ("bf16", "autocast") for attention in ("sdpa", "eager")
            if attention == "eager" or model not in EAGER_ONLY}


def measure(case):
    out = measure_case(case)
    out.pop("flops", None)  # angles are products here: a millionth
    return out
