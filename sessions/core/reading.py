"""What a stored message says: its text, its tool calls, and whether a result reports a failure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sessions.core.message import StoredMessage, body_text

# Tools that change files, by the names that coding agents give them, in lower case.
_WRITING_NAMES = """
write edit multiedit notebookedit str_replace str_replace_editor str_replace_based_edit_tool create
create_file write_file edit_file apply_patch insert replace update_file
"""
WRITING_TOOLS = frozenset(_WRITING_NAMES.split())
_PATH_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file", "target_file")

# Enough to recognise a failure and its reason; the rest of a long output is data.
_VERDICT_CHARACTERS = 4_000

_FAILURE_START = re.compile(
    r"\s*(?:<tool_use_error>|\W{0,3}(?:error|fatal|failed|failure|exception|panic|aborted)\b"
    r"|permission denied\b|(?:exit|return|status) ?code:? *-?[1-9])",
    re.IGNORECASE,
)
# Only at the start or the end of a line: source code that a tool has read mentions errors everywhere.
_FAILURE_LINE = re.compile(
    r"^(?:Traceback \(most recent call last\)|[\w.]{0,80}(?:Error|Exception)(?::| \[)|npm ERR!|fatal: "
    r"|FAILED |E   |exit(?:ed with)?(?: code| status)?:? [1-9])"
    r"|(?:command not found|No such file or directory|Permission denied"
    r"|String to replace not found[^\n]{0,80}|[1-9]\d{0,5} failed[^\n]{0,80})$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, Any]
    raw: str


def text_of(message: StoredMessage) -> str:
    return body_text(message.body)


def tool_calls(message: StoredMessage) -> list[ToolCall]:
    calls = message.body.get("tool_calls")
    return [_tool_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def named_path(call: ToolCall) -> str | None:
    """The file that a call names by an argument of its own."""
    return next((call.arguments[k] for k in _PATH_ARGUMENTS if isinstance(call.arguments.get(k), str)), None)


def failure_line(message: StoredMessage) -> str | None:
    """The line that says what went wrong in a tool result, or None for a result that looks fine."""
    text = text_of(message)[:_VERDICT_CHARACTERS]
    if message.body.get("is_error") or _FAILURE_START.match(text):
        return _strongest_line(text)
    found = _FAILURE_LINE.search(text)
    return _strongest_line(text[text.rfind("\n", 0, found.start()) + 1 :]) if found else None


def _strongest_line(text: str) -> str:
    """A traceback names its error last, everything else first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "failed without output"
    if lines[0].startswith("Traceback"):
        named = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception)\b", line)]
        return named[-1] if named else lines[-1]
    return lines[0]


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = call.get("function")
    if not isinstance(function, dict):
        function = {}
    raw = function.get("arguments")
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, sort_keys=True)
    name = str(function.get("name") or "")
    return ToolCall(id=str(call.get("id") or ""), name=name, arguments=_arguments(text), raw=text)


def _arguments(raw: str) -> Mapping[str, Any]:
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
