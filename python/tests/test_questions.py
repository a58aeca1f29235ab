"""Whatever says a model, a cluster, a layout or a scenario is accepted; whatever does not is refused in one line."""

import copy
import json
import os
import pickle
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import hexaplan
from support import REPOSITORY

CONFIG = REPOSITORY / "examples" / "llama-3.1-8b" / "config.json"
CLUSTER = "16xH100"
LAYOUT = "tp2 pp2 zero1 sp"


class Config:
    """As transformers' configurations are."""

    def __init__(self, values):
        self.values = values

    def to_dict(self):
        return {**self.values, "dtype": object()}  # a torch.dtype there

    def to_json_string(self, use_diff=True):
        return json.dumps({"model_type": "llama"} if use_diff else self.values)


class Module:
    """As a torch module of transformers, on any device."""

    def __init__(self, config):
        self.config = config


class Models(unittest.TestCase):
    def setUp(self):
        self.values = json.loads(CONFIG.read_text())
        self.by_path = hexaplan.estimate(CONFIG, CLUSTER, LAYOUT)

    def test_every_way_to_say_a_model_gives_the_same_numbers(self):
        ways = {
            "path as text": str(CONFIG),
            "folder": CONFIG.parent,
            "preset": "llama-3.1-8b",
            "dictionary": self.values,
            "configuration": Config(self.values),
            "module": Module(Config(self.values)),
        }
        for name, model in ways.items():
            with self.subTest(name):
                estimate = hexaplan.estimate(model, CLUSTER, LAYOUT)
                self.assertEqual(estimate.memory, self.by_path.memory)
                self.assertEqual(estimate.time, self.by_path.time)

    def test_configuration_with_a_scenario_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.json"
            hexaplan.estimate("gpt2", CLUSTER, LAYOUT, save_scenario=file)
            estimate = hexaplan.estimate(self.values, scenario=file)
            self.assertEqual(estimate.memory, self.by_path.memory)

    def test_clusters_and_layouts_as_dictionaries(self):
        estimate = hexaplan.estimate(CONFIG, {"gpu": "h100", "gpus": 16}, {"tp": 2, "pp": 2, "zero": 1, "sp": True})
        self.assertEqual(estimate.memory, self.by_path.memory)

    def test_answers_are_scenarios(self):
        best = hexaplan.search(CONFIG, CLUSTER, seq=4096).best
        again = hexaplan.estimate(scenario=best)
        self.assertEqual(again.time.step_seconds, best.closed_form_seconds)
        self.assertEqual(hexaplan.simulate(scenario=again).step_seconds, best.simulated_seconds)
        changed = hexaplan.estimate(scenario=best, recompute="full")
        self.assertEqual(changed.scenario["recipe"]["recompute"], "full")
        self.assertEqual(hexaplan.estimate(scenario=best.scenario).json(), again.json())

    def test_estimates_plans_and_scenarios_are_compared(self):
        best = hexaplan.search(CONFIG, CLUSTER, seq=4096).best
        compared = hexaplan.compare(self.by_path, best, best.scenario)
        self.assertEqual(len(compared.sides), 3)
        self.assertEqual(compared.sides[1].estimate.json(), compared.sides[2].estimate.json())
        with_words = hexaplan.compare(self.by_path, best, seq=2048)
        self.assertTrue(all(side.estimate.scenario["recipe"]["sequence"] == 2048 for side in with_words.sides))

    def test_answers_are_copied_by_their_fields(self):
        for copied in (pickle.loads(pickle.dumps(self.by_path)), copy.deepcopy(self.by_path)):
            self.assertEqual(copied.memory, self.by_path.memory)
            with self.assertRaisesRegex(hexaplan.Error, "ask again"):
                copied.svg()

    def test_a_file_that_changed_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "config.json"
            file.write_text(json.dumps(self.values))
            before = hexaplan.estimate(file, CLUSTER, LAYOUT).parameters
            file.write_text(json.dumps({**self.values, "num_hidden_layers": 16}))
            self.assertLess(hexaplan.estimate(file, CLUSTER, LAYOUT).parameters, before)

    def test_presets_of_the_users_own_folder_are_read_again(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, HEXAPLAN_PRESETS=folder):
            models = Path(folder) / "models"
            models.mkdir()
            preset = {"name": "mine", "source": "a test", "config": self.values}
            (models / "mine.json").write_text(json.dumps(preset))
            self.assertEqual(hexaplan.estimate("mine", CLUSTER, LAYOUT).memory, self.by_path.memory)
            preset["config"]["num_hidden_layers"] = 16
            (models / "mine.json").write_text(json.dumps(preset))
            self.assertLess(hexaplan.estimate("mine", CLUSTER, LAYOUT).parameters, self.by_path.parameters)


