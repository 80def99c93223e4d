"""The data folder: where it is, whether it can be used, the token, and where nodes answer.

Nothing is made in it before it is known to be usable. What others must not read is closed to them
from the moment at which it is made.
"""

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

LEAST_FREE_BYTES = 200 * 1024 * 1024
"""What a first start needs: an empty PostgreSQL, its log, and room to begin."""


class BadFolder(Exception):
    """The data folder can't be used; its text says why, and what to do."""


@attrs.frozen(kw_only=True)
class Endpoint:
    """Where a node answers, and which process it is."""

    url: str
    pid: int

    @property
    def is_alive(self) -> bool:
        """The process is there; whether it still is a node only asking it can tell."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """An error of the operating system inside becomes a sentence about the folder."""
    another = "choose another with --data"
    try:
        yield
    except OSError as error:
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                why = f"the disk that holds {folder} is full; make room, or {another}"
            case errno.EACCES | errno.EPERM:
                why = f"the data folder {folder} can't be written to; {another}"
            case errno.EROFS:
                why = f"the data folder {folder} is on a disk that is read-only; {another}"
            case errno.ENOTDIR | errno.EEXIST:
                why = f"{error.filename or folder} is a file, not a folder; {another}"
            case _:
                why = f"the data folder {folder} can't be used: {error.strerror}; {another}"
        raise BadFolder(why) from error


@attrs.frozen
class DataFolder:
    """The folder that `--data` names."""

    path: Path

    @property
    def token_file(self) -> Path:
        """The administrator's token, readable by its owner alone."""
        return self.path / "token"

    @property
    def runtime(self) -> Path:
        """Containers and volumes of the local runtime."""
        return self.path / "runtime"

    @property
    def archives(self) -> Path:
        """Archives in a folder."""
        return self.path / "archives"

    @property
    def _endpoints(self) -> Path:
        return self.path / "endpoints"

    @property
    def is_new(self) -> bool:
        """No server has ever kept anything here."""
        return not (self.path / "servers" / "postgres" / "cluster").exists()

    def check(self, least_free_bytes: int = LEAST_FREE_BYTES) -> None:
        """Refuse a folder that can't be used, before anything is made in it. BadFolder."""
        with _told(self.path):
            there = self.path
            while not there.exists():
                there = there.parent
            if not there.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(there))
            if not os.access(there, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, "no access", str(there))
            if os.statvfs(there).f_flag & os.ST_RDONLY:
                raise OSError(errno.EROFS, "read-only", str(there))
            free = shutil.disk_usage(there).free
        if self.is_new and free < least_free_bytes:
            raise BadFolder(
                f"the disk that holds {self.path} has {free // 2**20} MiB free, and a first start "
                f"needs {least_free_bytes // 2**20} MiB; make room, or choose another with --data"
            )

    def make(self) -> None:
        """Make the folder, closed to others. BadFolder when it can't be made."""
        with _told(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def token(self) -> str:
        """The token; made when there is none. Two who make one at once get the same."""
        with _told(self.path):
            known = self.known_token()
            if known is not None:
                return known
            mine = self.path / f".token-{os.getpid()}-{secrets.token_hex(4)}"
            file = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(file, "w") as out:
                    out.write(f"{secrets.token_urlsafe(32)}\n")
                    out.flush()
                    os.fsync(out.fileno())
                with suppress(FileExistsError):  # another node was quicker; its token is as good
                    os.link(mine, self.token_file)
            finally:
                mine.unlink()
            return self.token_file.read_text().strip()

    def known_token(self) -> str | None:
        """The token that is there; None when nobody has made one, or it can't be read."""
        try:
            return self.token_file.read_text().strip() or None
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None

    def announce(self, endpoint: Endpoint) -> Path:
        """Write down where a node answers. BadFolder when that can't be written."""
        with _told(self.path):
            self._endpoints.mkdir(mode=0o700, exist_ok=True)
            path = self._endpoints / f"{endpoint.pid}.json"
            draft = path.with_suffix(".new")
            draft.write_text(json.dumps(attrs.asdict(endpoint)) + "\n")
            draft.replace(path)
            return path

    def endpoints(self) -> list[Endpoint]:
        """Where nodes say that they answer, those that began first first; the dead left out."""
        found = []
        for path in sorted(self._endpoints.glob("*.json"), key=_written_at):
            try:
                endpoint = Endpoint(**json.loads(path.read_text()))
            except (OSError, ValueError, TypeError):
                continue  # a node that has just left, or a file that is none of ours
            if endpoint.is_alive:
                found.append(endpoint)
        return found

    def forget_the_dead(self) -> None:
        """Remove what nodes that were killed have left."""
        alive = {endpoint.pid for endpoint in self.endpoints()}
        with _told(self.path):
            for path in self._endpoints.glob("*.json"):
                if path.stem.isdecimal() and int(path.stem) not in alive:
                    path.unlink(missing_ok=True)


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
