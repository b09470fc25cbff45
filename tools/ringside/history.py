# SPDX-License-Identifier: GPL-2.0-only
"""Figures over revisions, kept in an SQLite file whose schema is upgraded in place."""

import datetime
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ringside.errors import EXIT_GOOD, EXIT_SKIP, CannotMeasure, UsageError, shortened
from ringside.report import schema
from ringside.report.cases import Case, cases
from ringside.report.figures import NO_FIGURE, visible
from ringside.report.table import Column, show, show_lines

# Each brings a file one version on; what is here is never changed, only added to.
UPGRADES = (
    """
    CREATE TABLE result (
        id INTEGER PRIMARY KEY, added TEXT NOT NULL, revision TEXT NOT NULL,
        kind TEXT NOT NULL, nic TEXT NOT NULL, direction TEXT NOT NULL,
        rate_pps INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
        outcome TEXT NOT NULL, reason TEXT NOT NULL, kernel_release TEXT NOT NULL
    );
    CREATE TABLE figure (
        result INTEGER NOT NULL REFERENCES result(id), name TEXT NOT NULL,
        value REAL, unit TEXT NOT NULL, reason TEXT NOT NULL
    );
    CREATE INDEX result_by_nic ON result(nic, id);
    CREATE INDEX figure_by_result ON figure(result, name);
    """,
    # What was run: a figure means nothing beside one of another environment.
    "ALTER TABLE result ADD COLUMN environment TEXT NOT NULL DEFAULT '{}';",
)
_STEP = 5e-7


@dataclass(frozen=True)
class HistoryRequest:
    """What to add, or what to show."""

    file: Path | None
    add: Sequence[Path]
    revision: str | None
    nic: str | None
    figure: str


@dataclass(frozen=True)
class Point:
    """A figure of one result."""

    revision: str
    added: str
    load: str
    kernel_release: str
    outcome: str
    value: float | None


def default_file() -> Path:
    """In the user's data folder."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "ringside/history.sqlite"


def _upgrade(database: sqlite3.Connection, path: Path) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > len(UPGRADES):
        raise CannotMeasure(
            f"{path}: of a newer Ringside (version {version}, this knows {len(UPGRADES)})"
        )
    for number, script in enumerate(UPGRADES[version:], version + 1):
        database.executescript(
            f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;"
        )


@contextmanager
def _opened(path: Path, write: bool) -> Iterator[sqlite3.Connection]:
    if not write and not path.exists():
        raise UsageError(f"no history in {path}: --add RESULT.json makes one")
    try:
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=30)) as database:
            _upgrade(database, path)
            with database:
                yield database
    except sqlite3.Error as error:
        raise CannotMeasure(f"{path}: {error}") from error


def _insert(
    database: sqlite3.Connection, case: Case, revision: str, environment: dict[str, str]
) -> None:
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    values = (
        *(now, revision, case.kind, case.nic, case.direction),
        *(case.rate_pps, case.size_bytes, case.outcome, case.reason),
        *(environment["kernel_release"], json.dumps(environment)),
    )
    cursor = database.execute(
        "INSERT INTO result (added, revision, kind, nic, direction, rate_pps, size_bytes,"
        " outcome, reason, kernel_release, environment) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        values,
    )
    database.executemany(
        "INSERT INTO figure (result, name, value, unit, reason) VALUES (?,?,?,?,?)",
        [(cursor.lastrowid, f.name, f.value, f.unit, f.reason) for f in case.figures],
    )


def add(path: Path, results: Sequence[Path], revision: str) -> int:
    """Appends stored results, all or none; how many runs they had."""
    documents = [schema.load(result) for result in results]
    count = 0
    with _opened(path, True) as database:
        for document in documents:
            known = document["environment"]
            names = ("kernel_release", "kernel_config_sha256", "tool_version")
            environment = {name: str(known[name]) for name in names}
            for case in cases(document):
                _insert(database, case, revision, environment)
                count += 1
    return count


def points(path: Path, nic: str, figure: str) -> list[Point]:
    """A figure of a NIC, by load and then as it was added."""
    with _opened(path, False) as database:
        rows = database.execute(
            "SELECT revision, added, kind, direction, rate_pps, size_bytes, kernel_release,"
            " outcome, value FROM result JOIN figure ON figure.result = result.id"
            " WHERE nic = ? AND name = ?"
            " ORDER BY kind, direction, size_bytes, rate_pps, result.id",
            (nic, figure),
        ).fetchall()
    return [
        Point(row[0], row[1], f"{row[2]} {row[3]} {row[4]} pps {row[5]} B", *row[6:])
        for row in rows
    ]


def steps(found: Sequence[Point]) -> list[str]:
    """What each point differs by from the one before of its load; empty for no step."""
    said = []
    last: dict[str, Point] = {}
    for point in found:
        before = last.get(point.load)
        text = ""
        if point.value is not None:
            if before is not None and before.value is not None:
                delta = point.value - before.value
                if abs(delta) > _STEP:
                    share = (
                        f" ({100 * delta / before.value:+.1f} %)"
                        if before.value
                        else ""
                    )
                    text = f"{delta:+.2f}{share}"
                if text and before.kernel_release != point.kernel_release:
                    text += ", another kernel"
            last[point.load] = point
        said.append(text)
    return said


def _render(request: HistoryRequest, found: Sequence[Point], console: Console) -> None:
    columns = [
        Column("load", [point.load for point in found], left=True),
        Column("revision", [visible(point.revision) for point in found], left=True),
        Column("added", [point.added for point in found], left=True),
        Column("outcome", [point.outcome for point in found], left=True),
        Column(
            "per packet",
            [NO_FIGURE if p.value is None else f"{p.value:.2f}" for p in found],
        ),
        Column("step", steps(found), left=True),
    ]
    show(console, f"{request.nic}: {request.figure}", columns)


def run(request: HistoryRequest) -> int:
    """Adds or shows; the exit status."""
    path = request.file or default_file()
    console = Console()
    if request.add:
        if not request.revision:
            raise UsageError(
                "--revision is missing: what was measured, such as v6.12-rc3"
            )
        if request.nic:
            raise UsageError("history: --add or --nic, one of them")
        count = add(path, request.add, request.revision)
        show_lines(console, [f"added {count} runs of {request.revision} to {path}"])
        return EXIT_GOOD
    if not request.nic:
        raise UsageError("history: --add RESULT.json, or --nic N to show one")
    found = points(path, request.nic, request.figure)
    if not found:
        shown = f"{shortened(request.figure)} of {shortened(request.nic)}"
        show_lines(console, [f"no {shown} in {path}"])
        return EXIT_SKIP
    _render(request, found, console)
    return EXIT_GOOD
