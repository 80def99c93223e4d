"""`wsctl up` as a process on real servers: how it begins, goes on, ends, and refuses to begin."""

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.app.processes import WSCTL, Up, alive_in, environment, folder, run, wait_for
from tests.servers import database, postgres
from tests.valkey import Valkey
from wsctl_app.cli.words import page


@pytest.fixture
def place() -> Iterator[Path]:
    with folder() as path:
        yield path


def rows(data: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(run("list", "--json", "--data", str(data)).stdout)
    return listed


def containers(data: Path) -> dict[str, int]:
    """The containers that were started: identities, and the processes of their programs."""
    started = (data / "runtime" / "containers").glob("*/*/program.json")
    return {path.parent.name: json.loads(path.read_text())["pid"] for path in started}


def test_the_life_of_an_installation(place: Path):
    """It starts, asks for its token, survives kill -9 and Ctrl-C, and carries on each time."""
    data = place / "data"
    first = Up(data, "--json")
    told = first.ready()
    assert told["data"] == str(data)
    assert (told["runtime"], told["isolates"]) == ("local", False)
    assert first.get("/health/live") == {"status": "live"}
    assert first.get("/health/ready") == {"status": "ready"}

    # Whoever may log in has the token, which nobody but its owner can read.
    token = data / "token"
    assert told["token"] == str(token)
    assert token.stat().st_mode & 0o777 == 0o600
    for header, code in (("", 401), ("Bearer wrong", 401), (f"Bearer {token.read_text()}", 200)):
        headers = {"Authorization": header.strip()}
        assert first.client.get("/api/v1/workspaces", headers=headers).status_code == code

    made = run("create", "thesis", "--wait", "--json", "--data", str(data))
    address = json.loads(made.stdout)["address"]
    assert httpx.get(page(address), trust_env=False).is_success

    # A second one on the same data stands by, and leads as soon as the first is gone.
    wait_for("the first leads", lambda: first.leads)
    second = Up(data, "--json")
    second.ready()
    assert not second.leads
    assert len(list((data / "endpoints").iterdir())) == 2
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    wait_for("the second leads", lambda: second.leads)
    assert second.get("/health/coordinator")["epoch"] == 2
    (row,) = rows(data)
    assert row["display_status"] == "RUNNING"

    # Ctrl-C ends it in order; the workspace goes on, the servers do not.
    running = containers(data)
    assert second.end(signal.SIGINT) == 0
    assert list((data / "endpoints").iterdir()) == []
    said = (place / "up.err").read_text()
    assert "1 running workspace goes on" in said
    assert httpx.get(page(address), trust_env=False).is_success
    assert not (data / "servers" / "postgres" / "cluster" / "postmaster.pid").exists()
    told_off = run("list", "--data", str(data))
    assert (told_off.returncode, "no wsctl is running on" in told_off.stderr) == (3, True)

    # A second start carries on: the same workspace, and the same container.
    third = Up(data, "--json")
    third.ready()
    wait_for("the third leads", lambda: third.leads)
    (row,) = rows(data)
    assert (row["name"], row["display_status"]) == ("thesis", "RUNNING")
    assert containers(data) == running
    gone = run("delete", "thesis", "--yes", "--wait", "--data", str(data))
    assert (gone.returncode, "is DELETED" in gone.stdout) == (0, True)
    assert containers(data) == {}
    assert third.end(signal.SIGTERM) == 0
    wait_for("nothing runs", lambda: not alive_in(place))


def test_it_says_where_it_is_who_may_log_in_and_how_to_stop(place: Path):
    """The first words of `wsctl up`, and a token of one's own."""
    data = place / "data"
    up = Up(data, settings={"WSCTL_TOKEN": "mine"})
    wait_for("its endpoint", lambda: list((data / "endpoints").glob("*.json")))
    assert run("list", "--data", str(data), WSCTL_TOKEN="mine").returncode == 0
    assert run("list", "--data", str(data), WSCTL_TOKEN="other").returncode == 1
    assert not (data / "token").exists()
    (endpoint,) = (data / "endpoints").glob("*.json")
    url = json.loads(endpoint.read_text())["url"]
    up.process.send_signal(signal.SIGINT)
    assert up.process.stdout is not None
    said = up.process.stdout.read()
    assert up.end() == 0
    for words in (
        *("wsctl is up", url, str(data), "WSCTL_TOKEN", "administrator"),
        *("nothing isolates them", "Ctrl-C", "running workspaces go on", "wsctl create NAME"),
    ):
        assert words in said
    progress = (place / "up.err").read_text()
    assert "PostgreSQL" in progress
    assert "Valkey" in progress
    assert '"event": "leads"' in progress


def test_ctrl_c_while_it_starts_leaves_nothing_running(place: Path):
    """Interrupted in the middle of its first start, it ends with a code and no traceback."""
    up = Up(place / "data")
    err = place / "up.err"
    wait_for("the database is being made", lambda: "making its database" in err.read_text())
    assert up.end(signal.SIGINT) == 130
    wait_for("nothing runs", lambda: not alive_in(place))


# ------------------------------------------------------------------------- refusing to begin


def refused(
    place: Path, *options: str, settings: Mapping[str, str] | None = None, code: int = 1
) -> str:
    """`wsctl up` ends by itself, with that code and one sentence; nothing was made."""
    data = place / "data"
    before = sorted(place.rglob("*"))
    done = run("up", "--data", str(data), *options, **(settings or {}))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("wsctl: ")
    assert done.stderr.count("\n") == 1
    assert sorted(place.rglob("*")) == before
    return done.stderr


def test_a_busy_port_is_told_before_anything_is_made(place: Path):
    """The sentence names the port and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        told = refused(place, "--port", port)
    assert f"port {port} on 127.0.0.1 is in use" in told
    assert "--port" in told


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("WSCTL_PORT", "abc", "expected a whole number"),
        ("WSCTL_GC_GRACE_SECONDS", "1", "must exceed the longest timeout"),
        ("COORDINATOR_LOCK_ID", "one", "expected a whole number"),
    ],
)
def test_a_bad_setting_is_told(place: Path, variable: str, value: str, problem: str):
    """Exit code 2, the variable, and what is wrong with it."""
    told = refused(place, code=2, settings={variable: value})
    assert told.startswith(f"wsctl: {variable}: {problem}")


def test_an_unreachable_database_is_told(place: Path):
    """The sentence names where it should have been, and no password."""
    told = refused(
        place,
        "--port",
        "0",
        settings={"WSCTL_DATABASE_URL": "postgresql://ann:hush@127.0.0.1:1/ws"},
    )
    assert "the database can't be reached" in told
    assert "127.0.0.1" in told
    assert "hush" not in told


def test_a_data_folder_that_is_a_file_is_told(place: Path):
    """It is left as it was."""
    (place / "data").write_text("mine")
    assert "is a file, not a folder" in refused(place, "--port", "0")
    assert (place / "data").read_text() == "mine"


@contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    """A small disk of its own, by root's rights."""
    place.mkdir()
    how = f"{options},mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


needs_mount = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0,
    reason="only root can mount a small disk",
)


