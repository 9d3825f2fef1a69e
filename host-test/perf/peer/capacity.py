"""zae-limiter, driven line by line. Its operations are metered outside of this process.

    capacity.py PLAN          PLAN: a JSON object; then one JSON object a line on the input, one on the output
"""

import json
import logging
import sys
import traceback
import warnings
from datetime import timedelta

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

from zae_limiter import Limit, RateLimitExceeded, SyncRateLimiter, SyncRepository  # noqa: E402

PLAN = json.loads(sys.argv[1])
RESOURCE, QUOTA = PLAN["resource"], PLAN["quota"]


def answer(**fields):
    print(json.dumps(fields), flush=True)


def connect():
    repository = SyncRepository(
        name=PLAN["table"], region="us-east-1", endpoint_url=PLAN["endpoint"], _skip_deprecation_warning=True
    )
    repository._register_namespace("default")
    namespace = repository._resolve_namespace("default")
    repository._namespace_id = namespace
    repository._config_cache.namespace_id = namespace
    repository._builder_initialized = True
    repository.set_version_record("1.0.0", lambda_version="0.17.0")
    window = timedelta(seconds=PLAN["window_seconds"])
    repository.set_resource_defaults(RESOURCE, [Limit.quota(QUOTA, PLAN["capacity"], reset_after=window)])
    return repository, namespace


REPOSITORY, NAMESPACE = connect()
DRAW = REPOSITORY.select_shard


def stand_at(ask):
    """Sets the time, and the shard that is drawn where the library chooses it."""
    REPOSITORY._now_ms = lambda: ask["now_ms"]

    def select_shard(entity, resource, shard_id=None, shard_count=None, avoid=frozenset()):
        if shard_id is None and ask["shard"] not in avoid:
            shard_id = ask["shard"]
        count = ask["count"] if shard_count is None else shard_count
        return DRAW(entity, resource, shard_id=shard_id, shard_count=count, avoid=avoid)

    REPOSITORY.select_shard = select_shard if "shard" in ask else DRAW


class Session:
    """A process that has run for a while: it knows the configuration."""

    def __init__(self):
        self.limiter = SyncRateLimiter(repository=REPOSITORY)
        self.held = None

    def acquiring(self, ask):
        return self.limiter.acquire(ask["entity"], RESOURCE, consume={QUOTA: ask["tokens"]})

    def acquire(self, ask):
        with self.acquiring(ask):
            pass

    def hold(self, ask):
        self.held = self.acquiring(ask)
        self.lease = self.held.__enter__()

    def settle(self, ask):
        self.lease.adjust(**{QUOTA: ask["difference"]})
        self.held.__exit__(None, None, None)

    def check(self, ask):
        self.limiter.check_availability(ask["entity"], RESOURCE)

    def forget(self, ask):
        REPOSITORY._rejection_cache.clear()
        if ask["entities"]:
            REPOSITORY._entity_cache.clear()

    def family(self, ask):
        REPOSITORY.create_entity(ask["parent"])
        REPOSITORY.create_entity(ask["child"], parent_id=ask["parent"], cascade=True)


def main():
    session = Session()
    answer(namespace=NAMESPACE)
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if "now_ms" in ask:
                stand_at(ask)
            getattr(session, ask["do"])(ask)
            answer(outcome="admitted")
        except RateLimitExceeded:
            answer(outcome="rejected")
        except Exception as error:
            answer(outcome=f"{type(error).__name__}: {error}", trace=traceback.format_exc(limit=6))


if __name__ == "__main__":
    main()
