"""A benchmark calls itself in a fresh process for every cell, so that peak memory is the cell's own."""

import json
import os
import subprocess
import sys
from typing import Any


def in_own_process(*words: object, **environment: str) -> dict[str, Any]:
    """Run this benchmark with other words: what it prints as JSON, or the error that ended it."""
    command = [sys.executable, sys.argv[0], *map(str, words)]
    around = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return {"error": said[-1][:60] if said else "killed"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found
