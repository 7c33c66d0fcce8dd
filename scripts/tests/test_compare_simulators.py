"""Tests of compare_simulators: refusals and tables. What needs SimGrid is skipped, loudly, without it."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import subprocess
import unittest

from script import SCRIPTS, load

compare_simulators = load("compare_simulators")

PEERS = pathlib.Path(os.environ.get("EMPLACE_PROGRAM", SCRIPTS.parent / "build/release/emplace")).with_name(
    "emplace_peers")
needs_simgrid = unittest.skipUnless(
    PEERS.exists(), "SKIPPED, NOT TESTED: no emplace_peers; scripts/compare_simulators installs SimGrid and builds it")


def refusal(*arguments: str) -> str:
    """The last line on standard error of a call that ends with exit code 2."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        try:
            compare_simulators.parse(arguments)
        except SystemExit as stop:
            assert stop.code == 2
            return err.getvalue().splitlines()[-1]
    return "(nothing was refused)"


class CommandLine(unittest.TestCase):

    def test_defaults(self) -> None:
        arguments = compare_simulators.parse([])
        self.assertEqual(arguments.ops, [1000, 10000])
        self.assertEqual(arguments.rounds, 3)

    def test_numbers_are_above_zero(self) -> None:
        for option in ("--ops", "--rounds", "--jobs"):
            for text in ("0", "-3", "many", "1.5"):
                self.assertEqual(refusal(f"{option}={text}"), f"scripts/compare_simulators: error: argument {option}: "
                                 f'expected a number above 0, got "{text}"')

    def test_an_unknown_option_is_named(self) -> None:
        self.assertEqual(refusal("--fast"),
                         "scripts/compare_simulators: error: unrecognized arguments: --fast")


class Tables(unittest.TestCase):

    def test_the_fastest_of_each_simulator_counts(self) -> None:
        first = {"plain pass, stream": (15.0, 2e6), "SimGrid": (5000.0, 3e6)}
        second = {"plain pass, stream": (14.0, 2e6), "SimGrid": (6000.0, 3e6)}
        self.assertEqual(compare_simulators.fastest([first, second]),
                         {"plain pass, stream": (14.0, 2e6), "SimGrid": (5000.0, 3e6)})

    def test_ratios_are_to_the_plain_pass_of_the_same_size(self) -> None:
        results = [(1000, {"plain pass, stream": (20.0, 2.5e6), "SimGrid": (5000.0, 3e6)}),
                   (10000, {"plain pass, stream": (25.0, 25e6), "SimGrid": (6000.0, 1234.5678e6)})]
        self.assertEqual(compare_simulators.table(results).splitlines()[2:],
                         ["| 1,000 | plain pass, stream | 20.0 | 1.00 | 2.500 |",
                          "| 1,000 | SimGrid | 5,000.0 | 250.00 | 3.000 |",
                          "| 10,000 | plain pass, stream | 25.0 | 1.00 | 25.000 |",
                          "| 10,000 | SimGrid | 6,000.0 | 240.00 | 1,234.568 |"])

    def test_the_machine_is_named(self) -> None:
        self.assertRegex(compare_simulators.machine(), r"^\d+ cores of .+, commit .+, \d{4}-\d{2}-\d{2}$")


@needs_simgrid
class Peers(unittest.TestCase):

    def test_simgrid_agrees_with_stream_semantics_where_it_must(self) -> None:
        self.assertEqual(subprocess.run([PEERS, "check"], capture_output=True).returncode, 0)

    def test_every_simulator_is_measured(self) -> None:
        version, by_name = compare_simulators.measure(PEERS, 100, 1, ["cpu/optim:TI"])
        self.assertRegex(version, r"^\d+\.\d+$")
        self.assertGreaterEqual(by_name.keys(), {"plain pass, stream", "emplace, stream", "emplace, stream, memory",
                                                 "emplace, queue", "emplace, queue, memory", "SimGrid"})
        self.assertEqual(by_name["plain pass, stream"][1], by_name["emplace, stream"][1])
        for nanos, step in by_name.values():
            self.assertGreater(nanos, 0)
            self.assertGreater(step, 0)

    def test_what_simgrid_says_of_an_unknown_option_is_passed_on(self) -> None:
        with self.assertRaisesRegex(SystemExit, "no/such/option"):
            compare_simulators.measure(PEERS, 100, 1, ["no/such/option:1"])


if __name__ == "__main__":
    unittest.main()
