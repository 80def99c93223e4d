"""The local runtime: every promise of a runtime, and what processes and folders add to them."""

import asyncio
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import NoReturn

import pytest

from tests.adapters.local_subjects import (
    LocalSubject,
    alive,
    processes_of,
    run,
    stamp,
    until,
)
from wsctl_adapters.conformance import runtime
from wsctl_adapters.conformance.kit import Check
from wsctl_adapters.conformance.runtime_kit import created, running, spec_of
from wsctl_adapters.local import containers as local_containers
from wsctl_adapters.local import layout, shim, volumes
from wsctl_adapters.local.processes import holder
from wsctl_adapters.local.work import Workers
from wsctl_core.ports import AdapterError
from wsctl_core.values.errors import AdapterCode
from wsctl_core.values.observation import ContainerSeen
from wsctl_core.values.stamps import Stamp
from wsctl_core.values.states import ContainerPhase

SRC = Path(__file__).parents[2] / "src"


@pytest.mark.parametrize("check", runtime.CHECKS, ids=lambda check: check.__name__)
def test_the_local_runtime_keeps_its_promises(
    check: Check[runtime.RuntimeUnderTest], tmp_path: Path
):
    """Every promise of a runtime holds for processes on folders, and nothing is left over."""
    with LocalSubject(tmp_path) as subject:

        async def checked() -> None:
            await check(subject)

        run(checked())
        assert subject.left() == []


async def seen(subject: LocalSubject) -> ContainerSeen:
    (found,) = await subject.inventory.containers()
    return found.seen


async def ended(subject: LocalSubject) -> ContainerSeen:
    until(lambda: all(holder(lock) is None for lock in subject.root.glob("containers/*/*/lock")))
    now = await seen(subject)
    assert now.phase is ContainerPhase.ENDED
    return now


# ----------------------------------------------------------------------------- programs


def test_how_a_program_ended_is_told(tmp_path: Path):
    """Its exit code is kept, and when it ended."""
    with LocalSubject(tmp_path, ("sh", "-c", "exit 7")) as subject:

        async def story() -> ContainerSeen:
            await running(subject, stamp())
            return await ended(subject)

        last_exit = run(story()).exit
        assert last_exit is not None
        assert (last_exit.exit_code, last_exit.out_of_memory) == (7, False)


def test_a_start_of_what_ended_is_as_good(tmp_path: Path):
    """A container is started once: a start that lands after its end starts nothing."""
    with LocalSubject(tmp_path, ("sh", "-c", "echo again >> starts")) as subject:

        async def story() -> None:
            container_id = await running(subject, stamp())
            await ended(subject)
            await subject.containers.start(container_id)
            assert (await seen(subject)).phase is ContainerPhase.ENDED

        run(story())
        assert (subject.home("ws-w1-i1") / "starts").read_text() == "again\n"


def test_a_program_gets_a_small_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is told its home, workspace and port, and none of what wsctl knows."""
    monkeypatch.setenv("WSCTL_DATABASE_URL", "a secret")
    command = ("sh", "-c", "env > env.txt; echo {workspace_id} {image} {port} $PWD {unknown}")
    with LocalSubject(tmp_path, command) as subject:

        async def story() -> str:
            container_id = await running(subject, stamp())
            await ended(subject)
            return (subject.folder(container_id) / "log.txt").read_text()

        home = subject.home("ws-w1-i1")
        said = run(story()).split()
        told = dict(line.split("=", 1) for line in (home / "env.txt").read_text().splitlines())
        assert said == ["w1", "starter", told["WSCTL_PORT"], str(home), "{unknown}"]
        assert (told["HOME"], told["WSCTL_WORKSPACE_ID"]) == (str(home), "w1")
        assert "a secret" not in told.values()


def test_the_log_is_bounded(tmp_path: Path):
    """What a program says is kept, and no more than two files of a mebibyte."""
    command = ("sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' 'x'; echo the end >&2")
    with LocalSubject(tmp_path, command) as subject:

        async def story() -> Path:
            container_id = await running(subject, stamp())
            await ended(subject)
            return subject.folder(container_id)

        folder = run(story())
        logs = [folder / "log.1.txt", folder / "log.txt"]
        assert all(log.stat().st_size < 1_200_000 for log in logs)
        assert logs[1].read_bytes().endswith(b"the end\n")


def test_the_address_answers(tmp_path: Path):
    """Where the address says, the workspace's own program answers."""
    command = (sys.executable, "-m", "http.server", "{port}", "--bind", "{host}")
    with LocalSubject(tmp_path, command) as subject:

        async def story() -> str | None:
            await running(subject, stamp())
            await subject.write("ws-w1-i1", "page.txt", b"from the home")
            return await subject.containers.address("w1")

        url = f"http://{run(story())}/page.txt".replace("127.0.0.1", "localhost")
        answers: list[bytes] = []

        def answered() -> bool:
            try:
                with urllib.request.urlopen(url) as answer:
                    answers.append(answer.read())
            except OSError:
                return False
            return True

        until(answered)
        assert answers == [b"from the home"]


