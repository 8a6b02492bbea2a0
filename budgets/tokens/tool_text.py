"""Tool definitions as OpenAI shows them to its models: a TypeScript namespace, not the JSON that was sent."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def tool_namespace(tools: Sequence[Mapping[str, Any]]) -> str:
    """Functions as types; a built-in tool, which has no parameters to show, as the JSON it was sent as."""
    functions = "\n".join(_function(tool) for tool in tools)
    return f"namespace functions {{\n{functions}\n}} // namespace functions"


def _function(tool: Mapping[str, Any]) -> str:
    function = tool.get("function", tool)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return json.dumps(tool, ensure_ascii=False)
    parameters = function.get("parameters") or function.get("input_schema")
    shown = f"_: {_type(parameters)}" if parameters else ""
    return f"{_comment(function)}type {function['name']} = ({shown}) => any;"


def _comment(described: object) -> str:
    text = described.get("description") if isinstance(described, Mapping) else None
    return f"// {text}\n" if text else ""


def _type(schema: object) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(values := schema.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    if isinstance(choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"), list):
        return " | ".join(map(_type, choices))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": one}) for one in kind)
    if kind == "array":
        return f"{_type(schema.get('items'))}[]"
    if isinstance(schema.get("properties"), Mapping):
        return "".join(["{\n", *_fields(schema), *_definitions(schema), "}"])
    return "number" if kind == "integer" else str(kind or schema.get("$ref") or "any")


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required")
    for name, field in schema["properties"].items():
        mark = "" if isinstance(required, list) and name in required else "?"
        yield f"{_comment(field)}{name}{mark}: {_type(field)},\n"


def _definitions(schema: Mapping[str, Any]) -> Iterator[str]:
    for keyword in ("$defs", "definitions"):
        if isinstance(shared := schema.get(keyword), Mapping):
            yield from (f"{name}: {_type(definition)},\n" for name, definition in shared.items())
