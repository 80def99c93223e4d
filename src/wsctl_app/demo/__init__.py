"""The demonstration: the whole life of a workspace on a wsctl of its own, each step verified.

It is a user like any other: it starts `wsctl up` as a process, speaks to its API, and looks at the
disk and at processes where a person would. It runs in a temporary folder and leaves nothing behind.
"""

from wsctl_app.demo.stage import Stage
from wsctl_app.demo.story import STEPS, NotVerified, Story, Telling, told

__all__ = ["NotVerified", "STEPS", "Stage", "Story", "Telling", "told"]