def test_a_program_that_can_not_run_is_said_so(tmp_path: Path):
    """The start fails with the reason, the container stays as it was, and runs when it can."""
    with LocalSubject(tmp_path, ("{home}/program",)) as subject:

        async def story() -> None:
            container_id = await created(subject, stamp())
            with pytest.raises(AdapterError, match="No such file or directory") as refusal:
                await subject.containers.start(container_id)
            assert refusal.value.code is AdapterCode.CONTAINER_START_FAILED
            assert (await seen(subject)).phase is ContainerPhase.CREATED
            program = subject.home("ws-w1-i1") / "program"
            program.write_text("#!/bin/sh\nsleep 1000\n")
            program.chmod(0o700)
            await subject.containers.start(container_id)
            assert (await seen(subject)).phase is ContainerPhase.RUNNING

        run(story())


# ----------------------------------------------------------------------------- ending


def test_a_program_is_asked_before_it_is_ended(tmp_path: Path):
    """Within its grace a program can put things in order."""
    script = "trap 'echo saved > saved.txt; exit 0' TERM; echo > ready; sleep 1000 & wait"
    with LocalSubject(tmp_path, ("sh", "-c", script)) as subject:

        async def story() -> None:
            container_id = await running(subject, stamp())
            until((subject.home("ws-w1-i1") / "ready").exists)
            await subject.containers.remove(container_id, 20)

        run(story())
        assert (subject.home("ws-w1-i1") / "saved.txt").read_text() == "saved\n"
        assert processes_of(tmp_path) == []


def test_a_program_that_does_not_listen_is_ended(tmp_path: Path):
    """After its grace it is ended by force, with all that it started."""
    script = "trap '' TERM; echo > ready; while :; do sleep 1000; done"
    with LocalSubject(tmp_path, ("sh", "-c", script)) as subject:

        async def story() -> None:
            container_id = await running(subject, stamp())
            until((subject.home("ws-w1-i1") / "ready").exists)
            removing = asyncio.ensure_future(subject.containers.remove(container_id, 1))
            await asyncio.sleep(0.3)
            now = await seen(subject)
            assert now.phase is ContainerPhase.IN_PROGRESS  # H5: it is seen as long as it lives
            await removing

        run(story())
        assert processes_of(tmp_path) == []


ESCAPES = "setsid env -i sh -c 'echo $$ > escaped; sleep 1000' & echo > ready; "


def test_nothing_survives_its_program(tmp_path: Path):
    """A descendant that left the group and its environment is ended when the program ends."""
    with LocalSubject(tmp_path, ("sh", "-c", ESCAPES + "sleep 1000")) as subject:

        async def story() -> int:
            container_id = await running(subject, stamp())
            escaped = subject.home("ws-w1-i1") / "escaped"
            until(lambda: escaped.exists() and escaped.read_text().endswith("\n"))
            assert alive(int(escaped.read_text()))
            await subject.containers.remove(container_id, 5)
            return int(escaped.read_text())

        assert not alive(run(story()))


