"""Holds the reading of torchtitan's Python configurations against torchtitan itself.

    torchtitan_configs.py TORCHTITAN HEXAPLAN

TORCHTITAN is a checkout of pytorch/torchtitan. Every function of models/*/config_registry.py that returns a Trainer.Config is
called, with torch and torchtitan's own classes (stand-ins only for packages that are not installed); HEXAPLAN reads the same
function (`hexaplan import FILE:FUNCTION --json`), and each setting that it understood must have the value of the object. What
was not assigned must be torchtitan's default. Prints what differs, and ends with 1 when something does. Needs torch (the CPU
wheel does); nothing is downloaded.
"""
import ast
import importlib
import importlib.abc
import importlib.machinery
import json
import pathlib
import subprocess
import sys
import types


class StandIn(types.ModuleType):
    """Names with a capital are classes that can be derived from, others are modules that can be called, as decorators are."""

    __path__, __version__ = [], "99.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = StandIn(f"{self.__name__}.{name}")
        if name[0].isupper() and self.__name__ != "PIL":  # whose modules are called so
            made = type(name, (), {"__init__": lambda self, *args, **kwargs: None, "__class_getitem__": lambda cls, key: cls,
                                   "__init_subclass__": classmethod(lambda cls, **kwargs: None)})
        setattr(self, name, made)
        return made

    def __call__(self, *args, **kwargs):
        return args[0] if args and callable(args[0]) else self

    def __getitem__(self, key):
        return self

    def __bool__(self):
        return False


class MissingPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stand-ins for packages that are not installed: asked last."""

    PACKAGES = ("spmd_types", "grain", "torchao", "tyro", "datasets", "torchdata", "wandb", "einops", "attn_gym", "deep_ep",
                "torchvision", "PIL", "av", "torchcomms", "fla", "cutlass", "quack", "torchft", "triton",
                "tensorboard", "google", "jinja2", "cloudpickle", "transformers", "flash_attn")

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


CHECKPOINTS = {"FullAC": {"mode": "full"}, "SelectiveAC": {"mode": "selective", "selective_ac_option": "op"},
               "MemoryBudgetAC": {"mode": "memory_budget"}, "NoneType": {"mode": "none"}}


def classes_of(converters):
    return {type(c).__qualname__.split(".")[0]: c for c in converters or ()}


def value_of(config, registered, key):
    """What the object has at a key of Hexaplan's table, as that table writes it."""
    head, _, rest = key.partition(".")
    if key == "model.flavor":
        return registered.get("flavor")
    if head == "converters":
        name, _, field = rest.partition(".")
        converter = classes_of(registered.get("converters")).get(name)
        return converter is not None if not field else getattr(converter, field)
    if head == "model_spec":
        return registered.get(rest)
    if head == "activation_checkpoint" and rest in ("mode", "selective_ac_option"):
        return CHECKPOINTS[type(config.activation_checkpoint).__qualname__.split(".")[0]].get(rest)
    if key == "optimizer.name":
        groups = getattr(config.optimizer, "param_groups", None) or []
        return groups[-1].optimizer_name if groups else getattr(config.optimizer, "name", None)
    value = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def main(root, hexaplan):
    sys.path.insert(0, str(root))
    for own in ("torch.distributed.pipelining", "torch._inductor.compile_fx", "torch.utils.flop_counter"):  # torch looks for some of them itself
        importlib.import_module(own)
    sys.meta_path.append(MissingPackages())
    for module in ("torchtitan.tools.utils", "torchtitan.components.quantization.float8", "torchtitan.components.quantization.mx",
                   "torchtitan.components.quantization.nvfp4", "torchtitan.components.quantization.utils"):
        try:
            importlib.import_module(module).has_cuda_capability = lambda major, minor: True
        except ImportError:  # other versions have other files
            pass
    recipes = compared = differ = 0
    for file in sorted((root / "torchtitan" / "models").glob("*/config_registry.py")):
        if file.parent.name == "flux":  # a diffusion model
            continue
        module = importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))
        registered = {}
        real = getattr(module, "model_registry", None)

        def record(flavor, *args, **kwargs):
            registered.clear()
            registered.update(kwargs, flavor=flavor)
            return real(flavor, *args, **kwargs)

        module.model_registry = record
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or "Config" not in ast.unparse(
                    node.returns or ast.Constant(None)) or node.args.args:
                continue
            try:
                config = getattr(module, node.name)()
            except Exception as error:  # what needs a package that is not here
                print(f"not run: {node.name}: {type(error).__name__}: {str(error)[:100]}")
                continue
            answer = subprocess.run([hexaplan, "import", f"{file}:{node.name}", "--cluster", "8xH100", "--json"], capture_output=True,
                                    text=True)
            recipes += 1
            if answer.returncode != 0:
                differ += 1
                print(f"{node.name}: {answer.stderr.strip()[:150]}")
                continue
            for setting in json.loads(answer.stdout)["settings"]:
                if setting["fate"] != "understood" or setting["key"] in ("model.name", "hf_assets_path"):
                    continue
                compared += 1
                run = value_of(config, registered, setting["key"])
                read = setting["value"]
                text = read if isinstance(read, str) else json.dumps(read)
                if text not in (str(run), json.dumps(run, default=str), json.dumps(run, default=str).replace(", ", ",")):
                    differ += 1
                    print(f"{node.name}: {setting['key']}: read {text}, run {run}")
    print(f"{recipes} configurations, {compared} settings compared, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))
