"""The coordinator on memory adapters and a virtual clock: whole fleets and years, from one seed.

It knows the coordinator and the memory adapters. It never touches anything real, and the same seed
tells the same story.
"""

from wsctl_app.simulation.faults import CALM, CRASHES, STORM, Faults
from wsctl_app.simulation.simulation import Outcome, Setting, simulate

__all__ = ["CALM", "CRASHES", "STORM", "Faults", "Outcome", "Setting", "simulate"]
