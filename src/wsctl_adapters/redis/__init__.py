"""Activity and signals on Redis, or on Valkey, which speaks the same.

Nothing here is the truth: whoever loses Redis loses time, and an idle workspace runs for longer.
It knows the core and the client library, and never lets one of its exceptions escape.
"""

from wsctl_adapters.redis.activity import RedisActivity
from wsctl_adapters.redis.connection import RedisAdapters, open_redis
from wsctl_adapters.redis.signals import RedisBroadcast, RedisHints

__all__ = ["RedisActivity", "RedisAdapters", "RedisBroadcast", "RedisHints", "open_redis"]
