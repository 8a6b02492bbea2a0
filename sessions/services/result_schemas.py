"""What a child's result must look like: JSON schemas of agents, checked within bounds.

A schema is a program that somebody else wrote. Here it fetches nothing, its patterns run in linear time, and
it may take only so many steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Any

import jsonschema
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from pydantic import StringConstraints, TypeAdapter
from pydantic import ValidationError as PydanticError
from pydantic_core import SchemaError as PatternError
from referencing import Registry
from referencing.exceptions import Unresolvable

from kernel.errors import FieldProblem, Invalid
from kernel.fields import canonical_json

MAX_SCHEMA_CHARACTERS = 65_536
MAX_STEPS = 100_000
MAX_ERRORS = 20


def check_schema(schema: dict[str, Any]) -> None:
    """Refuses what is no JSON schema, or one whose patterns cannot be run safely."""
    if len(canonical_json(schema)) > MAX_SCHEMA_CHARACTERS:
        raise _invalid_schema(f"it has more than {MAX_SCHEMA_CHARACTERS:,} characters")
    try:
        Draft202012Validator.check_schema(schema)
        _refuse_unsafe(schema)
    except jsonschema.SchemaError as error:
        raise _invalid_schema(error.message) from None
    except (PatternError, RecursionError) as error:
        raise _invalid_schema(str(error)) from None


def validate_result(result: Any, schema: dict[str, Any]) -> None:
    """Refuses a result that does not fit, with the place and the reason."""
    try:
        errors = _errors(result, schema)
    except Unresolvable as error:
        raise _invalid_schema(f"{error.ref!r} is not part of it") from None
    except (RecursionError, _TooManySteps):
        raise _invalid_schema(f"checking this result takes more than {MAX_STEPS:,} steps") from None
    if errors:
        message = "The result does not fit the schema that the parent expects."
        raise Invalid(message, code="invalid_result", errors=tuple(map(_field, errors)))


class _TooManySteps(Exception):
    pass


def _errors(result: Any, schema: dict[str, Any]) -> list[ValidationError]:
    steps = iter(range(MAX_STEPS))

    def counted(keyword: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
        def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
            if next(steps, None) is None:
                raise _TooManySteps
            yield from keyword(validator, value, instance, schema) or ()

        return run

    keywords = {**Draft202012Validator.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique_items}
    bounded = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {name: counted(run) for name, run in keywords.items()}
    )
    # An empty registry retrieves nothing: a reference leads into the schema itself or nowhere.
    found = bounded(schema, registry=Registry()).iter_errors(result)
    return [error for error, _ in zip(found, range(MAX_ERRORS), strict=False)]


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"{instance[:200]!r} does not match {pattern!r}")


def _unique_items(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list) and len({canonical_json(i) for i in instance}) < len(instance):
        yield ValidationError("has items that stand in it twice")


def _refuse_unsafe(schema: Any) -> None:
    if isinstance(schema, dict):
        if "patternProperties" in schema:
            raise _invalid_schema("patternProperties is not supported")
        if isinstance(schema.get("pattern"), str):
            _compiled(schema["pattern"])
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            _refuse_unsafe(part)


def _matches(pattern: str, text: str) -> bool:
    try:
        _compiled(pattern).validate_python(text)
    except PydanticError:
        return False
    return True


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> TypeAdapter[str]:
    """Rust's regular expressions never go exponential; they have no look-around and no back-references."""
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


def _field(error: ValidationError) -> FieldProblem:
    where = "".join(f"/{part}" for part in error.absolute_path)
    return FieldProblem(pointer=f"/result{where}", detail=error.message[:1000])


def _invalid_schema(reason: str) -> Invalid:
    return Invalid(f"expect is not a JSON schema that can be checked: {reason[:500]}", code="invalid_schema")
