# SPDX-License-Identifier: Apache-2.0
"""Every fault of the engine `faulty` is found by verify: the right node is named, forward or backward, and the case that
comes out of --shrink has at most 5 nodes and still departs. Without a fault nothing is found."""
import json
import os
import subprocess
import sys
import tempfile

from harness import BIN, check

MODELS = os.path.join(os.path.dirname(__file__), "..", "verify")
GRADSTONE = os.path.join(BIN, "gradstone")

# model, fault, node, direction; the model's operator must be there
FAULTS = [
    ("convolutions", "conv-dilations", "conv1", "backward"),
    ("convolutions", "lrn-attributes", "lrn", "backward"),
    ("convolutions", "batch-norm-momentum", "norm", "forward"),
    ("convolutions", "batch-norm-variance", "norm", "forward"),
    ("convolutions", "batch-sum", "loss", "forward"),
    ("convolutions", "gradient-scale", "dense", "backward"),
    ("selu", "selu-constant", "selu", "forward"),
    ("lstm", "recurrent-gates", "rnn", "forward"),
    ("gru", "recurrent-gates", "rnn", "forward"),
]


def verify(*words):
    done = subprocess.run([GRADSTONE, "verify", *words, "--format", "json"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.returncode, json.loads(done.stdout)["verify"]


def check_fault(folder, model, fault, node, direction):
    file = os.path.join(MODELS, model + ".json")
    code, rows = verify("--model", file, "--engine", f"faulty,faulty:{fault}", "--shrink", "-o", folder)
    right, wrong = rows
    check(right["outcome"] == "ok", f"{model} without a fault: {right['outcome']}")
    check(code == 1 and wrong["outcome"] == "wrong_result", f"{model} {fault}: {wrong['outcome']}, exit code {code}")
    check((wrong["departs"], wrong["direction"]) == (node, direction),
          f"{model} {fault}: departs at {wrong['departs']} {wrong['direction']}, expected {node} {direction}")
    found, = os.listdir(folder)
    found = os.path.join(folder, found)
    with open(os.path.join(found, "case.json")) as stream:
        nodes = json.load(stream)["programs"][0]["graph"]["nodes"]
    check(1 <= len(nodes) <= 5, f"{model} {fault}: {len(nodes)} nodes are left")
    code, (row,) = verify("--case", found, "--engine", f"faulty:{fault}")
    check(code == 1 and row["direction"] == direction, f"{model} {fault}: the small case departs by itself")
    code, _ = verify("--case", found, "--engine", "faulty")
    check(code == 0, f"{model} {fault}: the small case is right without the fault")
    script = subprocess.run(["sh", os.path.join(found, "reproduce.sh")], env={**os.environ, "GRADSTONE": GRADSTONE},
                            capture_output=True, text=True)
    check(script.returncode == 1, f"{model} {fault}: the script shows it (exit code {script.returncode})")


def main():
    listed = subprocess.run([GRADSTONE, "list", "operators", "--format", "json"], capture_output=True, text=True)
    operators = {row["operator"] for row in json.loads(listed.stdout)["operators"]}
    for model, fault, node, direction in FAULTS:
        with open(os.path.join(MODELS, model + ".json")) as stream:
            missing = {each["op"] for each in json.load(stream)["nodes"]} - operators
        if missing:
            print(f"left out: {model} {fault}: this build has no {', '.join(sorted(missing))}")
            continue
        with tempfile.TemporaryDirectory(prefix="gradstone-test-") as folder:
            check_fault(folder, model, fault, node, direction)


main()
