"""The starter workspace: a web page with the files of a home and terminals in it.

It is the default program of a workspace: `python -m wsctl_app.starter --home DIR --port N`. It
knows one folder and one port, and nothing of wsctl: no rows, no settings, no other workspaces. Its
pages never show what is outside the home, and nothing that it started outlives its orderly end.
"""

__all__: list[str] = []
