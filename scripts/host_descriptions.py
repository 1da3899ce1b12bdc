"""Holds recorded requests against a host's description of its API, OpenAPI 3.0 or Swagger 2.0: called by
scripts/hosts.

There must be such an operation, its parameters and its body must be valid, and nothing of them may be
unknown to the description, even where it would be let through unread.
"""

import json
import re
import sys
from urllib.parse import parse_qsl, unquote, urlsplit

from openapi_schema_validator import OAS30Validator

# Where the API of a host of one's own begins.
ROOTS = {"github": "/api/v3", "gitea": "/api/v1", "forgejo": "/api/v1"}
# What Gitea and Forgejo take the rest of a path for; GitHub marks its own.
REST = {"head", "filepath"}
# What a parameter of Swagger 2.0 has in common with a schema.
PLAIN = {"type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "items", "oneOf", "anyOf", "allOf"}


class Description:
    def __init__(self, text, root):
        self.whole, self.root = closed(json.loads(text)), root
        self.shared = {name: self.whole[name] for name in ("components", "definitions") if name in self.whole}
        self.paths = [(self.pattern(path), path) for path in self.whole["paths"]]

    def found(self, node):
        """What a reference refers to."""
        while "$ref" in node:
            node, steps = self.whole, node["$ref"].removeprefix("#/").split("/")
            for step in steps:
                node = node[step]
        return node

    def pattern(self, path):
        operations = [one for one in self.whole["paths"][path].values() if isinstance(one, dict)]
        parameters = [self.found(one) for operation in operations for one in operation.get("parameters", [])]
        rest = REST | {one["name"] for one in parameters if one.get("x-multi-segment")}
        # Every other part is a name, which a group of a pattern can have without its hyphens.
        parts = re.split(r"\{([^}]+)\}", path)
        for at in range(1, len(parts), 2):
            parts[at] = f"(?P<{group(parts[at])}>{'.+' if parts[at] in rest else '[^/]+'})"
        parts[::2] = map(re.escape, parts[::2])
        return re.compile("".join(parts))

    def operation(self, method, path):
        """The one that is meant, and what stands for the names in its path: of several, the plainest."""
        matches = [(pattern.fullmatch(path), known) for pattern, known in self.paths]
        matches = [(match.groupdict(), known) for match, known in matches if match]
        fits = [(named, known) for named, known in matches if method in self.whole["paths"][known]]
        assert fits, "there is no such operation"
        return min(fits, key=lambda fit: len(fit[0]))

    def check(self, asked):
        """Its operation, if all is as it should be."""
        url, method = urlsplit(asked["path"]), asked["method"].lower()
        named, known = self.operation(method, url.path.removeprefix(self.root))
        methods = self.whole["paths"][known]
        parameters = methods.get("parameters", []) + methods[method].get("parameters", [])
        parameters = [self.found(one) for one in parameters]
        in_path = {group(one["name"]): one for one in parameters if one["in"] == "path"}
        in_query = {one["name"]: one for one in parameters if one["in"] == "query"}
        self.check_values(in_path, {name: unquote(value) for name, value in named.items()})
        self.check_values(in_query, dict(parse_qsl(url.query, keep_blank_values=True)))
        self.check_body(methods[method], parameters, asked)
        return method, known

    def check_values(self, known, values):
        assert values.keys() <= known.keys(), f"it knows no {values.keys() - known.keys()}"
        for name, one in known.items():
            assert name in values or not one.get("required"), f"`{name}` is missing"
            if name in values:
                schema = self.found(one.get("schema", one))
                self.hold(name, typed(values[name], schema), {key: schema[key] for key in schema.keys() & PLAIN})

    def check_body(self, operation, parameters, asked):
        types = operation.get("consumes", self.whole.get("consumes", []))
        bodies = {kind: one["schema"] for one in parameters if one["in"] == "body" for kind in types}
        if "requestBody" in operation:
            content = self.found(operation["requestBody"])["content"]
            bodies = {kind: one["schema"] for kind, one in content.items()}
        if asked["type"]:
            assert asked["type"] in bodies, f"it takes no {asked['type']}"
            self.hold("body", asked["body"], bodies[asked["type"]])

    def hold(self, name, value, schema):
        for error in OAS30Validator({**schema, **self.shared}).iter_errors(value):
            raise AssertionError(f"`{name}`, {list(error.absolute_path)}: {error.message[:300]}")


def group(name):
    return name.replace("-", "_")


def closed(node):
    """The same, where nobody may say what is not named."""
    if isinstance(node, list):
        return [closed(member) for member in node]
    if not isinstance(node, dict):
        return node
    node = {name: closed(member) for name, member in node.items()}
    if isinstance(node.get("properties"), dict) and node.get("type") == "object":
        node.setdefault("additionalProperties", False)
    return node


def typed(text, schema):
    """What a text of a path or a query stands for."""
    kind = schema.get("type")
    if kind == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text.split(",") if kind == "array" else text


def main(kind, description, recorded):
    with open(description) as file, open(recorded) as record:
        described, seen = Description(file.read(), ROOTS[kind]), json.load(record)
    known, wrong = set(), 0
    for one in seen:
        try:
            known.add(described.check(one))
        except AssertionError as error:
            wrong += 1
            print(f"{kind}: {one['method']} {one['path']} {json.dumps(one['body'])}: {error}")
    print(f"{kind}: {len(seen) - wrong} of {len(seen)} requests, of {len(known)} operations, are as it describes them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
