"""Signs of a damaged trace: calls or kernels twice, times that cannot be.

The profilers' files that were looked at (A100, H100, V100; recorded in 2022, 2023, 2025) have none of these.
"""

from __future__ import annotations

import collections
from typing import Any, Iterable, Sequence

from .. import ImportFailure
from .kernels import HOSTS, KERNELS, LAUNCHES, Event

MOST = 0.01    # share of events whose times may contradict each other
EARLY = 10.0   # by how much a kernel may begin before its launch, since their clocks differ [us]
_OF_ONE = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx")  # launch one kernel
DEEPEST = 400  # levels of calls within calls


def check(events: Sequence[Event], path: str) -> None:
    """Throws ImportFailure with the first sign of damage."""
    hosts = [event for event in events if event.get("cat") in HOSTS]
    kernels = [event for event in events if event.get("cat") in KERNELS]
    for number in ("External id", "Record function id"):
        _once((("", event["args"][number], event.get("pid")) for event in hosts
               if event["cat"] == "cpu_op" and event.get("args", {}).get(number)),
              f"{path}: two calls have the {number}")
    _once((("", event["args"]["correlation"], event["ts"], event.get("pid"), event.get("tid")) for event in kernels
           if event.get("args", {}).get("correlation")), f"{path}: the same kernel is there twice: correlation")
    _once(((event["cat"], event["args"]["correlation"], event.get("pid")) for event in events
           if event.get("cat") in LAUNCHES and event.get("args", {}).get("correlation")),
          f"{path}: two launches have the correlation")
    _check_launches(events, kernels, path)
    _check_nesting(hosts, path)


def _once(numbers: Iterable[tuple[Any, ...]], what: str) -> None:
    """Checks that each key, whose second part is the number, is there once."""
    for key, count in collections.Counter(numbers).items():
        if count > 1:
            raise ImportFailure(f"{what} {key[1]}; the file is damaged, or of several runs")


def _check_launches(events: Sequence[Event], kernels: Sequence[Event], path: str) -> None:
    launches = {event["args"]["correlation"]: event for event in events
                if event.get("cat") in LAUNCHES and "correlation" in event.get("args", {})}
    pairs = [(event, launches[event["args"]["correlation"]]) for event in kernels
             if event.get("args", {}).get("correlation") in launches]
    _once((("", launch["args"]["correlation"]) for _, launch in pairs if launch.get("name") in _OF_ONE),
          f"{path}: two kernels have one launch, correlation")
    early = [event for event, launch in pairs if event["ts"] + EARLY < launch["ts"]]
    if len(early) > MOST * len(kernels):
        raise ImportFailure(f"{path}: {len(early):,} of {len(kernels):,} kernels begin before their launch, such as "
                            f"{early[0].get('name')!r} at {early[0]['ts']:.0f} us; their times are damaged")


def _check_nesting(hosts: Iterable[Event], path: str) -> None:
    """Checks that on each thread a call ends before the call around it."""
    threads: dict[tuple[Any, Any], list[Event]] = collections.defaultdict(list)
    for event in hosts:
        threads[str(event.get("pid")), str(event.get("tid"))].append(event)
    crossing, total = [], 0
    for thread in threads.values():
        ends: list[float] = []
        for event in sorted(thread, key=lambda each: (each["ts"], -each["dur"])):
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            total += 1
            end = event["ts"] + event["dur"]
            if ends and end > ends[-1] + 1:
                crossing.append(event)
            ends.append(end)
            if len(ends) > DEEPEST:
                raise ImportFailure(f"{path}: more than {DEEPEST} calls are within each other, the innermost is "
                                    f"{event.get('name')!r}")
    if len(crossing) > MOST * total:
        raise ImportFailure(f"{path}: {len(crossing):,} of {total:,} calls end after the call around them, such as "
                            f"{crossing[0].get('name')!r} at {crossing[0]['ts']:.0f} us; their times are damaged")
