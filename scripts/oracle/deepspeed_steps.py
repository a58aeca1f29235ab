"""Messages of DeepSpeed's own engine in a step of a small Llama, on one rank of a fake world of eight. It reads its tensors,
so that they are real here, and small; bytes are those of the model whatever its size.
"""
import os
import warnings

os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE="8", MASTER_ADDR="127.0.0.1",
                  MASTER_PORT="29555")
warnings.filterwarnings("ignore")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402

from hugging_face import trained_config  # noqa: E402
from live_bytes import LiveBytes, messages_of  # noqa: E402

LLAMA = dict(model_type="llama", hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8,
             num_key_value_heads=2, vocab_size=8000, max_position_embeddings=2048, tie_word_embeddings=False)
SEQUENCE = 512


def cases():
    """{name: case}"""
    return {f"deepspeed zero{stage} bucket {bucket}": dict(stage=stage, bucket=bucket, sequence=SEQUENCE)
            for stage in (1, 2, 3) for bucket in (2_000_000, 500_000_000)}


def measure(case):
    import deepspeed
    if not dist.is_initialized():  # the engine holds on to its groups: no other one comes after it
        dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
    fields = dict(LLAMA)
    config = trained_config(fields.pop("model_type"), fields, "sdpa")
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    parameters = sum(p.numel() for p in model.parameters())
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), dist_init_required=False,
        config=dict(train_micro_batch_size_per_gpu=1, bf16=dict(enabled=True),
                    optimizer=dict(type="AdamW", params=dict(lr=1e-4, torch_adam=True)),
                    zero_optimization=dict(stage=case["stage"], reduce_bucket_size=case["bucket"])))
    ids = torch.zeros(1, SEQUENCE, dtype=torch.int64)
    mode = LiveBytes()
    with mode:
        for _ in range(2):  # the first finds out in which order modules run
            mode.forget()
            mode.backward = False
            loss = engine(input_ids=ids, labels=ids).loss
            mode.backward = True
            engine.backward(loss)
            engine.step()
    # Of the gradients' norm, of found overflows and of the order of modules: numbers, not tensors.
    sent = [m for m in messages_of(mode) if m["dtype"] == "bf16"]
    return dict(case, config=LLAMA, parameters=parameters, collectives=sent)
