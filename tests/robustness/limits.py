"""Processes with a limit of memory and time, whose memory is measured."""

import resource
import subprocess
import threading
import time
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class End:
    """How a process ended. The code is None if it was killed, because it exceeded a limit."""

    code: int | None
    text: str
    gigabytes: float
    seconds: float


def run_limited(command, *, gigabytes, seconds, **options):
    """Run a command and kill it when it exceeds a limit of resident memory or time."""
    start, peak, exceeded = time.monotonic(), 0.0, False
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    output = []
    reader = threading.Thread(target=lambda: output.append(process.stdout.read()))
    reader.start()
    while process.poll() is None:
        try:
            peak = max(peak, psutil.Process(process.pid).memory_info().rss / 1e9)
        except psutil.NoSuchProcess:
            break
        if peak > gigabytes or time.monotonic() - start > seconds:
            exceeded = True
            process.kill()
        time.sleep(0.01)
    code = process.wait()
    reader.join()
    process.stdout.close()
    return End(None if exceeded else code, "".join(output), peak, time.monotonic() - start)


def limit_address_space(gigabytes):
    """Let allocations of this process fail above a limit, so that a case cannot disturb the machine."""
    resource.setrlimit(resource.RLIMIT_DATA, (int(gigabytes * 1e9), resource.RLIM_INFINITY))
