# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the core or of a worker at random moments. Every run reported as finished is in the store and whole, no
worker outlives its core, and the next command works. usage: survives_kill.py BIN [KILLS]"""
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

from harness import Store, check


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as stream:
            return [int(word) for word in stream.read().split()]
    except OSError:
        return []


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def is_gone(pid, seconds=10):
    """The kernel kills a worker when its core dies; that may take it a moment."""
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_alive(pid)


def run_plan(store, kill_after=None, victim_is_core=True):
    """Runs a plan of eight runs; after `kill_after` seconds kills the core, or the worker that is there then. Returns what
    was reported, the workers seen, whether something was killed, and the seconds it took."""
    start = time.monotonic()
    core = subprocess.Popen(
        store.command("run", "--workload", "lenet-caffe", "--engine", "reference", "--batch", "1,2,3,4,5,6,7,8", "--data",
                      "synthetic:train=64,test=16", "--steps", "3", "--format", "jsonl"),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    workers, killed = set(), []

    def kill():
        workers.update(children_of(core.pid))
        for target in [core.pid] if victim_is_core else [w for w in children_of(core.pid) if is_alive(w)]:
            try:
                os.kill(target, signal.SIGKILL)
                killed.append(target)
            except ProcessLookupError:
                pass

    timer = threading.Timer(kill_after, kill) if kill_after is not None else None
    if timer:
        timer.start()
    reported = [json.loads(line)["run"] for line in core.stdout if line.endswith("\n")]
    core.wait()
    if timer:
        timer.cancel()
        timer.join()
    return reported, workers, bool(killed), time.monotonic() - start


def main():
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    chance = random.Random(20261130)
    kills = rounds = 0
    with Store() as store:
        _, _, _, duration = run_plan(store)
        while kills < wanted and rounds < 4 * wanted:
            rounds += 1
            of_core = chance.random() < 0.5
            reported, workers, killed, _ = run_plan(store, chance.uniform(0, duration), of_core)
            kills += killed
            kept = json.loads(store.call("list", "runs", "--format", "json").stdout)["runs"]
            missing = set(reported) - {record["run"] for record in kept}
            if missing:
                check(False, f"round {rounds}: {missing} reported but not in the store")
            for record in store.records("report", *reported) if reported else []:
                whole = record["outcome"] == "crashed" or (
                    record["outcome"] == "ok" and len(record["samples"]["loss"]) == record["metrics"]["steps"]["value"])
                if not whole:
                    check(False, f"round {rounds}: {record['run']} was reported and is not whole in the store")
            if of_core and killed:
                for worker in workers:
                    if not is_gone(worker):
                        check(False, f"round {rounds}: worker {worker} outlived its core")
        check(kills == wanted, f"{kills} kills in {rounds} rounds; every reported run is whole in the store")
        result = subprocess.run(["sqlite3", store.path, "pragma integrity_check"], capture_output=True, text=True)
        check(result.stdout.strip() == "ok", "sqlite finds the store sound")


main()
