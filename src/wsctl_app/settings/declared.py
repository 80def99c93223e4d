"""Every setting there is: its default, its bounds and its sentence."""

import os
import socket
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import attrs
import typed_settings as ts
from typed_settings.cls_utils import deep_options
from typed_settings.types import OptionInfo

from wsctl_core.values import validation as must
from wsctl_core.values.policy import Policy
from wsctl_core.values.validation import InvalidValue


class BadSetting(Exception):
    """A setting that can't be used: the variable, and what is wrong with it."""

    def __init__(self, variable: str, problem: str) -> None:
        super().__init__(f"{variable}: {problem}")
        self.variable = variable
        self.problem = problem


class LogLevel(StrEnum):
    """How much is told."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


_COORDINATOR = {
    "node_id": "COORDINATOR_NODE_ID",
    "lock_id": "COORDINATOR_LOCK_ID",
    "lock_wait_seconds": "COORDINATOR_RETRY_INTERVAL",
}
"""The variables that the specification names; every other is WSCTL_ and the setting's name."""


def _port(instance: object, attribute: "attrs.Attribute[Any]", value: Any) -> None:
    if type(value) is not int or not 0 <= value <= 65535:
        raise must.refuse(instance, attribute.name, f"expected a port (0 to 65535), got {value!r}")


def _setting(
    default: Any,
    sentence: str,
    *,
    validator: Any = None,
    secret: bool = False,
) -> Any:
    make = ts.secret if secret else ts.option
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # it is a class
        return make(factory=default.factory, help=sentence, validator=validator)
    return make(default=default, help=sentence, validator=validator)


def _policy(field: str, sentence: str) -> Any:
    """A number of the policy: its default and its bounds are the core's."""
    rule = attrs.fields_dict(Policy)[field]
    return _setting(rule.default, sentence, validator=rule.validator)


def _default_data() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "wsctl"


_text = must.optional(must.text)


