# SPDX-License-Identifier: GPL-2.0-only
"""Read a results document and refuse what docs/results.schema.json does not allow."""

import functools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

from ringside.errors import CannotMeasure
from ringside.report.figures import Document, visible

SCHEMA_FILE = Path(__file__).parents[3] / "docs" / "results.schema.json"
COMPARE_FILE = SCHEMA_FILE.with_name("compare.schema.json")

# A null under these names is a statement of its own and needs no reason.
_NULL_WITHOUT_REASON = frozenset({"error", "bar"})
_LONGEST_MESSAGE = 200

_Place = tuple[str | int, ...]


def load(path: Path) -> Document:
    """Return the document in the file; CannotMeasure if it is not a valid one."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise CannotMeasure(
            f"cannot read results {visible(str(path))}: {error.strerror}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise CannotMeasure(f"{visible(str(path))} is not JSON: {error}") from error
    is_compare = isinstance(document, dict) and document.get("kind") == "compare"
    try:
        (validate_compare if is_compare else validate)(document)
    except CannotMeasure as error:
        raise CannotMeasure(f"{visible(str(path))}: {error}") from error
    return document  # type: ignore[no-any-return]


def validate(document: Any) -> None:
    """Raise CannotMeasure, naming the place, unless the document keeps the schema.

    Beyond the schema: numbers are finite, and a null in a run has an entry of
    its name in the run's reasons.
    """
    problem = jsonschema.exceptions.best_match(
        _validator(SCHEMA_FILE).iter_errors(document)
    )
    if problem is not None:
        raise _refusal(tuple(problem.absolute_path), problem.message)
    for place, value in _leaves(document, ()):
        if isinstance(value, float) and not math.isfinite(value):
            raise _refusal(place, f"{value} is not a number that JSON has")
    for index, run in enumerate(document["runs"]):
        for place, value in _leaves(run, ("runs", index)):
            name = place[-1]
            if value is not None or name in _NULL_WITHOUT_REASON:
                continue
            if name not in run["reasons"]:
                raise _refusal(place, f"null without an entry '{name}' in reasons")


def validate_compare(document: Any) -> None:
    """Raise CannotMeasure, naming the place, unless a comparison keeps its schema."""
    problems = _validator(COMPARE_FILE).iter_errors(document)
    problem = jsonschema.exceptions.best_match(problems)
    if problem is not None:
        raise _refusal(tuple(problem.absolute_path), problem.message)


@functools.cache
def _validator(file: Path) -> Any:
    return jsonschema.Draft202012Validator(json.loads(file.read_bytes()))


def _refusal(place: _Place, message: str) -> CannotMeasure:
    where = ""
    for step in place:
        where += f"[{step}]" if isinstance(step, int) else f".{step}"
    # The messages quote values as repr() does, which leaves nothing unprintable.
    if len(message) > _LONGEST_MESSAGE:
        message = message[:_LONGEST_MESSAGE] + "..."
    return CannotMeasure(f"{visible(where.lstrip('.')) or 'document'}: {message}")


def _leaves(value: Any, place: _Place) -> Iterator[tuple[_Place, Any]]:
    """Yield every value that is neither object nor array, with its place."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*place, index))
    else:
        yield place, value
