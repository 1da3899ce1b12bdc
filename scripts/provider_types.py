"""Holds recorded requests against the types that providers publish: called by scripts/providers.

A request must be valid, and nothing of it may be unknown to the type: what pydantic lets through
unread comes out of it no more, and then the two differ.
"""

import json
import sys
from typing import get_type_hints

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai import types as gemini
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

TYPES = {
    "/v1/messages": MessageCreateParamsStreaming,
    "/v1/chat/completions": CompletionCreateParamsStreaming,
    "/v1/responses": ResponseCreateParamsStreaming,
}


def plain(value):
    """Lists are read lazily; this reads them."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    return [plain(member) for member in value]


def check(path, body):
    if "Gemini" in path or ":streamGenerateContent" in path:
        return check_gemini(body)
    kind = TYPES[path]
    unknown = set(body) - set(get_type_hints(kind))
    assert not unknown, f"{path} does not know {unknown}"
    # Kept alive while its lazy parts are read.
    adapter = TypeAdapter(kind)
    read = json.loads(json.dumps(plain(adapter.validate_python(body))))
    assert read == body, f"{path} reads\n{json.dumps(body)}\nas\n{json.dumps(read)}"


def check_gemini(body):
    known = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"}
    assert set(body) <= known, f"unknown: {set(body) - known}"
    parts = [(gemini.Content, body["contents"]), (gemini.Content, [body["systemInstruction"]])]
    parts += [(gemini.Tool, body["tools"]), (gemini.GenerateContentConfig, [body.get("generationConfig", {})])]
    for kind, values in parts:
        for value in values:
            kind.model_validate(value)


def main(recorded):
    with open(recorded) as file:
        seen = json.load(file)
    for path, body in seen:
        check(path.split("?")[0], body)
    print(f"{len(seen)} requests are as the providers' own types have them")


main(sys.argv[1])
