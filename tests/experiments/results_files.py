"""What results files hold, to compare them. A test that imports this ends with 77 where h5py is missing."""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import h5py
    import numpy as np
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name} is missing (scripts/requirements-results.txt)")
    sys.exit(77)

TIMES = ("date", "seconds", "wall_seconds")


def contents(path: Path, differs: tuple[str, ...] = TIMES) -> dict[str, object]:
    """/agents, /config and /problem by place, without the attributes and columns of the names in `differs`."""
    found: dict[str, object] = {}

    def visit(name: str, item: h5py.HLObject) -> None:
        for key, value in item.attrs.items():
            if key not in differs:
                found[f"{name}@{key}"] = value if isinstance(value, str) else np.asarray(value).tobytes()
        if isinstance(item, h5py.Dataset):
            data = item[()]
            if data.dtype.names:
                found[name] = [data[column].tobytes() for column in data.dtype.names if column not in differs]
            else:
                found[name] = data.tolist() if data.dtype == object else data.tobytes()

    with h5py.File(path, "r") as file:
        for group in ("agents", "config", "problem"):
            visit(group, file[group])
            file[group].visititems(lambda name, item, group=group: visit(f"{group}/{name}", item))
    return found


def sweep_contents(folder: Path) -> dict[str, dict[str, object]]:
    """contents() of the runs of a sweep, by file name."""
    return {path.name: contents(path) for path in sorted((folder / "runs").glob("*.h5"))}
