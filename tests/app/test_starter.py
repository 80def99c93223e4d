"""The starter workspace: the real program, on a real port, asked as a browser asks it."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from wsctl_app.starter import app, files, guard, processes, terminal

PATIENCE_SECONDS = 10.0
"""When something that must come has not come by then, it never will."""

UNPRIVILEGED = """
import ctypes, os, sys
for override in (1, 2):  # root would read what nobody may read
    ctypes.CDLL(None).prctl(24, override, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-m", "wsctl_app.starter", *sys.argv[1:]])
"""


@attrs.frozen(kw_only=True)
class Program:
    process: subprocess.Popen[str]
    url: str
    home: Path
    client: httpx.Client

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.client.request(method, f"{self.url}{path}", **more)

    def listed(self, path: str = "") -> dict[str, dict[str, Any]]:
        told = self.ask("GET", f"api/files?path={path}").json()
        return {entry["name"]: entry for entry in told["entries"]}

    def children(self) -> list[int]:
        return processes.descendants(self.process.pid)

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@contextmanager
def running(home: Path, *options: str, **env: str) -> Iterator[Program]:
    """The program, until the end of the block; it must end well, and have nothing to say."""
    process = subprocess.Popen(
        [sys.executable, "-c", UNPRIVILEGED, "--home", str(home), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    assert process.stdout is not None
    try:
        with httpx.Client(verify=False, trust_env=False) as client:
            url = process.stdout.readline().strip()
            yield Program(process=process, url=url, home=home, client=client)
        process.send_signal(signal.SIGTERM)
        _out, said = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, said) == (0, "")
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    home = tmp_path_factory.mktemp("outer") / "home"
    home.mkdir()
    (home.parent / "outside.txt").write_text("outside")
    with running(home) as started:
        yield started


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def problem(response: httpx.Response) -> tuple[int, str]:
    """Its status and title, when it is a problem as a problem should be."""
    told = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert set(told) == {"title", "detail", "status"}
    assert told["status"] == response.status_code
    assert told["detail"].endswith(".")
    return response.status_code, told["title"]


# ------------------------------------------------------------------------------- page and door


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("", "text/html"),
        ("static/style.css", "text/css"),
        ("static/app.js", "text/javascript"),
        ("static/terminal.js", "text/javascript"),
    ],
)
def test_the_page_and_its_parts_are_served(program: Program, path: str, media_type: str):
    """Each with its type, not to be kept, and under a policy that allows only what is ours."""
    told = program.ask("GET", path)
    assert told.status_code == 200
    assert told.headers["content-type"] == f"{media_type}; charset=utf-8"
    assert told.headers["cache-control"] == "no-store"
    assert told.headers["x-content-type-options"] == "nosniff"
    policy = told.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_page_works_at_any_address():
    """Every address in the page is relative, and names a file that is there."""
    static = Path(files.__file__).with_name("static")
    named = re.findall(r'(?:src|href)="([^"#]+)"', (static / "index.html").read_text())
    named = [name for name in named if not name.startswith("data:")]
    assert named
    assert [name for name in named if not (static.parent / name).is_file()] == []
    for script in static.glob("*.js"):
        assert (
            re.findall(r"""["'`](?:/(?:api|static|terminal)|https?:)""", script.read_text()) == []
        )


def test_a_base_path_is_taken_off(tmp_path: Path):
    """Below its base path it answers as at the root; without the last slash it leads there."""
    with running(tmp_path, "--base-path", "/w/abc") as program:
        assert program.url.endswith("/w/abc/")
        assert program.ask("GET", "").text.startswith("<!doctype html>")
        assert program.ask("PUT", "api/file?path=a", content=b"1").status_code == 201
        root = program.url.removesuffix("/w/abc/")
        assert program.client.get(f"{root}/healthz").status_code == 200
        led = program.client.get(f"{root}/w/abc")
        assert (led.status_code, led.headers["location"]) == (308, "abc/")
        assert program.client.get(f"{root}/w/abcd/").status_code == 404
        with shell(program) as sh:
            sh.told("echo $((6*7))", r"\b42\b")


def test_health_is_told_to_anybody(program: Program):
    """The health check answers whatever name it is asked by."""
    assert program.ask("GET", "healthz", headers={"Host": "example.com"}).text == "ok\n"


