# SPDX-License-Identifier: Apache-2.0
"""Two epochs of LeNet on Fashion-MNIST reach 80 % on every installed framework, and the figures hang together."""
import os

from harness import Store, check, installed_frameworks, skip

FASHION_MNIST = "/usr/share/datasets/fashion-mnist"


def main():
    engines = installed_frameworks()
    if not engines:
        skip("no framework is installed")
    with Store() as store:
        for engine in engines:
            record, = store.records("run", "--workload", "lenet-caffe", "--engine", engine,
                                    "--data", "fashion-mnist", "--epochs", "2")
            metrics = record["metrics"]
            check(record["outcome"] == "ok", f"{engine}: outcome ok")
            accuracy = metrics["test_accuracy"]["value"]
            check(0.80 <= accuracy <= 1, f"{engine}: test accuracy {accuracy:.4f}, at least 0.80")
            steps = 2 * -(-60000 // 64)  # the last batch of an epoch wraps around
            check(len(record["samples"]["loss"]) == steps, f"{engine}: each of {steps} steps has its loss")
            throughput = metrics["throughput"]
            check(throughput["low"] <= throughput["value"] <= throughput["high"], f"{engine}: the interval holds the rate")
            again, = store.records("report", record["run"])
            check(again == record, f"{engine}: the store gives back what was measured")


main()
