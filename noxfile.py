"""Everything that is checked about this repository, as sessions.

Plain `nox` runs the default ones in the order below and takes a few minutes. The others are run
by name: `nox -s bench`, `nox -s simulation`, `nox -s crash`, `nox -s campaign`, `nox -s mutation`,
`nox -s docs`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13")

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True


def _answers(python: str, version: str) -> bool:
    """That command is an interpreter of that version, and it runs."""
    try:
        told = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return told.returncode == 0 and told.stdout.startswith(f"Python {version}.")


def _folder_of(version: str) -> Path | None:
    """Where pyenv keeps an interpreter of that version that its shims do not offer."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    for python in sorted(root.glob(f"versions/{version}.*/bin/python{version}"), reverse=True):
        if _answers(str(python), version):
            return python.parent
    return None


def _installed() -> list[str]:
    """The versions that can be tested here; those that only pyenv knows are put on the path."""
    found = []
    for version in PYTHONS:
        if _answers(f"python{version}", version):
            found.append(version)
        elif folder := _folder_of(version):
            os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
            found.append(version)
    return found


INSTALLED = _installed()
MISSING = [version for version in PYTHONS if version not in INSTALLED]
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
ELSEWHERE = [version for version in INSTALLED if version != THIS]

nox.options.sessions = [
    "lint",
    "types",
    *(("tests", "elsewhere") if ELSEWHERE else ()),  # nox knows no session for no interpreter
    "system",
    "coverage",
    "model",
    "package",
    "interpreters",
]


def _install(session: nox.Session, *tools: str) -> None:
    session.install("-q", "-c", "constraints.txt", *tools)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, format, and the five sentences about imports."""
    _install(session, "ruff", "import-linter", "attrs")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache", env={"PYTHONPATH": "src"})


@nox.session
def types(session: nox.Session) -> None:
    """Strict types, in the source and in everything around it."""
    _install(session, "mypy", "-e", ".[all]", "hypothesis", "nox", "pytest")
    session.run("mypy")


@nox.session(python=ELSEWHERE)
def tests(session: nox.Session) -> None:
    """The core, its contracts and the repository, on every other interpreter that is installed."""
    _install(session, "-e", ".", "hypothesis", "import-linter", "pytest", "pytest-xdist")
    where = session.posargs or ["tests/core", "tests/contracts", "tests/repo", "src/wsctl_core"]
    session.run("pytest", "-q", "-n", "2", *where)


SYSTEM = ("tests/adapters", "tests/app", "tests/simulation", "tests/crash")


@nox.session
def system(session: nox.Session) -> None:
    """Adapters, application and simulation, on real servers and real processes."""
    _install(session, "-e", ".[all]", "hypothesis", "pytest", "pytest-xdist")
    where = session.posargs or [*SYSTEM, "src/wsctl_adapters", "src/wsctl_app"]
    session.run("pytest", "-q", "-n", "2", "--dist", "loadfile", "-m", "not long", *where)


@nox.session(python=ELSEWHERE)
def elsewhere(session: nox.Session) -> None:
    """A slice of the same on the other interpreters: everything installs, and a life is lived."""
    _install(session, "-e", ".[all]", "hypothesis", "pytest", "pytest-xdist")
    where = ["tests/adapters/test_memory.py", "tests/app/test_demo.py"]
    session.run("pytest", "-q", "-n", "2", "-m", "not long", *(session.posargs or where))


@nox.session
def coverage(session: nox.Session) -> None:
    """The same on this one, where every line and every branch of the core must be run."""
    tools = ("hypothesis", "import-linter", "pytest", "pytest-cov", "pytest-xdist")
    _install(session, "-e", ".", *tools)
    where = ("tests/core", "tests/contracts", "tests/repo", "tests/model", "src/wsctl_core")
    measured = ("--cov", "--cov-report=term-missing:skip-covered")
    session.run("pytest", "-q", "-n", "2", "-m", "not campaign and not long", *measured, *where)


@nox.session
def model(session: nox.Session) -> None:
    """The model checker: it explores every mix of faults and every ablation."""
    _install(session, "-e", ".", "hypothesis", "pytest", "pytest-xdist")
    where = session.posargs or ["tests/model"]
    session.run("pytest", "-q", "-n", "2", "-m", "not long", *where)


@nox.session
def campaign(session: nox.Session) -> None:
    """The model checker on larger mixes of faults: a quarter of an hour."""
    _install(session, "-e", ".", "hypothesis", "pytest", "pytest-xdist")
    session.run("pytest", "-q", "-n", "2", "-m", "long", *(session.posargs or ["tests/model"]))


@nox.session
def simulation(session: nox.Session) -> None:
    """The coordinator in virtual time, for a thousand seeds: a quarter of an hour."""
    _install(session, "-e", ".[all]", "hypothesis", "pytest", "pytest-xdist")
    where = session.posargs or ["tests/simulation"]
    session.run("pytest", "-q", "-n", "2", "-m", "long", *where)


@nox.session
def crash(session: nox.Session) -> None:
    """Two real coordinators; the leader is killed fifty times in a row, then stopped."""
    _install(session, "-e", ".[all]", "hypothesis", "pytest")
    session.run("pytest", "-q", "-m", "long", *(session.posargs or ["tests/crash"]))


@nox.session
def package(session: nox.Session) -> None:
    """The wheel installs with attrs alone, brings its types, and its command is honest."""
    shutil.rmtree(built := Path(session.create_tmp()) / "wheel", ignore_errors=True)
    session.run("pip", "wheel", "-q", "--no-deps", "-w", str(built), ".", silent=True)
    wheel = next(built.glob("wsctl-*.whl"))
    session.run("pip", "install", "-q", "--force-reinstall", "-c", "constraints.txt", str(wheel))
    session.run("python", "-P", "tests/repo/installed.py")
    session.run("wsctl", "--version")
    session.run("wsctl", "up", success_codes=[2])


@nox.session(python=False)
def interpreters(session: nox.Session) -> None:
    """Which interpreters the tests ran on, and which are not installed here."""
    session.log(f"tested on {', '.join(INSTALLED)}; every other session on {THIS}")
    if MISSING:
        session.warn(f"not installed here, so not tested: {', '.join(MISSING)}")


@nox.session
def bench(session: nox.Session) -> None:
    """Ratios against baselines that are measured in the same run."""
    _install(session, "-e", ".[all]")
    session.run("python", "benchmarks/reconcile.py", *session.posargs)
    session.run("python", "benchmarks/explorer.py", *session.posargs)
    session.run("python", "benchmarks/fleet.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Write the generated pages anew."""
    _install(session, "-e", ".")
    session.run("python", "docs/generate.py")


@nox.session
def mutation(session: nox.Session) -> None:
    """Mutants of every decision; a survivor needs a reason in tests/mutation_survivors.toml."""
    _install(session, "-e", ".", "hypothesis", "mutmut", "pytest")
    session.run("python", "tests/mutation/run.py", *session.posargs)