def test_a_killed_shim_takes_its_program_along(tmp_path: Path):
    """It is seen as ended with 137, always at the same time; removing it ends what was left."""
    with LocalSubject(tmp_path, ("sh", "-c", "sleep 1000 & echo $! > child; wait")) as subject:

        async def story() -> None:
            container_id = await running(subject, stamp())
            child = subject.home("ws-w1-i1") / "child"
            until(lambda: child.exists() and child.read_text().endswith("\n"))
            program = subject.program(container_id)
            os.kill(subject.shim(container_id), signal.SIGKILL)
            until(lambda: not alive(program))
            first, second = await ended(subject), await ended(subject)
            assert first == second
            assert first.exit is not None
            assert first.exit.exit_code == 137
            assert await subject.containers.address("w1") is None
            assert alive(int(child.read_text()))
            await subject.containers.remove(container_id, 5)
            assert not alive(int(child.read_text()))

        run(story())


def test_a_stopped_shim_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A shim that does not answer is killed, and its program with it."""
    monkeypatch.setattr(local_containers, "FORCE_SECONDS", 0.3)
    with LocalSubject(tmp_path) as subject:

        async def story() -> None:
            container_id = await running(subject, stamp())
            program = subject.program(container_id)
            os.kill(subject.shim(container_id), signal.SIGSTOP)
            await subject.containers.remove(container_id, 0)
            assert not alive(program)
            assert await subject.inventory.containers() == ()

        run(story())


def test_a_removal_that_was_cut_off_is_finished_by_the_next(tmp_path: Path):
    """Cut off in its grace, a removal leaves a container that is seen and never starts."""
    script = "trap '' TERM; echo > ready; sleep 1000 & wait"
    with LocalSubject(tmp_path, ("sh", "-c", script)) as subject:

        async def story() -> None:
            container_id = await running(subject, stamp())
            until((subject.home("ws-w1-i1") / "ready").exists)
            removing = asyncio.ensure_future(subject.containers.remove(container_id, 100))
            await asyncio.sleep(0.2)
            removing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await removing
            assert await subject.containers.of_workspace("w1") == (container_id,)
            with pytest.raises(AdapterError, match="being removed"):
                await subject.containers.start(container_id)
            await subject.containers.remove(container_id, 0)
            assert await subject.inventory.containers() == ()

        run(story())
        assert processes_of(tmp_path) == []


# ----------------------------------------------------------------------------- other processes

CHILD = """
import asyncio, os, signal, sys, uuid
from pathlib import Path
from wsctl_adapters.local import LocalRuntime
from wsctl_core.ports import ContainerSpec
from wsctl_core.values.stamps import Stamp

root, how = Path(sys.argv[1]), sys.argv[2]
runtime = LocalRuntime(root, "here", ("sleep", "1000"))

async def once():
    for old in await runtime.containers.of_workspace("w1"):
        await runtime.containers.remove(old, 1)
    stamp = Stamp(installation="here", workspace_id="w1", incarnation=uuid.uuid4().hex, seq=1)
    await runtime.volumes.make(stamp)
    made = await runtime.containers.create(ContainerSpec(stamp=stamp, image="x"))
    await runtime.containers.start(made)
    if how == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    await runtime.containers.remove(made, 1)
    for name in await runtime.volumes.of_workspace("w1"):
        await runtime.volumes.remove(name)

async def loop():
    print("ready", flush=True)
    while True:
        await once()