def test_what_is_not_there_is_a_problem(program: Program):
    """Unknown addresses and methods are problems like any other."""
    assert problem(program.ask("GET", "nowhere")) == (404, "Not Found")
    assert problem(program.ask("DELETE", "api/file?path=a")) == (405, "Method Not Allowed")


def test_another_origin_may_not_write(program: Program):
    """A page of another origin, or of none, is refused, and nothing is written."""
    for origin in ("https://example.com", "null", program.url.replace("127.0.0.1", "localhost")):
        told = program.ask("PUT", "api/file?path=foreign", headers={"Origin": origin}, content=b"x")
        assert problem(told) == (403, "Another origin")
    assert not (program.home / "foreign").exists()
    own = {"Origin": program.url.rstrip("/")}
    assert program.ask("PUT", "api/file?path=own", headers=own, content=b"x").status_code == 201


def test_another_origin_gets_no_terminal(program: Program):
    """A WebSocket of a foreign page is refused before there is a shell."""
    before = program.children()
    with pytest.raises(InvalidStatus) as refused, shell(program, origin="https://example.com"):
        pass
    assert refused.value.response.status_code == 403
    assert json.loads(refused.value.response.body)["title"] == "Another origin"
    assert program.children() == before
    with shell(program, origin=program.url.rstrip("/")) as sh:
        sh.told("echo $((6*7))", r"\b42\b")


def test_a_name_that_is_pointed_here_is_not_answered_to(program: Program, tmp_path: Path):
    """Same origin or not, a foreign host name is refused, unless somebody allowed it."""
    foreign = {"Host": "example.com", "Origin": "http://example.com"}
    assert problem(program.ask("GET", "api/files", headers=foreign)) == (421, "Not this host")
    with running(tmp_path, "--allow-host", "example.com") as allowing:
        told = allowing.ask("PUT", "api/file?path=a", headers=foreign, content=b"")
        assert told.status_code == 201


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        ("127.0.0.1:80", True),
        ("[::1]:80", True),
        ("LOCALHOST", True),
        ("w-1.localhost:80", True),
        ("example.com", False),
        ("127.0.0.1.example.com", False),
        ("localhost:x", False),
        ("", False),
    ],
)
def test_which_names_can_only_mean_this_machine(host: str, answered: bool):
    """Addresses and localhost can't be pointed elsewhere; every other name can."""
    assert guard.answers_to(host, frozenset()) is answered
    assert guard.answers_to(host, frozenset({guard.ANY_HOST})) is (guard.host_name(host) != "")


# --------------------------------------------------------------------------------------- files


def test_a_listing_survives_anything(program: Program):
    """Folders first; sockets, pipes, bad links and bad names are told, and stop nothing."""
    folder = program.home / "odd"
    (folder / "z-folder").mkdir(parents=True)
    (folder / "file").write_text("12345")
    (folder / "secret").touch(mode=0)
    (folder / "new\nline").touch()
    os.close(os.open(os.fsencode(folder) + b"/caf\xe9", os.O_CREAT | os.O_WRONLY))
    os.mkfifo(folder / "pipe")
    for name, target in (
        ("nowhere", "missing"),
        ("circle", "circle"),
        ("within", "z-folder"),
        ("out", str(program.home.parent / "outside.txt")),
    ):
        (folder / name).symlink_to(target)
    bound = socket.socket(socket.AF_UNIX)
    with bound, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # the whole path may be too long for a socket
        bound.bind("socket")
    told = program.listed("odd")
    assert {name: (entry["kind"], entry["link"]) for name, entry in told.items()} == {
        "z-folder": ("folder", False),
        "within": ("folder", True),
        "caf\\xe9": ("file", False),
        "circle": ("broken", True),
        "file": ("file", False),
        "new\\x0aline": ("file", False),
        "nowhere": ("broken", True),
        "out": ("outside", True),
        "pipe": ("other", False),
        "secret": ("file", False),
        "socket": ("other", False),
    }
    assert [entry["kind"] for entry in told.values()][:3] == ["folder", "folder", "file"]
    assert told["file"]["size_bytes"] == 5
    assert problem(program.ask("GET", f"api/file?path={told['secret']['path']}"))[0] == 403
    assert problem(program.ask("GET", f"api/file?path={told['pipe']['path']}"))[0] == 409
    assert problem(program.ask("GET", f"api/file?path={told['socket']['path']}"))[0] == 409
    assert problem(program.ask("GET", f"api/file?path={told['circle']['path']}"))[0] == 409
    assert problem(program.ask("GET", f"api/file?path={told['nowhere']['path']}"))[0] == 404


