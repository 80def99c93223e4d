"""Run by `nox -s package` in an environment that holds the wheel and what it brought along."""

import sys
from importlib import metadata, resources

import wsctl_core

BROUGHT = {"attrs", "pip", "setuptools", "wheel", "wsctl"}
PACKAGES = ("wsctl_core", "wsctl_adapters", "wsctl_app")


def problems() -> list[str]:
    """What is wrong with the installation, in sentences."""
    found = []
    names = {d.metadata["Name"].lower() for d in metadata.distributions()}
    if extra := names - BROUGHT:
        found.append(f"the base install brought more than attrs: {sorted(extra)}")
    found += [
        f"{package} ships without its py.typed"
        for package in PACKAGES
        if not resources.files(package).joinpath("py.typed").is_file()
    ]
    found += [
        f"wsctl_core.{name} is in __all__ and does not exist"
        for name in wsctl_core.__all__
        if not hasattr(wsctl_core, name)
    ]
    if "site-packages" not in str(wsctl_core.__file__):
        found.append("wsctl_core was imported from the source tree, not from the wheel")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or 0)
