"""Settings: every one has a variable, a default and a sentence; `wsctl config` prints them all.

They come from the environment, and a few from the command line. A bad one is refused with its
variable's name and what is wrong with it. Settings know the core's policy and nothing else.
"""

from wsctl_app.settings.declared import OPTIONS, BadSetting, LogLevel, Settings, variable_of
from wsctl_app.settings.describing import Described, describe
from wsctl_app.settings.loading import Loaded, Source, load

__all__ = [
    "BadSetting",
    "Described",
    "Loaded",
    "LogLevel",
    "OPTIONS",
    "Settings",
    "Source",
    "describe",
    "load",
    "variable_of",
]
