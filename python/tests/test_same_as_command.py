"""Every answer is the command's --json, to the digit, and its dataclasses hold all of it."""

import dataclasses
import tempfile
import unittest
from pathlib import Path

import hexaplan
from support import REPOSITORY, command_json, without_missing

DENSE = dict(model="llama-3.1-8b", cluster="16xH100", layout="tp2 pp2 zero1 sp", seq=8192, global_batch=64)
DENSE_WORDS = ["--model", "llama-3.1-8b", "--cluster", "16xH100", "--layout", "tp2 pp2 zero1 sp", "--seq", 8192, "--global-batch", 64]
CONFIG = REPOSITORY / "examples" / "llama-3.1-8b" / "config.json"
LAUNCH = REPOSITORY / "tests" / "presets" / "import" / "files" / "megatron_llama.sbatch"
ROWS = REPOSITORY / "tests" / "golden" / "rows" / "dlperf_v100.csv"

ESTIMATES = [
    (DENSE, DENSE_WORDS),
    ({**DENSE, "explain": True}, [*DENSE_WORDS, "--explain"]),
    ({**DENSE, "tokens": "15T"}, [*DENSE_WORDS, "--tokens", "15T"]),
    ({**DENSE, "recompute": "full", "schedule": "zb-h1"}, [*DENSE_WORDS, "--recompute", "full", "--schedule", "zb-h1"]),
    ({**DENSE, "recompute": ["selective"]}, [*DENSE_WORDS, "--recompute", "selective"]),
    ({**DENSE, "offload": ["optimizer", "params"]}, [*DENSE_WORDS, "--offload", "optimizer,params"]),
    ({**DENSE, "dropout": 0.1, "price": 2.5}, [*DENSE_WORDS, "--dropout", "0.1", "--price", "2.5"]),
    ({**DENSE, "compile": True}, [*DENSE_WORDS, "--compile", "true"]),
    ({**DENSE, "micro_batch": None}, DENSE_WORDS),
    (dict(model=CONFIG, cluster="8xA100-80GB", layout="fsdp", framework="fsdp2"), ["--model", CONFIG, "--cluster", "8xA100-80GB", "--layout", "fsdp", "--framework", "fsdp2"]),
    (dict(model="mixtral-8x7b", cluster="64xH100", layout="tp2 ep8 pp4 zero1 sp", seq="4k"), ["--model", "mixtral-8x7b", "--cluster", "64xH100", "--layout", "tp2 ep8 pp4 zero1 sp", "--seq", "4k"]),
    (dict(model="deepseek-v3", cluster="2048xH800", layout="pp16 ep64 zero1 dualpipe", precision="fp8-block"), ["--model", "deepseek-v3", "--cluster", "2048xH800", "--layout", "pp16 ep64 zero1 dualpipe", "--precision", "fp8-block"]),
    (dict(model="gpt-oss-120b", cluster="72xGB200", layout="ep8 zero1"), ["--model", "gpt-oss-120b", "--cluster", "72xGB200", "--layout", "ep8 zero1"]),
    (dict(model="llama-2-7b", cluster="1xRTX4090", fine_tune="lora", framework="hf-eager"), ["--model", "llama-2-7b", "--cluster", "1xRTX4090", "--fine-tune", "lora", "--framework", "hf-eager"]),
    # Does not fit, and breaks a rule.
    (dict(model="llama-3.1-70b", cluster="8xH100", layout="tp8"), ["--model", "llama-3.1-70b", "--cluster", "8xH100", "--layout", "tp8"]),
    (dict(model="llama-3.1-8b", cluster="24xH100", layout="tp3"), ["--model", "llama-3.1-8b", "--cluster", "24xH100", "--layout", "tp3"]),
    (dict(model="layers=8 hidden=512 heads=8 ffn=1376 vocab=32000", cluster="2xA100"), ["--model", "layers=8 hidden=512 heads=8 ffn=1376 vocab=32000", "--cluster", "2xA100"]),
    (dict(from_=LAUNCH, cluster="H100"), ["--from", LAUNCH, "--cluster", "H100"]),
]
SIMULATIONS = [
    (DENSE, DENSE_WORDS),
    ({**DENSE, "schedule": "zb-v"}, [*DENSE_WORDS, "--schedule", "zb-v"]),
    (dict(model="llama-3.1-8b", cluster="24xH100", layout="tp3"), ["--model", "llama-3.1-8b", "--cluster", "24xH100", "--layout", "tp3"]),
]
QUESTION = dict(model="llama-3.1-8b", cluster="8xH100", seq=4096, global_batch=64)
QUESTION_WORDS = ["--model", "llama-3.1-8b", "--cluster", "8xH100", "--seq", 4096, "--global-batch", 64]
SEARCHES = [
    (QUESTION, QUESTION_WORDS),
    ({**QUESTION, "tp": [1, 2], "zero": 1, "top": 3, "explain": 2}, [*QUESTION_WORDS, "--tp", "1,2", "--zero", "1", "--top", 3, "--explain", 2]),
    ({**QUESTION, "pp": range(1, 3), "rank_by": "p90"}, [*QUESTION_WORDS, "--pp", "1,2", "--rank-by", "p90"]),
    (dict(model="llama-3.1-70b", cluster="1xH100"), None),  # nothing found: the command exits with 3
]


