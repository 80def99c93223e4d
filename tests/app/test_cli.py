"""The `wsctl` command, which has little to offer yet and says so."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from wsctl_app import cli


def test_version_is_the_distributions(capsys: pytest.CaptureFixture[str]):
    """`wsctl --version` tells the installed version and succeeds."""
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"wsctl {version('wsctl')}\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]):
    """`wsctl --help` lists what there is."""
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 0
    assert "up" in capsys.readouterr().out


def test_without_a_command_it_says_how_to_use_it(capsys: pytest.CaptureFixture[str]):
    """Nothing asked is a usage error, not a silent success."""
    with pytest.raises(SystemExit) as end:
        cli.main([])
    assert end.value.code == 2
    assert "usage: wsctl" in capsys.readouterr().err


def test_up_without_extras_says_what_to_install(capsys: pytest.CaptureFixture[str]):
    """One sentence, to stderr, with the command that helps and what is missing."""
    assert cli.up(installed=lambda module: module != "redis") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "pip install 'wsctl[all]'" in told.err
    assert "(missing: redis)" in told.err
    assert told.err.count("\n") == 1


def test_up_with_extras_says_not_yet(capsys: pytest.CaptureFixture[str]):
    """All is installed and there is still nothing to run: said plainly, and no success."""
    assert cli.up(installed=lambda _module: True) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("not yet: ")


def test_the_command_never_shows_a_traceback():
    """As a process, `wsctl up` fails with a sentence."""
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from wsctl_app.cli import main; sys.exit(main())",
            "up",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (cli.EXTRAS_MISSING, cli.NOT_YET)
    assert "Traceback" not in run.stderr
