"""A policy as YAML that people can keep beside their code; JSON is read as well, being YAML."""

from __future__ import annotations

import re
from typing import Any

import yaml

# A policy of the largest preset has 8,000 characters.
MAX_CHARACTERS = 100_000


class _PolicyLoader(yaml.SafeLoader):
    """Plain values only: an alias could stand for more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        found = super().construct_mapping(node, deep=deep)
        if not all(isinstance(name, str) for name in found):
            raise yaml.YAMLError("every name must be a text")
        return found


class _PolicyDumper(yaml.SafeDumper):
    """The same object twice is written twice, so that what we write can be read again."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


# As in YAML 1.2: a date or a bare yes is a text, as it would be in JSON.
_PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("null", "int", "float")}
_PolicyLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag in _PLAIN]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_TRUTH = "tag:yaml.org,2002:bool"
_PolicyLoader.add_implicit_resolver(_TRUTH, re.compile(r"^(?:true|false)$"), list("tf"))


def write_policy(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=_PolicyDumper, sort_keys=False, allow_unicode=True, width=100)


def read_policy(text: str) -> dict[str, Any]:
    """ValueError with a sentence for anything that is no object of plain values."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"is longer than {MAX_CHARACTERS:,} characters")
    try:
        document = yaml.load(text, Loader=_PolicyLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"is neither YAML nor JSON: {_first_line(error)}") from error
    if not isinstance(document, dict):
        raise ValueError("must be an object")
    return document


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
