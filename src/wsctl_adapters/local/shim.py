"""The process that stands between wsctl and a workspace's program, and outlives wsctl.

Run by its path, with nothing but the standard library: `python -I -S shim.py FOLDER`, the plan on
its standard input. It takes the folder's lock, starts the program in a session of its own, passes
on what it is told, keeps a bounded log, writes down the end, and leaves no descendant behind. When
the shim dies, its program dies. It answers with one line, and never speaks again.

SIGTERM asks the program's group to end; SIGUSR1 ends it by force. The program is started at most
once, and never when the removal of its container was asked for.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import sys
import time
from typing import NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

LOG_BYTES = 1 << 20
READ_BYTES = 1 << 16
CLEANING_SECONDS = 10.0

LIBC = ctypes.CDLL(None, use_errno=True)


def answer(word: str, detail: str = "") -> None:
    """Tell whoever asked how it went; nobody listening is no error."""
    with contextlib.suppress(OSError):
        os.write(1, f"{word} {detail}".encode())


def leave(word: str, detail: str = "") -> NoReturn:
    """Answer, and be gone."""
    answer(word, detail)
    os._exit(0)


def write_aside(folder: int, name: str, value: object) -> None:
    """Write a file of the folder in one step."""
    aside = f"{name}.new"
    opened = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=folder)
    try:
        os.write(opened, json.dumps(value).encode())
        os.fsync(opened)
    finally:
        os.close(opened)
    os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)


def is_there(folder: int, name: str) -> bool:
    """The folder has a file of that name."""
    try:
        os.stat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def take(path: str) -> int:
    """The folder, with its lock held; or leave, when there is nothing to be started."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        lock = os.open("lock", os.O_RDWR, dir_fd=folder)
    except FileNotFoundError:
        leave("gone")
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EAGAIN}:
            leave("busy")
        raise
    # A removal writes `doomed`, then looks whether the lock is held; so one of the two sees the
    # other. It renames the folder away before it deletes anything in it: hence the second look,
    # in this order.
    if is_there(folder, "doomed") or not is_in_place(path, folder):
        leave("gone")
    if is_there(folder, "program.json"):
        leave("started")
    return folder


def is_in_place(path: str, folder: int) -> bool:
    """The folder is still where it was."""
    try:
        there = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    same = os.path.samestat(os.fstat(there), os.fstat(folder))
    os.close(there)
    return same


def run_program(plan: dict[str, object], output: int, refusal: int, shim: int) -> NoReturn:
    """In the new process: become the program, or write to `refusal` why that is not possible."""
    try:
        os.setsid()
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != shim:  # it died before it could be asked to take this one along
            os._exit(1)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(str(plan["cwd"]))
        argv, environment = plan["argv"], plan["environment"]
        if isinstance(argv, list) and isinstance(environment, dict):
            os.execvpe(argv[0], argv, environment)  # noqa: S606 - what it is here for
    except OSError as error:
        os.write(refusal, f"{error.strerror}: {error.filename}".encode())
    finally:
        os._exit(127)


class Log:
    """What the program says, in two files of bounded size. A full disk loses words, no more."""

    def __init__(self, folder: int, pipe: int) -> None:
        self.folder = folder
        self.pipe = pipe
        os.set_blocking(pipe, False)

    def drain(self) -> bool:
        """Write what there is to be read; False when nothing will ever come again."""
        try:
            words = os.read(self.pipe, READ_BYTES)
        except BlockingIOError:
            return True
        if words:
            with contextlib.suppress(OSError):
                self.write(words)
        return bool(words)

    def write(self, words: bytes) -> None:
        """Append, and begin anew when it grew too long."""
        mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open("log.txt", mode, 0o600, dir_fd=self.folder)
        try:
            os.write(opened, words)
            full = os.fstat(opened).st_size >= LOG_BYTES
        finally:
            os.close(opened)
        if full:
            os.rename("log.txt", "log.1.txt", src_dir_fd=self.folder, dst_dir_fd=self.folder)


def reap(program: int) -> tuple[int | None, bool]:
    """Take note of descendants that ended: the program's exit code, and whether any is left."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code, False
        if pid == 0:
            return code, True
        if pid == program:
            ended = os.waitstatus_to_exitcode(status)
            code = ended if ended >= 0 else 128 - ended


def send_group(program: int, number: int) -> None:
    """Signal the program's process group; gone already is as good."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program, number)


def attend(program: int, log: Log, wakes: int) -> int:
    """Wait for the program's end, passing on signals and words; its exit code."""
    listening = [log.pipe, wakes]
    while True:
        code, _ = reap(program)
        if code is not None:
            return code
        ready, _, _ = select.select(listening, [], [], 60.0)
        if log.pipe in ready and not log.drain():
            listening.remove(log.pipe)
        for number in os.read(wakes, 64) if wakes in ready else b"":
            if number == signal.SIGTERM:
                send_group(program, signal.SIGTERM)
            elif number == signal.SIGUSR1:
                send_group(program, signal.SIGKILL)


def children() -> list[int]:
    """The processes whose parent is this one: as a subreaper, every orphan below it too."""
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    return [pid for pid in pids if parent_of(pid) == os.getpid()]


def parent_of(pid: int) -> int | None:
    """The parent of a process; None when that is gone."""
    try:
        opened = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        return int(os.read(opened, 4096).rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return None
    finally:
        os.close(opened)


def end_descendants(program: int) -> None:
    """Kill whatever is left below the shim, also what has left the program's group."""
    deadline = time.monotonic() + CLEANING_SECONDS
    send_group(program, signal.SIGKILL)
    while reap(program)[1] and time.monotonic() < deadline:
        for pid in children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def start(plan: dict[str, object], output: int) -> int:
    """The program's process, once it has become the program; or leave, with the reason."""
    told, refusal = os.pipe()
    shim = os.getpid()
    program = os.fork()
    if program == 0:
        run_program(plan, output, refusal, shim)
    os.close(refusal)
    os.close(output)
    reason = os.read(told, 4096)
    os.close(told)
    if reason:
        os.waitpid(program, 0)
        leave("failed", reason.decode(errors="replace"))
    return program


def main(path: str) -> None:
    """Run one container, from its start to its end."""
    plan = json.loads(sys.stdin.buffer.read())
    if os.fork() != 0:
        os._exit(0)  # whoever started it need not wait for it
    folder = take(path)
    wakes, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    words, output = os.pipe()
    program = start(plan, output)
    try:
        started = {"pid": program, "port": plan["port"], "at": time.time()}
        write_aside(folder, "program.json", started)
    except OSError as error:
        end_descendants(program)
        leave("failed", f"{error.strerror}: the start can't be written down")
    answer("started")
    silence = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    log = Log(folder, words)
    code = attend(program, log, wakes)
    with contextlib.suppress(OSError):  # a full disk: it is then seen as killed
        write_aside(folder, "exit.json", {"exit_code": code, "at": time.time()})
    end_descendants(program)
    for _ in range(1 + LOG_BYTES // READ_BYTES):
        if select.select([words], [], [], 0)[0] == [] or not log.drain():
            break


if __name__ == "__main__":
    main(sys.argv[1])
