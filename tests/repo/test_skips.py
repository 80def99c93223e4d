"""A skip tells what could not be run; where everything can be had, it is a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPPED = "import pytest\n\ndef test_it():\n    pytest.skip('no such part')\n"


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_skip_fails_under_ci(tmp_path: Path, ci: str, code: int):
    """With CI=true a test that was not run is told as one that failed, with its reason."""
    (tmp_path / "test_it.py").write_text(SKIPPED)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest"),
            *("-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", os.devnull),
            str(tmp_path),
        ],
        cwd=ROOT,
        env={**os.environ, "CI": ci, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == code, run.stdout
    assert ("no such part" in run.stdout) is bool(ci)
