"""How ONNX Runtime reads `session.layer_assignment_settings` and `session.name_based_layer_assignment`.

Both are "device(pattern, pattern, ...); device(...)". In the first a pattern is compared with the `layer_ann` of a
node's metadata_props: as a prefix, or as a whole behind "="; a prefix comes before a whole, and then what stands first.
In the second it is looked for anywhere in the node's name: the longest comes first, and then what stands first; "=" is
refused. Only one of the two may be set. (onnxruntime/core/framework/layering_annotations.cc; 1.32.)
"""

from __future__ import annotations

import dataclasses

from .grain import PlaceFailure

BY_ANNOTATION = "session.layer_assignment_settings"
BY_NAME = "session.name_based_layer_assignment"
KEY = "layer_ann"


@dataclasses.dataclass(frozen=True)
class Rule:
    """Nodes whose annotation (or name) fits the pattern go to the device; whole: it must be equal."""

    device: str
    pattern: str
    whole: bool


def parse(text: str) -> list[Rule]:
    """The rules of either option. Throws PlaceFailure for what ONNX Runtime refuses."""
    rules: list[Rule] = []
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        opened, closed = entry.find("("), entry.find(")")
        if opened < 0 or closed < opened or not entry[:opened].strip():
            raise PlaceFailure(f"ONNX Runtime would refuse the rule {entry!r}: expected DEVICE(PATTERN, ...)")
        for pattern in filter(None, (part.strip() for part in entry[opened + 1:closed].split(","))):
            rule = Rule(entry[:opened].strip(), pattern.removeprefix("=").strip(), pattern.startswith("="))
            if any((rule.pattern, rule.whole) == (other.pattern, other.whole) for other in rules):
                raise PlaceFailure(f"ONNX Runtime would refuse the rule {entry!r}: {rule.pattern!r} stands twice")
            rules.append(rule)
    return rules


def device_by_annotation(annotation: str, rules: list[Rule]) -> str | None:
    """None: no rule fits, so that the providers decide."""
    if not annotation:
        return None
    prefixes = [rule for rule in rules if not rule.whole and annotation.startswith(rule.pattern)]
    wholes = [rule for rule in rules if rule.whole and annotation == rule.pattern]
    return next((rule.device for rule in (*prefixes, *wholes)), None)


def device_by_name(name: str, rules: list[Rule]) -> str | None:
    """None: no rule fits. Throws PlaceFailure for "=", which names do not know."""
    if any(rule.whole for rule in rules):
        raise PlaceFailure(f"{BY_NAME} does not know '='")
    fitting = [rule for rule in rules if rule.pattern in name]
    return max(fitting, key=lambda rule: len(rule.pattern)).device if fitting else None


def can_be_pattern(name: str) -> bool:
    """Can a rule name it as it is?"""
    return bool(name) and name == name.strip() and not name.startswith("=") and not set(name) & set("();,")
