"""The faults: each disturbs a job in its way, again and again, and returns how the program ended."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

from jobs import Job, Table, table
from trial import KILLED, Ended, Outcome, Tmpfs, Trial, Violation

LARGE = 65536  # of a tmpfs where everything fits [KiB]
PAGE = 4  # what a tmpfs grows by [KiB]


class Skipped(Exception):
    """This machine cannot have the fault; says why."""


class Bench:
    """A job, what it does undisturbed, and how thorough the cases are."""

    def __init__(self, job: Job, faults: Path, root: Path, kills: int, points: int, seed: int) -> None:
        self.job = job
        self.faults = faults
        self.root = root
        self.kills = kills
        self.points = points  # calls or sizes tried at most, spread over all; 0: every one
        self.rng = random.Random(f"{seed} {job.name}")
        trial = self.trial()
        begin = time.monotonic()
        ended = trial.start({})
        self.seconds = time.monotonic() - begin
        if ended.code != 0 or ended.calls == 0:
            raise Violation(f"undisturbed: exit code {ended.code}, {ended.calls} calls: {ended.text.strip()[-500:]}")
        self.calls = ended.calls
        self.expected = Outcome(trial)
        trial.remove()

    def trial(self, out: Path | None = None) -> Trial:
        return Trial(self.job, self.faults, self.root, out)

    def finish(self, trial: Trial) -> None:
        trial.finish(self.expected)
        trial.remove()

    def chosen(self, count: int) -> list[int]:
        """1 to `count`, or as many of them as this bench tries, evenly spread from 1 on."""
        points = min(count, self.points or count)
        return [1 + i * count // points for i in range(points)]


def ending(ended: Ended) -> str:
    return "killed" if ended.code == KILLED else f"exit {ended.code}"


def kills(bench: Bench) -> Counter[str]:
    """SIGKILL, in turns at a random moment and at a random call that writes."""
    endings: Counter[str] = Counter()
    killed = 0
    trial = bench.trial()
    while killed < bench.kills:
        if killed % 2 == 0:
            ended = trial.start(kill_after=bench.rng.uniform(0, bench.seconds))
        else:
            ended = trial.start({"ERROR": "KILL", "AT": bench.rng.randint(1, bench.calls)})
        endings[ending(ended)] += 1
        killed += ended.code == KILLED or bool(ended.failed)  # a call of a worker: its sweep lives on
        if ended.code == 0:
            bench.finish(trial)
            trial = bench.trial()
    bench.finish(trial)
    return endings


def at_every_call(bench: Bench, error: str, count: int) -> Counter[str]:
    endings: Counter[str] = Counter()
    for at in bench.chosen(bench.calls):
        trial = bench.trial()
        ended = trial.start({"ERROR": error, "AT": at, "COUNT": count})
        endings[ending(ended)] += 1
        bench.finish(trial)
    if set(endings) == {"exit 0"}:
        raise Violation("no failure was noticed")
    return endings


def full_disk(bench: Bench) -> Counter[str]:
    """From the n-th call on everything that writes fails with ENOSPC; n from 1 to the last call of all."""
    return at_every_call(bench, "ENOSPC", 0)


def broken_disk(bench: Bench) -> Counter[str]:
    """The n-th call alone fails with EIO; every n."""
    return at_every_call(bench, "EIO", 1)


def gone_read_only(bench: Bench) -> Counter[str]:
    """From the n-th call on everything that writes fails with EROFS; every n."""
    return at_every_call(bench, "EROFS", 0)


def short_writes(bench: Bench) -> Counter[str]:
    """The n-th write, every n, and then all of them write half of what they are given: the job goes on as ever."""
    endings: Counter[str] = Counter()
    for at, count in [(at, 1) for at in bench.chosen(bench.calls)] + [(1, 0)]:
        trial = bench.trial()
        ended = trial.start({"ERROR": "SHORT", "AT": at, "COUNT": count})
        endings[ending(ended)] += 1
        if ended.code != 0:
            raise Violation(f"a short write, {ended.failed[:1]}, ends it: {ended.text.strip()[-500:]}")
        bench.finish(trial)
    return endings


def mount(kilobytes: int) -> Tmpfs:
    try:
        return Tmpfs(kilobytes)
    except OSError as problem:
        raise Skipped(f"no tmpfs can be mounted: {problem}") from None


def small_disk(bench: Bench) -> Counter[str]:
    """A real file system with room for n pages, larger and larger until the job ends well, in a hundred steps or so."""
    with mount(LARGE) as disk:
        trial = bench.trial(disk.folder)
        trial.start()
        used = sum(path.stat().st_size for path in trial.out.rglob("*") if path.is_file())
    endings: Counter[str] = Counter()
    pages = used // 1024 // PAGE + 1
    step = max(1, pages // (bench.points or 100))
    size = 0
    while endings["exit 0"] == 0:
        size += step
        with mount(size * PAGE) as disk:
            trial = bench.trial(disk.folder)
            ended = trial.start()
            endings[ending(ended)] += 1
            disk.change(f"size={LARGE}k")
            bench.finish(trial)
    return endings


def read_only(bench: Bench) -> Counter[str]:
    """A file system that is read-only: before the first start, and after a job has ended there."""
    endings: Counter[str] = Counter()
    for filled in (False, True):
        with mount(LARGE) as disk:
            trial = bench.trial(disk.folder)
            if filled:
                trial.start()
            disk.change("ro")
            before = {path: path.read_bytes() for path in trial.out.rglob("*") if path.is_file()}
            ended = trial.start()
            endings[ending(ended)] += 1
            if ended.code == 0:
                raise Violation(f"ends well though it cannot write: {ended.text.strip()[-500:]}")
            after = {path: path.read_bytes() for path in trial.out.rglob("*") if path.is_file()}
            if before != after:
                raise Violation("a read-only folder has changed")
            disk.change("rw")
            bench.finish(trial)
    return endings


def clock_jumps(bench: Bench) -> Counter[str]:
    """The real-time clock and the times of files jump by a hundred days, back and forth; undisturbed and killed."""
    jumps = {"CLOCK": 100 * 86400}
    endings: Counter[str] = Counter()
    for at in (0, bench.calls // 3, 2 * bench.calls // 3):
        trial = bench.trial()
        ended = trial.start(jumps | ({"ERROR": "KILL", "AT": at} if at else {}))
        endings[ending(ended)] += 1
        again = trial.start(jumps)
        if again.code != 0:
            raise Violation(f"exit code {again.code}: {again.text.strip()[-500:]}")
        bench.finish(trial)
    return endings


def no_locks(bench: Bench) -> Counter[str]:
    """Every lock fails with ENOLCK: the job says so, and ends well or refuses at once."""
    trial = bench.trial()
    ended = trial.start({"LOCKS": "ENOLCK"})
    if not ended.failed:
        raise Skipped("takes no locks")
    if bench.job.resumes and "cannot be locked: No locks available" not in ended.text:
        raise Violation(f"does not tell that it cannot lock: {ended.text.strip()[-500:]}")
    bench.finish(trial)
    return Counter([ending(ended)])


def two_programs(bench: Bench) -> Counter[str]:
    """Two at once with one output: one is refused, or goes on with what the other has done."""
    endings: Counter[str] = Counter()
    for _ in range(bench.points or max(2, bench.kills // 5)):
        trial = bench.trial()
        first = trial.begin()
        time.sleep(bench.rng.uniform(0, bench.seconds / 2))
        second = trial.begin()
        ended = [first.end(), second.end()]
        for one in ended:
            trial.check(one)
            refused = one.code == 2 and ("is being written by" in one.text or "is running in it" in one.text)
            endings["refused" if refused else ending(one)] += 1
            if one.code != 0 and not refused:
                raise Violation(f"exit code {one.code}: {one.text.strip()[-500:]}")
        if all(one.code != 0 for one in ended):
            raise Violation("neither of two ended well")
        bench.finish(trial)
    return endings


def read_meanwhile(bench: Bench) -> Counter[str]:
    """`emplace table` reads what a sweep writes, again and again."""
    if bench.job.name != "sweep":
        raise Skipped("only a sweep is read meanwhile")
    endings: Counter[str] = Counter()
    for _ in range(3):
        trial = bench.trial()
        sweep = trial.begin()
        reader = Table.__new__(Table)  # without a sweep of its own
        reader.program, reader.inputs = bench.job.program, trial.out
        while sweep.process.poll() is None:
            read = Trial(reader, bench.faults, bench.root)
            ended = read.start()
            if ended.code not in (0, 2):  # 2: no run is done yet
                raise Violation(f"the reader ends with {ended.code}: {ended.text.strip()[-500:]}")
            endings[ending(ended)] += 1
            read.remove()
        ended = sweep.end()
        trial.check(ended)
        if ended.code != 0:
            raise Violation(f"the sweep ends with {ended.code}: {ended.text.strip()[-500:]}")
        table(bench.job.program, trial.out / "s")
        bench.finish(trial)
    return endings


CASES = {"kill": kills, "full-disk": full_disk, "broken-disk": broken_disk, "gone-read-only": gone_read_only,
         "short-writes": short_writes, "small-disk": small_disk, "read-only": read_only, "clock": clock_jumps,
         "no-locks": no_locks, "two-programs": two_programs, "read-meanwhile": read_meanwhile}
