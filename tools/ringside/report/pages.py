# SPDX-License-Identifier: GPL-2.0-only
"""Measured text in the pages of docs: each piece stands between two marks of its name."""

from pathlib import Path

from ringside.errors import CannotMeasure


def put_between_marks(page: str, name: str, text: str) -> str:
    """The page with that text in the place that the marks of that name leave for it."""
    begin, end = (f"<!-- {name}: {word} -->\n" for word in ("begin", "end"))
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise CannotMeasure(f"the page has no marks of {name}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def write(path: Path, name: str, text: str) -> None:
    """Puts a text into a page."""
    page = path.read_text(encoding="utf-8")
    path.write_text(put_between_marks(page, name, text), encoding="utf-8")
