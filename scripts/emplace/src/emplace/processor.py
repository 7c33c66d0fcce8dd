"""The copies of the compiled module for levels of x86-64 processors, and the one that is loaded.

`scripts/wheel` compiles the module for any x86-64 processor (in the package's folder, as every other build) and again for each level of
LEVELS, in levels/LEVEL/. A copy is the whole module: the same results as of a build for that level, and no choice in inner loops.
"""

from __future__ import annotations

import os
import pathlib

BASELINE = "x86-64"
# Best first: the flags in /proc/cpuinfo of the features that a level adds (System V ABI for x86-64, table 3.1).
LEVELS = {"x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
          "x86-64-v3": {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}}


def choose_folder(package: pathlib.Path, cpuinfo: pathlib.Path = pathlib.Path("/proc/cpuinfo"),
                  level: str | None = None) -> pathlib.Path:
    """Returns the folder of the copy for the best level that this processor has, or for `level`.

    package: the folder of the package; without levels/, it is the only choice. level: a name of LEVELS or BASELINE; default: the
    environment variable EMPLACE_LEVEL, if set. Throws ImportError if the package or the processor does not have the level.
    """
    level = level or os.environ.get("EMPLACE_LEVEL")
    if not (package / "levels").is_dir():
        if level:
            raise ImportError(f"EMPLACE_LEVEL is \"{level}\", but this build of emplace has one level only")
        return package
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as lines:  # the first core's: all are alike
            flags = set(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())
    except OSError:
        flags = set()  # no /proc: the copy for any processor
    names = list(LEVELS)
    fit = [name for number, name in enumerate(names) if flags.issuperset(set().union(*(LEVELS[at] for at in names[number:])))
           and (package / "levels" / name).is_dir()] + [BASELINE]
    if level and level not in fit:
        raise ImportError(f"EMPLACE_LEVEL is \"{level}\"; choices on this processor: {', '.join(fit)}")
    best = level or fit[0]
    return package if best == BASELINE else package / "levels" / best
