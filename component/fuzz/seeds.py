"""Writes the seeds of the fuzz targets: stored items, replies and leases as they really look."""

import json
import pathlib
import struct

here = pathlib.Path(__file__).parent
corpus = here / "corpus"


def seed(target, index, data):
    folder = corpus / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{index}").write_bytes(data)


items = []
for path in sorted((here / "../tests/scenarios").glob("*.jsonl")):
    for line in path.read_text().splitlines():
        items += json.loads(line).get("bucket_items") or []
for index, item in enumerate(items[:300]):
    text = json.dumps(item)
    seed("item", index, text.encode())
    refused = json.dumps({"__type": "x#ConditionalCheckFailedException", "Item": item})
    landed = json.dumps({"Attributes": item})
    read = json.dumps({"Responses": {"t": [item]}, "UnprocessedKeys": {}})
    for kind, (status, body) in enumerate([(400, refused), (200, landed), (200, read)]):
        seed("reply", f"{index}-{kind}", struct.pack("<H", status) + body.encode())
lease = '{"n":"n","e":"e","r":"r","p":[{"s":0,"l":[{"l":"q","t":1000,"q":100000,"c":100000,"w":{"s":1,"a":1,"e":2}}]}]}'
seed("settle", 0, lease.encode())
