"""zae-limiter as a client that is measured, driven by `onewindow-perf` line by line.

The first line of the input names the table and the role: setup, sync or async. Each further line is a task
and is answered by one JSON object. The library's settings are its defaults: speculative
writes, configuration kept for 60 s, the connection pool of boto3 or aiobotocore.
"""

import asyncio
import itertools
import json
import logging
import sys
import threading
import warnings
from datetime import timedelta
from time import perf_counter, process_time

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

TARGET = json.loads(sys.stdin.readline())
RESOURCE, QUOTA = TARGET["resource"], TARGET["quota"]


def answer(**fields):
    print(json.dumps(fields), flush=True)


def connect(repository_class):
    return repository_class(
        name=TARGET["table"], region="us-east-1", endpoint_url=TARGET["endpoint"], _skip_deprecation_warning=True
    )


def enter(repository, namespace_id):
    repository._namespace_id = namespace_id
    repository._config_cache.namespace_id = namespace_id
    repository._builder_initialized = True


def setup():
    """Registers the namespace, and configures the resource for all processes."""
    from zae_limiter import Limit, SyncRepository

    repository = connect(SyncRepository)
    repository._register_namespace("default")
    namespace_id = repository._resolve_namespace("default")
    enter(repository, namespace_id)
    # The library refuses windows on a table whose readers it does not know to be new enough.
    repository.set_version_record("1.0.0", lambda_version="0.17.0")
    window = timedelta(seconds=TARGET["window_seconds"])
    repository.set_resource_defaults(RESOURCE, [Limit.quota(QUOTA, TARGET["capacity"], reset_after=window)])
    answer(namespace=namespace_id)


class Wire:
    """What the AWS client sends and receives, by its own events."""

    def __init__(self, events):
        self.sent = []
        self.calls = []
        self.body = self.parsed = None
        events.register("before-send.dynamodb", lambda request, **_: self.sent.append(perf_counter()))
        events.register("before-call.dynamodb", lambda context, **_: context.update(perf_began=perf_counter()))
        events.register("before-parse.dynamodb", self.before_parse)
        events.register("after-call.dynamodb", self.after_call)

    def before_parse(self, response_dict, **_):
        self.body = response_dict["body"]

    def after_call(self, context, parsed, **_):
        self.calls.append((context["perf_began"], perf_counter()))
        self.parsed = parsed

    def clear(self):
        self.sent.clear()
        self.calls.clear()

    def round_trips(self, until):
        """The most calls that followed one another: those made at the same time count once."""
        count, free_at = 0, 0.0
        for began, ended in sorted(self.calls, key=lambda call: call[1]):
            if ended <= until and began >= free_at:
                count, free_at = count + 1, ended
        return count


