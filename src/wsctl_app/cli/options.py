"""Options that several commands share, each with its words."""

from typing import Annotated

from cyclopts import Parameter

Named = Annotated[str, Parameter(help="Its id, a beginning of its id, or its name.")]
Json = Annotated[bool, Parameter(name="--json", help="Answer in JSON.", show_default=False)]
Wait = Annotated[
    bool, Parameter(help="Come back when it is as it was asked for.", show_default=False)
]
Timeout = Annotated[
    float | None,
    Parameter(name="--timeout", help="With --wait: give up waiting after that many seconds."),
]
