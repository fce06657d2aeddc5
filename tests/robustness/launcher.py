"""Start commands as processes within milliseconds: they are forks of a process that has imported the library.

`python -m tests.robustness.launcher` reads one request per line of JSON and answers each one. A command that is forked
ends like any Python program, with everything that happens at its exit.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import time

MODULES = [
    "heterophily.commands.main",
    "heterophily.benchmark.bench",
    "heterophily.runs.execute",
    "heterophily.tuning.optimize",
    "heterophily.training.selection",
    "heterophily.views.fit",
    "heterophily.views.progress",
]


class Command:
    """A process that the launcher started."""

    def __init__(self, launcher, words, **options):
        self._launcher = launcher
        self.pid = launcher.ask(words=list(map(str, words)), **options)
        self.returncode = None

    def poll(self):
        """The exit code, or None while the process runs."""
        if self.returncode is None:
            self.returncode = self._launcher.ask(pid=self.pid)
        return self.returncode

    def wait(self, seconds):
        """Wait for the exit code."""
        end = time.monotonic() + seconds
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), seconds)
            time.sleep(0.02)
        return self.returncode

    def send_signal(self, number):
        """Send a signal, which does nothing if the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class Launcher:
    """The process that starts commands. It ends with this one."""

    def __init__(self):
        words = [sys.executable, "-m", "tests.robustness.launcher"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        """Send a request and return the answer."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def serve():
    """Answer requests until the input ends. A fork returns the words of its command."""
    for name in MODULES:
        importlib.import_module(name)
    while line := sys.stdin.readline():
        request = json.loads(line)
        if "pid" in request:
            answer = exit_code(request["pid"])
        else:
            answer = os.fork()
            if answer == 0:
                prepare(**request)
                return request["words"]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    return None


def exit_code(process):
    ended, status = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def prepare(words, *, log, environment, is_new=False):
    """Give a fork its own group, output, and environment. With `is_new`, it starts Python from the beginning."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for commands in the background
    null, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for old, new in ((null, 0), (output, 1), (output, 2)):
        os.dup2(old, new)
    os.environ.update(environment)
    if is_new:
        os.execv(sys.executable, [sys.executable, "-m", "heterophily", *words])


def main():
    words = serve()
    if words is not None:
        from heterophily.commands.main import main as run

        sys.argv = ["heterophily", *words]
        run()


if __name__ == "__main__":
    main()
