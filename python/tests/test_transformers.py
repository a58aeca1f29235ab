"""Configurations and modules of the installed transformers; left out where there is none."""

import importlib.util
import unittest

import hexaplan


@unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
class Transformers(unittest.TestCase):
    def test_configurations(self):
        import transformers

        for kind, preset in ((transformers.LlamaConfig, None), (transformers.Qwen3Config, None), (transformers.GPT2Config, "gpt2")):
            with self.subTest(kind.__name__):
                estimate = hexaplan.estimate(kind(), "8xH100", "fsdp")
                if preset is not None:
                    self.assertEqual(estimate.parameters, hexaplan.estimate(preset, "8xH100", "fsdp").parameters)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_modules_on_the_meta_device(self):
        import torch
        import transformers

        config = transformers.LlamaConfig(num_hidden_layers=4, hidden_size=512, intermediate_size=1376, num_attention_heads=8)
        with torch.device("meta"):
            model = transformers.LlamaForCausalLM(config)
        estimate = hexaplan.estimate(model, "8xH100", "fsdp")
        self.assertEqual(estimate.parameters, sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    unittest.main()