@needs_mount
@pytest.mark.parametrize(
    ("options", "problem"),
    [("size=30m", "MiB free, and a first start needs"), ("ro", "can't be written to")],
)
def test_a_disk_that_is_too_small_or_read_only_is_told(place: Path, options: str, problem: str):
    """Nothing is begun where it can't be finished."""
    with mounted(place / "disk", options) as disk:
        assert problem in refused(disk, "--port", "0")


@needs_mount
def test_a_disk_that_is_full_is_told_and_nothing_is_lost(place: Path):
    """A later start on a full disk ends with a sentence; with room again, it carries on."""
    with mounted(place / "disk", "size=300m") as disk:
        data = disk / "data"
        up = Up(data, "--json", settings={"COORDINATOR_NODE_ID": "n1"})
        up.ready()
        run("create", "kept", "--state", "standby", "--data", str(data))
        assert up.end() == 0
        with pytest.raises(OSError, match="No space left on device"):
            (disk / "filler").write_bytes(bytes(300 * 2**20))
        full = run("up", "--data", str(data), "--port", "0")
        assert full.returncode == 1
        assert "no space left" in full.stderr or "is full" in full.stderr
        assert not alive_in(place)
        (disk / "filler").unlink()
        up = Up(data, "--json")
        up.ready()
        assert [row["name"] for row in rows(data)] == ["kept"]
        assert up.end() == 0


# ---------------------------------------------------------------- a database of somebody else's


def address(conninfo: str) -> str:
    """A key and value string as an address."""
    parts = dict(pair.split("=", 1) for pair in conninfo.split())
    where = quote(parts["host"], safe="")
    return f"postgresql:///{parts['dbname']}?host={where}&user={parts['user']}"


def test_a_database_of_somebody_elses_is_migrated_only_when_asked(place: Path):
    """Without its schema it is refused; `wsctl db migrate` makes it; nothing is started then."""
    data = place / "data"
    with database(empty=True) as conninfo, Valkey() as valkey:
        ours = {"WSCTL_DATABASE_URL": address(conninfo), "WSCTL_REDIS_URL": valkey.url}
        assert "wsctl db migrate" in refused(place, "--port", "0", settings=ours)
        checked = run("db", "check", **ours)
        assert (checked.returncode, "wsctl db migrate" in checked.stderr) == (1, True)
        migrated = run("db", "migrate", "--json", **ours)
        assert json.loads(migrated.stdout)["before"] == 0
        again = run("db", "migrate", **ours)
        assert (again.returncode, "already" in again.stdout) == (0, True)
        assert json.loads(run("db", "check", "--json", **ours).stdout)["problems"] == []
        assert "nothing was latched" in run("db", "unlatch", **ours).stdout
        up = Up(data, "--json", settings=ours)
        up.ready()
        wait_for("it leads", lambda: up.leads)
        assert not (data / "servers").exists()
        assert up.end() == 0


