# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the core or of a worker at random moments. Every run reported as finished is in the store and whole, no
worker outlives its core, and the next command works. usage: survives_kill.py BIN [ROUNDS]"""
import json
import os
import random
import signal
import subprocess
import sys

from harness import BIN, Store, check


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


def kill_once(store, chance):
    """Starts a plan of runs and kills the core or its worker after a random share of it. Returns the ids seen on stdout."""
    core = subprocess.Popen(
        store.command("run", "--workload", "lenet-caffe", "--engine", "reference", "--batch", "1,2,3,4,5,6,7,8", "--data",
                      "synthetic:train=64,test=16", "--steps", "3", "--format", "jsonl"),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    victim_is_core = chance.random() < 0.5
    wanted = chance.randrange(0, 6)
    reported, workers, killed = [], set(), False
    # The moment: after `wanted` records were printed and then a random number of looks at the process table.
    looks = chance.randrange(0, 400)
    while True:
        if not killed and len(reported) >= wanted:
            for _ in range(looks):
                workers.update(children_of(core.pid))
            targets = [core.pid] if victim_is_core else [w for w in children_of(core.pid) if is_alive(w)]
            for target in targets[:1]:
                os.kill(target, signal.SIGKILL)
                killed = True
        line = core.stdout.readline()
        if not line:
            break
        if line.endswith("\n"):
            reported.append(json.loads(line)["run"])
    core.wait()
    return reported, workers, victim_is_core, killed


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    chance = random.Random(20261130)
    kills = 0
    with Store() as store:
        for number in range(rounds):
            reported, workers, of_core, killed = kill_once(store, chance)
            kills += killed
            kept = {record["run"]: record for record in store.records("list", "runs")}
            for run in reported:
                record, = store.records("report", run)
                whole = record["outcome"] in ("ok", "crashed") and (
                    record["outcome"] != "ok" or len(record["samples"]["loss"]) == record["metrics"]["steps"]["value"])
                if not whole or run not in kept:
                    check(False, f"round {number}: {run} was reported and is not whole in the store")
            if of_core:
                for worker in workers:
                    if is_alive(worker):
                        check(False, f"round {number}: worker {worker} outlived its core")
            store.call("list", "runs")
        check(kills >= rounds // 2, f"{kills} of {rounds} rounds killed something; every reported run is whole")
        result = subprocess.run(["sqlite3", store.path, "pragma integrity_check"], capture_output=True, text=True)
        check(result.stdout.strip() == "ok", "sqlite finds the store sound")


main()
