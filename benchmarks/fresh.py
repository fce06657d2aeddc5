"""Run one measurement in a separate process, so that its peak memory can be measured."""

import json
import os
import subprocess
import sys
from typing import Any


def in_separate_process(*options: object, **environment: str) -> dict[str, Any]:
    """Run this benchmark with other options and return its JSON output, or its error message."""
    command = [sys.executable, sys.argv[0], *map(str, options)]
    variables = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1][:60] if lines else "killed"}
    result: dict[str, Any] = json.loads(done.stdout)
    return result
