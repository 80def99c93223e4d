"""Settings: each has a variable, a default and a sentence, and a bad one is told by its name."""

from pathlib import Path

import attrs
import pytest

from wsctl_app.settings import (
    OPTIONS,
    BadSetting,
    LogLevel,
    Source,
    describe,
    load,
    variable_of,
)
from wsctl_core import DEFAULT_POLICY, Policy


def test_without_anything_set_the_specifications_numbers_stand():
    """The defaults are the core's, and those of section 6."""
    loaded = load({})
    assert loaded.policy == DEFAULT_POLICY
    settings = loaded.settings
    assert (settings.lock_id, settings.lock_wait_seconds, settings.host) == (12345, 5, "127.0.0.1")
    assert (settings.standby_ttl_seconds, settings.archive_ttl_seconds) == (300, 604800)
    assert set(loaded.sources.values()) == {Source.DEFAULT}


def test_every_number_of_the_policy_can_be_set():
    """No field of the policy is left out."""
    for field in attrs.fields(Policy):
        if field.init:
            assert field.name in OPTIONS


def test_the_specifications_variables_have_its_names():
    """Three are the coordinator's; all others begin with WSCTL_."""
    names = [variable_of(name) for name in OPTIONS]
    named = {name for name in names if not name.startswith("WSCTL_")}
    assert named == {"COORDINATOR_NODE_ID", "COORDINATOR_LOCK_ID", "COORDINATOR_RETRY_INTERVAL"}
    assert len(set(names)) == len(names)


def test_variables_are_read_and_the_command_line_has_the_last_word():
    """The environment overrides a default, an option overrides the environment."""
    environ = {
        "COORDINATOR_NODE_ID": "n7",
        "WSCTL_PORT": "9000",
        "WSCTL_DATA": "~/ws",
        "WSCTL_COMMAND": "serve '{home} dir' --port {port}",
        "WSCTL_LOG_LEVEL": "debug",
        "WSCTL_RESTART_DELAYS_SECONDS": "0,1,2",
        "WSCTL_HOST": "",
    }
    loaded = load(environ, {"port": 0, "host": None})
    settings = loaded.settings
    assert (settings.node_id, settings.port, settings.host) == ("n7", 0, "127.0.0.1")
    assert settings.data == Path("~/ws").expanduser()
    assert settings.command == ("serve", "{home} dir", "--port", "{port}")
    assert settings.log_level is LogLevel.DEBUG
    assert loaded.policy.restart_delays_seconds == (0, 1, 2)
    assert loaded.sources["port"] is Source.COMMAND_LINE
    assert loaded.sources["node_id"] is Source.ENVIRONMENT
    assert loaded.sources["host"] is Source.DEFAULT


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("WSCTL_PORT", "abc", "expected a whole number, got 'abc'"),
        ("WSCTL_PORT", "70000", "expected a port (0 to 65535), got 70000"),
        ("COORDINATOR_RETRY_INTERVAL", "0", "expected a whole number >= 1, got 0"),
        ("COORDINATOR_NODE_ID", " ", "expected some text, got ' '"),
        ("WSCTL_DATABASE_URL", "mysql://x", "begins with postgresql or postgres://"),
        ("WSCTL_REDIS_URL", "localhost", "begins with redis or rediss or unix://"),
        ("WSCTL_URL", "localhost:8080", "begins with http or https://"),
        ("WSCTL_COMMAND", "serve '", "can't be split into words"),
        ("WSCTL_LOG_LEVEL", "loud", "expected one of DEBUG, INFO, WARNING, ERROR, got 'loud'"),
        ("WSCTL_RESTART_DELAYS_SECONDS", "1,x", "expected a whole number, got 'x'"),
        ("WSCTL_RESTART_DELAYS_SECONDS", "700", "shorter than a stable run"),
        ("WSCTL_GC_GRACE_SECONDS", "60", "must exceed the longest timeout (1800 s)"),
        ("WSCTL_MAX_RUNNING_PER_USER", "101", "exceeds the limit for everyone (100)"),
        ("WSCTL_MAX_RUNNING_GLOBAL", "-3", "expected a whole number >= 1, got -3"),
    ],
)
def test_a_bad_setting_is_told_by_its_variable(variable: str, value: str, problem: str):
    """The sentence names the variable and what is wrong, alone or with other settings."""
    with pytest.raises(BadSetting) as refused:
        load({variable: value})
    assert refused.value.variable == variable
    assert problem in refused.value.problem


def test_a_bad_option_is_told_by_its_own_name():
    """What was said on the command line is named as it was said there."""
    with pytest.raises(BadSetting, match="--port: expected a port"):
        load({"WSCTL_PORT": "80"}, {"port": 70000})


def test_every_setting_is_described_and_secrets_are_masked():
    """Value, default, source and a sentence; of an address only the password is hidden."""
    environ = {
        "WSCTL_TOKEN": "hush",
        "WSCTL_DATABASE_URL": "postgresql://ann:hush@example.com/ws",
        "WSCTL_REDIS_URL": "redis://example.com/0",
        "WSCTL_COMMAND": "a b",
    }
    described = {one.variable: one for one in describe(load(environ))}
    assert len(described) == len(OPTIONS)
    assert all(one.sentence.endswith(".") for one in described.values())
    assert described["WSCTL_TOKEN"].value == "***"
    assert described["WSCTL_DATABASE_URL"].value == "postgresql://ann:***@example.com/ws"
    assert described["WSCTL_REDIS_URL"].value == "redis://example.com/0"
    assert described["WSCTL_COMMAND"].value == "a b"
    assert described["WSCTL_RESTART_DELAYS_SECONDS"].value == "0,10,20,40,80"
    assert described["WSCTL_PORT"].default == described["WSCTL_PORT"].value == "8080"
    assert described["WSCTL_TOKEN"].source == "environment"
    assert "hush" not in repr(list(described.values()))
    assert "hush" not in repr(load(environ).settings)
