"""The coordinator: one process of many leads, and moves every workspace towards what is wanted.

Components know ports, values and decisions. They carry what the core decides and decide nothing
about a workspace themselves; they never know an adapter.
"""

from wsctl_app.coordinator.coordinator import Coordinator, CoordinatorHealth

__all__ = ["Coordinator", "CoordinatorHealth"]
