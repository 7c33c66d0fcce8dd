"""Talks to HyperQueue for `emplace sweep --launcher hyperqueue` (hyperqueue_launcher.h).

    python3 hyperqueue_client.py open SERVER WORKERS CORES    prints "server FOLDER" if one answers; else starts a
                                                              server with workers here, prints "cluster FOLDER", ends
                                                              with the end of stdin, SIGINT or SIGTERM, and removes
                                                              that folder. SERVER: a folder, or empty
    python3 hyperqueue_client.py submit SPEC.json             a job per bundle; prints "submitted", then
                                                              "ended BUNDLE" for each bundle as it ends

SPEC.json: {"server": folder, "cores": 1, "cwd": folder, "env": {...}, "options": [...],
            "bundles": [{"command": [...], "log": path}, ...]}

The module `hyperqueue` (pip install hyperqueue) does all of it. Without it, and for jobs with options, `hq` of the
PATH finds a server and submits; a server of one's own needs the module.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import hyperqueue
    from hyperqueue.cluster import LocalCluster, WorkerConfig
    from hyperqueue.ffi.protocol import ResourceRequest
except ModuleNotFoundError as missing:
    if missing.name != "hyperqueue":
        raise
    hyperqueue = None

HQ = shutil.which("hq")
NEITHER = "neither the Python module hyperqueue (pip install hyperqueue) nor the command hq is there"


def say(text: str) -> None:
    print(text, flush=True)


def hq(server: str, *arguments: str) -> str:
    command = [HQ, "--server-dir", server, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:4])}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def find(server: str) -> str:
    """The folder of a running server, or empty: there HyperQueue keeps its address in the folder `hq-current`."""
    folder = Path(server or os.environ.get("HQ_SERVER_DIR", Path.home() / ".hq-server"))
    if hyperqueue is None and HQ is None:
        sys.exit(NEITHER)
    if not (folder / "hq-current").exists():
        if server:
            sys.exit(f"{server}: no server of HyperQueue has been started there")
        return ""
    if hyperqueue is None:
        hq(str(folder), "server", "info")
        return str(folder)
    try:
        hyperqueue.Client(folder)
    except RuntimeError as problem:  # a server was killed; a stack of Rust follows
        if server:
            sys.exit(f"{server}: " + " ".join(str(problem).split("Stack backtrace")[0].split()))
        return ""
    return str(folder)


def run_cluster(workers: int, cores: int) -> None:
    if hyperqueue is None:
        sys.exit("no server runs; to start one needs the Python module hyperqueue (pip install hyperqueue)")
    signalled, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    for number in (signal.SIGINT, signal.SIGTERM):  # an exception might interrupt the removal of the folder
        signal.signal(number, lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="emplace-hq-") as folder, open(os.devnull, "w") as nowhere:
        os.environ["TMPDIR"] = folder  # for the files of HyperQueue's workers
        shown = os.dup(1)
        os.dup2(nowhere.fileno(), 1)  # the server prints a table of itself
        with LocalCluster(folder) as server:
            for _ in range(workers):
                server.start_worker(WorkerConfig(cores=cores))
            os.dup2(shown, 1)
            say(f"cluster {folder}")
            select.select([sys.stdin, signalled], [], [])


def open_server(server: str, workers: int, cores: int) -> None:
    found = find(server)
    if found:
        say(f"server {found}")
    else:
        run_cluster(workers, cores)


def submit_by_module(spec: dict) -> None:
    client = hyperqueue.Client(spec["server"])
    bundle_of = {}
    for index, bundle in enumerate(spec["bundles"]):
        job = hyperqueue.Job(name="emplace sweep", max_fails=None)
        job.program(bundle["command"], env=spec["env"], cwd=spec["cwd"], stdout=os.devnull, stderr=bundle["log"],
                    resources=ResourceRequest(cpus=spec["cores"]))
        bundle_of[client.submit(job).id] = index
    say("submitted")
    told = set()

    def watch(jobs: dict) -> None:
        for job, state in jobs.items():
            if state["completed"] and job not in told:
                told.add(job)
                say(f"ended {bundle_of[job]}")

    client.connection.wait_for_jobs(list(bundle_of), watch)
    for job, index in bundle_of.items():
        if job not in told:
            say(f"ended {index}")


def submit_by_hq(spec: dict) -> None:
    bundle_of = {}
    env = [word for name, value in spec["env"].items() for word in ("--env", f"{name}={value}")]
    for index, bundle in enumerate(spec["bundles"]):
        job = hq(spec["server"], "submit", "--output-mode", "quiet", "--name", "emplace sweep", "--cpus",
                 str(spec["cores"]), "--cwd", spec["cwd"], "--stdout", "none", "--stderr", bundle["log"], *env,
                 *spec["options"], "--", *bundle["command"])
        bundle_of[job.strip()] = index
    say("submitted")
    while bundle_of:
        time.sleep(1)
        for job in json.loads(hq(spec["server"], "job", "list", "--all", "--output-mode", "json")):
            counts = job["task_stats"]
            if str(job["id"]) in bundle_of and counts["waiting"] + counts["running"] == 0:
                say(f"ended {bundle_of.pop(str(job['id']))}")


def main(arguments: list[str]) -> None:
    if arguments[0] == "open":
        open_server(arguments[1], int(arguments[2]), int(arguments[3]))
    elif arguments[0] == "submit":
        spec = json.loads(Path(arguments[1]).read_text())
        if spec["options"] and HQ is None:
            sys.exit(f"launcher.options {spec['options']}: options of `hq submit`, and the command hq is not there")
        if hyperqueue is None or spec["options"]:
            submit_by_hq(spec)
        else:
            submit_by_module(spec)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
