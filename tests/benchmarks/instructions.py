#!/usr/bin/env python3
"""Counts the instructions that the simulator takes per op, and compares them with instructions.json.

Unlike times they do not depend on what else the machine does, so that a test can hold them: 5 percent more is a
mistake to be found, 5 percent less is to be recorded. They depend on the compiler; one that instructions.json does
not know is skipped (exit code 77). Needs Valgrind. The cases are in instructions/main.cc.

    python3 tests/benchmarks/instructions.py --program build/release/emplace_instructions [--record]
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RECORDED = pathlib.Path(__file__).with_suffix(".json")
SLACK = 0.05
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def check_machine():
    if shutil.which("valgrind") is None:
        skip("no valgrind")
    flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    missing = {"avx2", "bmi2", "fma"} - set(flags.group(1).split() if flags else [])
    if missing:
        skip(f"this processor has no {', '.join(sorted(missing))}")


def count(program):
    """@return the compiler, and instructions per op by name of the case"""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "callgrind.out")
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=CountInstructions", "--dump-after=CountInstructions",
             f"--callgrind-out-file={out}", program], text=True, capture_output=True)
        if result.returncode != 0:
            sys.exit(f"{program} failed under valgrind:\n{result.stdout}{result.stderr}")
        compiler, *cases = result.stdout.splitlines()
        counts = {}
        for number, case in enumerate(cases, start=1):  # one file per call of CountInstructions
            name, ops = case.split()
            total = re.search(r"^totals: (\d+)$", pathlib.Path(f"{out}.{number}").read_text(), re.M)
            counts[name] = int(total.group(1)) / int(ops)
    return compiler, counts


def compare(counts, recorded):
    """@return a line per case that is wrong"""
    wrong = []
    for name in sorted(counts.keys() | recorded.keys()):
        if name not in recorded:
            wrong.append(f"{name}: {counts[name]:.1f} instructions per op, none recorded")
        elif name not in counts:
            wrong.append(f"{name}: recorded, but no case of the program")
        elif abs(counts[name] / recorded[name] - 1) > SLACK:
            wrong.append(f"{name}: {counts[name]:.1f} instructions per op, recorded are {recorded[name]:.1f} "
                         f"({counts[name] / recorded[name] - 1:+.1%})")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="emplace_instructions")
    parser.add_argument("--record", action="store_true", help=f"write the counts into {RECORDED.name}")
    arguments = parser.parse_args()
    check_machine()
    compiler, counts = count(arguments.program)
    recorded = json.loads(RECORDED.read_text())
    for name, instructions in counts.items():
        print(f"{name}: {instructions:.1f} instructions per op")
    if arguments.record:
        recorded[compiler] = {name: round(instructions, 1) for name, instructions in counts.items()}
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n")
        return 0
    if compiler not in recorded:
        skip(f"{RECORDED.name} does not know {compiler}; --record writes its counts there")
    wrong = compare(counts, recorded[compiler])
    if wrong:
        print(f"\n{compiler}, more than {SLACK:.0%} off:\n  " + "\n  ".join(wrong))
        print("If that is meant to be, run this again with --record:\n  "
              f"python3 {pathlib.Path(__file__)} --program {arguments.program} --record")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
