"""What every test runs under: a profile of Hypothesis, and children that hear Ctrl-C."""

import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# Continuous integration sees the same examples every time.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=80,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.register_profile("explore", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where all parts can be had, a test that was skipped is one that failed."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"not run, and CI=true: {report.longreprtext}"
    return report


# A shell that starts something in the background has it ignore Ctrl-C, and its children, too. Those
# that tests start must hear it, wherever the tests run.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
