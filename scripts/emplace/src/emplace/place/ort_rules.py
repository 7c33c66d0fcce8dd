"""How ONNX Runtime reads `session.layer_assignment_settings` and `session.name_based_layer_assignment`.

Both are "device(pattern, pattern, ...); device(...)". In the first option, a pattern is compared with the `layer_ann`
of a node's metadata_props: as a prefix, or after "=" as a whole. Prefixes precede wholes; within each kind the first
match counts. In the second option, a pattern is searched for anywhere in the node's name: the longest pattern counts,
and of equally long ones the first; "=" is refused. Only one of the two options may be set.
(onnxruntime/core/framework/layering_annotations.cc; 1.32.)
"""

from __future__ import annotations

import dataclasses

from .grain import PlaceFailure

BY_ANNOTATION = "session.layer_assignment_settings"
BY_NAME = "session.name_based_layer_assignment"
KEY = "layer_ann"


@dataclasses.dataclass(frozen=True)
class Rule:
    """Assigns nodes whose annotation (or name) matches the pattern to the device; whole: it must be equal."""

    device: str
    pattern: str
    whole: bool


def parse(text: str) -> list[Rule]:
    """Returns the rules of either option. Throws PlaceFailure for a rule that ONNX Runtime refuses."""
    rules: list[Rule] = []
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        opened, closed = entry.find("("), entry.find(")")
        if opened < 0 or closed < opened or not entry[:opened].strip():
            raise PlaceFailure(f"ONNX Runtime would refuse the rule {entry!r}: expected DEVICE(PATTERN, ...)")
        for pattern in filter(None, (part.strip() for part in entry[opened + 1:closed].split(","))):
            rule = Rule(entry[:opened].strip(), pattern.removeprefix("=").strip(), pattern.startswith("="))
            if any((rule.pattern, rule.whole) == (other.pattern, other.whole) for other in rules):
                raise PlaceFailure(f"ONNX Runtime would refuse the rule {entry!r}: {rule.pattern!r} is used twice")
            rules.append(rule)
    return rules


def device_by_annotation(annotation: str, rules: list[Rule]) -> str | None:
    """Returns the device of an annotation; None: no rule fits, so the providers decide."""
    if not annotation:
        return None
    prefixes = [rule for rule in rules if not rule.whole and annotation.startswith(rule.pattern)]
    wholes = [rule for rule in rules if rule.whole and annotation == rule.pattern]
    return next((rule.device for rule in (*prefixes, *wholes)), None)


def device_by_name(name: str, rules: list[Rule]) -> str | None:
    """Returns the device of a node by its name; None: no rule fits.

    Throws PlaceFailure for "=", which rules by name do not allow.
    """
    if any(rule.whole for rule in rules):
        raise PlaceFailure(f"{BY_NAME} does not know '='")
    fitting = [rule for rule in rules if rule.pattern in name]
    return max(fitting, key=lambda rule: len(rule.pattern)).device if fitting else None


def can_be_pattern(name: str) -> bool:
    """Returns whether a rule can contain the name unchanged."""
    return bool(name) and name == name.strip() and not name.startswith("=") and not set(name) & set("();,")
