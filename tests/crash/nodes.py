"""Nodes of one installation as real processes, and a hand on each of them."""

import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

PATIENCE_SECONDS = 60.0
DIARY = Path(__file__).with_name("diary.sh")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(what: str, condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Ask again and again until it is so."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.02)
    return found


class Node:
    """One `wsctl up`."""

    def __init__(self, data: Path, name: str, ledger: Path, log: Path) -> None:
        self.name = name
        self.port = free_port()
        self._data = data
        self._ledger = ledger
        self._log = log
        self._client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}", trust_env=False, timeout=10
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; it may take a while until it answers."""
        program = ("sh", str(DIARY), str(self._ledger), "{workspace_id}")
        environment = {
            **os.environ,
            "COORDINATOR_NODE_ID": self.name,
            "WSCTL_COMMAND": shlex.join(program),
            "WSCTL_MAX_RUNNING_PER_USER": "100",
            "WSCTL_STANDBY_TTL_SECONDS": "86400",
        }
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(Path(sys.executable).with_name("wsctl"), "up"),
                    *("--data", str(self._data), "--port", str(self.port)),
                ],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self.process is not None
        return self.process.pid

    def answers(self) -> bool:
        """The node is up."""
        try:
            return self._client.get("/health/live").status_code == 200
        except httpx.HTTPError:
            return False

    def health(self) -> dict[str, Any]:
        """What it says of its coordinator; nothing when it does not answer."""
        try:
            answer = self._client.get("/health/coordinator", timeout=1)
        except httpx.HTTPError:
            return {}
        return dict(answer.json())

    def leads(self) -> bool:
        """It says that it leads."""
        return bool(self.health().get("is_leader"))

    def call(self, method: str, path: str, body: object = None) -> Any:
        """One call of the API; whatever it answers must be a success."""
        token = (self._data / "token").read_text().strip()
        answer = self._client.request(
            method,
            f"/api/v1{path}",
            json=body,
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.is_success, answer.text
        return answer.json()

    def workspaces(self) -> list[dict[str, Any]]:
        """All there are."""
        return list(self.call("GET", "/workspaces")["workspaces"])

    def kill(self) -> None:
        """End it at once, by its id."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Ask it to stop, as Ctrl-C does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self._client.close()


class Cluster:
    """Two nodes on one data folder, and people who keep changing their minds."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.data = folder / "data"
        self.ledger = folder / "ledger"
        self.ledger.mkdir()
        self.log = folder / "log.txt"
        self.chance = random.Random(seed)
        self.nodes = [Node(self.data, name, self.ledger, self.log) for name in ("left", "right")]
        self.ids: list[str] = []

    def start(self, workspaces: int) -> None:
        """Bring everything up, one node leading and one standing by."""
        for node in self.nodes:
            node.start()
            wait_for(f"{node.name} answers", node.answers)
        wait_for("somebody leads", self.leader)
        for number in range(workspaces):
            made = self.nodes[0].call("POST", "/workspaces", {"name": f"work{number}"})
            self.ids.append(made["id"])

    def leader(self) -> Node | None:
        """The node that leads; None between two terms."""
        return next((node for node in self.nodes if node.leads()), None)

    def other(self, node: Node) -> Node:
        """The node that does not lead."""
        return next(other for other in self.nodes if other is not node)

    def change_minds(self, through: Node) -> None:
        """Somebody wants something else of some workspaces."""
        for workspace_id in self.chance.sample(self.ids, 4):
            wanted = self.chance.choice(("RUNNING", "RUNNING", "STANDBY", "PENDING"))
            through.call("PATCH", f"/workspaces/{workspace_id}", {"desired_state": wanted})

    def want_all(self, state: str) -> None:
        """Everybody wants the same, and gets it."""
        node = self.nodes[0]
        for workspace_id in self.ids:
            node.call("PATCH", f"/workspaces/{workspace_id}", {"desired_state": state})
        wait_for(f"all are {state}", lambda: self.at_rest(state), 300)

    def at_rest(self, state: str | None = None) -> bool:
        """Nothing is going on, and every workspace is as it is wanted."""
        return all(
            ws["operation"] == "NONE"
            and ws["health_status"] == "OK"
            and ws["observed_status"] == ws["desired_state"]
            and state in (None, ws["observed_status"])
            for ws in self.nodes[0].workspaces()
        )

    def lost(self) -> str:
        """What workspaces that came back missed."""
        path = self.ledger / "lost"
        return path.read_text() if path.exists() else ""

    def tail(self) -> str:
        """The last lines of what the nodes told."""
        return "\n".join(self.log.read_text().splitlines()[-40:]) if self.log.exists() else ""

    def stop(self) -> None:
        """Stop every workspace and every node, whatever state the test left them in."""
        with ExitStack() as stack:
            for node in self.nodes:
                stack.callback(node.stop)
                if node.process is not None and node.process.poll() is None:
                    node.process.send_signal(signal.SIGCONT)
            alive = [node for node in self.nodes if node.answers()]
            if alive:
                for workspace_id in self.ids:
                    alive[0].call("DELETE", f"/workspaces/{workspace_id}")
                wait_for("all are deleted", lambda: not alive[0].workspaces(), 120)
