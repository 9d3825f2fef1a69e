"""A process of the other implementation on the table, driven by `onewindow-fleet`.

    worker.py ROLE PLAN       ROLE: setup | sync | async | old | reader | differ, PLAN: a JSON object

A worker acquires tokens at random until it is killed or its input ends. It prints one JSON object a line:
`{"acquires": …, "admitted": …, "rejected": …}`, counted since its start, and `{"error": …}` for whatever
the library raised that is not an answer.
"""

import asyncio
import json
import logging
import os
import random
import sys
import threading
import time
import traceback
import warnings
from datetime import timedelta

warnings.simplefilter("ignore")
# The old writer warns on each acquire of a limit that it does not know.
logging.disable(logging.WARNING)

ROLE, PLAN = sys.argv[1], json.loads(sys.argv[2])
RESOURCE = "gpt-4"
# Names of limits may hold what expressions treat as operators.
SESSION, RATE = "session", "rpm"


def report(**fields):
    print(json.dumps(fields), flush=True)


def connect(repository_class):
    """The repository on the fleet's table and namespace, under a clock that is off by `skew_ms`."""
    repository = repository_class(
        name=PLAN["table"], region="us-east-1", endpoint_url=PLAN["endpoint"], _skip_deprecation_warning=True
    )
    skew_ms = PLAN.get("skew_ms", 0)
    repository._now_ms = lambda: int(time.time() * 1000) + skew_ms
    return repository


def enter(repository, namespace_id):
    repository._namespace_id = namespace_id
    repository._config_cache.namespace_id = namespace_id
    repository._builder_initialized = True


