#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples/s of the worker of engine torch against PyTorch's own loops, interleaved in one run.

Each round runs every contender once in a process of its own, the order turning from round to round,
so that what drifts on the machine falls on all alike. The figure is the worker's rate divided by the
loop's of the same round: geometric mean with Student's 95 % interval over the rounds, and median.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# steps that are timed (about) and warm-up steps
STEPS = {"lenet-caffe": (400, 40), "resnet50": (16, 4)}
# 97.5 % quantiles of Student's t by degrees of freedom
T_QUANTILE = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
              2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
              2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def output_of(command, environment):
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def worker_rate(options, workload, environment):
    steps, warm_up = STEPS[workload]
    # Beside these the worker makes up to 20 steps of warm-up and 50 that are timed one by one.
    command = [options.bin / "gradstone", "run", "--workload", workload, "--engine",
               f"torch@{options.version}", "--threads", str(options.threads), "--steps",
               str(steps + 1 + min(steps // 2, 70)), "--store", os.path.join(options.scratch, "store.db"),
               "--format", "json", "-q", "--no-evaluation"]
    record = json.loads(output_of(command, environment))["records"][0]
    if record["outcome"] != "ok":
        sys.exit(f"{record['outcome']}: {record['message']}")
    return record["metrics"]["throughput"]["value"]


def loop_rate(command, options, workload, environment):
    steps, warm_up = STEPS[workload]
    text = output_of(command + [workload, str(options.threads), str(warm_up), str(steps)],
                     environment)
    return float(text.split()[0])


def contenders(options):
    loop = options.bin / f"bench-aten-loop@{options.version}"
    found = {"worker": worker_rate,
             "ATen loop": lambda *rest: loop_rate([loop], *rest)}
    if not options.no_python:
        script = [options.python, HERE / "python_loop.py"]
        found["Python loop"] = lambda *rest: loop_rate(script, *rest)
    return found


def summary(ratios):
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    text = f"median {statistics.median(ratios):.4f}, mean {math.exp(mean):.4f}"
    if len(logs) < 2:
        return text
    quantile = T_QUANTILE[min(len(logs) - 2, len(T_QUANTILE) - 1)]
    half = quantile * statistics.stdev(logs) / math.sqrt(len(logs))
    return text + f" [{math.exp(mean - half):.4f}, {math.exp(mean + half):.4f}], n = {len(logs)}"


def measure(options, workload, environment):
    runners = contenders(options)
    rates = {name: [] for name in runners}
    for number in range(options.rounds):
        names = list(runners)
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            rates[name].append(runners[name](options, workload, environment))
        row = ", ".join(f"{name} {values[-1]:.1f}" for name, values in rates.items())
        print(f"{workload} round {number + 1}: {row}", file=sys.stderr, flush=True)
    print(f"{workload}, torch {options.version}, {options.threads} thread(s)")
    for name, values in rates.items():
        print(f"  {name}: median {statistics.median(values):.1f} samples/s")
    for name, values in rates.items():
        if name != "worker":
            ratios = [own / other for own, other in zip(rates["worker"], values)]
            print(f"  worker / {name}: {summary(ratios)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=HERE.parents[1] / "build/release/bin")
    parser.add_argument("--version", default="1.13.1", help="of the engine")
    parser.add_argument("--workload", choices=sorted(STEPS), action="append")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--python", default="/usr/bin/python3", help="that imports torch")
    parser.add_argument("--no-python", action="store_true")
    options = parser.parse_args()
    # OpenBLAS has threads of its own; the loops do not set them, the worker does.
    environment = dict(os.environ, OPENBLAS_NUM_THREADS=str(options.threads),
                       OMP_NUM_THREADS=str(options.threads))
    with tempfile.TemporaryDirectory() as options.scratch:
        for workload in options.workload or sorted(STEPS):
            measure(options, workload, environment)


if __name__ == "__main__":
    main()
