"""Pictures are SVG, notebooks show them, reports are whole pages, and frames hold the same figures."""

import importlib.util
import unittest
import unittest.mock
import xml.etree.ElementTree as xml
from html.parser import HTMLParser

import hexaplan
from support import REPOSITORY

QUESTION = dict(model="llama-3.1-8b", cluster="16xH100", seq=8192, global_batch=64)
ROWS = REPOSITORY / "tests" / "golden" / "rows" / "dlperf_v100.csv"
VOID = {"meta", "br", "line", "rect", "path", "img", "hr", "col", "input", "link", "wbr"}


class Balance(HTMLParser):
    """Tags that are opened and closed in their order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
            self.open.pop()


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.estimate = hexaplan.estimate(**QUESTION, layout="tp2 pp2 zero1 sp")
        cls.simulation = hexaplan.simulate(scenario=cls.estimate)
        cls.search = hexaplan.search(**QUESTION)
        cls.comparison = hexaplan.compare(cls.estimate, cls.search.best)
        cls.accuracy = hexaplan.accuracy(ROWS)
        cls.shown = [cls.estimate, cls.simulation, cls.search, cls.comparison]


class Display(Answers):
    def test_pictures_are_svg(self):
        pictures = [self.estimate.svg(), self.estimate.svg("time"), self.simulation.svg(), self.simulation.svg("memory")]
        self.assertEqual(len(set(pictures)), 4)
        for picture in pictures:
            self.assertTrue(xml.fromstring(picture).tag.endswith("svg"))

    def test_notebooks_show_pictures_inside_their_page(self):
        for answer in self.shown:
            with self.subTest(type(answer).__name__):
                markup = answer._repr_html_()
                parser = Balance()
                parser.feed(markup)
                self.assertEqual(parser.open, [])
                self.assertNotIn("html", parser.seen)
                self.assertNotIn("script", parser.seen)
                if answer is not self.comparison:
                    self.assertIn("svg", parser.seen)

    def test_reports_are_whole_pages_without_anything_from_elsewhere(self):
        for answer in self.shown:
            with self.subTest(type(answer).__name__):
                page = answer.report_html()
                self.assertTrue(page.startswith("<!DOCTYPE html>"))
                self.assertIn("default-src 'none'", page)

    def test_what_cannot_run_and_what_is_not_found_is_shown_too(self):
        rejected = hexaplan.estimate("llama-3.1-8b", "24xH100", "tp3")
        self.assertIn("24 GPUs" if "24 GPUs" in rejected.rejection.reason else "tp", rejected._repr_html_())
        self.assertIn("<!DOCTYPE html>", rejected.report_html())
        self.assertIn("div", hexaplan.simulate("llama-3.1-8b", "24xH100", "tp3")._repr_html_())
        self.assertIn("div", hexaplan.search("llama-3.1-70b", "1xH100")._repr_html_())

    def test_a_step_that_is_too_large_to_draw_says_so(self):
        large = hexaplan.simulate("gpt2", "2xH100", "pp2", global_batch=4000000)
        self.assertGreater(large.step_seconds, 0)
        self.assertIn("at most", large._repr_html_())
        with self.assertRaises(hexaplan.Error):
            large.svg()

    def test_names_are_not_read_as_markup(self):
        model = {"model_type": "gpt2", "_name_or_path": "<script>alert(1)</script>"}
        estimate = hexaplan.estimate(model, "8xH100")
        for text in (estimate._repr_html_(), estimate.svg()):
            self.assertNotIn("<script>alert", text)

    def test_answers_say_what_they_are_in_one_line(self):
        for answer in [*self.shown, self.accuracy]:
            self.assertRegex(repr(answer), rf"^{type(answer).__name__}\([^\n]{{1,200}}\)$")


@unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
class Frames(Answers):
    def test_stages(self):
        frame = self.estimate.to_frame()
        self.assertEqual(list(frame.index), [0, 1])
        self.assertEqual(frame.peak.max(), self.estimate.peak_bytes)
        kinds = ["parameters", "gradients", "optimizer", "activations", "logits", "transient", "communication", "overhead", "cached"]
        self.assertEqual(list(frame[kinds].sum(axis=1)), list(frame.peak))

    def test_timelines(self):
        frame = self.simulation.to_frame()
        self.assertAlmostEqual(frame.filter(like="seconds.").sum(axis=1).max(), self.simulation.step_seconds, places=9)

    def test_plans(self):
        frame = self.search.to_frame()
        self.assertEqual(list(frame.layout), [plan.layout for plan in self.search.plans])
        self.assertEqual(frame.step_seconds[0], self.search.best.price.step_seconds)

    def test_terms(self):
        frame = self.comparison.to_frame()
        self.assertEqual(list(frame.columns)[1:], [side.name for side in self.comparison.sides])
        self.assertEqual(frame.loc["step time"].iloc[1], self.estimate.step_seconds)

    def test_settings_and_measurements(self):
        imported = hexaplan.import_config(REPOSITORY / "tests/presets/import/files/megatron_llama.sbatch", cluster="H100")
        self.assertEqual(len(imported.to_frame()), len(imported.settings))
        self.assertEqual(len(self.accuracy.to_frame()), len(self.accuracy.rows))

    def test_empty_frames(self):
        self.assertEqual(len(hexaplan.estimate("llama-3.1-8b", "24xH100", "tp3").to_frame()), 0)
        self.assertEqual(len(hexaplan.search("llama-3.1-70b", "1xH100").to_frame()), 0)


class WithoutPandas(Answers):
    def test_frames_say_what_they_need(self):
        with unittest.mock.patch.dict("sys.modules", pandas=None):
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                self.estimate.to_frame()


if __name__ == "__main__":
    unittest.main()