def entity():
    """One of the entities of this period; new ones begin unsharded."""
    period = int((time.time() * 1000 - PLAN["began_ms"]) // PLAN["period_ms"])
    return f"{PLAN['run']}-{period}-{random.randrange(PLAN['entities'])}"


class Count:
    """Acquires and their answers; printed now and then."""

    def __init__(self):
        self.acquires = self.admitted = self.rejected = 0
        self.printed = 0.0

    def add(self, admitted):
        self.acquires += 1
        self.admitted += admitted
        self.rejected += not admitted
        if time.monotonic() - self.printed > 0.25:
            self.printed = time.monotonic()
            report(acquires=self.acquires, admitted=self.admitted, rejected=self.rejected)


def failed(error):
    report(error=f"{type(error).__name__}: {error}", trace=traceback.format_exc(limit=6))


def is_lost_race(error):
    """Losing to another writer, or to a process that was killed, is an answer."""
    text = str(error)
    return any(word in text for word in ("TransactionConflict", "contended", "Connection", "timed out"))


def amount():
    return random.choice((1, 1, 1, 2, 3))


def settlement(taken):
    """Now and then what was really used differs. No acquire takes as many as a correction adds."""
    draw = random.random()
    if draw < 0.08:
        return -taken
    return PLAN["correction"] if draw < 0.09 else 0


def pause():
    return random.expovariate(PLAN["rate"])


def setup():
    from zae_limiter import Limit, SyncRepository

    repository = connect(SyncRepository)
    repository._register_namespace("default")
    namespace_id = repository._resolve_namespace("default")
    enter(repository, namespace_id)
    # The library refuses windows on a table whose readers it does not know to be new enough.
    repository.set_version_record("1.0.0", lambda_version="0.17.0")
    session = Limit.quota(SESSION, PLAN["capacity"], reset_after=timedelta(seconds=PLAN["window_seconds"]))
    rate = Limit.custom(
        RATE, capacity=PLAN["rate_capacity"], refill_amount=PLAN["rate_capacity"], refill_period_seconds=1
    )
    repository.set_resource_defaults(RESOURCE, [session, rate])
    for period in range(PLAN["periods"] if PLAN["children"] else 0):
        parent = f"{PLAN['run']}-{period}-0"
        repository.create_entity(parent)
        for child in range(1, PLAN["children"] + 1):
            repository.create_entity(f"{PLAN['run']}-{period}-{child}", parent_id=parent, cascade=True)
    report(namespace=namespace_id)


def run_sync():
    from zae_limiter import RateLimitExceeded, SyncRateLimiter, SyncRepository

    repository = connect(SyncRepository)
    enter(repository, PLAN["namespace"])
    limiter = SyncRateLimiter(repository=repository)
    count = Count()
    while True:
        tokens = amount()
        try:
            with limiter.acquire(entity(), RESOURCE, consume={SESSION: tokens, RATE: 1}) as lease:
                difference = settlement(tokens)
                if difference:
                    lease.adjust(**{SESSION: difference})
            count.add(True)
        except RateLimitExceeded:
            count.add(False)
        except Exception as error:
            count.add(False) if is_lost_race(error) else failed(error)
        time.sleep(pause())


def run_old():
    """A writer from before windows: it knows the rate alone, and spends what it sees of the quota."""
    from zae_limiter import Limit, RateLimitExceeded, SyncRateLimiter, SyncRepository

    repository = connect(SyncRepository)
    enter(repository, PLAN["namespace"])
    limiter = SyncRateLimiter(repository=repository)
    rate = Limit.custom(
        RATE, capacity=PLAN["rate_capacity"], refill_amount=PLAN["rate_capacity"], refill_period_seconds=1
    )
    count = Count()
    while True:
        try:
            with limiter.acquire(entity(), RESOURCE, consume={SESSION: amount(), RATE: 1}, limits=[rate]):
                pass
            count.add(True)
        except RateLimitExceeded:
            count.add(False)
        except Exception as error:
            count.add(False) if is_lost_race(error) else failed(error)
        time.sleep(pause())


async def run_async():
    from zae_limiter import RateLimiter, RateLimitExceeded, Repository

    repository = connect(Repository)
    enter(repository, PLAN["namespace"])
    limiter = RateLimiter(repository=repository)
    count = Count()

    async def client():
        while True:
            tokens = amount()
            try:
                async with limiter.acquire(entity(), RESOURCE, consume={SESSION: tokens, RATE: 1}) as lease:
                    difference = settlement(tokens)
                    if difference:
                        await lease.adjust(**{SESSION: difference})
                count.add(True)
            except RateLimitExceeded:
                count.add(False)
            except Exception as error:
                count.add(False) if is_lost_race(error) else failed(error)
            await asyncio.sleep(pause() * CLIENTS)

    CLIENTS = 4
    await asyncio.gather(*(client() for _ in range(CLIENTS)))


def run_reader():
    """Answers each entity on its input with what the library reads of it."""
    from zae_limiter import SyncRateLimiter, SyncRepository

    repository = connect(SyncRepository)
    enter(repository, PLAN["namespace"])
    limiter = SyncRateLimiter(repository=repository)
    for line in sys.stdin:
        try:
            found = limiter.check_availability(line.strip(), RESOURCE)
            status = found.status(SESSION)
            report(resets_at_ms=status.resets_at_ms, available=status.available, now_ms=found.checked_at_ms)
        except Exception as error:
            failed(error)


def run_differ():
    """Makes the acquire on each line of its input, at the time and on the shard that it names."""
    from zae_limiter import Limit, RateLimitExceeded, SyncRateLimiter, SyncRepository

    repository = connect(SyncRepository)
    enter(repository, PLAN["namespace"])
    for line in sys.stdin:
        ask = json.loads(line)
        # A process that knows nothing yet but how many shards there are.
        repository._entity_cache.clear()
        limiter = SyncRateLimiter(repository=repository)
        repository._now_ms = lambda now_ms=ask["now_ms"]: now_ms
        repository.select_shard = lambda entity_id, resource, shard_id=None, shard_count=None, avoid=frozenset(): (
            ask["shard"] if shard_id is None else shard_id,
            ask["count"] if shard_count is None else shard_count,
        )
        limits = [
            Limit.quota(SESSION, ask["capacity"], reset_after=timedelta(seconds=ask["window_seconds"])),
            Limit.custom(
                RATE, capacity=ask["rate_capacity"], refill_amount=ask["rate_capacity"], refill_period_seconds=60
            ),
        ]
        try:
            with limiter.acquire(ask["entity"], RESOURCE, consume=ask["consume"], limits=limits):
                pass
            report(outcome="admitted")
        except RateLimitExceeded as refusal:
            report(outcome="rejected", retry_after_seconds=refusal.retry_after_seconds)
        except Exception as error:
            report(outcome=f"{type(error).__name__}: {error}", trace=traceback.format_exc(limit=6))


def end_with_parent():
    """The fleet's end, however it comes, is the worker's."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    if ROLE in ("sync", "async", "old"):
        threading.Thread(target=end_with_parent, daemon=True).start()
    if ROLE == "async":
        asyncio.run(run_async())
    else:
        {"setup": setup, "sync": run_sync, "old": run_old, "reader": run_reader, "differ": run_differ}[ROLE]()