class SameAsCommand(unittest.TestCase):
    def check(self, answer, expected):
        self.assertEqual(answer.json(), expected)
        self.assertEqual(without_missing(dataclasses.asdict(answer), expected), expected)

    def test_estimates(self):
        for question, words in ESTIMATES:
            with self.subTest(question):
                self.check(hexaplan.estimate(**question), command_json("estimate", *words))

    def test_simulations(self):
        for question, words in SIMULATIONS:
            with self.subTest(question):
                self.check(hexaplan.simulate(**question), command_json("simulate", *words))

    def test_searches(self):
        for question, words in SEARCHES:
            with self.subTest(question):
                found = hexaplan.search(**question)
                self.check(found, command_json("search", *words) if words else found.json())
                self.assertEqual(bool(found.plans), words is not None)

    def test_comparisons_of_layouts(self):
        words = ["tp2 sp", "tp4 sp zero1", *QUESTION_WORDS]
        compared = hexaplan.compare("tp2 sp", "tp4 sp zero1", **QUESTION)
        self.assertEqual(compared.json(), command_json("compare", *words))
        self.assertEqual([side.estimate.json() for side in compared.sides], [side["estimate"] for side in compared.json()["sides"]])

    def test_imports(self):
        imported = hexaplan.import_config(LAUNCH, cluster="H100")
        self.assertEqual(dataclasses.asdict(imported), command_json("import", LAUNCH, "--cluster", "H100"))
        fates = [len(imported.understood), len(imported.ignored), len(imported.unknown)]
        self.assertEqual(sum(fates), len(imported.settings))
        self.assertGreater(fates[0], 10)
        self.assertTrue(all(setting.line > 0 for setting in imported.settings))

    def test_accuracy(self):
        self.check(hexaplan.accuracy(ROWS), command_json("accuracy", ROWS, "--rows"))

    def test_scenario_files_and_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.json"
            estimate = hexaplan.estimate(**DENSE, save_scenario=file)
            self.assertEqual(hexaplan.estimate(scenario=file).json(), estimate.json())
            self.assertEqual(command_json("estimate", "--scenario", file), estimate.json())
            report = Path(folder) / "plan.html"
            report.write_text(estimate.report_html(), encoding="utf-8")
            self.assertEqual(command_json("estimate", "--scenario", report), estimate.json())

    def test_files_that_a_simulation_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "step.svg"
            hexaplan.simulate(**DENSE, gantt_svg=picture)
            drawn = hexaplan.simulate(**DENSE).svg("timeline")
            self.assertEqual(drawn.replace(" × ", " x "), picture.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
