"""scripts/fit_traced_kinds on cost files with times by its own formula, written again here."""

from __future__ import annotations

import json
import pathlib
import random
import sys
import unittest
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parents[2] / "tests")]

from script import load  # noqa: E402
from wheel_support import TestCase  # noqa: E402

PEAK, BANDWIDTH, POWER, WATTS = 66.9e12, 4.8e12, 700, 18.1  # of the H200
SUSTAINED = PEAK * (POWER / (PEAK / 1e12 * WATTS)) ** 0.5


def op(kind: str, op_class: str, flops: float, num_bytes: int, nanos: float) -> dict[str, Any]:
    tensor = f"f32[{num_bytes // 8}]"
    return {"device_kind": "h200", "signature": f"{kind}({tensor}) -> {tensor} {{}}", "kind": kind, "class": op_class,
             "flops": flops, "bytes": num_bytes,
            "in_situ": {"median_ns": nanos, "mean_ns": nanos, "samples": 3}}


class FitTracedKinds(TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.script: Any = load("fit_traced_kinds")

    def test_it_finds_the_shares_that_made_the_times(self) -> None:
        rng = random.Random(1)
        ops = []
        for _ in range(30):
            flops, num_bytes = 10 ** rng.uniform(7, 11), int(10 ** rng.uniform(4, 9))
            ops.append(op("aten.sum", "reduction", 0, num_bytes, 3000 + 1e9 * num_bytes / (BANDWIDTH * 0.4)))
            ops.append(op("optimizer.sgd", "update", 0, num_bytes, 1e9 * num_bytes / (BANDWIDTH * 0.65)))
            # Many FLOPs for few bytes, so that only the share of the peak counts.
            ops.append(op("aten.convolution", "convolution", flops * 100, num_bytes // 100,
                          25000 + 1e9 * flops * 100 / (SUSTAINED * 0.52)))
        path = pathlib.Path(self.path("h200_net_b8.json"))
        path.write_text(json.dumps({"ops": ops}), encoding="utf-8")
        gpu = self.script.Gpu("h200", "f32", WATTS)
        fit = self.script.fitted(self.script.read([path], "h200", "f32"), gpu, "f32", WATTS, ())
        self.assertEqual(fit["bandwidth"]["reduction"], 0.4)
        self.assertEqual(fit["bandwidth"]["update"], 0.65)
        self.assertEqual(fit["compute"], {"convolution": 0.52})
        self.assertEqual(fit["starts"], {"reduction": 3000, "update": 0, "convolution": 25000})

    def test_it_refuses_a_file_without_times_of_the_kind(self) -> None:
        path = pathlib.Path(self.path("h200_net_b8.json"))
        path.write_text(json.dumps({"ops": []}), encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, "h200_net_b8.json: no times of h200 within steps"):
            self.script.read([path], "h200", "f32")


if __name__ == "__main__":
    unittest.main()