def test_a_latch_is_told_until_a_person_clears_it():
    """H33: what a leader refused is told by `db check`, with what to do; `db unlatch` does it."""
    with database() as conninfo:
        ours = {"WSCTL_DATABASE_URL": address(conninfo)}
        latch = "SELECT wsctl.latch((SELECT epoch FROM wsctl.system_locks), 'it is older', 7)"
        postgres().execute(latch, conninfo.rpartition("=")[2])
        checked = run("db", "check", **ours)
        assert checked.returncode == 1
        assert "nothing is collected: it is older" in " ".join(checked.stderr.split())
        assert "wsctl db unlatch" in " ".join(checked.stderr.split())
        assert "may run again" in run("db", "unlatch", **ours).stdout
        assert run("db", "check", **ours).returncode == 0


def test_a_database_of_a_newer_wsctl_is_refused(place: Path):
    """The sentence says so, and neither `up` nor `db migrate` touches it."""
    with database() as conninfo:
        name = conninfo.rpartition("=")[2]
        postgres().execute("INSERT INTO wsctl.schema_version (version) VALUES (999)", name)
        ours = {"WSCTL_DATABASE_URL": address(conninfo)}
        for told in (
            refused(place, "--port", "0", settings=ours),
            refused(place, "--port", "0", "--migrate", settings=ours),
            run("db", "migrate", **ours).stderr,
        ):
            assert "the database has schema 999" in told
            assert "use a newer wsctl" in told


def test_up_can_migrate_when_told_to(place: Path):
    """`--migrate` makes the schema first; a Redis of one's own is started beside."""
    data = place / "data"
    with database(empty=True) as conninfo:
        up = Up(data, "--json", "--migrate", settings={"WSCTL_DATABASE_URL": address(conninfo)})
        up.ready()
        wait_for("it leads", lambda: up.leads)
        assert (data / "servers" / "valkey").exists()
        assert up.end() == 0


def test_a_database_that_goes_away_is_no_end(place: Path):
    """The node stays, says that it is not ready, and leads again when the database is back."""
    with database() as conninfo, Valkey() as valkey:
        ours = {"WSCTL_DATABASE_URL": address(conninfo), "WSCTL_REDIS_URL": valkey.url}
        up = Up(place / "data", "--json", settings=ours)
        up.ready()
        wait_for("it leads", lambda: up.leads)
        server = postgres()
        server.stop()
        wait_for("it does not lead", lambda: not up.leads)
        assert up.client.get("/health/ready").status_code == 503
        assert up.get("/health/live") == {"status": "live"}
        server.start()
        wait_for("it leads again", lambda: up.leads)
        assert up.end() == 0


def test_events_go_on_across_a_restart(place: Path):
    """`wsctl events` outlives the node that it listened to, and misses nothing meanwhile."""
    data = place / "data"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    up = Up(data, "--json", port=port)
    up.ready()
    command = [*WSCTL, "events", "--json", "--data", str(data)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as watching:
        try:
            assert watching.stdout is not None
            assert json.loads(watching.stdout.readline())["event"] == "snapshot"
            first = run("create", "one", "--state", "standby", "--data", str(data))
            assert (first.returncode, first.stderr) == (0, "")
            assert up.end() == 0
            up = Up(data, "--json", port=port)
            up.ready()
            assert run("create", "two", "--state", "standby", "--data", str(data)).returncode == 0
            names: set[str] = set()
            while names != {"one", "two"}:
                told = json.loads(watching.stdout.readline())
                if told["event"] == "state_changed":
                    names.add(told["data"]["workspace"]["name"])
        finally:
            watching.kill()
    assert up.end() == 0


def test_servers_of_its_own_that_die_are_started_again(place: Path):
    """kill -9 of PostgreSQL and of Valkey: wsctl starts both again, and its leader leads again."""
    up = Up(place / "data", "--json")
    up.ready()
    wait_for("it leads", lambda: up.leads)
    first = up.get("/health/coordinator")["epoch"]
    servers = place / "data" / "servers"
    pids = [
        int((servers / "postgres" / "cluster" / "postmaster.pid").read_text().splitlines()[0]),
        *(pid for pid in alive_in(servers) if b"valkey-server" in _command(pid)),
    ]
    assert len(pids) == 2
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for("it is not ready", lambda: up.client.get("/health/ready").status_code == 503)
    wait_for("it is ready", lambda: up.client.get("/health/ready").status_code == 200)
    wait_for("it leads again", lambda: up.leads)
    assert up.get("/health/coordinator")["epoch"] > first
    assert up.end() == 0
    assert alive_in(servers) == []


def _command(pid: int) -> bytes:
    return (Path("/proc") / str(pid) / "cmdline").read_bytes()


def test_the_command_is_on_the_path():
    """What is installed as `wsctl` is this."""
    found = shutil.which("wsctl", path=str(Path(WSCTL[0]).parent))
    assert found is not None
    done = subprocess.run(
        [found, "--version"], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout.startswith("wsctl ")
