"""How many worlds does the explorer visit in a second, on one core?

Each mix of faults is explored by a model of its own, so that nothing is remembered from the one
before, once for safety alone and once with the question whether calm leads to rest.

    python benchmarks/explorer.py [--short]
"""

import argparse
import sys
from time import process_time

from wsctl_core.model import STARTS, Budget, Model, explore

LIMIT = 100_000
MIXES = {
    "a crash and a change of mind": ("running", Budget(crash=1, intent=1)),
    "two leaders and a failure": ("standby", Budget(failover=1, fail=1, intent=1)),
    "a lost volume and a recovery": ("running", Budget(remove=1, recover=1, accept=1)),
}


def main() -> int:
    """Explore, and print the pace; a mix that breaks something fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="a tenth of the worlds")
    limit = LIMIT // 10 if parser.parse_args().short else LIMIT
    failed = False
    for convergence in (False, True):
        print("safety and convergence" if convergence else "safety alone")
        worlds, took = 0, 0.0
        for name, (start, budget) in MIXES.items():
            began = process_time()
            found = explore(Model(), STARTS[start], budget, limit=limit, convergence=convergence)
            seconds = process_time() - began
            worlds, took = worlds + found.states, took + seconds
            extent = "all" if found.exhausted else "a part"
            print(f"  {name:<32}{found.states:>9,} worlds, {extent}, {seconds:.1f} s")
            if found.broken is not None:
                print(f"    broken: {found.broken}")
                failed = True
        print(f"explorer: {worlds / took:,.0f} states a second on one core")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
