"""Contract 3, single writer: each write changes only its writer's columns."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.written import reconciled
from tests.core.builders import busy, error, row
from tests.strategies import (
    archive_keys,
    attempts,
    failures,
    incarnations,
    maybe,
    moments,
    observations,
    workspaces,
)
from wsctl_core import (
    Actor,
    Alarm,
    Evidence,
    Failure,
    IntentPatch,
    Moment,
    Observation,
    ObservedStatus,
    Operation,
    Progress,
    Recovery,
    Workspace,
    Writer,
    apply,
    assess,
    record_failure,
    recovery_decision,
)
from wsctl_core.contracts import only_its_exception, only_own_columns


@given(given_attempt=attempts())
def test_the_reconciler_writes_its_own(
    given_attempt: tuple[Workspace, Moment, Progress | None],
) -> None:
    """Whatever step is taken, what changes are the reconciler's columns."""
    ws, _, _ = given_attempt
    assert only_own_columns(ws, reconciled(*given_attempt), Writer.RECONCILER) is None


@given(ws=workspaces(), failure=failures, now=moments())
def test_a_failure_writes_the_reconcilers_own(ws: Workspace, failure: Failure, now: Moment) -> None:
    """A failure that is recorded changes the reconciler's columns alone."""
    written = apply(ws, record_failure(ws, failure, now).patch, next_number=99)
    assert only_own_columns(ws, written, Writer.RECONCILER) is None


@given(ws=workspaces(), observation=observations())
def test_the_monitor_writes_its_own(ws: Workspace, observation: Observation) -> None:
    """A judgement changes the monitor's columns; its alarm is the named exception."""
    judged = assess(ws, observation)
    if judged.patch is not None:
        assert only_own_columns(ws, apply(ws, judged.patch), Writer.MONITOR) is None
    if judged.alarm is not None:
        written = apply(ws, judged.alarm)
        assert only_its_exception(ws, written, judged.alarm) is None
        assert ws.error_info is None


@given(
    ws=workspaces(),
    actor=st.sampled_from(Actor),
    accept=maybe(incarnations | archive_keys),
    evidence=st.sampled_from(Evidence),
)
def test_the_service_writes_its_own(
    ws: Workspace, actor: Actor, accept: str | None, evidence: Evidence
) -> None:
    """A recovery writes the service's columns; the reset is the named exception."""
    answer = recovery_decision(ws, actor, accept_loss=accept, evidence=evidence)
    if answer.intent is not None:
        assert only_own_columns(ws, apply(ws, answer.intent), Writer.SERVICE) is None
    if answer.recovery is not None:
        written = apply(ws, answer.recovery)
        assert only_its_exception(ws, written, answer.recovery) is None
        assert ws.operation is Operation.NONE


@pytest.mark.parametrize("writer", Writer)
def test_a_foreign_column_is_rejected(writer: Writer) -> None:
    """A write of every writer's columns is rejected for each, and names what was not its own."""
    after = row(
        name="other", observed_status=ObservedStatus.STANDBY, error_count=1, restart_count=2
    )
    columns = {
        Writer.SERVICE: ["name"],
        Writer.MONITOR: ["observed_status"],
        Writer.RECONCILER: ["error_count", "restart_count"],
    }
    foreign = sorted(c for other in Writer if other is not writer for c in columns[other])
    assert only_own_columns(row(), after, writer) == f"{writer} wrote {', '.join(foreign)}"


def test_an_exception_that_does_more_is_rejected() -> None:
    """An alarm over a recorded error, or a reset of more, is not the exception that is allowed."""
    alarm = Alarm(error_info=error())
    known = row(error_info=error(message="known"))
    told = "Alarm wrote something else than it is for"
    assert only_its_exception(known, row(error_info=error()), alarm) == told
    running = busy(Operation.STARTING, error_info=error())
    told = "Recovery wrote something else than it is for"
    assert only_its_exception(running, attrs.evolve(running, error_info=None), Recovery()) == told
    plain = IntentPatch(name="n")
    assert only_its_exception(row(), row(), plain) == "not one of the named exceptions"
