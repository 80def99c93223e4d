"""Hypothesis strategies for everything that a decision reads.

Times and numbers are drawn near one another and near the limits that the policy sets, because
that is where decisions turn. Identities come from a handful, so that they often coincide.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from wsctl_core import (
    DEFAULT_POLICY,
    NO_HOME,
    UNKNOWN,
    Activity,
    AdapterCode,
    ArchiveReceipt,
    ContainerPhase,
    ContainerSeen,
    DesiredState,
    ErrorInfo,
    ErrorReason,
    Failure,
    HealthStatus,
    Home,
    HomeState,
    LastExit,
    Moment,
    Observation,
    ObservedStatus,
    Operation,
    Policy,
    Progress,
    Suspect,
    SuspectKind,
    VolumeSeen,
    Workspace,
    archive_key,
    volume_name,
)
from wsctl_core.decisions.operations import OPERATIONS

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SHA = "5e" * 32

incarnations = st.sampled_from(["i1", "i2", "i3"])
op_ids = st.sampled_from(["op1", "op2", "op3"])
archive_keys = op_ids.map(lambda op_id: archive_key("w1", op_id))
container_ids = st.sampled_from(["c1", "c2"])
numbers = st.integers(min_value=0, max_value=8)

LIMITS = (0, 1, 10, 20, 30, 40, 80, 300, 600, 1800, 7200, 604800)
NEAR_A_LIMIT: Sequence[int] = sorted({limit + d for limit in LIMITS for d in (-1, 0, 1)})
seconds = st.sampled_from(NEAR_A_LIMIT)
times = seconds.map(lambda s: T0 + timedelta(seconds=s))


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """None, or something of it."""
    return st.none() | strategy


@st.composite
def homes(draw: st.DrawFn) -> Home:
    """Homes in every state."""
    state = draw(st.sampled_from(HomeState))
    if state is HomeState.NONE:
        return NO_HOME
    return Home(
        state=state,
        incarnation=draw(incarnations),
        restore_marker=draw(maybe(archive_keys)),
        dirty=state is HomeState.READY and draw(st.booleans()),
    )


last_exits = st.builds(
    LastExit, exit_code=st.integers(-9, 137), out_of_memory=st.booleans(), at=times
)
suspects = st.builds(
    Suspect, what=st.sampled_from(SuspectKind), identity=incarnations | container_ids, seq=numbers
)
contexts = st.one_of(
    st.just({}),
    st.sampled_from(AdapterCode).map(lambda code: {"code": code.value}),
)
errors = st.builds(
    ErrorInfo,
    reason=st.sampled_from(ErrorReason),
    message=st.just("it failed"),
    is_terminal=st.booleans(),
    operation=st.sampled_from(Operation),
    error_count=st.integers(0, 5),
    context=contexts,
    occurred_at=times,
)
failures = st.builds(
    Failure, reason=st.sampled_from(ErrorReason), message=st.just("it failed"), context=contexts
)


@st.composite
def workspaces(
    draw: st.DrawFn,
    *,
    operations: st.SearchStrategy[Operation] | None = None,
    at_rest: bool | None = None,
) -> Workspace:
    """Rows that make sense, in every combination of states; at rest or not, where that is said."""
    if operations is None:
        choices = {
            None: tuple(Operation),
            True: (Operation.NONE,),
            False: tuple(o for o in Operation if o is not Operation.NONE),
        }[at_rest]
        operations = st.sampled_from(choices)
    operation = draw(operations)
    runs = operation is not Operation.NONE
    archived = operation is Operation.RESTORING or draw(st.booleans())
    deleted_at = draw(maybe(times))
    statuses = [s for s in ObservedStatus if deleted_at or s is not ObservedStatus.DELETED]
    home = draw(homes())
    return Workspace(
        id="w1",
        owner_id=draw(st.sampled_from(["ann", "bob"])),
        name="work",
        image="ide:1",
        created_at=T0,
        created_seq=draw(st.integers(0, 3)),
        desired_state=draw(st.sampled_from(DesiredState)),
        deleted_at=deleted_at,
        intent_version=draw(st.integers(0, 3)),
        intent_changed_at=draw(times),
        loss_accepted=draw(maybe(incarnations | archive_keys)),
        standby_ttl_seconds=draw(st.sampled_from([1, 300])),
        archive_ttl_seconds=draw(st.sampled_from([600, 604800])),
        observed_status=draw(st.sampled_from(statuses)),
        health_status=draw(st.sampled_from(HealthStatus)),
        observed_at=draw(maybe(times)),
        observed_seq=draw(numbers),
        suspect=draw(maybe(suspects)),
        last_exit=draw(maybe(last_exits)),
        operation=operation,
        op_id=draw(op_ids) if runs else draw(maybe(op_ids)),
        op_started_at=draw(times) if runs else None,
        op_acted_seq=draw(maybe(numbers)) if runs else None,
        op_ended_seq=draw(numbers),
        archive_key=draw(archive_keys) if archived else None,
        archive_sha256=SHA if archived else None,
        archive_size=12 if archived else None,
        home=home,
        error_count=draw(st.integers(0, 5)),
        error_info=draw(maybe(errors)),
        next_attempt_at=draw(maybe(times)),
        restart_count=draw(st.integers(0, 6)),
        started_at=draw(maybe(times)),
        previous_status=draw(maybe(st.sampled_from(ObservedStatus))),
        last_access_at=draw(times),
    )


policies = st.sampled_from(
    [
        DEFAULT_POLICY,
        Policy(attempts=1, retry_factor=2),
        Policy(attempts=5, retry_factor=2, retry_longest_seconds=60),
        Policy(restart_delays_seconds=(0,), max_running_per_user=1, max_running_global=1),
    ]
)


@st.composite
def moments(draw: st.DrawFn, *, policy: Policy | None = None) -> Moment:
    """Moments near the times and numbers of the rows."""
    return Moment(
        now=draw(times),
        fresh_id="fresh",
        pass_seq=draw(numbers),
        place_free=draw(st.booleans()),
        policy=draw(policies) if policy is None else policy,
    )


@st.composite
def containers_seen(draw: st.DrawFn) -> ContainerSeen:
    """Containers of this home, of another, and without our label."""
    phase = draw(st.sampled_from(ContainerPhase))
    return ContainerSeen(
        id=draw(container_ids),
        incarnation=draw(maybe(incarnations)),
        phase=phase,
        exit=draw(maybe(last_exits)) if phase is ContainerPhase.ENDED else None,
    )


volumes_seen = maybe(incarnations).map(
    lambda i: VolumeSeen(name=volume_name("w1", i or "plain"), incarnation=i)
)


def _listing(things: st.SearchStrategy[Any], key: Any, known: bool) -> st.SearchStrategy[Any]:
    listed = st.lists(things, max_size=2, unique_by=key).map(tuple)
    return listed if known else st.one_of(listed, st.just(UNKNOWN))


@st.composite
def observations(draw: st.DrawFn, *, complete: bool = False) -> Observation:
    """Observations, complete or not; no two containers of one home (their name is one)."""
    return Observation(
        seq=draw(st.integers(0, 10)),
        began_at=draw(times),
        containers=draw(_listing(containers_seen(), lambda c: c.incarnation, complete)),
        volumes=draw(_listing(volumes_seen, lambda v: v.incarnation, complete)),
    )


receipts = archive_keys.map(lambda key: ArchiveReceipt(key=key, sha256=SHA, size=34))


@st.composite
def progresses(draw: st.DrawFn, operation: Operation) -> Progress:
    """Attempts at an operation, with what its earlier stages yielded."""
    stages = OPERATIONS[operation].stages
    return Progress(
        op_id=draw(op_ids),
        done=draw(st.integers(0, len(stages) - 1)),
        running=draw(st.booleans()),
        container_id=draw(container_ids),
        receipt=draw(receipts),
    )


@st.composite
def attempts(draw: st.DrawFn) -> tuple[Workspace, Moment, Progress | None]:
    """A row in any state, a moment, and what the asking process holds of its operation."""
    ws = draw(workspaces())
    held = None
    if ws.operation is not Operation.NONE:
        held = draw(maybe(progresses(ws.operation)))
    return ws, draw(moments()), held


activities = st.builds(
    Activity,
    known=st.booleans(),
    connections=st.integers(0, 2),
    kept_alive=st.booleans(),
    idle_timer=st.booleans(),
)
