"""Where everything is under a data folder, and the folder of the sockets, which may be elsewhere.

The path of a socket can't be longer than some hundred bytes, and a data folder may be deeper than
that. Then the sockets live in a private folder under the system's one for temporary files, and
`run` is a link to it. Such a folder is trusted only while it belongs to the servers' user, is
closed to others and says that it was made for this data folder: temporary files are cleared away,
others may take the name, and a data folder may be copied with the link in it.
"""

import os
import stat
import tempfile
from pathlib import Path
from shutil import rmtree

import attrs

from wsctl_app.embedded.account import Account
from wsctl_app.embedded.trouble import EmbeddedError

LONGEST = 107 - len("/.s.PGSQL.5432")
"""How many bytes the path of the sockets' folder may have: the rest is for the longest name."""

_OWNER = "made-for"


@attrs.frozen(kw_only=True)
class Folders:
    """The places of the servers of one data folder."""

    data: Path

    @property
    def home(self) -> Path:
        """Everything of the servers."""
        return self.data / "servers"

    @property
    def postgres(self) -> Path:
        """The folder around the database, and its neighbour, the lock file."""
        return self.home / "postgres"

    @property
    def cluster(self) -> Path:
        """The database. It is there or not, never half."""
        return self.postgres / "cluster"

    @property
    def valkey(self) -> Path:
        """Valkey's files."""
        return self.home / "valkey"

    @property
    def turn(self) -> Path:
        """The lock of whoever starts or stops servers."""
        return self.home / "turn.lock"

    @property
    def users(self) -> Path:
        """The lock that every user of the servers shares."""
        return self.home / "users.lock"

    def make_home(self) -> None:
        """Make the folder that the locks are in. Others see nothing of what is in it."""
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.home.mkdir(mode=0o700, exist_ok=True)

    def make_rooms(self, account: Account | None) -> None:
        """Make the servers' folders, for the user that they run as."""
        for room in (self.postgres, self.valkey):
            room.mkdir(mode=0o700, exist_ok=True)
            room.chmod(0o700)  # one that was copied here may be more open
            if account is not None:
                account.adopt(room)
        if account is not None:
            account.let_in(self.home)
            account.let_in(self.data)

    # ------------------------------------------------------------------------------ sockets

    @property
    def _run(self) -> Path:
        return self.home / "run"

    def sockets(self, account: Account | None) -> Path | None:
        """The folder that running servers have their sockets in; None: there is none to trust."""
        if not self._run.is_symlink():
            usable = _is_private(self._run, account) and _is_short(self._run)
            return self._run if usable else None
        folder = self._run.readlink()
        if not _is_private(folder, account):
            return None
        owner = folder / _OWNER
        return folder if owner.exists() and owner.read_text() == self._identity() else None

    def make_sockets(self, account: Account | None) -> Path:
        """A new folder for sockets, in place of one that can't be used."""
        self._remove_run()
        if _is_short(self._run):
            folder = self._run
            folder.mkdir(mode=0o700)
        else:
            folder = Path(tempfile.mkdtemp(prefix="wsctl-"))
            if not _is_short(folder):
                folder.rmdir()
                raise EmbeddedError(
                    f"the path of {self.data} is too long for a socket, and so is that of "
                    f"{tempfile.gettempdir()}; choose a shorter folder with --data or TMPDIR"
                )
            (folder / _OWNER).write_text(self._identity())
            self._run.symlink_to(folder)
        if account is not None:
            account.adopt(folder)
        return folder

    def remove_sockets(self, account: Account | None) -> None:
        """Leave nothing among the temporary files once the servers have ended."""
        if self._run.is_symlink() and (folder := self.sockets(account)) is not None:
            rmtree(folder)
            self._run.unlink()

    def _remove_run(self) -> None:
        if self._run.is_dir() and not self._run.is_symlink():
            rmtree(self._run)
        else:
            self._run.unlink(missing_ok=True)

    def _identity(self) -> str:
        """What stays when the data folder is moved, and differs in a copy."""
        status = self.home.stat()
        return f"{status.st_dev}:{status.st_ino}"


def _is_short(folder: Path) -> bool:
    # libpq takes a comma for the end of one host and the beginning of another.
    return len(os.fsencode(folder)) <= LONGEST and "," not in str(folder)


def _is_private(folder: Path, account: Account | None) -> bool:
    """A folder, no link, that belongs to the servers' user and that nobody else can enter."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return False
    owner = os.geteuid() if account is None else account.uid
    return stat.S_ISDIR(status.st_mode) and status.st_uid == owner and not status.st_mode & 0o077
