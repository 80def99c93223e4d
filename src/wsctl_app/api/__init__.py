"""The HTTP API: the service over HTTP, for programs and for `wsctl` itself.

It translates: a request into a call of the service, an answer into JSON, a refusal into a problem
(RFC 9457). It decides nothing, and it lets nobody in without a token but those who ask for health.
"""

from wsctl_app.api.access import Door
from wsctl_app.api.app import Parts, built
from wsctl_app.api.serving import BusyPort, Server, bound

__all__ = ["BusyPort", "Door", "Parts", "Server", "bound", "built"]
