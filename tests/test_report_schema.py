# SPDX-License-Identifier: GPL-2.0-only
"""The schema takes every stored document and names the place of every fault."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ringside import groups
from ringside.errors import CannotMeasure
from ringside.report import figures
from ringside.report.schema import SCHEMA_FILE, load, validate

RESULTS = Path(__file__).parent / "data" / "results"
STORED = sorted(RESULTS.glob("*.json"))

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(name="document")
def _document() -> Any:
    return json.loads((RESULTS / "rx_sweep.json").read_text())


def _subschemas(schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the schema of every property with its place."""
    if not isinstance(schema, dict):
        return
    for name, inner in schema.get("properties", {}).items():
        yield f"{place}/{name}", inner
        yield from _subschemas(inner, f"{place}/{name}")
    yield from _subschemas(schema.get("items"), f"{place}[]")
    for name, inner in schema.get("$defs", {}).items():
        yield from _subschemas(inner, name)


def test_stored_documents_are_there() -> None:
    """A glob that finds nothing would make the next test pass without a case."""
    assert {path.stem for path in STORED} >= {
        "error_run",
        "hostile",
        "null_with_reason",
        "rx_sweep",
    }


@pytest.mark.parametrize("path", STORED, ids=[path.stem for path in STORED])
def test_takes(path: Path) -> None:
    """Every stored document is valid and comes back as it is in the file."""
    assert load(path) == json.loads(path.read_text())


def test_schema_is_one() -> None:
    """The schema itself keeps the rules of JSON Schema."""
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA_FILE.read_text()))


def test_schema_describes_and_requires() -> None:
    """Every field is described, and required: a figure is never left out."""
    schema = json.loads(SCHEMA_FILE.read_text())
    for place, inner in _subschemas(schema):
        if "$ref" in inner and inner["$ref"].endswith("/environment"):
            inner = schema["$defs"]["environment"]
        assert inner.get("description"), place
    for name in ("environment", "per_packet", "run", "cache_level"):
        part = schema["$defs"][name]
        every = {
            field
            for field, inner in part["properties"].items()
            if not inner.get("description", "").startswith("ledger:")
        }
        assert set(part["required"]) == every, name


def test_names_agree_with_reports() -> None:
    """Reports know every per-packet figure and group that the schema has."""
    parts = json.loads(SCHEMA_FILE.read_text())["$defs"]
    rows = parts["run"]["properties"]["groups"]["items"]["properties"]
    assert tuple(parts["per_packet"]["required"]) == figures.PER_PACKET
    assert tuple(rows["name"]["enum"]) == (*groups.GROUPS, *groups.COUNTING)


