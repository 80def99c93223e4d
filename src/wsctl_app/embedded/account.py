"""Who the servers run as: the user of wsctl itself, or, when that is root, an account of their own.

PostgreSQL refuses to be root, and Valkey need not be. An account is made once, as the packages of
any database do; it can't log in and owns nothing but the servers' folders. Nothing here changes
the permissions of a folder that wsctl was not given.
"""

import os
import pwd
import shutil
import stat
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import attrs

from wsctl_app.embedded.trouble import EmbeddedError, last_lines

NAME = "wsctl-servers"

_TRIES = 5


@attrs.frozen(kw_only=True)
class Account:
    """A user that root starts servers as."""

    uid: int
    gid: int

    def is_shut_out(self, paths: Iterable[Path]) -> bool:
        """Some of these files and folders can't be reached by this user, as far as modes tell."""
        return any(not self._reaches(path.resolve()) for path in paths)

    def _reaches(self, path: Path) -> bool:
        return all(self._may_pass(place) for place in (path, *path.parents))

    def _may_pass(self, place: Path) -> bool:
        status = place.stat()
        if status.st_uid == self.uid:
            mode = status.st_mode >> 6
        elif status.st_gid == self.gid:
            mode = status.st_mode >> 3
        else:
            mode = status.st_mode
        needed = 0o1 if stat.S_ISDIR(status.st_mode) else 0o5
        return mode & needed == needed

    def adopt(self, folder: Path) -> None:
        """Make this user the owner of a folder of a server and of everything in it."""
        if folder.stat().st_uid == self.uid:
            return
        for place, folders, files in os.walk(folder):
            for name in (".", *folders, *files):
                os.chown(Path(place, name), self.uid, self.gid, follow_symlinks=False)

    def let_in(self, folder: Path) -> None:
        """Let this user, and nobody else, pass through a folder that root keeps for itself."""
        status = folder.stat()
        if status.st_uid == 0 and not status.st_mode & 0o077:
            os.chown(folder, -1, self.gid)
            folder.chmod(0o710)


def for_servers(cluster: Path) -> Account | None:
    """The user to become; None: wsctl is not root, and the servers run as its own user.

    A database that is there already is served as its owner, whatever the account is called: in a
    container that was made anew, the names are gone and the files are not.
    """
    if os.geteuid() != 0:
        return None
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        return Account(uid=owner.st_uid, gid=owner.st_gid)
    entry = _entry() or _made()
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def _entry() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        return None


def _made() -> pwd.struct_passwd:
    """The account, made now. Another wsctl may be making it too, and the file may be busy."""
    useradd = shutil.which("useradd", path=os.pathsep.join((os.defpath, "/usr/sbin", "/sbin")))
    why = "there is no useradd"
    for _ in range(_TRIES if useradd else 0):
        done = subprocess.run(  # noqa: S603  # a program of the system, with arguments of ours
            [str(useradd), "--system", "--user-group", "-M", "-s", "/usr/sbin/nologin", NAME],
            capture_output=True,
            text=True,
            check=False,
        )
        if (entry := _entry()) is not None:
            return entry
        why = last_lines(done.stderr)
        time.sleep(0.2)
    raise EmbeddedError(
        "wsctl runs as root, PostgreSQL can't, and an account for it could not be made "
        f"({why}); run wsctl as another user or make a system account named {NAME}"
    )
