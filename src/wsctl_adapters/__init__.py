"""One thin translation per real thing: Postgres, Redis, Docker, S3, local processes, memory.

An adapter knows the core's ports and the one client library it translates. It never knows another
adapter or the application, never decides anything, and never lets its vendor's exception escape:
what went wrong leaves it as an `AdapterCode`. `conformance` checks the promises of all of them.
"""

__all__: list[str] = []
