"""The file of fitted kernel times, which scripts/fit_device_kinds and scripts/fit_traced_kinds write."""

from __future__ import annotations

import pathlib
from typing import Any, Mapping

import yaml

FITS = pathlib.Path(__file__).resolve().parents[1] / "configs" / "device_kinds" / "fits.yaml"


def text_of(fits: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(fits), sort_keys=False, default_flow_style=None, width=110)


def write(name: str, fit: Mapping[str, Any]) -> None:
    """Replaces or adds one fit; the other fits and the comments at the head stay."""
    text = FITS.read_text(encoding="utf-8")
    head = [line for line in text.splitlines() if line.startswith("#")]
    fits = yaml.safe_load(text)["kernel_fits"] | {name: dict(fit)}
    FITS.write_text("\n".join(head) + "\n" + text_of({"kernel_fits": fits}), encoding="utf-8")