REFUSED: dict[str, tuple[Change, str]] = {
    "other_schema": (lambda d: d.update(schema="ringside/2"), "schema: "),
    "other_kind": (lambda d: d.update(kind="faults"), "kind: "),
    "no_runs": (lambda d: d.pop("runs"), "document: 'runs' is a required"),
    "unknown_field": (lambda d: d.update(extra=1), "document: Additional"),
    "wrong_type": (
        lambda d: d["runs"][1]["per_packet"].update(irqs="1.0"),
        "runs[1].per_packet.irqs: '1.0' is not of type",
    ),
    "bool_for_number": (
        lambda d: d["runs"][0]["per_packet"].update(irqs=True),
        "runs[0].per_packet.irqs: True is not of type",
    ),
    "float_for_count": (
        lambda d: d["runs"][0].update(sent=1.5),
        "runs[0].sent: 1.5 is not of type",
    ),
    "missing_figure": (
        lambda d: d["runs"][2]["per_packet"].pop("llc_misses"),
        "runs[2].per_packet: 'llc_misses' is a required",
    ),
    "unknown_direction": (
        lambda d: d["runs"][0].update(direction="sideways"),
        "runs[0].direction: 'sideways' is not one of",
    ),
    "unknown_status": (
        lambda d: d["runs"][0].update(status="ok"),
        "runs[0].status: 'ok' is not one of",
    ),
    "unknown_group": (
        lambda d: d["runs"][0]["groups"][0].update(name="magic"),
        "runs[0].groups[0].name: 'magic' is not one of",
    ),
    "unknown_check": (
        lambda d: d["runs"][0]["checks"][0].update(name="mood"),
        "runs[0].checks[0].name: 'mood' is not one of",
    ),
    "negative_count": (
        lambda d: d["runs"][0].update(delivered=-1),
        "runs[0].delivered: -1 is less than",
    ),
    "no_rate": (
        lambda d: d["runs"][0].update(rate_pps=0),
        "runs[0].rate_pps: 0 is less than",
    ),
    "huge": (
        lambda d: d["runs"][0].update(sent=10**4000),
        "runs[0].sent: 1000000000",
    ),
    "not_finite": (
        lambda d: d["runs"][0]["per_packet"].update(irqs=float("nan")),
        "runs[0].per_packet.irqs: nan is not a number",
    ),
    "no_hash": (
        lambda d: d["runs"][0].update(driver_sha256="abc"),
        "runs[0].driver_sha256: 'abc' does not match",
    ),
    "no_date": (
        lambda d: d["environment"].update(started="yesterday"),
        "environment.started: 'yesterday' does not match",
    ),
    "error_without_text": (
        lambda d: d["runs"][0].update(status="error"),
        "runs[0].error: None is not of type 'string'",
    ),
    "null_figure_without_reason": (
        lambda d: d["runs"][0]["per_packet"].update(l2_misses=None),
        "runs[0].per_packet.l2_misses: null without an entry 'l2_misses'",
    ),
    "null_share_without_reason": (
        lambda d: d["runs"][0]["generator_per_packet"].update(polls=None),
        "runs[0].generator_per_packet.polls: null without an entry 'polls'",
    ),
    "null_list_without_reason": (
        lambda d: d["runs"][0].update(groups=None),
        "runs[0].groups: null without an entry 'groups'",
    ),
    "null_in_list_without_reason": (
        lambda d: d["runs"][0]["functions"][3].update(instructions=None),
        "runs[0].functions[3].instructions: null without an entry",
    ),
    "reason_for_another_figure": (
        lambda d: d["runs"][0].update(sent=None, reasons={"delivered": "lost"}),
        "runs[0].sent: null without an entry 'sent'",
    ),
    "hostile_name": (
        lambda d: d.update({"\x1b[31m\n": 1}),
        "document: Additional properties are not allowed ('\\x1b[31m\\n' was",
    ),
    "hostile_place": (
        lambda d: d["runs"][0]["reasons"].update({"\x1b[31m\n": ""}),
        "runs[0].reasons.\\x1b[31m\\n: '' ",
    ),
    "empty_reason": (
        lambda d: d["runs"][0].update(sent=None, reasons={"sent": ""}),
        "runs[0].reasons.sent: '' ",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name: str, document: dict[str, Any]) -> None:
    """One fault is refused in one line that begins with its place."""
    change, message = REFUSED[name]
    validate(copy.deepcopy(document))
    change(document)
    with pytest.raises(CannotMeasure) as refusal:
        validate(document)
    assert str(refusal.value).startswith(message)
    assert len(str(refusal.value)) < 300
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("value", [None, 1, "text", []])
def test_refuses_what_is_no_object(value: Any) -> None:
    """JSON that is not an object is refused, not an exception of another kind."""
    with pytest.raises(CannotMeasure, match="document: "):
        validate(value)


def test_null_with_reason(document: dict[str, Any]) -> None:
    """One reason covers the figure wherever in the run it is null."""
    run = document["runs"][0]
    run["per_packet"]["l2_misses"] = run["groups"][0]["l2_misses"] = None
    run["reasons"]["l2_misses"] = "not modelled"
    validate(document)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b'{"schema": "ringside/1", ', "is not JSON"),
        (b"\xff\xfe\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"1" * 10_000, "is not JSON"),
        (b"{}", "document: 'schema' is a required"),
    ],
    ids=["empty", "cut", "not_text", "deep", "long_number", "no_fields"],
)
def test_refuses_file(content: bytes, message: str, tmp_path: Path) -> None:
    """A damaged file is refused in one line that names the file."""
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(CannotMeasure, match="results.json") as refusal:
        load(path)
    assert message in str(refusal.value)
    assert str(refusal.value).isprintable()


def test_refuses_missing_file(tmp_path: Path) -> None:
    """A file that is not there is named with the system's reason."""
    with pytest.raises(CannotMeasure, match="gone.json: No such file"):
        load(tmp_path / "gone.json")
