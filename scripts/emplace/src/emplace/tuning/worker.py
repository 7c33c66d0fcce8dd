"""A process of `emplace tune --jobs N`: python3 -m emplace.tuning.worker FOLDER TRIALS JOB QUIET."""

from __future__ import annotations

import json
import os
import sys

from .config import Config
from .ranges import read_range
from .study import CONFIG, make_trials


def main(arguments: list[str]) -> int:
    """Returns 0 on success; 1 if stopped, or if a trial cannot be written; 2 if the input is wrong."""
    from .. import InputError

    folder, count, job, quiet = arguments
    with open(os.path.join(folder, CONFIG), encoding="utf-8") as file:
        config = Config(**json.load(file))
    config.ranges = {key: read_range(given, key) for key, given in config.draw.items()}
    try:
        make_trials(config, folder, int(count), int(job), bool(int(quiet)))
    except InputError as error:
        print(f"emplace tune: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