def test_a_name_that_is_no_text_leads_to_its_file(program: Program):
    """The path of an entry is its bytes: what was listed can be written and read."""
    os.close(os.open(os.fsencode(program.home) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    path = program.listed()["\\xff\\xfe"]["path"]
    assert program.ask("PUT", f"api/file?path={path}", content=b"here").status_code == 200
    assert program.ask("GET", f"api/file?path={path}").text == "here"
    told = program.ask("GET", f"api/file?download&path={path}")
    assert told.headers["content-disposition"] == "attachment; filename*=UTF-8''%FF%FE"


def test_a_folder_that_nobody_may_read_is_a_problem(program: Program):
    """It is listed by its parent; its own listing is refused with a sentence."""
    (program.home / "closed").mkdir(mode=0)
    assert program.listed()["closed"]["kind"] == "folder"
    assert problem(program.ask("GET", "api/files?path=closed")) == (403, "Not allowed")
    (program.home / "closed").chmod(0o700)


def test_a_large_folder_is_told_in_part(program: Program):
    """Of ten thousand entries the first are told, in order, and that it is not all."""
    folder = program.home / "large"
    folder.mkdir()
    for number in range(10_000):
        (folder / f"{number:05}").touch()
    told = program.ask("GET", "api/files?path=large").json()
    assert [entry["name"] for entry in told["entries"]] == [f"{n:05}" for n in range(files.LISTED)]
    assert told["note"] == f"The first {files.LISTED:,} of 10,000 entries."
    (program.home / "small").mkdir()
    assert program.ask("GET", "api/files?path=small").json()["note"] is None


def test_what_is_written_is_read_back(program: Program):
    """New and again, with nothing left beside it, and the mode that the file had."""
    content = "Grüße, 안녕\r\n\ttab".encode()
    address = f"api/file?path={quote('a file.txt')}"
    assert program.ask("PUT", address, content=content).status_code == 201
    (program.home / "a file.txt").chmod(0o640)
    again = program.ask("PUT", address, content=content * 2)
    assert (again.status_code, again.json()["size_bytes"]) == (200, 2 * len(content))
    told = program.ask("GET", address)
    assert told.content == content * 2
    assert told.headers["content-type"] == "text/plain; charset=utf-8"
    assert told.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert stat.S_IMODE((program.home / "a file.txt").stat().st_mode) == 0o640
    assert list(program.home.glob(".wsctl-*")) == []


def test_a_link_is_written_through(program: Program):
    """The file that a link leads to gets the content; the link stays a link."""
    (program.home / "target").write_text("old")
    (program.home / "link").symlink_to("target")
    assert program.ask("PUT", "api/file?path=link", content=b"new").status_code == 200
    assert (program.home / "target").read_text() == "new"
    assert (program.home / "link").is_symlink()


def test_a_file_that_changed_is_not_overwritten(program: Program):
    """With the version that was read, a write is refused once the file has another."""
    first = program.ask("PUT", "api/file?path=shared", content=b"1").headers["etag"]
    assert program.ask("GET", "api/file?path=shared").headers["etag"] == first
    ours = {"If-Match": first}
    assert program.ask("PUT", "api/file?path=shared", headers=ours, content=b"2").status_code == 200
    late = program.ask("PUT", "api/file?path=shared", headers=ours, content=b"3")
    assert problem(late) == (412, "Changed in the meantime")
    new = {"If-None-Match": "*"}
    exists = program.ask("PUT", "api/file?path=shared", headers=new, content=b"4")
    assert problem(exists) == (412, "It exists")
    assert (program.home / "shared").read_text() == "2"


def test_what_can_not_be_written_changes_nothing(program: Program):
    """Too large, read-only, a folder, no folder, a name too long: a problem, and all as before."""
    (program.home / "kept").write_text("kept")
    (program.home / "kept").chmod(0o400)
    (program.home / "a-folder").mkdir()
    before = sorted(path.name for path in program.home.iterdir())
    large = b"x" * (files.EDITED_BYTES + 1)
    for path, content, status in (
        ("too-large", large, 413),
        ("kept", b"x", 403),
        ("a-folder", b"x", 409),
        ("", b"x", 409),
        ("missing/file", b"x", 404),
        ("kept/file", b"x", 404),
        ("n" * 300, b"x", 400),
    ):
        assert problem(program.ask("PUT", f"api/file?path={path}", content=content))[0] == status
    assert (program.home / "kept").read_text() == "kept"
    assert sorted(path.name for path in program.home.iterdir()) == before


def test_what_is_no_text_is_downloaded(program: Program):
    """Binary and large files are refused as text, and come whole as a download."""
    for name, content, status in (
        ("binary", b"a\0b", 415),
        ("latin", b"caf\xe9", 415),
        ("huge", b"x" * (files.EDITED_BYTES + 1), 413),
    ):
        (program.home / name).write_bytes(content)
        assert problem(program.ask("GET", f"api/file?path={name}"))[0] == status
        told = program.ask("GET", f"api/file?path={name}&download")
        assert told.content == content
        assert told.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("..", 400),
        ("../outside.txt", 400),
        ("inner/../../outside.txt", 400),
        ("%2e%2e/outside.txt", 400),
        ("/etc/passwd", 400),
        ("//etc/passwd", 400),
        ("nul%00byte", 400),
        ("way-out/outside.txt", 403),
        ("file-out", 403),
        ("inner/way-back/outside.txt", 403),
    ],
)
def test_no_path_leads_out_of_the_home(program: Program, path: str, status: int):
    """Not by dots, not from the root, not through links: nothing is told, nothing is written."""
    (program.home / "inner").mkdir(exist_ok=True)
    for name, target in (
        ("way-out", str(program.home.parent)),
        ("file-out", str(program.home.parent / "outside.txt")),
        ("inner/way-back", "../.."),
    ):
        if not (program.home / name).is_symlink():
            (program.home / name).symlink_to(target)
    for method, address in (("GET", "files"), ("GET", "file"), ("PUT", "file")):
        told = program.ask(
            method, f"api/{address}?path={path}", content=b"" if method == "GET" else b"x"
        )
        assert problem(told)[0] == status
    assert problem(program.ask("GET", f"api/file?download&path={path}"))[0] == status
    assert (program.home.parent / "outside.txt").read_text() == "outside"
    assert sorted(entry.name for entry in program.home.parent.iterdir()) == [
        program.home.name,
        "outside.txt",
    ]