asyncio.run(loop())
"""


def other_process(root: Path, how: str) -> "subprocess.Popen[str]":
    """Another process that makes, starts and removes containers of the same workspace."""
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(root), how],
        env={**os.environ, "PYTHONPATH": f"{SRC}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_container_outlives_who_started_it(tmp_path: Path):
    """The process that started it is killed at once; a new one finds it running, and ends it."""
    with LocalSubject(tmp_path) as subject:
        with other_process(tmp_path, "dies") as other:
            assert other.wait() == -signal.SIGKILL

        async def story() -> None:
            now = await seen(subject)
            assert now.phase is ContainerPhase.RUNNING
            assert await subject.containers.of_workspace("w1") == (now.id,)
            await subject.containers.remove(now.id, 5)

        run(story())
        assert processes_of(tmp_path) == []


async def heal(subject: LocalSubject) -> None:
    """What every operation begins with, and then a whole life of a container."""
    for container_id in await subject.containers.of_workspace("w1"):
        await subject.containers.remove(container_id, 1)
    for name in await subject.volumes.of_workspace("w1"):
        await subject.volumes.remove(name)
    container_id = await running(subject, stamp())
    assert (await seen(subject)).phase is ContainerPhase.RUNNING
    await subject.containers.remove(container_id, 1)
    await subject.volumes.remove("ws-w1-i1")
    assert await subject.inventory.containers() == ()
    assert await subject.inventory.volumes() == ()


@pytest.mark.parametrize("seed", range(6))
def test_a_process_may_be_killed_at_any_moment(seed: int, tmp_path: Path):
    """Whatever it was doing, the next one goes on, and nothing is left running."""
    with LocalSubject(tmp_path) as subject, other_process(tmp_path, "loops") as other:
        assert other.stdout is not None
        other.stdout.readline()
        run(asyncio.sleep(random.Random(seed).uniform(0, 0.2)))
        other.kill()
        other.wait()
        run(heal(subject))
        assert processes_of(tmp_path) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_stopped_process_holds_nobody_up(seed: int, tmp_path: Path):
    """Stopped in the middle of anything, it keeps no one from working on the same folders."""
    with LocalSubject(tmp_path) as subject, other_process(tmp_path, "loops") as other:
        assert other.stdout is not None
        other.stdout.readline()
        run(asyncio.sleep(random.Random(seed).uniform(0, 0.2)))
        other.send_signal(signal.SIGSTOP)
        run(heal(subject))
        other.send_signal(signal.SIGCONT)  # what it was about to do lands late
        run(asyncio.sleep(0.05))
        other.kill()
        other.wait()
        run(heal(subject))
        assert processes_of(tmp_path) == []


# ----------------------------------------------------------------------------- traces of crashes


def test_what_was_left_half_made_is_in_nobodys_way(tmp_path: Path):
    """Things left in the making are not seen, block nothing, and are swept after a day."""
    with LocalSubject(tmp_path) as subject:
        for folder, kind in (("tmp", "spec.json"), ("tmp", "labels.json"), ("trash", "log.txt")):
            left = layout.unused(tmp_path / folder)
            (left / "inside").mkdir(parents=True)
            (left / "inside" / kind).write_text("{")
        (tmp_path / "tmp" / "not-ours").mkdir()
        (tmp_path / "containers" / "ws-w1").mkdir()  # between the two steps of a removal

        async def story() -> None:
            assert await subject.inventory.containers() == ()
            assert await subject.runtime.sweep() == 0
            assert await subject.runtime.sweep(0) == 3
            await running(subject, stamp())

        run(story())
        assert [path.name for path in subject.left()] == ["not-ours"]


def test_a_doomed_container_is_seen_and_never_starts(tmp_path: Path):
    """Killed right after it doomed a container, a remover leaves nothing that could run (H5)."""
    with LocalSubject(tmp_path) as subject:

        async def story() -> None:
            container_id = await created(subject, stamp())
            folder = subject.folder(container_id)
            (folder / "doomed").touch()
            with pytest.raises(AdapterError, match="being removed"):
                await subject.containers.start(container_id)
            plan = {"argv": ["true"], "environment": {}, "cwd": str(tmp_path), "port": 1}
            contain = subject.runtime.containers
            assert isinstance(contain, local_containers.LocalContainers)
            assert contain._ask(folder, plan).strip() == "gone"
            moved = folder.rename(tmp_path / "trash" / "gone")
            (moved / "doomed").unlink()
            assert contain._ask(folder, plan).strip() == "gone"
            assert holder(moved / "lock") is None

        run(story())


class Left(Exception):
    """A shim left, with that answer."""


def test_a_shim_knows_that_its_folder_was_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One whose folder is renamed and emptied while it looks into it starts nothing."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "lock").touch()

    def leave(word: str) -> NoReturn:
        raise Left(word)

    def late(_folder: int, _name: str) -> bool:
        place.rename(tmp_path / "trash")
        place.mkdir()  # another container's, by the same name
        return False

    monkeypatch.setattr(shim, "leave", leave)
    monkeypatch.setattr(shim, "is_there", late)
    with pytest.raises(Left, match="gone"):
        shim.take(str(place))


def test_makers_that_meet_see_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A volume that appears just when it is looked for is not taken for somebody else's."""
    with LocalSubject(tmp_path) as subject:
        labelled = layout.is_labelled

        def late(place: Path, wanted: Stamp) -> bool:
            told = labelled(place, wanted)
            monkeypatch.setattr(volumes, "is_labelled", labelled)
            run(subject.volumes.make(wanted))
            return told

        monkeypatch.setattr(volumes, "is_labelled", late)
        run(subject.volumes.make(stamp()))
        assert len(run(subject.inventory.volumes())) == 1


