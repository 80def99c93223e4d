"""A node: one process of an installation, with its coordinator, its service and its API.

It knows the data folder and the parts that bootstrap gave it. Several nodes may share a data folder
or a database: one of them leads. A node never decides about a workspace.
"""

from wsctl_app.node.data import BadFolder, DataFolder, Endpoint

__all__ = ["BadFolder", "DataFolder", "Endpoint"]