# ----------------------------------------------------------------------------------- terminals


class Shell:
    """The other side of a terminal, as the page has it."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.output = ""

    def told(self, command: str, pattern: str) -> re.Match[str]:
        """Type a command, and read until its output matches."""
        self.output = ""
        self.socket.send(f"{command}\n".encode())
        return self.read(pattern)

    def read(self, pattern: str) -> re.Match[str]:
        while not (found := re.search(pattern, self.output)):
            output = self.socket.recv(timeout=PATIENCE_SECONDS)
            assert isinstance(output, bytes)
            self.output += output.decode(errors="replace")
        return found

    def pid(self, command: str) -> int:
        """A number that a command prints."""
        return int(self.told(f'echo "<$({command})>"', r"<(\d+)>").group(1))

    def started(self, command: str) -> int:
        """The process that a command is, in the background."""
        return int(self.told(f"{command} & echo \"<\"$!'>'", r"<(\d+)>").group(1))

    def closed(self) -> tuple[int, str]:
        """How the other side closed: its code and its reason."""
        with pytest.raises(ConnectionClosed) as end:
            self.read("(?!)")  # which nothing matches
        assert end.value.rcvd is not None
        return end.value.rcvd.code, end.value.rcvd.reason


@contextmanager
def shell(program: Program, query: str = "", origin: str | None = None) -> Iterator[Shell]:
    headers = {} if origin is None else {"Origin": origin}
    address = program.url.replace("http:", "ws:") + f"terminal{query}"
    with connect(address, additional_headers=headers, compression=None) as socket:
        yield Shell(socket)


def test_a_terminal_is_a_login_shell_in_the_home(program: Program):
    """It has a terminal of its own, the home as folder and HOME, and it answers."""
    with shell(program) as sh:
        sh.told("echo $((6*7))", r"\b42\b")
        sh.told("echo $0 $TERM $HOME", rf"-(?:ba)?sh xterm-256color {program.home}\r\n")
        sh.told("pwd", rf"[\r\n]{program.home}\r\n")
        sh.told("tty", r"/dev/pts/\d+")
        sh.told("printf '\\303\\251=%s\\n' e", "é=e")


def test_without_bash_there_is_sh(tmp_path: Path):
    """Where no bash is found, the shell is sh."""
    with running(tmp_path, PATH=str(tmp_path)) as program, shell(program) as sh:
        sh.told("echo $0", r"-sh\r\n")


def test_a_terminal_has_the_size_that_its_page_has(program: Program):
    """From the beginning, and whenever it changes."""
    with shell(program, "?columns=101&rows=37") as sh:
        sh.told("stty size", r"\b37 101\b")
        sh.socket.send(json.dumps({"type": "resize", "columns": 60, "rows": 20}))
        sh.told("stty size", r"\b20 60\b")


@pytest.mark.parametrize("query", ["?columns=0", "?rows=1001", "?columns=wide"])
def test_a_size_that_is_none_is_refused(program: Program, query: str):
    """No shell is started for a terminal that can't be."""
    with pytest.raises(InvalidStatus) as refused, shell(program, query):
        pass
    assert refused.value.response.status_code == 400


