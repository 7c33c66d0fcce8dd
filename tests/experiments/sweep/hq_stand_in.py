"""Stands in for the command `hq` of HyperQueue, which its Python package does not bring: `server info`, `submit` and
`job list` as `emplace sweep` calls them, against a real server, by the package.

It takes the options that hq documents and no others, and prints what hq prints: the number of a job with
--output-mode quiet, jobs with their task_stats with --output-mode json. What it shows of hq's own parser is nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path

import hyperqueue
from hyperqueue.ffi.protocol import ResourceRequest

JOBS = "stand_in.jobs"  # in the server's folder: what was submitted, which the package does not tell


def submit(client: hyperqueue.Client, options: argparse.Namespace) -> int:
    job = hyperqueue.Job(name=options.name)
    job.program(options.command, cwd=options.cwd, stdout=None if options.stdout == "none" else options.stdout,
                stderr=options.stderr, env=dict(entry.split("=", 1) for entry in options.env),
                resources=ResourceRequest(cpus=int(options.cpus)), priority=options.priority)
    return client.submit(job).id


def job_list(client: hyperqueue.Client, jobs: list[int]) -> list[dict]:
    """The package does not tell waiting tasks from running ones: all that have not ended count as running."""
    class Told(Exception):
        pass

    listed = []

    def take(states: dict) -> None:  # is called at once, then every second
        for job, state in sorted(states.items()):
            ended = {"finished": state["finished"], "failed": state["failed"], "canceled": 0}
            running = state["total"] - sum(ended.values())
            listed.append({"id": job, "name": "", "task_count": state["total"],
                           "task_stats": {"running": running, "waiting": 0, **ended}})
        raise Told

    with contextlib.suppress(Told):
        client.connection.wait_for_jobs(jobs, take)
    return listed


def main() -> None:
    parser = argparse.ArgumentParser(prog="hq")
    parser.add_argument("--server-dir", type=Path, required=True)
    commands = parser.add_subparsers(dest="group", required=True)
    server = commands.add_parser("server").add_subparsers(dest="action", required=True)
    server.add_parser("info")
    sending = commands.add_parser("submit")
    sending.add_argument("--output-mode", choices=["quiet"], required=True)
    for option in ("--name", "--cpus", "--cwd", "--stdout", "--stderr"):
        sending.add_argument(option, required=True)
    sending.add_argument("--env", action="append", default=[])
    sending.add_argument("--priority", type=int, default=0)
    sending.add_argument("command", nargs="+")
    listing = commands.add_parser("job").add_subparsers(dest="action", required=True).add_parser("list")
    listing.add_argument("--all", action="store_true", required=True)
    listing.add_argument("--output-mode", choices=["json"], required=True)
    options = parser.parse_args()

    client = hyperqueue.Client(options.server_dir)
    log = options.server_dir / JOBS
    if options.group == "submit":
        job = submit(client, options)
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps({"job": job} | vars(options), default=str) + "\n")
        print(job)
    elif options.group == "job":
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        print(json.dumps(job_list(client, [json.loads(line)["job"] for line in lines])))


if __name__ == "__main__":
    sys.exit(main())
