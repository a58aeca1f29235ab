#!/usr/bin/env python3
"""Hands random exported plans to the frameworks' own readers: what do they accept?

    scripts/check_exports.py --megatron CHECKOUT [--hexaplan PROGRAM] [--plans N] [--seed S] [--failures FILE]
    scripts/check_exports.py --nanotron CHECKOUT ...      scripts/check_exports.py --torchtitan CHECKOUT ...
    scripts/check_exports.py --bridge CHECKOUT --core CHECKOUT ...       scripts/check_exports.py --maxtext CHECKOUT ...
    scripts/check_exports.py --deepspeed --trl --axolotl --llamafactory ...              (the installed packages)

CHECKOUT is a working tree of the version that the exported file names (git checkout core_v0.15.3, v0.2.2, ...). Needs
Python with PyTorch and what the framework imports; no GPU: the capability of one before Blackwell is made up, and
Transformer Engine is taken to be new enough. Megatron-LM's parse_args and validate_args see each plan in a process of
its own. Megatron-Bridge (with the Megatron-LM of its submodule: --core) reads each file with ConfigContainer.from_yaml,
applies and validates it, and makes the model on the meta device, whose parameters are counted; packages that it imports
and that need a GPU to be built are stood in for by empty ones. MaxText's reader needs jax and as many devices as the plan
has, which the CPU plays. Ends with 1 when a plan is refused. Building and testing Hexaplan do not need this script.
"""
import argparse
import collections
import functools
import importlib.abc
import importlib.machinery
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import traceback
import types
import typing

OPTIONS = argparse.Namespace()
ROOT = pathlib.Path(__file__).resolve().parent.parent
SAMPLES = ["--train-iters", "10", "--lr", "1e-4", "--mock-data", "--tokenizer-type", "NullTokenizer", "--eval-iters", "0"]