@attrs.frozen(kw_only=True)
class Settings:
    """Everything that can be set, with its default and its sentence."""

    node_id: str = _setting(
        attrs.Factory(socket.gethostname),
        "The name of this node, for people.",
        validator=must.text,
    )
    lock_id: int = _setting(
        12345,
        "The number of the lock that coordinators compete for; unique in the database.",
        validator=must.whole(),
    )
    lock_wait_seconds: int = _setting(
        5,
        "Seconds that a standby waits for the lock before it asks again.",
        validator=must.whole(1),
    )

    data: Path = _setting(  # noqa: RUF009  # a factory, not a value
        attrs.Factory(_default_data), "The folder that holds everything that `wsctl up` keeps."
    )
    host: str = _setting("127.0.0.1", "The address to listen on.", validator=must.text)
    port: int = _setting(8080, "The port to listen on; 0 takes a free one.", validator=_port)
    database_url: str | None = _setting(
        None,
        "A PostgreSQL to use; when not set, `wsctl up` runs one of its own.",
        validator=_text,
        secret=True,
    )
    redis_url: str | None = _setting(
        None,
        "A Redis or Valkey to use; when not set, `wsctl up` runs one of its own.",
        validator=_text,
        secret=True,
    )
    token: str | None = _setting(
        None,
        "The administrator's token; when not set, the one in the file `token` of the data folder.",
        validator=_text,
        secret=True,
    )
    url: str | None = _setting(
        None,
        "Where commands find wsctl; when not set, the `wsctl up` that runs on the data folder.",
        validator=_text,
    )
    command: tuple[str, ...] | None = _setting(
        None,
        "What a local workspace runs, {home}, {host}, {port}, {workspace_id} and {image} filled "
        "in; when not set, the starter workspace.",
    )
    image: str = _setting(
        "starter", "The image of a workspace that names none.", validator=must.text
    )
    log_level: LogLevel = _setting(  # noqa: RUF009  # an enum member never changes
        LogLevel.INFO, "The least important events that are logged."
    )

    standby_ttl_seconds: int = _setting(
        300, "Idle seconds after which a running workspace stops.", validator=must.whole(1)
    )
    archive_ttl_seconds: int = _setting(
        604800,
        "Unused seconds after which a stopped workspace is archived.",
        validator=must.whole(1),
    )
    keepalive_longest_seconds: int = _setting(
        86400,
        "The longest time for which a workspace can be kept alive by one request.",
        validator=must.whole(1),
    )

    max_running_per_user: int = _policy(
        "max_running_per_user", "How many workspaces of one user may run at once."
    )
    max_running_global: int = _policy(
        "max_running_global", "How many workspaces may run at once in all."
    )
    attempts: int = _policy("attempts", "Failures of one operation after which a person is needed.")
    retry_interval_seconds: int = _policy(
        "retry_interval_seconds", "The wait before a failed attempt is repeated."
    )
    retry_factor: int = _policy("retry_factor", "By how much that wait grows with every failure.")
    retry_longest_seconds: int = _policy("retry_longest_seconds", "The longest such wait.")
    provisioning_timeout_seconds: int = _policy(
        "provisioning_timeout_seconds", "How long making an empty home may take."
    )
    restoring_timeout_seconds: int = _policy(
        "restoring_timeout_seconds", "How long restoring a home may take."
    )
    starting_timeout_seconds: int = _policy(
        "starting_timeout_seconds", "How long a start may take."
    )
    stopping_timeout_seconds: int = _policy("stopping_timeout_seconds", "How long a stop may take.")
    archiving_timeout_seconds: int = _policy(
        "archiving_timeout_seconds", "How long archiving a home may take."
    )
    deleting_timeout_seconds: int = _policy(
        "deleting_timeout_seconds", "How long one try at a deletion may take."
    )
    restart_delays_seconds: tuple[int, ...] = _policy(
        "restart_delays_seconds",
        "The waits before each start of a container that keeps ending, with commas between.",
    )
    stable_run_seconds: int = _policy(
        "stable_run_seconds", "How long a container runs before its earlier ends are forgotten."
    )
    gc_grace_seconds: int = _policy(
        "gc_grace_seconds", "The age below which no archive is ever collected."
    )
    reaper_grace_seconds: int = _policy(
        "reaper_grace_seconds", "The age below which no stray is ever removed."
    )
    stop_grace_seconds: int = _policy(
        "stop_grace_seconds", "How long a container that is asked to end may take."
    )
    idle_poll_seconds: int = _policy(
        "idle_poll_seconds", "How often wsctl looks while nothing is to be done."
    )
    busy_poll_seconds: int = _policy(
        "busy_poll_seconds", "How often it looks while an operation runs."
    )
    unconverged_poll_seconds: int = _policy(
        "unconverged_poll_seconds", "How often it plans while anything is not as it is wanted."
    )
    ttl_poll_seconds: int = _policy("ttl_poll_seconds", "How often it looks for idle workspaces.")
    gc_poll_seconds: int = _policy("gc_poll_seconds", "How often it looks for needless archives.")

    def policy(self) -> Policy:
        """The numbers that decide. BadSetting when they would break a contract together."""
        numbers = {field: getattr(self, field) for field in _POLICY_FIELDS}
        try:
            return Policy(**numbers)
        except InvalidValue as error:
            raise BadSetting(variable_of(error.field), error.problem) from None


_POLICY_FIELDS = tuple(field.name for field in attrs.fields(Policy) if field.init)
OPTIONS: Mapping[str, OptionInfo] = {option.path: option for option in deep_options(Settings)}


def variable_of(name: str) -> str:
    """The environment variable of a setting.

    >>> variable_of("port"), variable_of("node_id")
    ('WSCTL_PORT', 'COORDINATOR_NODE_ID')
    """
    return _COORDINATOR.get(name, f"WSCTL_{name.upper()}")
