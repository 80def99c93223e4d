"""Workspaces as processes on folders, and archives in a folder, on one machine.

It knows the core's ports and the operating system (Linux), and no client library. It isolates
nothing. Any number of processes may use the same folders, and be killed or stopped at any moment.
"""

from wsctl_adapters.local.archives import FolderArchives
from wsctl_adapters.local.runtime import LocalRuntime

__all__ = ["FolderArchives", "LocalRuntime"]
