"""Other threads run while an answer is computed, and Ctrl-C ends a search."""

import os
import signal
import sys
import threading
import time
import unittest

import hexaplan

# About 20 seconds of a core.
LARGE = dict(model="deepseek-v3", cluster="2048xH800", seq=4096, global_batch=15360, offload=["none", "activations"])
LONG_STEP = dict(model="gpt-3-175b", cluster="256xH100", layout="tp8 pp32 zb-h1 zero1 sp", global_batch=2048)


class Threads(unittest.TestCase):
    def turns_of_another_thread(self, work):
        """How often another thread gets the interpreter's lock during `work`, which it gets only when the work gives it away; the
        work is repeated until then, at most 200 times: where all cores are busy the other thread may come late."""
        turns, stop = 0, threading.Event()

        def count():
            nonlocal turns
            while not stop.is_set():
                turns += 1
                time.sleep(0)

        interval = sys.getswitchinterval()
        other = threading.Thread(target=count)
        sys.setswitchinterval(60)
        try:
            other.start()
            before = turns
            for _ in range(200):
                work()
                if turns > before:
                    break
            return turns - before
        finally:
            sys.setswitchinterval(interval)
            stop.set()
            other.join()

    def test_estimates_give_the_lock_away(self):
        self.assertGreater(self.turns_of_another_thread(lambda: [hexaplan.estimate("gpt2", "8xH100") for _ in range(100)]), 0)

    def test_searches_give_the_lock_away(self):
        self.assertGreater(self.turns_of_another_thread(lambda: hexaplan.search("llama-3.1-8b", "64xH100")), 0)

    def test_simulations_give_the_lock_away(self):
        self.assertIsNone(hexaplan.simulate(**LONG_STEP).rejection)
        self.assertGreater(self.turns_of_another_thread(lambda: hexaplan.simulate(**LONG_STEP)), 0)

    def test_threads_get_the_same_answers(self):
        layouts = ["tp2 zero1", "tp4 sp", "fsdp", "pp2 zero1", "tp8 sp", "zero2"] * 20
        alone = [hexaplan.estimate("llama-3.1-8b", "16xH100", layout).json() for layout in layouts]
        together = [None] * len(layouts)

        def ask(first):
            for i in range(first, len(layouts), 4):
                together[i] = hexaplan.estimate("llama-3.1-8b", "16xH100", layouts[i]).json()

        threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together, alone)

    def test_searches_at_once(self):
        alone = hexaplan.search("llama-3.1-8b", "8xH100").json()
        found = []
        threads = [threading.Thread(target=lambda: found.append(hexaplan.search("llama-3.1-8b", "8xH100").json())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [alone] * 3)

    def test_interrupt_ends_a_search(self):
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        handler = signal.getsignal(signal.SIGINT)
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            hexaplan.search(**LARGE)
        timer.join()
        self.assertLess(time.monotonic() - begin, 4)
        self.assertIs(signal.getsignal(signal.SIGINT), handler)


if __name__ == "__main__":
    unittest.main()
