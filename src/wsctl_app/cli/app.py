"""The command line as a whole: which commands there are, and how their failures are told."""

import sys
from collections.abc import Sequence

from cyclopts import App, Group, Parameter
from cyclopts.exceptions import CycloptsError

from wsctl_app.cli.failures import MEANING, Exit, Failed

RUNNING = Group("Run it", sort_key=1)
WORKSPACES = Group("Workspaces", sort_key=2)
INSTALLATION = Group("The installation", sort_key=3)

_EPILOGUE = "Exit codes: " + "; ".join(f"{code} {text}" for code, text in MEANING.items()) + "."


def built() -> App:
    """All commands. Each is imported when it is asked for."""
    app = App(
        name="wsctl",
        help="A control plane for development workspaces.",
        help_epilogue=_EPILOGUE,
        version_flags=[],
        default_parameter=Parameter(negative=""),
        help_format="plaintext",
    )
    app["--help"].group = Group("Options", sort_key=9)
    serving = "wsctl_app.cli.serving"
    for name, where, told in (
        ("up", f"{serving}:up", "Run a whole installation on this machine."),
        ("demo", f"{serving}:demo", "Show the whole life of a workspace, and verify each step."),
    ):
        app.command(where, name=name, group=RUNNING, help=told)
    changing, looking = "wsctl_app.cli.workspaces", "wsctl_app.cli.looking"
    for name, where, told in (
        ("create", f"{changing}:create", "Make a workspace, and start it."),
        ("list", f"{looking}:list_", "List workspaces."),
        ("show", f"{looking}:show", "Show all about one workspace."),
        ("start", f"{changing}:start", "Have a workspace run, restored if need be."),
        ("stop", f"{changing}:stop", "Stop a workspace; its home stays where it is."),
        ("archive", f"{changing}:archive", "Put a workspace's home into its archive."),
        ("delete", f"{changing}:delete", "Delete a workspace. There is no way back."),
        ("recover", f"{changing}:recover", "End the error of a workspace."),
        ("explain", f"{looking}:explain", "Say why a workspace is as it is, and the ways out."),
        ("events", f"{looking}:events", "Show what happens, as it happens."),
    ):
        app.command(where, name=name, group=WORKSPACES, help=told)
    app.command(
        "wsctl_app.cli.configuration:config",
        name="config",
        group=INSTALLATION,
        help="Show every setting, its value, and where that comes from.",
    )
    app.command(
        "wsctl_app.cli.database:app",
        name="db",
        group=INSTALLATION,
        help="Migrate and check the database.",
    )
    return app


def run(arguments: Sequence[str]) -> int:
    """Do what the command line asks; the answer is the exit code."""
    if not arguments:
        built()(["--help"], result_action="return_value")
        return Exit.USAGE
    try:
        answer = built()(
            list(arguments),
            exit_on_error=False,
            error_formatter=lambda error: f"wsctl: {error}",
            result_action="return_value",
        )
    except CycloptsError:
        return Exit.USAGE
    except Failed as failed:
        sys.stderr.write(f"wsctl: {failed}\n")
        return failed.code
    return answer if isinstance(answer, int) else Exit.OK