class Subject:
    """A process with the library that has run for a while: what both of its forms have in common."""

    def debit(self, ask):
        self.acquire(ask["entity"], 1)
        return {}

    def load(self, ask):
        clients = ask["clients"]
        self.everyone(self.once, clients)
        self.wire.clear()
        cpu, began = process_time(), perf_counter()
        samples = self.everyone(self.cycle, clients, began + ask["seconds"])
        seconds, cpu = perf_counter() - began, process_time() - cpu
        samples = sorted(itertools.chain.from_iterable(samples))
        return {
            "acquires": len(samples),
            "seconds": seconds,
            "p50_us": samples[len(samples) // 2] * 1e6,
            "p99_us": samples[len(samples) * 99 // 100] * 1e6,
            "cpu_us": cpu * 1e6 / len(samples),
            "requests": len(self.wire.sent) / len(samples),
        }

    def end(self, ask):
        if ask["cold"]:
            # What a process that has just started does not know.
            self.repository._entity_cache.clear()
            self.repository._rejection_cache.clear()
            self.repository._owner_stamp_cache.clear()
            self.repository._config_cache.invalidate()
        self.wire.clear()
        began, answered = self.acquire(ask["entity"], 1)
        before = sum(sent <= answered for sent in self.wire.sent)
        return {
            "requests": before,
            "round_trips": self.wire.round_trips(answered),
            "after": len(self.wire.sent) - before,
            "answer_us": (answered - began) * 1e6,
        }

    def decide(self, ask):
        """The CPU of an acquire whose update is answered at once: within the AWS client, where it would
        send, and in its place."""
        entity, times = ask["entity"], ask["times"]
        self.acquire(entity, 2)
        body, parsed = self.wire.body, self.wire.parsed

        def canned(request, **_):
            response = self.response_class(request.url, 200, {}, None)
            response._content = body
            return response

        def each():
            cpu = process_time()
            self.acquire(entity, times)
            return (process_time() - cpu) * 1e6 / times

        events = self.client.meta.events
        events.register("before-send.dynamodb.UpdateItem", canned)
        unsent_us = each()
        events.unregister("before-send.dynamodb.UpdateItem", canned)
        self.client.update_item = self.answering(parsed)
        alone_us = each()
        del self.client.update_item
        return {"unsent_us": unsent_us, "alone_us": alone_us}


class Sync(Subject):
    def __init__(self):
        from botocore.awsrequest import AWSResponse
        from zae_limiter import SyncRateLimiter, SyncRepository

        self.repository = connect(SyncRepository)
        enter(self.repository, TARGET["namespace"])
        self.limiter = SyncRateLimiter(repository=self.repository)
        self.client = self.repository._get_client()
        self.wire = Wire(self.client.meta.events)
        self.response_class = AWSResponse

    def acquire(self, entity, times):
        """When the last one began, and when it was answered."""
        for _ in range(times):
            began = perf_counter()
            with self.limiter.acquire(entity, RESOURCE, consume={QUOTA: 1}):
                answered = perf_counter()
        return began, answered

    def once(self, entities, samples):
        for entity in entities:
            self.acquire(entity, 1)

    def cycle(self, entities, samples, until):
        for entity in itertools.cycle(entities):
            began = perf_counter()
            if began >= until:
                return
            with self.limiter.acquire(entity, RESOURCE, consume={QUOTA: 1}):
                pass
            samples.append(perf_counter() - began)

    def everyone(self, work, clients, *arguments):
        """Each client is a thread."""
        samples = [[] for _ in clients]
        pairs = zip(clients, samples)
        threads = [threading.Thread(target=work, args=(*pair, *arguments)) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return samples

    def answering(self, reply):
        return lambda **_: reply


class Async(Subject):
    def __init__(self):
        from aiobotocore.awsrequest import AioAWSResponse
        from zae_limiter import RateLimiter, Repository

        self.loop = asyncio.new_event_loop()
        self.repository = connect(Repository)
        enter(self.repository, TARGET["namespace"])
        self.limiter = RateLimiter(repository=self.repository)
        self.client = self.loop.run_until_complete(self.repository._get_client())
        self.wire = Wire(self.client.meta.events)
        self.response_class = AioAWSResponse

    def acquire(self, entity, times):
        async def run():
            for _ in range(times):
                began = perf_counter()
                async with self.limiter.acquire(entity, RESOURCE, consume={QUOTA: 1}):
                    answered = perf_counter()
            return began, answered

        return self.loop.run_until_complete(run())

    async def once(self, entities, samples):
        for entity in entities:
            async with self.limiter.acquire(entity, RESOURCE, consume={QUOTA: 1}):
                pass

    async def cycle(self, entities, samples, until):
        for entity in itertools.cycle(entities):
            began = perf_counter()
            if began >= until:
                return
            async with self.limiter.acquire(entity, RESOURCE, consume={QUOTA: 1}):
                pass
            samples.append(perf_counter() - began)

    def everyone(self, work, clients, *arguments):
        """Each client is a task."""

        async def run():
            samples = [[] for _ in clients]
            await asyncio.gather(*(work(*pair, *arguments) for pair in zip(clients, samples)))
            return samples

        return self.loop.run_until_complete(run())

    def answering(self, reply):
        async def update_item(**_):
            return reply

        return update_item


def main():
    if TARGET["who"] == "setup":
        return setup()
    subject = {"sync": Sync, "async": Async}[TARGET["who"]]()
    for line in sys.stdin:
        [(what, ask)] = json.loads(line).items()
        answer(**getattr(subject, what)(ask))


if __name__ == "__main__":
    main()
