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
# What is asked to find out who is there, of whoever is there; and git's own requests.
OTHERS = re.compile(r"/api/(forgejo/v1|v1|v4)/version|/api/v3/meta|/acme/docs\.git/(info/refs|git-[a-z]+-pack)")
# What Gitea and Forgejo take the rest of a path for; GitHub marks its own.
REST = {"head", "filepath"}


class Description:
    def __init__(self, text, root):
        self.whole, self.root = closed(json.loads(text)), root
        self.paths = [(self.pattern(path), path) for path in self.whole["paths"]]

    def found(self, node):
        """What a reference refers to."""
        while "$ref" in node:
            steps = node["$ref"].removeprefix("#/").split("/")
            node = self.whole
            for step in steps:
                node = node[step]
        return node

    def pattern(self, path):
        rest = {
            name for operation in self.whole["paths"][path].values() if isinstance(operation, dict)
            for one in map(self.found, operation.get("parameters", []))
            for name in [one["name"]] if name in REST or one.get("x-multi-segment")
        }
        parts = re.split(r"\{([^}]+)\}", path)
        named = [
            re.escape(part) if number % 2 == 0 else f"(?P<{part.replace('-', '_')}>{'.+' if part in rest else '[^/]+'})"
            for number, part in enumerate(parts)
        ]
        return re.compile("".join(named))

    def operation(self, method, path):
        """The one that is meant, and what stands for the names in its path: the plainest that fits."""
        fits = [(len(match.groups()), known, match.groupdict()) for pattern, known in self.paths
                if (match := pattern.fullmatch(path))]
        fits = [fit for fit in sorted(fits, key=lambda fit: fit[0]) if method in self.whole["paths"][fit[1]]]
        assert fits, "there is no such operation"
        _, known, named = fits[0]
        return known, self.whole["paths"][known], named

    def check(self, asked):
        url, method = urlsplit(asked["path"]), asked["method"].lower()
        known, methods, named = self.operation(method, url.path.removeprefix(self.root))
        operation = methods[method]
        parameters = [self.found(one) for one in methods.get("parameters", []) + operation.get("parameters", [])]
        self.check_values(parameters, "path", {name: unquote(value) for name, value in named.items()})
        self.check_values(parameters, "query", dict(parse_qsl(url.query, keep_blank_values=True)))
        self.check_body(operation, parameters, asked)
        return f"{asked['method']} {known}"

    def check_values(self, parameters, place, values):
        known = {one["name"].replace("-", "_") if place == "path" else one["name"]: one
                 for one in parameters if one["in"] == place}
        assert values.keys() <= known.keys(), f"unknown in its {place}: {values.keys() - known.keys()}"
        for name, one in known.items():
            assert name in values or not one.get("required"), f"`{name}` is missing"
            if name in values:
                schema = self.found(one.get("schema", one))
                self.hold(typed(values[name], schema), {key: schema[key] for key in schema if key in PLAIN}, name)

    def check_body(self, operation, parameters, asked):
        types = operation.get("consumes", self.whole.get("consumes", []))
        bodies = {kind: one["schema"] for one in parameters if one["in"] == "body" for kind in types}
        if "requestBody" in operation:
            content = self.found(operation["requestBody"])["content"]
            bodies = {kind: one["schema"] for kind, one in content.items()}
        if asked["type"]:
            assert asked["type"] in bodies, f"it takes no {asked['type']}"
            self.hold(asked["body"], bodies[asked["type"]], "body")

    def hold(self, value, schema, name):
        shared = {name: self.whole[name] for name in ("components", "definitions") if name in self.whole}
        for error in OAS30Validator({**schema, **shared}).iter_errors(value):
            raise AssertionError(f"`{name}` {list(error.absolute_path)}: {error.message[:300]}")


# What a parameter of Swagger 2.0 has in common with a schema.
PLAIN = {"type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "items", "oneOf", "anyOf", "allOf"}


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
    asked = [one for one in seen if not OTHERS.match(one["path"])]
    known, wrong = set(), []
    for one in asked:
        try:
            known.add(described.check(one))
        except AssertionError as error:
            wrong.append(f"{kind}: {one['method']} {one['path']} {json.dumps(one['body'])}: {error}")
    for line in wrong:
        print(line)
    print(f"{kind}: {len(asked) - len(wrong)} of {len(asked)} requests, of {len(known)} operations, are as it has them")
    return 1 if wrong or not asked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
