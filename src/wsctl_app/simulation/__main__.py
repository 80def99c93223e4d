"""Replay a simulation: `python -m wsctl_app.simulation --seed 7 --faults storm`."""

import argparse
import sys

from wsctl_app.simulation import CALM, CRASHES, STORM, Setting, simulate

WEATHER = {"calm": CALM, "crashes": CRASHES, "storm": STORM}


def main() -> int:
    """Run one seed, and tell its story; 1 when a contract was broken."""
    parser = argparse.ArgumentParser(
        prog="python -m wsctl_app.simulation",
        description="Run the coordinator against misfortune, in virtual time, from one seed.",
    )
    parser.add_argument("--seed", type=int, required=True, help="the number it all comes from")
    parser.add_argument("--faults", choices=WEATHER, default="storm", help="how rough it gets")
    parser.add_argument("--quiet", action="store_true", help="tell only how it ended")
    asked = parser.parse_args()
    outcome = simulate(Setting(seed=asked.seed, faults=WEATHER[asked.faults]))
    if not asked.quiet:
        print(*outcome.story, sep="\n")
    for workspace, rest in outcome.rests.items():
        print(f"{workspace}: {rest.value}")
    print(f"{outcome.calls} calls landed, {outcome.terms} terms: {outcome.broken or 'all held'}")
    return 1 if outcome.broken else 0


if __name__ == "__main__":
    sys.exit(main())
