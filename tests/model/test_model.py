"""The model itself: what a world is, how it moves, and how a story is told."""

from functools import cache
from typing import Any

import pytest

from wsctl_core.contracts.states import Settled
from wsctl_core.model import LAWS, STARTS, Budget, Model, World, explore, tell
from wsctl_core.model.abstraction import Row, row_of, workspace_of
from wsctl_core.model.calm import Calm, disagrees
from wsctl_core.model.laws import Laws
from wsctl_core.model.moves import MODEL_POLICY, Event
from wsctl_core.model.naming import canonical, names_in
from wsctl_core.model.story import describe
from wsctl_core.model.world import (
    NEW,
    OLD,
    Archive,
    Attempt,
    Call,
    Container,
    Finding,
    Look,
    Process,
    Volume,
)
from wsctl_core.values.observation import SuspectKind
from wsctl_core.values.policy import Policy
from wsctl_core.values.states import DesiredState, HealthStatus, ObservedStatus

EVERYTHING = Budget(*([1] * len(Budget._fields)))


@cache
def reachable(start: str, budget: Budget, at_most: int, laws: Laws = LAWS) -> list[World]:
    """The first worlds that are reached, breadth first."""
    model = Model(laws, forget_fenced=False)
    seen = {canonical(STARTS[start]._replace(budget=budget)): None}
    queue = list(seen)
    for w in queue:
        for event in model.events(w):
            after = model.step(w, event)
            if after not in seen and len(seen) < at_most:
                seen[after] = None
                queue.append(after)
    return queue


def varied(laws: Laws) -> list[World]:
    """Some thousands of worlds in which every kind of event can happen."""
    worlds = [w for start in STARTS for w in reachable(start, EVERYTHING, 600, laws)]
    worlds += reachable("archived", Budget(intent=1, fail=1), 2500, laws)
    return worlds + reachable("new", Budget(), 800, laws)


@pytest.mark.parametrize("start", STARTS)
def test_a_row_survives_the_way_to_a_real_row_and_back(start: str) -> None:
    """Nothing that decisions can tell apart is lost in the abstraction."""
    for w in reachable(start, EVERYTHING, 600):
        assert row_of(workspace_of(w.row), MODEL_POLICY.attempts + 1) == w.row


@pytest.mark.parametrize("start", STARTS)
def test_a_step_is_a_function(start: str) -> None:
    """Two models that are asked the same give the same worlds, in the same order."""
    one, two = Model(), Model()
    for w in reachable(start, EVERYTHING, 100):
        events = list(one.events(w))
        assert events == list(two.events(w))
        assert [one.step(w, e) for e in events] == [two.step(w, e) for e in events]


@pytest.mark.parametrize("start", STARTS)
def test_canonical_worlds_name_things_in_order(start: str) -> None:
    """Every name in use is smaller than the number of names, and naming again changes nothing."""
    for w in reachable(start, EVERYTHING, 600):
        assert canonical(w) == w
        for numbers in names_in(w):
            assert sorted(numbers) == list(range(len(numbers)))


def test_worlds_that_differ_in_names_alone_are_the_same() -> None:
    """Numbering everything anew gives one world for all of them."""

    def world(n: int) -> World:
        suspect = (SuspectKind.HOME_MISSING, n, n)
        row = Row(inc=n, home=STARTS["standby"].row.home, loss=("archive", n), suspect=suspect)
        busy = row._replace(
            op=n + 1, acted=n + 3, loss=("home", n), suspect=(SuspectKind.IN_PROGRESS, n, n)
        )
        container = Container(cid=n, inc=n)
        finding = Finding(
            number=n + 4,
            changed=True,
            observed=ObservedStatus.STANDBY,
            health=HealthStatus.OK,
            suspect=(SuspectKind.CONTAINER_WITHOUT_VOLUME, n, n),
            alarm=False,
        )
        return World(
            row=row._replace(archive=n, marker=n, op=n + 1),
            containers=(container,),
            volumes=(Volume(inc=n, content=NEW),),
            archives=(Archive(op=n, content=NEW),),
            calls=(Call("restore", inc=n, op=n), Call("start", cids=(n,), incs=(n,), waits=0)),
            active=Process(seen=busy, seen_pass=n, attempt=Attempt(op=n + 1, cid=n)),
            deposed=Process(look=Look(n, (container,), row), finding=finding),
            gc=(n,),
            reap=((n,), (n,)),
            hidden=Volume(inc=n + 1),
        )

    assert world(3) != world(5)
    assert canonical(world(3)) == canonical(world(5))
    with_rows = world(3)._replace(gc=world(3).row, reap=world(3).row)
    assert canonical(with_rows) == canonical(world(7)._replace(gc=world(7).row, reap=world(7).row))


