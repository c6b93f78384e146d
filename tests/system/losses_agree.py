# SPDX-License-Identifier: Apache-2.0
"""Every installed framework and the reference train the same network: same seed, weights, batches and masks, so the same
losses. float32 within 1e-4 max(1, |b|), float64 within 1e-9; tiny ResNet-50 within ten times the reference's own gap
between float32 and float64."""
from harness import Store, check, installed_frameworks, skip

LENETS = ["lenet-tensorflow", "lenet-caffe", "lenet-torch"]
SAME = ["--seed", "7", "--dropout", "shared", "--threads", "1", "--no-evaluation"]


def losses(store, engine, workload, dtype, steps, *more):
    record, = store.records("run", "--workload", workload, "--engine", engine, "--dtype", dtype,
                            "--steps", str(steps), *SAME, *more)
    check(record["outcome"] == "ok", f"{workload} {engine} {dtype}: outcome {record['outcome']} {record['message']}")
    check(len(record["samples"]["loss"]) == steps, f"{workload} {engine} {dtype}: one loss a step")
    return record["samples"]["loss"]


def worst(a, b):
    return max(abs(x - y) / max(1, abs(y)) for x, y in zip(a, b))


def main():
    engines = installed_frameworks()
    if not engines:
        skip("no framework is installed")
    with Store() as store:
        for workload in LENETS:
            for dtype, tolerance in [("float32", 1e-4), ("float64", 1e-9)]:
                expected = losses(store, "reference", workload, dtype, 20)
                check(len(set(expected)) > 10, f"{workload} {dtype}: the losses move")
                for engine in engines:
                    gap = worst(losses(store, engine, workload, dtype, 20), expected)
                    check(gap <= tolerance, f"{workload} {engine} {dtype}: worst gap {gap:.3g}, allowed {tolerance:g}")
        size = ["--size", "tiny"]
        exact = losses(store, "reference", "resnet50", "float64", 5, *size)
        single = losses(store, "reference", "resnet50", "float32", 5, *size)
        for engine in engines:
            for dtype, expected, floor in [("float32", single, 1e-6), ("float64", exact, 1e-12)]:
                found = losses(store, engine, "resnet50", dtype, 5, *size)
                for step, (x, y) in enumerate(zip(found, expected)):
                    own = abs(single[step] - exact[step]) if dtype == "float32" else 0
                    allowed = 10 * max(own, floor * abs(y))
                    check(abs(x - y) <= allowed,
                          f"resnet50 tiny {engine} {dtype} step {step}: gap {abs(x - y):.3g}, allowed {allowed:.3g}")


main()