def random_plan(rng, models):
    """A question as words of the command line; most are refused by Hexaplan's own rules, which is no matter here."""
    gpus = 2 ** rng.randint(3, 6)
    tp, pp, cp = (2 ** rng.choice((0, 0, 1, 2, 3)) for _ in range(3))
    while tp * pp * cp > gpus:
        tp, pp, cp = max(1, tp // 2), max(1, pp // 2), max(1, cp // 2)
    words = [f"tp{tp}"] * (tp > 1) + [f"pp{pp}"] * (pp > 1) + [f"cp{cp}"] * (cp > 1)
    words += ["sp"] * (tp > 1 and rng.random() < 0.7)
    words.append(rng.choice(("", "zero1", "zero1", "zero2", "zero3", "fsdp")))
    if pp > 1 and rng.random() < 0.3:
        words += ["vpp2", "interleaved"]
    elif pp > 1 and rng.random() < 0.15:
        words.append("embedding-counts")
    if rng.random() < 0.4:
        words.append(f"ep{2 ** rng.randint(1, 3)}")
    plan = ["--model", rng.choice(models), "--cluster", f"{gpus}xH100", "--layout", " ".join(w for w in words if w),
            "--seq", str(rng.choice((2048, 4096, 8192))), "--micro-batch", str(rng.choice((1, 1, 2))),
            "--global-batch", str(rng.choice((64, 256, 512))), "--precision", rng.choice(("bf16",) * 6 + ("fp16", "fp8")),
            "--recompute", rng.choice(("none", "none", "full", "selective"))]
    if rng.random() < 0.1:
        plan += ["--offload", "optimizer"]
    return plan


def random_fine_tuning(rng, models):
    """The same of fine-tuning, for the trainers above Hugging Face's Trainer."""
    profile = rng.choice(("hf-eager", "fsdp2", "fsdp1", "deepspeed"))
    layout = {"hf-eager": "", "deepspeed": rng.choice(("zero1", "zero2", "zero3"))}.get(profile, rng.choice(("zero2", "zero3")))
    plan = ["--model", rng.choice(models), "--cluster", f"{2 ** rng.randint(0, 4)}xH100", "--framework", profile,
            "--seq", str(rng.choice((1024, 2048, 4096))), "--micro-batch", str(rng.choice((1, 1, 2))),
            "--global-batch", str(rng.choice((16, 64))), "--precision", rng.choice(("bf16",) * 6 + ("fp16", "fp32")),
            "--fine-tune", rng.choice(("full", "lora", "lora", "qlora")), "--recompute", rng.choice(("none", "full")),
            "--optimizer", rng.choice(("adamw", "adamw", "adamw-8bit", "adafactor", "lion", "sgd", "muon", "galore",
                                       "galore-8bit", "apollo", "apollo-mini"))]
    plan += ["--layout", layout] if layout else []
    if plan[plan.index("--fine-tune") + 1] != "full":
        plan += ["--lora-rank", rng.choice(("8", "16", "64")),
                 "--lora-targets", rng.choice(("all-linear", "attention", "qkv", "qv", "mlp"))]
        if profile != "deepspeed" and rng.random() < 0.3:
            plan += ["--dora", "true"]
    if rng.random() < 0.3:
        plan += ["--offload", rng.choice(("optimizer", "params", "activations"))]
    if rng.random() < 0.3:
        plan += ["--attention", "unfused"]
    if rng.random() < 0.3:
        plan += ["--cross-entropy", "chunked"]
    if rng.random() < 0.2:
        plan += ["--compile", "true"]
    return plan


def exported(program, framework, plan):
    """The export's JSON, or None where Hexaplan itself has a reason against the plan."""
    whose = "--target" if framework in TRAINERS else "--framework"
    done = subprocess.run([program, "export", whose, framework, *plan, "--json", "--quiet"], capture_output=True,
                          text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return None
    if answer["rejection"]:
        return None
    answer["plan"] = plan
    if framework == "bridge":
        model = plan[plan.index("--model") + 1]
        answer["parameters"] = parameters_of(program, model)
    return answer


@functools.lru_cache(maxsize=None)
def parameters_of(program, model):
    done = subprocess.run([program, "estimate", "--model", model, "--cluster", "8xH100", "--framework", "other", "--json",
                           "--quiet"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["parameters"]


# --- one checker per framework: takes the text of a file, raises when the framework does not take it ---

def megatron_arguments(text):
    """Arguments and environment of the script, as the shell would hand them on."""
    lines = text.split("arguments=(\n", 1)
    environment = dict(line.removeprefix("export ").split("=", 1) for line in lines[0].splitlines()
                       if line.startswith("export "))
    return shlex.split(lines[1].split("\n)\n", 1)[0]), environment


def check_megatron(checkout):
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
    if not hasattr(typing, "override"):  # Python before 3.12, which releases from 0.19 on import it of
        typing.override = lambda method: method
    sys.path.insert(0, str(checkout))
    import torch
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.get_device_properties = lambda *_: collections.namedtuple("Properties", "major minor")(9, 0)
    from megatron.core import utils
    from packaging.version import Version
    utils.get_te_version = lambda: Version("99")
    from megatron.training import arguments as reader

    def check(answer):
        arguments, environment = megatron_arguments(answer["text"])
        os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
        os.environ.update(environment)
        nodes = answer["text"].split("--nnodes ")[1].split()[0]
        per_node = answer["text"].split("--nproc-per-node ")[1].split()[0]
        os.environ.update(RANK="0", WORLD_SIZE=str(int(nodes) * int(per_node)))
        sys.argv = ["pretrain_gpt.py", *arguments, *SAMPLES]
        args = reader.parse_args()
        reader.validate_args(args)
        args.apply_rope_fusion = False  # wants Transformer Engine itself
        reader.core_transformer_config_from_args(args)
    return check


def check_nanotron(checkout):
    sys.path.insert(0, str(pathlib.Path(checkout) / "src"))
    sys.meta_path.append(EmptyModules("nanotron"))
    import yaml
    from dacite import Config, from_dict
    from nanotron.config.models_config import LlamaConfig, Qwen2Config
    from nanotron.config.parallelism_config import ParallelismArgs
    strict = Config(strict=True, cast=[pathlib.Path], type_hooks={})

    def check(answer):
        tree = yaml.safe_load(answer["text"])
        model = tree["model"]["model_config"]
        from_dict(data_class=LlamaConfig if model.get("is_llama_config") else Qwen2Config, data=model, config=strict)
        known = ParallelismArgs.__dataclass_fields__
        unknown = [key for key in tree["parallelism"] if key not in known]
        assert not unknown, f"ParallelismArgs has no {unknown}"
    return check


def check_torchtitan(checkout):
    sys.path.insert(0, str(checkout))
    sys.meta_path.append(EmptyModules("torchtitan"))  # what PyTorch has not got yet …
    import torch
    torch.compile = lambda compiled=None, **_: compiled or (lambda of: of)  # … and need not compile
    from torchtitan.config import ConfigManager

    def check(answer):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(answer["text"])
            file.flush()
            ConfigManager().parse_args(["--job.config_file", file.name])
    return check


# What frameworks import and no configuration needs; by framework.
ABSENT = {"nanotron": ("flash_attn", "grouped_gemm", "datatrove", "functorch", "nouveau", "rotary_emb"),
          "torchtitan": ("torch.nn.attention.varlen", "torch.distributed.pipelining", "torchdata", "torchao", "tensorboard",
                         "torch.utils.tensorboard", "wandb", "torchft"),
          "maxtext": ("pathwaysutils", "google.cloud.storage", "orbax", "tensorboardX", "cloud_tpu_diagnostics",
                      "ml_goodput_measurement", "grain", "tensorflow", "tensorflow_datasets", "tensorflow_text", "aqt",
                      "qwix", "tokamax", "jetstream", "drjax", "google_cloud_mldiagnostics", "tunix"),
          "bridge": ("transformer_engine", "transformer_engine_torch", "tensorboard", "torch.utils.tensorboard", "wandb", "mlflow",
          "comet_ml", "nvidia_resiliency_ext", "modelopt", "peft", "datasets", "diffusers", "qwen_vl_utils", "timm",
          "open_clip", "megatron.energon", "mistral_common", "nltk", "webdataset", "nemo_run", "fast_hadamard_transform",
          "nvtx", "onnx", "zarr", "tensorstore", "one_logger_utils", "matplotlib")}


class EmptyClass(type):
    """A class with any attribute, each another one, but for those by which PyTorch finds what it wraps."""
    def __getattr__(cls, name):
        if name.startswith(("__", "_torchdynamo")):
            raise AttributeError(name)
        value = EmptyClass(name, (), {"__init__": lambda self, *a, **k: None})
        setattr(cls, name, value)
        return value


class EmptyModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for the packages of ABSENT and for all that is in them."""
    def __init__(self, framework):
        self.roots = ABSENT[framework]

    def find_spec(self, name, path=None, target=None):
        if any(name == root or name.startswith(root + ".") for root in self.roots):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        class Module(types.ModuleType):
            def __getattr__(self, name):
                if name == "__version__":
                    return "99.0.0"
                if name.startswith("__"):
                    raise AttributeError(name)
                value = EmptyClass(name, (), {"__init__": lambda self, *a, **k: None,
                                              "__class_getitem__": classmethod(lambda cls, _: cls)})
                setattr(self, name, value)
                return value
        module = Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


def gpus_of(answer):
    """From the first line: "# llama-3-8b on 16 × h100-80-sxm: …"."""
    return int(answer["text"].split(" × ")[0].rsplit(" ", 1)[1])


def bridge_parameters(model):
    """Those of the exported model, whole, made on the meta device without Transformer Engine."""
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec
    from megatron.core.process_groups_config import ProcessGroupCollection
    from megatron.core.transformer import dot_product_attention, transformer_block
    attention = dot_product_attention.DotProductAttention
    made = attention.__init__  # has no parameters, and no widths of latent attention
    attention.__init__ = lambda self, *a, k_channels=None, v_channels=None, **k: made(self, *a, **k)
    transformer_block.get_cpu_offload_context = None  # Transformer Engine's
    whole = dict.fromkeys(("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
                           "expert_model_parallel_size", "expert_tensor_parallel_size"), 1)
    off = dict.fromkeys(("sequence_parallel", "moe_grouped_gemm", "apply_rope_fusion", "persist_layer_norm", "cpu_offloading",
                         "gradient_accumulation_fusion", "should_pad_vocab", "tp_comm_overlap", "perform_initialization",
                         "layernorm_zero_centered_gamma"), False)
    unset = dict.fromkeys(("virtual_pipeline_model_parallel_size", "pipeline_model_parallel_layout", "cp_comm_type",
                           "recompute_granularity"))
    settings = dict(whole, **off, **unset, use_cpu_initialization=True, init_model_with_meta_device=True,
                    transformer_impl="local", cuda_graph_impl="none", moe_token_dispatcher_type="allgather")
    for name, value in settings.items():
        setattr(model, name, value)
    layers = get_gpt_decoder_block_spec(model, use_transformer_engine=False)
    model.transformer_layer_spec = lambda _: layers
    model._pg_collection = ProcessGroupCollection.use_mpu_process_groups()
    made = model.provide(pre_process=True, post_process=True)
    corrections = sum(b.numel() for name, b in made.named_buffers() if name.endswith("expert_bias"))
    return sum(p.numel() for p in made.parameters()) + corrections


USUALLY_NOT_SAID = 2  # lines of every export to Megatron-Bridge: data, and what else is the user's to add


def check_bridge(checkout):
    import torch
    import typing_extensions
    typing.override = typing_extensions.override  # Python before 3.12
    sys.meta_path.insert(0, EmptyModules("bridge"))
    sys.path[:0] = [str(pathlib.Path(checkout) / "src"), OPTIONS.core]
    for name in ("pytorch", "common.recipe", "pytorch.distributed", "pytorch.attention"):
        importlib.import_module(f"transformer_engine.{name}")
    from megatron.bridge.training.config import ConfigContainer, runtime_config_update
    from megatron.core import parallel_state
    from megatron.training.config.instantiate_utils import InstantiationMode
    card = collections.namedtuple("Properties", "major minor name")(9, 0, "NVIDIA H100 80GB HBM3")
    torch.cuda.get_device_properties = lambda *_: card
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.current_device = lambda: "meta"
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(random.SystemRandom().randint(20000, 60000)))

    def check(answer):
        os.environ.update(WORLD_SIZE=str(gpus_of(answer)), RANK="0", LOCAL_RANK="0")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "bridge.yaml")
            path.write_text(answer["text"], encoding="utf-8")
            config = ConfigContainer.from_yaml(str(path), mode=InstantiationMode.STRICT)
            config.train.train_iters = config.train.train_iters or 10
            config.optimizer.lr = 1e-4
            if config.peft is not None:
                config.checkpoint.pretrained_checkpoint = folder
            runtime_config_update(config)
        # Layers that Transformer Engine alone has: of further tokens, and latent attention that projects its queries
        # at once. And what the file has no word for.
        fused = getattr(config.model, "q_lora_rank", 0) is None
        if config.model.mtp_num_layers or fused or len(answer["not_said"]) > USUALLY_NOT_SAID:
            return
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        parallel_state.initialize_model_parallel()
        counted = bridge_parameters(config.model)
        assert counted == answer["parameters"], f"{counted} parameters instead of {answer['parameters']}"
    return check


def check_maxtext(checkout):
    os.environ.update(JAX_PLATFORMS="cpu", DECOUPLE_GCLOUD="TRUE")
    sys.meta_path.insert(0, EmptyModules("maxtext"))
    sys.path.insert(0, str(pathlib.Path(checkout) / "src"))
    import jax
    from maxtext.configs import pyconfig
    from maxtext.utils import max_utils
    max_utils.maybe_initialize_jax_distributed_system = lambda *_: None

    def check(answer):
        gpus = gpus_of(answer)
        nodes = max(1, gpus // 8)
        jax.devices = lambda *_: [None] * gpus
        max_utils.get_num_slices = lambda *_, **__: nodes
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "maxtext.yml")
            path.write_text(answer["text"], encoding="utf-8")
            config = pyconfig.initialize_pydantic(["train", str(path), "run_name=check", f"base_output_directory={folder}"])
        ranks = 1
        for degree in (*config.ici_parallelism, *config.dcn_parallelism):
            ranks *= degree
        assert ranks == gpus, f"a mesh of {ranks} instead of {gpus}"
        batch = int(answer["plan"][answer["plan"].index("--global-batch") + 1])
        assert config.global_batch_size_to_train_on == batch, f"{config.global_batch_size_to_train_on} instead of {batch}"
    return check


def check_deepspeed(_):
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig

    def check(answer):
        settings = json.loads(answer["text"])
        batch = settings["train_micro_batch_size_per_gpu"] * settings["gradient_accumulation_steps"]
        assert settings["train_batch_size"] % batch == 0, "the batch is no multiple of what one rank takes"
        DeepSpeedZeroConfig(**settings.get("zero_optimization", {}))
    return check


def of_a_gpu():
    """A machine without one refuses bf16 and tf32, which is not the file's fault."""
    import torch
    import transformers.training_args as training_args
    torch.cuda.is_bf16_supported = lambda *_, **__: True
    for name in ("is_torch_bf16_gpu_available", "is_torch_tf32_available"):
        if hasattr(training_args, name):
            setattr(training_args, name, lambda *_, **__: True)


def check_trl(_):
    from trl import ModelConfig, ScriptArguments, SFTConfig, TrlParser, get_peft_config
    of_a_gpu()

    def check(answer):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "trl.yaml")
            path.write_text(answer["text"], encoding="utf-8")
            parsed = TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config(
                ["--config", str(path), "--dataset_name", "data", "--output_dir", folder], fail_with_unknown_args=True)
            get_peft_config(parsed[2])
    return check


def check_llamafactory(_):
    import yaml
    from llamafactory.hparams import get_train_args
    from transformers import TrainingArguments
    from transformers.training_args import ParallelMode
    of_a_gpu()
    TrainingArguments.parallel_mode = property(lambda _: ParallelMode.DISTRIBUTED)  # as torchrun starts it

    def check(answer):
        with tempfile.TemporaryDirectory() as folder:
            get_train_args({"model_name_or_path": "folder", **yaml.safe_load(answer["text"]), "stage": "sft",
                            "do_train": True, "dataset": "identity", "template": "default", "output_dir": folder})
    return check


def check_axolotl(_):
    import yaml
    from axolotl.utils.schemas.config import AxolotlInputConfig

    def check(answer):
        settings = {"base_model": "folder", **yaml.safe_load(answer["text"])}
        AxolotlInputConfig(**settings, datasets=[{"path": "data", "type": "alpaca"}],
                           learning_rate=1e-4, output_dir="out")
    return check


CHECKERS = dict(megatron=check_megatron, bridge=check_bridge, maxtext=check_maxtext, nanotron=check_nanotron,
                torchtitan=check_torchtitan, deepspeed=check_deepspeed, trl=check_trl, llamafactory=check_llamafactory, axolotl=check_axolotl)
TRAINERS = ("trl", "llamafactory", "axolotl")


def last_line(error):
    lines = [line for line in error.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "ended without a word"


def in_own_process(check, answer):
    """None when the plan is accepted, else the reason."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = 0
            try:
                check(answer)
            except SystemExit as ended:
                code = 1 if ended.code else 0
            except BaseException:  # whatever the framework throws is its answer
                traceback.print_exc()
                code = 1
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return None if status == 0 else last_line(said.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("megatron", "nanotron", "torchtitan", "bridge", "maxtext"):
        parser.add_argument(f"--{name}", metavar="CHECKOUT")
    parser.add_argument("--core", metavar="CHECKOUT", help="of Megatron-LM, for --bridge")
    for name in ("deepspeed", *TRAINERS):
        parser.add_argument(f"--{name}", action="store_const", const=".")
    parser.add_argument("--hexaplan", default=str(ROOT / "build/release/hexaplan"))
    parser.add_argument("--plans", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", help="file for the refused plans and their reasons")
    options = parser.parse_args(namespace=OPTIONS)
    models = sorted(p.stem for p in (ROOT / "presets/models").glob("*.json") if p.stem != "aliases")
    refused = 0
    for framework in [name for name in CHECKERS if getattr(options, name)]:
        check, rng = CHECKERS[framework](getattr(options, framework)), random.Random(options.seed)
        reasons, asked, accepted = collections.Counter(), 0, 0
        while asked < options.plans:
            plan = (random_fine_tuning if framework in TRAINERS else random_plan)(rng, models)
            answer = exported(options.hexaplan, framework, plan)
            if answer is None:
                continue
            asked += 1
            reason = in_own_process(check, answer)
            accepted += reason is None
            if reason is not None:
                reasons[reason] += 1
                if options.failures:
                    with open(options.failures, "a", encoding="utf-8") as file:
                        file.write(f"{framework}: {shlex.join(plan)}\n  {reason}\n")
        print(f"{framework}: {accepted} of {asked} plans accepted")
        for reason, count in reasons.most_common():
            print(f"  {count:5} {reason}")
        refused += asked - accepted
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
