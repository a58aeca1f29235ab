"""The package: its words are the command's, its types hold, its command runs, its examples do what they say."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import hexaplan
from hexaplan import _core
from support import REPOSITORY, run_command

PACKAGE = Path(hexaplan.__file__).parent
WORDS = Path(__file__).parents[1] / "hexaplan" / "_words.py"
FUNCTIONS = {
    "estimate": "EstimateWords",
    "simulate": "SimulateWords",
    "search": "SearchWords",
    "compare": "CompareWords",
    "import_config": "ImportWords",
}
NAMED = {"--model", "--cluster", "--layout", "--scenario"}  # parameters of their own


def word_of(flag):
    word = flag.removeprefix("--").replace("-", "_")
    return word + "_" if word == "from" else word


def words_of(function, name):
    yield f"class {name}(TypedDict, total=False):"
    for row in _core.options(function):
        if row["flag"].startswith("--") and row["flag"] not in NAMED:
            yield f"    {word_of(row['flag'])}: Optional[{'bool' if row['kind'] == 'switch' else 'Word'}]  # {row['help']}"


def all_words():
    lines = [
        '"""Words of the functions: options of the command. Written by python/tests/test_package.py with HEXAPLAN_UPDATE=1."""',
        "",
        "import os",
        "from typing import Optional, Sequence, TypedDict, Union",
        "",
        'Plain = Union[str, int, float, bool, "os.PathLike[str]"]',
        "Word = Union[Plain, Sequence[Plain], range]",
    ]
    for function, name in FUNCTIONS.items():
        lines += ["", "", *words_of(function, name)]
    return "\n".join(lines) + "\n"


def run_blocks(blocks, where):
    """Runs blocks of code one after the other, in a folder of their own; what a block ends with is shown as a notebook shows it."""
    import ast

    names, folder = {"__name__": "__main__"}, os.getcwd()
    with tempfile.TemporaryDirectory() as elsewhere:
        os.chdir(elsewhere)
        try:
            for number, block in enumerate(blocks, 1):
                tree = ast.parse(block, f"{where}, block {number}")
                last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
                exec(compile(tree, f"{where}, block {number}", "exec"), names)
                if last is not None:
                    shown = eval(compile(ast.Expression(last.value), f"{where}, block {number}", "eval"), names)
                    getattr(shown, "_repr_html_", lambda: None)()
        finally:
            os.chdir(folder)


class Package(unittest.TestCase):
    def test_words_are_those_of_the_command(self):
        if os.environ.get("HEXAPLAN_UPDATE"):
            WORDS.write_text(all_words(), encoding="utf-8")
        self.assertEqual(WORDS.read_text(encoding="utf-8"), all_words(), "run this test with HEXAPLAN_UPDATE=1")

    def test_command_of_the_package(self):
        folder = PACKAGE.parent
        done = subprocess.run(
            [sys.executable, "-m", "hexaplan", "--version"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(folder)}
        )
        self.assertEqual(done.stdout, run_command("--version"))
        self.assertIn(hexaplan.__version__, done.stdout)

    def test_exit_codes_of_the_command_are_kept(self):
        done = subprocess.run([sys.executable, "-m", "hexaplan", "estimate", "--sek", "1"], capture_output=True, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)})
        self.assertEqual(done.returncode, 2)

    def test_presets_lie_in_the_package(self):
        self.assertTrue((PACKAGE / "share/hexaplan/presets/models/llama-3.1-8b.json").is_file())
        self.assertTrue((PACKAGE / "py.typed").is_file())

    def test_functions_say_what_they_do(self):
        for name in hexaplan.__all__:
            self.assertTrue(getattr(hexaplan, name).__doc__, name)


class Examples(unittest.TestCase):
    needs_pandas = unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")

    @needs_pandas
    def test_notebook(self):
        notebook = json.loads((REPOSITORY / "examples" / "plan_a_run.ipynb").read_text(encoding="utf-8"))
        self.assertEqual(notebook["nbformat"], 4)
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 5)
        os.environ["HEXAPLAN_REPOSITORY"] = str(REPOSITORY)
        run_blocks(cells, "plan_a_run.ipynb")

    @needs_pandas
    def test_documentation(self):
        text = (REPOSITORY / "docs" / "python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        self.assertGreater(len(blocks), 2)
        run_blocks(blocks, "docs/python.md")


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
class Types(unittest.TestCase):
    def check(self, *arguments):
        folder = WORDS.parents[1]
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "--ignore-missing-imports", *arguments], capture_output=True, text=True, cwd=folder, env={**os.environ, "MYPYPATH": str(folder)}
        )

    def test_package_is_typed(self):
        done = self.check("--strict", "--no-warn-return-any", "--package", "hexaplan")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_words_and_fields_are_known_to_type_checkers(self):
        with tempfile.TemporaryDirectory() as folder:
            right, wrong = Path(folder) / "right.py", Path(folder) / "wrong.py"
            right.write_text('import hexaplan\nx: int = hexaplan.estimate("gpt2", "8xH100", seq=1024, from_="a").peak_bytes\n')
            wrong.write_text('import hexaplan\nhexaplan.estimate("gpt2", "8xH100", sek=1024)\nhexaplan.search("gpt2", "8xH100").plan\n')
            accepted = self.check(str(right))
            self.assertEqual(accepted.returncode, 0, accepted.stdout)
            errors = self.check(str(wrong)).stdout
            self.assertIn("sek", errors)
            self.assertIn('has no attribute "plan"', errors)


if __name__ == "__main__":
    unittest.main()
