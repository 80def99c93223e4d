"""PostgreSQL and Valkey from their wheels, as processes under a data folder, for `wsctl up`.

They are the default: what runs on a laptop is the code path of production. They outlive the
wsctl that started them, even one that is killed, and the next start finds them. Several wsctl
may share a folder; the last one to leave stops the servers. Nothing here listens on a network,
and nothing here knows what wsctl keeps in them.
"""

from wsctl_app.embedded.servers import Running, start
from wsctl_app.embedded.trouble import EmbeddedError

__all__ = ["EmbeddedError", "Running", "start"]
