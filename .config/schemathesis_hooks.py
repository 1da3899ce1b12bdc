"""How to send what schemathesis has no writer for."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_context, value):
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()
