#!/usr/bin/env python3
"""Counts the instructions that the simulator takes per op, and compares them with instructions.json.

Unlike times they do not depend on what else the machine does, so that a test can hold them: 5 percent more is a
mistake to be found, 5 percent less is to be recorded. They depend on the compiler and the instruction set of the build;
what instructions.json does not know is not compared, and cases with lanes that the processor lacks are left out. If
nothing was compared, the exit code is 77. The cases are in instructions/main.cc.

    python3 tests/benchmarks/instructions.py [--record] build/release/emplace_instructions*
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys

RECORDED = pathlib.Path(__file__).with_suffix(".json")
SLACK = 0.05
SKIPPED = 77


def count(program):
    """@return the build (compiler and instruction set), instructions per op by name of the case, cases left out"""
    result = subprocess.run([program], text=True, capture_output=True)
    if result.returncode == -signal.SIGILL:
        return "", {}, set()
    if result.returncode != 0:
        sys.exit(f"{program} failed:\n{result.stdout}{result.stderr}")
    build, *lines = result.stdout.splitlines()
    counts, left_out = {}, set()
    for line in lines:
        name, text = line.split(maxsplit=1)
        if text.startswith("skipped"):
            left_out.add(name)
        else:
            counts[name] = float(text)
        print(f"{build}, {name}: {text}")
    return build, counts, left_out


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
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="emplace_instructions of one build")
    parser.add_argument("--record", action="store_true", help=f"write the counts into {RECORDED.name}")
    arguments = parser.parse_args()
    recorded = json.loads(RECORDED.read_text())
    compared, wrong = 0, []
    for program in arguments.programs:
        build, counts, left_out = count(program)
        if not build:
            print(f"{program} not compared: this processor lacks its instruction set")
        elif arguments.record:
            recorded[build] = recorded.get(build, {}) | counts
        elif build not in recorded:
            print(f"{build} not compared: {RECORDED.name} does not know it; --record writes its counts there")
        else:
            known = {name: value for name, value in recorded[build].items() if name not in left_out}
            wrong += [f"{build}, {line}" for line in compare(counts, known)]
            compared += 1
    if arguments.record:
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n")
        return 0
    if wrong:
        print(f"\nmore than {SLACK:.0%} off:\n  " + "\n  ".join(wrong))
        print("If that is meant to be, run this again with --record:\n  "
              f"python3 {pathlib.Path(__file__)} --record {' '.join(arguments.programs)}")
        return 1
    return 0 if compared else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