def test_input_comes_as_bytes_or_as_text(program: Program):
    """A binary frame is input as it is; a text frame says that it is input."""
    with shell(program) as sh:
        sh.socket.send(b"echo $((40+")
        sh.socket.send(json.dumps({"type": "input", "data": "2))\n"}))
        sh.read(r"\b42\b")


@pytest.mark.parametrize(
    "text", ["ls", "[]", '{"type": "resize"}', '{"type": "resize", "columns": 0, "rows": 1}']
)
def test_a_text_frame_without_meaning_ends_the_terminal(program: Program, text: str):
    """With a reason, so that whoever wrote the page finds out."""
    with shell(program) as sh:
        sh.socket.send(text)
        assert sh.closed() == (1008, "That text frame has no meaning here.")


def test_several_terminals_at_once(program: Program):
    """Each has a shell of its own, and sees only its own."""
    with shell(program) as one, shell(program) as two:
        one.told("mine=1; echo mine=$mine.", r"mine=1\.")
        two.told("echo mine=$mine.", r"mine=\.")


def test_there_is_a_bound_on_terminals(tmp_path: Path):
    """One more than there may be is refused; when one is closed there is room again."""
    with running(tmp_path) as program:
        sockets = [shell(program) for _ in range(terminal.AT_ONCE)]
        for one in sockets:
            one.__enter__()
        with pytest.raises(InvalidStatus) as refused, shell(program):
            pass
        assert refused.value.response.status_code == 503
        for one in sockets:
            one.__exit__(None, None, None)
        until(lambda: program.children() == [])
        with shell(program) as sh:
            sh.told("echo $((6*7))", r"\b42\b")


def test_the_end_of_a_shell_is_told(program: Program):
    """When the shell exits, the socket closes and says with which code; jobs do not hold it."""
    with shell(program) as sh:
        sh.started("sleep 987")
        sh.socket.send(b"exit 3\n")
        assert sh.closed() == (1000, "The shell ended with code 3.")


def test_a_shell_dies_with_its_socket(program: Program):
    """With what it runs in front and behind; even one that ignores a hang-up; nothing is leaked."""
    before = program.descriptors()
    with shell(program) as plain, shell(program) as stubborn:
        job = plain.started("sleep 988")
        ended = [plain.pid("echo $$"), stubborn.pid("trap '' HUP; echo $$"), job]
        stubborn.told("trap '' HUP; echo $((6*7))", r"\b42\b")
        plain.told("echo $((6*7)); sleep 989", r"\b42\b")
        assert all(map(lives, ended))
    until(lambda: not any(map(lives, ended)))
    until(lambda: program.descriptors() == before)


def test_input_that_nobody_reads_does_not_hold_the_shell(program: Program):
    """A page can leave at any time, however much it has sent."""
    with shell(program) as sh:
        pid = sh.pid("echo $$")
        sh.socket.send(b"sleep 990\n")
        for _ in range(8):
            sh.socket.send(b"nobody reads\n" * 5_000)
    until(lambda: not lives(pid))


