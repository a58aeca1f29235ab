"""Holds the reading of Megatron-Bridge's recipes against running them.

    bridge_recipes.py BRIDGE HEXAPLAN

BRIDGE is a checkout of NVIDIA-NeMo/Megatron-Bridge. Every recipe below recipes/ and perf_recipes/ for H100, B200 and GB200 is
run by Python with stand-ins for torch, Megatron-Core and Bridge's own classes, which only record what is assigned; HEXAPLAN
reads the same files (`hexaplan import --json`), and each setting that it understood must have the recorded value. Prints the
recipes that differ, and ends with 1 when there is one. No package is needed; nothing is downloaded.
"""
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import types


class Bag:
    """Records attributes; what was never assigned is missing, sections of a configuration are bags."""

    SECTIONS = ("model", "train", "validation", "optimizer", "scheduler", "ddp", "dataset", "logger", "tokenizer", "checkpoint",
                "rng", "dist", "rerun_state_machine", "profiling")

    def __init__(self, *args, **kwargs):
        for key, value in kwargs.items():
            setattr(self, key, value)

    def __getattr__(self, key):
        if key in Bag.SECTIONS or key in ("comm_overlap", "mixed_precision", "peft"):
            value = Bag()
            object.__setattr__(self, key, value)
            return value
        if key == "te_rng_tracker":
            return False
        if "hf_model_id" in vars(self) and not key.startswith("__"):  # what the model's own configuration says
            return Anything(key)
        raise AttributeError(key)


class Anything:
    """Stands for whatever a library has: called, indexed and asked for attributes it gives itself."""

    def __init__(self, name):
        object.__setattr__(self, "name", name)

    def __getattr__(self, key):
        if key.startswith("__"):
            raise AttributeError(key)
        return Anything(f"{self.name}.{key}")

    def __call__(self, *args, **kwargs):
        last = self.name.rsplit(".", 1)[-1]
        if last == "from_hf_pretrained":
            return Provider(args[0])
        if last.endswith("_mixed"):
            bag = Bag()
            bag.recipe_name = last
            return bag
        if last[:1].isupper():
            bag = Bag(**kwargs)
            object.__setattr__(bag, "class_name", last)
            return bag
        return Anything(self.name + "()")

    def __mro_entries__(self, bases):
        return (object,)

    def __getitem__(self, key):
        return self

    def __iter__(self):
        return iter(())

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __gt__(self, other):
        return False

    __lt__ = __ge__ = __le__ = __contains__ = __gt__

    def __len__(self):
        return 0

    def __bool__(self):
        return True

    def __int__(self):
        return 0

    def __index__(self):
        return 0


