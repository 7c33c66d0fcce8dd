"""Starts jobs under faults and checks what must hold after each of them."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import tempfile
import zlib
from pathlib import Path

from jobs import Job

LIMIT = 600  # a program that takes longer hangs [s]
KILLED = -signal.SIGKILL
REASONS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.ENOLCK)


class Violation(Exception):
    """Something that must hold does not."""


class Ended:
    """How a program ended: exit code (negative: the signal), what it wrote, which calls were made to fail, and how
    many calls were counted (0: not told)."""

    def __init__(self, code: int, text: str, log: str) -> None:
        lines = log.splitlines()
        self.code = code
        self.text = text
        self.failed = [line for line in lines if not line.startswith("calls ")]
        self.calls = max((int(line[6:]) for line in lines if line.startswith("calls ")), default=0)


class Trial:
    """One job with a folder of its own.

    faults  the library that is preloaded
    root    where the folder is made
    out     what it writes into, if that is elsewhere
    """

    def __init__(self, job: Job, faults: Path, root: Path, out: Path | None = None) -> None:
        self.job = job
        self.faults = faults
        self.root = Path(tempfile.mkdtemp(dir=root, prefix=job.name + "."))
        self.out = (out or self.root) / "out"
        self.claims: set[str] = set()
        self.out.mkdir()

    def begin(self, fault: dict[str, str | int] | None = None) -> Running:
        """Starts the job with a fault (faults.c)."""
        return Running(self, fault)

    def start(self, fault: dict[str, str | int] | None = None, kill_after: float | None = None) -> Ended:
        """Runs the job with a fault, or until it is killed [s], and checks what it left."""
        ended = self.begin(fault).end(kill_after)
        self.check(ended)
        return ended

    def check(self, ended: Ended) -> None:
        """Exit codes, files under their final names, and what was said to be done, earlier and now."""
        if ended.code not in (0, 1, 2, KILLED) or re.search("internal error|CHECK|terminate called", ended.text):
            raise Violation(f"exit code {ended.code}: {ended.text.strip()[-500:]}")
        if ended.code in (1, 2) and "emplace: " not in ended.text:
            raise Violation(f"exit code {ended.code} without a message")
        if ended.code == 1 and not self.tells_place_and_reason(ended.text):
            raise Violation(f"does not tell which file and why: {ended.text.strip()[-500:]}")
        found = self.job.acknowledged(ended.text)
        if found is not None and found < len(self.claims):
            raise Violation(f"{len(self.claims)} were said to be done, the next start found {found}")
        self.claims |= self.job.claims(ended.text)
        lost = self.job.lost(self.out, self.claims)
        if lost:
            raise Violation(f"said to be done and not there: {', '.join(sorted(lost))}")
        for path in self.out.rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                require_whole(path)

    def tells_place_and_reason(self, text: str) -> bool:
        """Has the output a line with a path of this trial and what the system said?"""
        return any(str(self.out) in line and any(os.strerror(reason) in line for reason in REASONS)
                   for line in text.splitlines())

    def finish(self, expected: Outcome) -> None:
        """Starts it undisturbed: it ends well, with the result and the files of a job that never was disturbed."""
        ended = self.start()
        if ended.code != 0:
            raise Violation(f"the next start ends with exit code {ended.code}: {ended.text.strip()[-500:]}")
        outcome = Outcome(self)
        if outcome.files != expected.files:
            raise Violation(f"other files: {', '.join(sorted(outcome.files ^ expected.files))}")
        if outcome.result != expected.result:
            raise Violation("another result than undisturbed")

    def remove(self) -> None:
        shutil.rmtree(self.root)
        shutil.rmtree(self.out, ignore_errors=True)


class Running:
    """A process of a trial."""

    def __init__(self, trial: Trial, fault: dict[str, str | int] | None) -> None:
        self.command = [str(trial.job.program), *trial.job.arguments(trial.out)]
        self.command += ["--resume"] if trial.job.resumes else []
        self.output = tempfile.TemporaryFile("w+")
        self.log = tempfile.NamedTemporaryFile("r", dir=trial.root)
        environment = dict(os.environ)
        if fault is not None:
            environment |= {f"FAULT_{key}": str(value) for key, value in fault.items()}
            environment |= {"LD_PRELOAD": str(trial.faults), "FAULT_FOLDER": str(trial.out),
                            "FAULT_LOG": self.log.name}
        self.process = subprocess.Popen(self.command, stdout=self.output, stderr=self.output, env=environment)

    def end(self, kill_after: float | None = None) -> Ended:
        """Waits for its end, or kills it [s]. @throws Violation if it takes longer than anything here may"""
        try:
            self.process.wait(LIMIT if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            if kill_after is None:
                raise Violation(f"hangs: {' '.join(self.command)}") from None
        with self.output, self.log:
            self.output.seek(0)
            return Ended(self.process.returncode, self.output.read(), self.log.read())


class Outcome:
    """What a finished trial has left: its result and the names of its files."""

    def __init__(self, trial: Trial) -> None:
        try:
            self.result = trial.job.result(trial.out)
        except (AssertionError, OSError, ValueError) as problem:
            raise Violation(str(problem)) from None
        self.files = {str(path.relative_to(trial.out)) for path in trial.out.rglob("*")}


def require_whole(path: Path) -> None:
    """A results file has the checksum of its bytes (framework/results/FORMAT.md), a text ends with a line. Not looked
    at: `lock` and `board` of a sweep, of which nothing that was said to be done depends."""
    data = path.read_bytes()
    if path.suffix == ".h5":
        line = b"\nemplace-results crc32 %08x\n" % zlib.crc32(data[:-32])
        if data[-32:] != line:
            raise Violation(f"{path.name} is not whole")
    elif path.name not in ("lock", "board") and not data.endswith(b"\n") and path.suffix != ".policy":
        raise Violation(f"{path.name} is not whole: its last line has no end")


class Tmpfs:
    """A small file system in memory. @throws OSError if this user may not mount one"""

    def __init__(self, kilobytes: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        try:
            self._mount(f"size={kilobytes}k")
        except OSError:
            self.folder.rmdir()
            raise

    def __enter__(self) -> Tmpfs:
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", self.folder], check=True)
        self.folder.rmdir()

    def change(self, options: str) -> None:
        """"size=65536k", "ro", "rw"."""
        self._mount("remount," + options)

    def _mount(self, options: str) -> None:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            raise OSError(mounted.stderr.strip())
