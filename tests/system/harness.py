# SPDX-License-Identifier: Apache-2.0
"""Runs the built gradstone for the system tests. Not for unit tests: those stand beside the code."""
import json
import os
import subprocess
import sys
import tempfile

BIN = os.environ.get("GRADSTONE_BIN") or sys.argv[1]
SKIP = 77  # what ctest counts as skipped


class Store:
    """A store of its own in a temporary folder, gone afterwards."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gradstone-test-")
        self.path = os.path.join(self.folder.name, "records.db")
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def command(self, *words):
        return [os.path.join(BIN, "gradstone"), *words, "--store", self.path]

    def call(self, *words, expect=(0,)):
        """Runs a command to its end; the exit code must be one of `expect`."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode not in expect:
            sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def records(self, *words, expect=(0,)):
        return json.loads(self.call(*words, "--format", "json", expect=expect).stdout)["records"]


def installed_frameworks():
    """Engines of kind framework, as name@version."""
    engines = []
    for file in sorted(os.listdir(BIN)):
        if file.startswith("engine-") and file.endswith(".json"):
            with open(os.path.join(BIN, file)) as stream:
                manifest = json.load(stream)
            if manifest["kind"] == "framework":
                engines.append(f"{manifest['name']}@{manifest['version']}")
    return engines


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def check(condition, text):
    print(("ok: " if condition else "FAILED: ") + text)
    if not condition:
        sys.exit(1)