REFUSED = [
    ("unknown preset, nearest named", lambda: hexaplan.estimate("lama-3.1-8b", CLUSTER), 'got "lama-3.1-8b".*did you mean "llama-3.1-8b"'),
    ("no cluster", lambda: hexaplan.estimate("gpt2"), "--cluster: got nothing, expected"),
    ("unknown word, nearest named", lambda: hexaplan.estimate("gpt2", CLUSTER, global_bach=3), "no option --global-bach; did you mean --global-batch"),
    ("word of another function", lambda: hexaplan.estimate("gpt2", CLUSTER, top=3), "estimate has no option --top"),
    ("words of terminals", lambda: hexaplan.search("gpt2", CLUSTER, csv=True), "search has no option --csv"),
    ("value out of range", lambda: hexaplan.estimate("gpt2", CLUSTER, seq=-5), "--seq"),
    ("switch that is no truth value", lambda: hexaplan.estimate("gpt2", CLUSTER, explain="yes"), "--explain: got yes, expected true or false"),
    ("model of another kind", lambda: hexaplan.estimate(3.5, CLUSTER), "model: got a float, expected a preset"),
    ("configuration of an unknown type", lambda: hexaplan.estimate({"model_type": "lama"}, CLUSTER), "model_type"),
    ("value that is no JSON", lambda: hexaplan.estimate({"model_type": object()}, CLUSTER), "/model/model_type: got a object"),
    ("whole number beyond 64 bits", lambda: hexaplan.estimate({"model_type": "llama", "hidden_size": 2**70}, CLUSTER), "hidden_size: got 1180591620717411303424, expected"),
    ("unknown key of a scenario", lambda: hexaplan.estimate(scenario={"modell": "gpt2"}), 'modell.*did you mean "model"'),
    ("scenario of another kind", lambda: hexaplan.estimate(scenario=3), "scenario: got a int"),
    ("question said twice", lambda: hexaplan.estimate({"model_type": "gpt2"}, from_="run.sh"), "each say the whole question"),
    ("file that is not there", lambda: hexaplan.estimate(scenario="nowhere.json"), "nowhere.json"),
    ("layout word", lambda: hexaplan.estimate("gpt2", CLUSTER, "tq2"), "tq2"),
    ("one side", lambda: hexaplan.compare("tp2", model="gpt2", cluster=CLUSTER), "two or more"),
    ("sides of two kinds", lambda: hexaplan.compare("tp2", {"model": "gpt2"}), "two or more"),
    ("no launch file", lambda: hexaplan.import_config(cluster="H100"), "expected a launch script"),
    ("no table", lambda: hexaplan.accuracy(), "no table"),
    ("unknown picture", lambda: hexaplan.estimate("gpt2", CLUSTER).svg("money"), '"memory" or "time"'),
    ("picture of what cannot run", lambda: hexaplan.estimate("gpt2", CLUSTER, "tp16").svg(), "cannot run"),
]


class Errors(unittest.TestCase):
    def test_what_cannot_be_used_is_refused_in_one_line(self):
        for name, ask, message in REFUSED:
            with self.subTest(name):
                with self.assertRaisesRegex(hexaplan.Error, message) as raised:
                    ask()
                self.assertIsInstance(raised.exception, ValueError)
                self.assertNotIn("\n", str(raised.exception))

    def test_nesting_without_end_is_refused(self):
        endless = {"model_type": "llama"}
        endless["inside"] = endless
        with self.assertRaisesRegex(hexaplan.Error, "64 levels"):
            hexaplan.estimate(endless, CLUSTER)

    def test_a_layout_that_cannot_run_is_an_answer(self):
        estimate = hexaplan.estimate("llama-3.1-8b", "24xH100", "tp3")
        self.assertFalse(estimate.fits)
        self.assertEqual(estimate.rejection.rule, "heads-divide-by-tp")
        self.assertIsNone(estimate.memory)
        self.assertEqual(estimate.peak_bytes, 0)
        self.assertNotEqual(estimate.step_seconds, estimate.step_seconds)  # no number


if __name__ == "__main__":
    unittest.main()