def test_much_input_arrives_whole(program: Program):
    """A program that reads gets every byte of it, in order."""
    content = b"".join(b"line %d\n" % number for number in range(40_000))
    with shell(program) as sh:
        sh.told('stty -echo; echo "<$((6*7))>"; cat > pasted; echo "<$((6*9))>"', "<42>")
        for start in range(0, len(content), 60_000):
            sh.socket.send(content[start : start + 60_000])
        sh.socket.send(b"\x04")
        sh.read("<54>")
    assert (program.home / "pasted").read_bytes() == content


def test_output_waits_for_a_page_that_is_slow(program: Program):
    """A page that says what it took is never far behind, and gets everything in the end."""
    size = 800_000
    with shell(program) as sh:
        sh.socket.send(json.dumps({"type": "taken", "bytes": 0}))
        sh.socket.send(b"head -c %d /dev/zero | tr '\\0' '\\132'\n" % size)
        got = taken = 0
        while got < size:
            try:
                output = sh.socket.recv(timeout=0.2)
            except TimeoutError:  # it waits for the page
                sh.socket.send(json.dumps({"type": "taken", "bytes": got - taken}))
                taken = got
                continue
            assert isinstance(output, bytes)
            got += output.count(b"Z")
            assert got - taken <= app.AHEAD_BYTES + terminal.OUTPUT_BYTES
        assert taken > 0
    assert got == size


def test_output_waits_for_a_socket_that_is_slow(program: Program):
    """While nobody reads the socket, the program in the terminal stands still."""
    before = program.children()
    with socket.create_connection(("127.0.0.1", httpx.URL(program.url).port or 0)) as raw:
        raw.sendall(
            b"GET /terminal HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert b" 101 " in raw.recv(100)
        command = b"yes | tee written\n"
        raw.sendall(bytes([0x82, 0x80 | len(command), 0, 0, 0, 0]) + command)
        written = program.home / "written"
        until(lambda: written.exists() and written.stat().st_size > 0)
        sizes = [-1]

        def stands_still() -> bool:
            sizes.append(written.stat().st_size)
            time.sleep(0.2)
            return sizes[-1] == sizes[-2]

        until(stands_still)
        pids = set(program.children()) - set(before)
        assert pids
    until(lambda: not any(map(lives, pids)))


# ----------------------------------------------------------------------------- beginning and end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program_and_all_it_started(tmp_path: Path, number: signal.Signals):
    """Shells, jobs, what ignores a hang-up, and daemons with sessions of their own."""
    with running(tmp_path) as program, shell(program) as sh, shell(program) as other:
        pids = [
            sh.pid("echo $$"),
            other.pid("echo $$"),
            sh.started("sleep 991"),
            sh.started("nohup sleep 992"),
            sh.started("(trap '' HUP TERM; sleep 993; sleep 994)"),
        ]
        other.told("setsid sleep 995 & echo $((6*7))", r"\b42\b")
        until(lambda: len(program.children()) >= 7)
        pids += program.children()
        program.process.send_signal(number)
        assert program.process.wait(timeout=PATIENCE_SECONDS) == 0
        assert [pid for pid in pids if lives(pid)] == []
        assert sh.closed()[0] == 1012


def test_a_request_that_never_ends_does_not_hold_the_program(tmp_path: Path):
    """An upload that stands still is cut off; that the program ends well is checked as ever."""
    with running(tmp_path) as program:
        raw = socket.create_connection(("127.0.0.1", httpx.URL(program.url).port or 0))
        raw.sendall(
            b"PUT /api/file?path=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx"
        )
        assert program.ask("GET", "healthz").status_code == 200
    with raw:
        assert raw.recv(1) == b""
    assert list(tmp_path.iterdir()) == []


def refused(*arguments: str) -> str:
    """What the program says when it does not even begin: one sentence, and exit code 1."""
    run = subprocess.run(
        [sys.executable, "-m", "wsctl_app.starter", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.count("\n") == 1
    return run.stderr.strip()


def test_a_busy_port_is_a_sentence(program: Program, tmp_path: Path):
    """Which port, and why not."""
    port = httpx.URL(program.url).port
    told = refused("--home", str(tmp_path), "--port", str(port))
    assert told == f"Can't listen on 127.0.0.1, port {port}: Address already in use."


def test_a_home_that_is_none_is_a_sentence(tmp_path: Path):
    """Missing, or no folder."""
    missing, file = tmp_path / "missing", tmp_path / "file"
    file.touch()
    for home in (missing, file):
        assert refused("--home", str(home), "--port", "0") == f"The home {home} is no folder."