def test_an_exploration_says_when_it_gave_up() -> None:
    """A limit that is reached is not an exhausted space."""
    found = explore(Model(), STARTS["new"], Budget(), limit=50)
    assert (found.states, found.exhausted, found.holds) == (50, False, True)
    assert tell(Model(), found) == "Nothing broke in 50 worlds, and there are more."


def test_an_exploration_says_when_it_has_seen_all() -> None:
    """Safety alone can be explored, without asking each world where calm leads."""
    found = explore(Model(), STARTS["running"], Budget(intent=1), convergence=False)
    assert found.exhausted
    assert tell(Model(), found).endswith("and there are no others.")


def test_a_counterexample_is_the_shortest_story() -> None:
    """The story names what is broken and every step that leads there."""
    model = Model(Laws(create_refuses_missing=False))
    found = explore(model, STARTS["standby"], Budget(remove=1, intent=1), convergence=False)
    story = tell(model, found)
    assert story.splitlines()[0] == f"Broken: {found.broken}."
    assert "someone removes the home's volume" in story
    assert "the user wants RUNNING" in story
    assert story.count("\n") >= len(found.path)
    shorter = explore(
        model,
        STARTS["standby"],
        Budget(remove=1, intent=1),
        convergence=False,
        limit=found.states - 1,
    )
    assert len(found.path) > 2
    assert shorter.holds or len(shorter.path) == len(found.path)


@pytest.mark.parametrize(
    "laws", [LAWS, Laws(epoch_on_writes=False, create_then_start=False, delete_by_identity=False)]
)
def test_every_event_has_words(laws: Laws) -> None:
    """Whatever can happen can be told."""
    model = Model(laws, forget_fenced=False)
    told = set()
    for w in varied(laws):
        for event in model.events(w):
            told.add(event[0])
            assert describe(model, w, event)
    assert told == set(model.moves)


def test_calm_leads_a_new_workspace_to_run() -> None:
    """From nothing to a running container on a home, without any fault."""
    calm = Calm(Model())
    end = calm.judge(STARTS["new"])
    assert (end.settled, end.broken) == (Settled.CONVERGED, None)
    run = calm.path(STARTS["new"])
    assert [event for event, _ in run][-1][0] != "crash"
    assert end.world.containers


def test_calm_ends_in_an_error_with_a_way_out() -> None:
    """A home that someone removed is an error, and giving it up leads out."""
    w = STARTS["running"]._replace(volumes=(), containers=(), excused=True, tampered=True)
    end = Calm(Model()).judge(w)
    assert (end.settled, end.broken) == (Settled.IN_ERROR, None)


def test_a_run_without_an_end_is_told() -> None:
    """What never comes to rest is broken, however long one waits."""
    w = STARTS["running"]._replace(containers=(), dies=True)
    policy = Policy(attempts=2, restart_delays_seconds=(0,) * 60)
    assert "not settled within" in str(Calm(Model(policy=policy)).judge(w).broken)


@pytest.mark.parametrize(
    ("start", "settled", "wrong"),
    [
        ("archived", Settled.DELETED, {"volumes": (Volume(inc=0),)}),
        ("archived", Settled.DELETED, {"containers": (Container(cid=0, inc=0),)}),
        ("running", Settled.CONVERGED, {"containers": ()}),
        ("running", Settled.CONVERGED, {"volumes": ()}),
        ("running", Settled.CONVERGED, {"volumes": (Volume(inc=0, content=OLD),)}),
        ("standby", Settled.CONVERGED, {"containers": STARTS["running"].containers}),
        ("standby", Settled.CONVERGED, {"volumes": ()}),
        ("archived", Settled.CONVERGED, {"containers": STARTS["running"].containers}),
    ],
)
def test_the_world_must_agree_with_the_row(
    start: str, settled: Settled, wrong: dict[str, Any]
) -> None:
    """A row that is settled about a world that is not so is caught."""
    assert disagrees(STARTS[start], settled) is None or settled is Settled.DELETED
    assert disagrees(STARTS[start]._replace(**wrong), settled) is not None


def test_a_volume_of_a_pending_home_disagrees() -> None:
    """Where nothing is wanted, the home's volume is not there."""
    w = STARTS["standby"]._replace(row=STARTS["standby"].row._replace(desired=DesiredState.PENDING))
    assert disagrees(w, Settled.CONVERGED) is not None


def test_desired_states_are_all_reachable() -> None:
    """A user may want anything at any time."""
    model = Model()
    wants = {e[2] for e in model.events(STARTS["running"]._replace(budget=Budget(intent=1)))}
    assert {DesiredState.STANDBY, DesiredState.PENDING} <= wants


def test_an_unknown_event_is_refused() -> None:
    """The model does not guess."""
    event: Event = ("explode", 0, None)
    with pytest.raises(KeyError):
        Model().step(STARTS["new"], event)
