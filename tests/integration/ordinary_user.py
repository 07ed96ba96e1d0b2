"""Runs programs on the drop-in libraries as an ordinary user with a memlock limit of 64 KiB."""

import contextlib
import os
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

MEMLOCK_BYTES = 64 * 1024
LISTENING = "0A"  # a state in /proc/net/tcp


def _become_ordinary() -> None:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (MEMLOCK_BYTES, MEMLOCK_BYTES))
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)


class Process:
    """A running program. Its output goes to a file, so that it never blocks on a pipe."""

    def __init__(self, command, environment, folder: Path, prepare=None, ordinary=True):
        self.command = [str(word) for word in command]
        def become():
            if ordinary:
                _become_ordinary()
            if prepare is not None:
                prepare()

        self._log = tempfile.TemporaryFile(mode="w+", dir=folder)
        self._process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT,
            env=environment, cwd=folder, preexec_fn=become, start_new_session=True)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, seconds: float) -> int | None:
        """The exit code, negative for a signal; None if the process still runs after `seconds`."""
        try:
            return self._process.wait(timeout=max(seconds, 0.01))
        except subprocess.TimeoutExpired:
            return None

    def kill(self, number=signal.SIGKILL) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def end(self) -> None:
        self.kill()
        self._process.wait()

    def output(self) -> str:
        self._log.seek(0)
        return self._log.read()


def _copy_libraries(libraries: Path, to: Path) -> None:
    for library in libraries.glob("lib*.so*"):
        shutil.copy(library, to, follow_symlinks=False)


@contextlib.contextmanager
def public_programs(programs: Path, *names: str):
    """A copy of these programs of a build tree, with its libraries, that any user can read: a clone
    is often in a home directory that others cannot enter. LD_LIBRARY_PATH contains the copy
    meanwhile, because the run path of the programs is the build tree."""
    with tempfile.TemporaryDirectory(prefix="verbena-programs-") as name:
        folder = Path(name)
        os.chmod(folder, 0o755)
        for part in ("bin", "lib"):
            (folder / part).mkdir(mode=0o755)
        _copy_libraries(programs.parent / "lib", folder / "lib")
        for program in names:
            shutil.copy(programs / program, folder / "bin")
        before = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(folder / "lib"), before]))
        try:
            yield folder / "bin"
        finally:
            if before is None:
                del os.environ["LD_LIBRARY_PATH"]
            else:
                os.environ["LD_LIBRARY_PATH"] = before


class Bench:
    """A folder to run programs in: any user can read it, and it has copies of the libraries and of
    the tests' own programs. If `ordinary` is False, programs run as the user of the test."""

    def __init__(self, libraries: Path, *programs: str, ordinary: bool = True):
        self._ordinary = ordinary
        self.folder = Path(tempfile.mkdtemp(prefix="verbena-programs-"))
        os.chmod(self.folder, 0o777)
        _copy_libraries(libraries, self.folder)
        for program in programs:
            shutil.copy(program, self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def start(self, command, prepare=None, **extra: str) -> Process:
        """Calls `prepare` in the new process; `extra` are variables of its environment."""
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.folder), **extra)
        return Process(command, environment, self.folder, prepare, self._ordinary)


def free_ports(count: int) -> list[int]:
    """Distinct free ports, for servers that start at the same time."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("", 0))
        return [probe.getsockname()[1] for probe in probes]


def free_port() -> int:
    return free_ports(1)[0]


def is_listening(port: int, process: int | str = "self") -> bool:
    """Whether a socket listens on the port in the network namespace of the process. Reads /proc,
    because a server would take a probe for its only client."""
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and int(fields[1].rsplit(":", 1)[1], 16) == port:
                return True
    return False


def wait_listening(port: int, server: Process, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_listening(port):
            return True
        if server.wait(0.02) is not None:
            return False
    return False
