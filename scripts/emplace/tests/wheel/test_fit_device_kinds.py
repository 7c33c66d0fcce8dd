"""Tests of scripts/fit_device_kinds: a fit from which op times were made is found again; messages."""

from __future__ import annotations

import contextlib
import copy
import io
import pathlib
import random
import sys
import tempfile
import unittest
from typing import Any

from emplace.published import neusight

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests"))

from script import load  # noqa: E402

_HEADS = {"linear.csv": "OPName,Latency,Device,B,M,N,K", "bmm.csv": "OPName,Latency,Device,B,M,N,K",
          "vec.csv": "OPName,Latency,Device,B,H"}


def write_tables(folder: pathlib.Path, times: dict[str, float] | None = None) -> None:
    """Writes random ops of two GPUs. times: of the cases [ns]; None: a millisecond each."""
    rng = random.Random(2)
    for file, head in _HEADS.items():
        lines = [head]
        for gpu in ("NVIDIA L4", "Tesla V100-PCIE-32GB"):
            for place in range(40):
                name = rng.choice(["ln", "softmax", "gelu", "add"]) if file == "vec.csv" else file.partition(".")[0]
                sizes = [2 ** rng.randint(5, 11) for _ in range(head.count(",") - 2)]
                case = f"{gpu.replace(' ', '_')}/{name}-{'-'.join(map(str, sizes))}"
                time = times[case] if times else 1e6
                lines.append(f"{name},{float(time) / 1e6!r},{gpu},{','.join(map(str, sizes))}")
        (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")


class FitDeviceKinds(unittest.TestCase):

    def test_the_fit_that_made_the_times_is_found(self) -> None:
        script = load("fit_device_kinds")
        truth = copy.deepcopy(script.START)
        truth["watts"], truth["tile_start"] = 20.0, 30.0
        truth["bandwidth"] = {"elementwise": 0.7, "matmul": 0.4, "normalization": 0.45}
        with tempfile.TemporaryDirectory() as text:
            folder = pathlib.Path(text)
            write_tables(folder)
            cases = neusight.ops(folder)[0]
            launch = 7000
            times: dict[str, float] = {}
            for ops in script.read(folder):
                here = [case for case in cases if case.gpu == ops.gpu]
                times |= {case.case: time + launch for case, time in zip(here, ops.times(truth))}
            write_tables(folder, times)
            all_ops = script.read(folder)
            self.assertLess(script.loss(all_ops, truth), 1e-3)
            fit = script.fitted(all_ops)
        self.assertLess(script.loss(all_ops, fit), 0.03)
        self.assertAlmostEqual(fit["watts"], 20, delta=2)
        for name, share in truth["bandwidth"].items():
            self.assertAlmostEqual(fit["bandwidth"][name], share, delta=0.1 * share)

    def test_messages(self) -> None:
        script = load("fit_device_kinds")
        with tempfile.TemporaryDirectory() as text, contextlib.redirect_stderr(io.StringIO()) as err:
            folder = pathlib.Path(text)
            self.assertEqual(script.main([text]), 2)
            head = _HEADS["linear.csv"]
            (folder / "linear.csv").write_text(f"{head}\nlinear,1,Apple M9,1,8,8,8\n", encoding="utf-8")
            self.assertEqual(script.main([text]), 2)
            write_tables(folder)
            self.assertEqual(script.main([text, "--only-gpus", "k40"]), 2)
        self.assertIn("holds no file *.csv", err.getvalue())
        self.assertIn("Apple_M9: no device kind of the menu with `fitted` has its figures", err.getvalue())
        self.assertIn("--only-gpus k40: no such GPU; choices: NVIDIA_L4, Tesla_V100-PCIE-32GB", err.getvalue())


if __name__ == "__main__":
    unittest.main()
