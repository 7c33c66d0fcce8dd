"""Common parts of the scripts that measure: the line above every table of figures, and a type of options."""

import argparse
import datetime
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def machine():
    """Returns for example "2 cores of AMD EPYC, c++ (Debian) 12.2.0, commit 9c23bc9, 2026-11-22"."""
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    compiler = subprocess.run(["c++", "--version"], text=True, capture_output=True).stdout.splitlines()[0]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True, capture_output=True)
    return (f"{len(os.sched_getaffinity(0))} cores of {names[0] if names else os.uname().machine}, {compiler}, "
            f"commit {commit.stdout.strip() or 'unknown'}, {datetime.date.today()}")


def positive(text):
    if not re.fullmatch(r"[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f'expected a number above 0, got "{text}"')
    return int(text)