CLASSES = {name: type(name, (Bag,), {"class_name": name}) for name in ("PEFT", "LoRA", "DoRA", "MixedPrecisionConfig")}
for name in ("LoRA", "DoRA"):
    CLASSES[name].__bases__ = (CLASSES["PEFT"],)
    # The class's own defaults (src/megatron/bridge/peft/lora.py).
    CLASSES[name].__init__ = lambda self, **kwargs: Bag.__init__(
        self, **{"dim": 32, "alpha": 32, "target_modules": ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"], **kwargs})


class Provider:
    def __init__(self, model):
        self.model = model

    def __getattr__(self, key):
        def make(*args, **kwargs):
            bag = Bag()
            bag.hf_model_id = self.model
            return bag

        return make


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Real files below recipes/ and perf_recipes/, stand-ins for every other module of the packages that they import."""

    REAL = ("megatron.bridge.recipes", "megatron.bridge.perf_recipes")
    PACKAGES = ("megatron", "torch", "transformers", "nemo_run", "nvidia_resiliency_ext", "peft", "typing_extensions", "omegaconf",
                "fiddle", "transformer_engine")

    def __init__(self, root):
        self.root = root

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.PACKAGES:
            return None
        if any(name == real or name.startswith(real + ".") for real in self.REAL):
            file = self.root / "src" / pathlib.Path(*name.split("."))
            if file.is_dir():
                spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
                spec.submodule_search_locations = [str(file)]
                return spec
            if file.with_suffix(".py").exists():
                return importlib.util.spec_from_file_location(name, file.with_suffix(".py"))
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []

        def missing(key, name=spec.name):
            if key.startswith("__"):
                raise AttributeError(key)
            if key in CLASSES:
                return CLASSES[key]
            return Bag if key == "ConfigContainer" else Anything(f"{name}.{key}")

        module.__getattr__ = missing
        return module

    def exec_module(self, module):
        pass


def recorded(value):
    """As an answer of the program has a value; what has no word there is None."""
    if isinstance(value, Anything):
        return None
    if isinstance(value, Bag):
        return getattr(value, "recipe_name", None)
    return value


def value_at(config, key):
    for part in key.split("."):
        if part not in getattr(config, "__dict__", {}):
            return KeyError
        config = vars(config)[part]
    return recorded(config)


def is_open(key, notes):
    """Whether a note says that it, or what it is part of, stands under a condition or is computed."""
    parts = key.split(".")
    return any(f" {'.'.join(parts[:n])}: " in note for n in range(1, len(parts) + 1) for note in notes)


def functions_of(path):
    tree = ast.parse(path.read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and re.search(r"\dgpu_", node.name)]


def files_behind(root, path):
    """The files that a recipe may build on: those of its folder's parents, and of the family's recipes."""
    src = root / "src/megatron/bridge"
    family = path.parent.parent.name
    files = [*path.parent.parent.glob("*.py"), src / "perf_recipes/_common.py", *(src / "recipes" / family).rglob("*.py"),
             *(src / "recipes/utils").glob("*.py")]
    return [file for file in dict.fromkeys(files) if file != path and file.name != "__init__.py"]


def main():
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    sys.meta_path.insert(0, StandIns(root))
    src = root / "src/megatron/bridge"
    compared = recipes = unread = 0
    wrong = []
    for path in sorted([*src.glob("recipes/*/*/*.py"), *src.glob("perf_recipes/*/*/*.py")]):
        if path.parent.name not in ("h100", "b200", "gb200") or path.name == "__init__.py":
            continue
        module_name = ".".join(path.relative_to(root / "src").with_suffix("").parts)
        for name in functions_of(path):
            try:
                module = __import__(module_name, fromlist=["x"])
                config = getattr(module, name)()
            except Exception as error:  # the stand-ins do not carry it
                print(f"not run: {name}: {type(error).__name__}: {error}")
                unread += 1
                continue
            files = [f"{path}:{name}", *map(str, files_behind(root, path))]
            done = subprocess.run([program, "import", "--json", "--quiet", *files], capture_output=True, text=True)
            if done.returncode != 0:
                wrong.append(f"{name}: {done.stderr.strip()[:200]}")
                continue
            recipes += 1
            answer = json.loads(done.stdout)
            for row in answer["settings"]:
                if row["fate"] != "understood" or row["key"] == "recipe" or is_open(row["key"], answer["notes"]):
                    continue
                key = row["key"].removesuffix("._target_") if row["key"] != "peft._target_" else row["key"]
                value = value_at(config, key)
                if value is KeyError and "." not in key:  # an argument of a base that is in no file
                    value = value_at(config, f"model.{key}")
                if key == "peft._target_":
                    value = "megatron.bridge.peft.lora.LoRA" if getattr(config.peft, "class_name", "") == "LoRA" else value
                if value is None and row["value"] in ("null", "…", None):
                    continue
                text = row["value"]
                said = json.dumps(value, default=str) if not isinstance(value, str) else value
                if value is KeyError or (value is not None and str(text).replace(" ", "") != said.replace(" ", "")):
                    wrong.append(f"{name}: {row['key']}: read {text}, run {said if value is not KeyError else 'never assigned'}")
                compared += 1
    for row in wrong:
        print(row)
    print(f"{recipes} recipes, {compared} settings compared, {len(wrong)} differ; {unread} recipes could not be run")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