def test_a_shim_starts_its_program_once(tmp_path: Path):
    """Of two shims, the one that comes when the program has ended starts it no more."""
    with LocalSubject(tmp_path, ("true",)) as subject:

        async def story() -> None:
            container_id = await running(subject, stamp())
            await ended(subject)
            plan = {"argv": ["touch", "again"], "environment": {}, "cwd": str(tmp_path), "port": 1}
            contain = subject.runtime.containers
            assert isinstance(contain, local_containers.LocalContainers)
            assert contain._ask(subject.folder(container_id), plan).strip() == "started"

        run(story())
        assert not (tmp_path / "again").exists()


def test_a_volume_is_not_removed_from_under_a_late_create(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A create that lands between the look and the removal is noticed, and the volume stays."""
    with LocalSubject(tmp_path) as subject:
        looks = iter([set[str](), {"ws-w1-i1"}])
        monkeypatch.setattr(volumes, "volumes_in_use", lambda *_: next(looks))

        async def story() -> None:
            await subject.volumes.make(stamp())
            await subject.write("ws-w1-i1", "kept.txt", b"kept")
            with pytest.raises(AdapterError) as refusal:
                await subject.volumes.remove("ws-w1-i1")
            assert refusal.value.code is AdapterCode.VOLUME_IN_USE
            assert await subject.read("ws-w1-i1", "kept.txt") == b"kept"

        run(story())


def test_a_create_notices_that_its_volume_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A volume that is removed while a container is made on it: no container is left."""
    with LocalSubject(tmp_path) as subject:
        put = layout.put_in_place

        def late(made: Path, place: Path) -> bool:
            shutil.rmtree(tmp_path / "volumes" / "ws-w1-i1")
            return put(made, place)

        async def story() -> None:
            await subject.volumes.make(stamp())
            monkeypatch.setattr(local_containers, "put_in_place", late)
            with pytest.raises(AdapterError) as refusal:
                await subject.containers.create(spec_of(subject, stamp()))
            assert refusal.value.code is AdapterCode.VOLUME_MISSING
            assert await subject.inventory.containers() == ()

        run(story())
        assert list((tmp_path / "containers").iterdir()) == []


# ----------------------------------------------------------------------------- the disk


def code_of(work: object) -> AdapterCode:
    with pytest.raises(AdapterError) as refusal:
        run(work)  # type: ignore[arg-type] # a coroutine, of whichever kind
    return refusal.value.code


def test_a_listing_is_complete_or_an_error(tmp_path: Path):
    """Folders that are gone, or a record that can't be read, never look like absence (H34)."""
    with LocalSubject(tmp_path) as subject:
        container_id = run(created(subject, stamp()))
        (subject.folder(container_id) / "spec.json").write_text("{")
        assert code_of(subject.inventory.containers()) is AdapterCode.LOCAL_IO_ERROR
        (tmp_path / "volumes").rename(tmp_path / "elsewhere")
        assert code_of(subject.inventory.volumes()) is AdapterCode.LOCAL_IO_ERROR
        assert code_of(subject.volumes.of_workspace("w1")) is AdapterCode.LOCAL_IO_ERROR
        shutil.rmtree(tmp_path / "containers")
        assert code_of(subject.inventory.containers()) is AdapterCode.LOCAL_IO_ERROR


def test_what_only_looks_like_a_volume_is_not_ours(tmp_path: Path):
    """A broken label, a copy of a volume, a file: none is listed, and none is removed."""
    with LocalSubject(tmp_path) as subject:

        async def story() -> None:
            await subject.volumes.make(stamp())
            place = tmp_path / "volumes" / "ws-w1-i1"
            shutil.copytree(place, place.with_name("ws-w1-copy"))
            shutil.copytree(place, place.with_name("ws-w1-broken"))
            (place.with_name("ws-w1-broken") / "labels.json").write_text('{"seq": 1}')
            place.with_name("ws-w1-file").touch()
            (found,) = await subject.inventory.volumes()
            assert found.seen.name == "ws-w1-i1"
            for name in ("ws-w1-copy", "ws-w1-broken", "ws-w1-file", "..", "", "../volumes"):
                await subject.volumes.remove(name)

        run(story())
        assert len(list((tmp_path / "volumes").iterdir())) == 4


def test_a_full_disk_is_called_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is half made, and the sentence says why."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with LocalSubject(tmp_path) as subject:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(AdapterError, match="the disk is full") as refusal:
            run(subject.volumes.make(stamp()))
        assert refusal.value.code is AdapterCode.VOLUME_CREATE_FAILED
        assert run(subject.inventory.volumes()) == ()
        assert subject.left() == []


def test_any_tree_can_be_removed(tmp_path: Path):
    """Deeper than a path can name, unreadable, full of links that lead out: it goes, they stay."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    with LocalSubject(tmp_path / "root") as subject:
        run(subject.volumes.make(stamp()))
        home = subject.home("ws-w1-i1")
        (home / "link").symlink_to(outside)
        (home / "locked" / "inner").mkdir(parents=True)
        (home / "locked" / "inner" / "link").symlink_to(outside)
        (home / "locked" / "inner").chmod(0)
        (home / "locked").chmod(0)
        folder = os.open(home, os.O_RDONLY)
        for _ in range(60):
            os.mkdir("d" * 200, dir_fd=folder)
            deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = deeper
        os.close(os.open("leaf", os.O_CREAT, dir_fd=folder))
        os.close(folder)
        run(subject.volumes.remove("ws-w1-i1"))
        assert run(subject.inventory.volumes()) == ()
        assert subject.left() == []
    assert (outside / "kept.txt").read_text() == "kept"


def test_strange_identities_name_nothing(tmp_path: Path):
    """An identity that is a path is nobody's."""
    with LocalSubject(tmp_path) as subject:

        async def story() -> None:
            await running(subject, stamp())
            for strange in ("", ".", "..", "../ws-w1", "*"):
                await subject.containers.remove(strange, 0)
                with pytest.raises(AdapterError, match="gone"):
                    await subject.containers.start(strange)
            assert (await seen(subject)).phase is ContainerPhase.RUNNING

        run(story())


def test_work_that_was_cut_off_is_joined_however_often_that_is_said():
    """H8: whoever cancels hears of the end when the thread has ended, and not before."""

    async def story() -> list[str]:
        told: list[str] = []
        workers = Workers()

        def work() -> None:
            time.sleep(0.6)
            told.append("the thread ended")

        task = asyncio.create_task(workers.run(work))
        await asyncio.sleep(0.1)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.05)
        await asyncio.wait([task])
        told.append("the task ended")
        workers.close()
        return told

    assert asyncio.run(story()) == ["the thread ended", "the task ended"]
