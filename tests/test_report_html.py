# SPDX-License-Identifier: GPL-2.0-only
"""The page is well formed, works offline and lets no text of a document act."""

import errno
import html.parser
import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ringside.errors import CannotMeasure, UsageError
from ringside.report.files import write_whole
from ringside.report.html import page, write_html
from ringside.report.plots import Bar, Part, Series, bar_plot, line_plot

RESULTS = Path(__file__).parent / "data" / "results"
STORED = sorted(path.stem for path in RESULTS.glob("*.json"))

VOID = {"meta"}
ELEMENTS = set(
    "html head meta title style body svg defs pattern path g rect text header h1 h2 h3"
    " h4 p ul li b nav a main section div table thead tbody tr th td span details"
    " summary figure figcaption dl dt dd code pre script".split()
)


class _Page(html.parser.HTMLParser):
    """Takes a page apart and insists that every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def values(self, attribute: str) -> list[str]:
        """Return that attribute's value in all elements that have it."""
        return [a[attribute] or "" for _, a in self.elements if attribute in a]


def _document(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _plots(text: str) -> list[str]:
    plots = [a for tag, a in _Page(text).elements if a.get("class") == "plot"]
    return [str(plot["aria-label"]) for plot in plots]


@pytest.mark.parametrize("name", STORED)
def test_page_is_well_formed(name: str) -> None:
    """Elements are closed, ids are unique, and links and labels lead somewhere."""
    parsed = _Page(page(_document(name)))
    ids = parsed.values("id")
    assert len(ids) == len(set(ids))
    assert all(link[0] == "#" and link[1:] in ids for link in parsed.values("href"))
    assert set(parsed.values("aria-labelledby")) <= set(ids)
    assert {f"url(#{name})" for name in ids} >= {
        value for value in parsed.values("fill") if value.startswith("url")
    }


@pytest.mark.parametrize("name", STORED)
def test_page_needs_nothing_else(name: str) -> None:
    """Nothing is fetched and nothing runs."""
    text = page(_document(name))
    parsed = _Page(text)
    for tag, attributes in parsed.elements:
        assert tag in ELEMENTS, tag
        assert not [a for a in attributes if a.startswith("on") or a == "src"]
    assert "http:" not in text and "https:" not in text and "@import" not in text
    scripts = [a for tag, a in parsed.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "ringside-results"}]
    assert len(text) < 2_000_000


@pytest.mark.parametrize("name", STORED)
def test_document_can_be_read_back(name: str) -> None:
    """The embedded JSON is the document, whatever its strings hold."""
    embedded = "".join(_Page(page(_document(name))).texts["script"])
    assert json.loads(embedded) == _document(name)


def test_hostile_strings_are_text() -> None:
    """Names that look like markup or templates are shown as they are."""
    text = page(_document("hostile"))
    parsed = _Page(text)
    assert "<img" not in text and "\x1b" not in text and "\u202e" not in text
    cells = parsed.texts["td"] + parsed.texts["code"] + parsed.texts["a"]
    assert "</script><img src=x onerror=alert(1)>" in cells
    assert "{{ 7*7 }}\\x1b[31mred" in cells
    assert text.encode("utf-8", "strict")


def test_plots_of_a_sweep() -> None:
    """Several rates give lines over the rate, one per NIC, and bars by group."""
    document = _document("rx_sweep")
    text = page(document)
    assert _plots(text)[:8] == [
        "Packets per interrupt, over rate",
        "Register reads per packet, over rate",
        "Register writes per packet, over rate",
        "Instructions per packet, over rate",
        "Instructions per packet, by group",
        "L1d misses per packet, by group",
        "L2 misses per packet, by group",
        "Last-level misses per packet, by group",
    ]
    assert "e1000, 80000 pps: 8.00" in text
    driver = document["runs"][-1]["groups"][0]
    assert driver["name"] == "driver"
    assert f"tulip 80k, driver: {driver['instructions']:.1f}" in text


def test_reads_and_writes_are_not_mixed_up() -> None:
    """Each plot over rate shows its own figure."""
    _, reads, writes = page(_document("rx_sweep")).split('aria-label="Register ')
    assert "e1000, 5000 pps: 1.00" in reads.split("</svg>")[0]
    assert "e1000, 5000 pps: 4.00" in writes.split("</svg>")[0]


def test_plots_of_one_rate() -> None:
    """One rate gives bars, and a NIC that was not measured keeps its place."""
    text = page(_document("error_run"))
    assert _plots(text)[:2] == ["Packets per interrupt", "Register accesses per packet"]
    assert text.count(">not measured<") == 2 * 6
    assert "not measured: QEMU 7.2.17 has no device igb" in text


def test_no_plot_without_figures() -> None:
    """Where a figure is null in all runs, the note stands and no plot."""
    text = page(_document("null_with_reason"))
    assert not [name for name in _plots(text) if "misses" in name]
    assert "l1d_misses, l2_misses, llc_misses: no cache model asked for" in text
    document = _document("error_run")
    document["runs"] = document["runs"][-1:]
    assert "Nothing was measured" in page(document)
    document["runs"] = []
    assert _Page(page(document))


def test_sizes_and_directions_have_their_own_plots() -> None:
    """Runs of different loads are not mixed in one plot."""
    document = _document("rx_sweep")
    document["runs"][0]["size"] = 1514
    document["runs"][1]["direction"] = "tx"
    headings = _Page(page(document)).texts["h3"]
    assert headings == [
        "rx, 1514-byte frames",
        "tx, 60-byte frames",
        "rx, 60-byte frames",
    ]


def test_same_document_same_page(tmp_path: Path) -> None:
    """Another process with another hash seed writes the same bytes."""
    paths = []
    for seed in ("1", "2"):
        paths.append(tmp_path / f"{seed}.html")
        code = (
            "import json, pathlib, sys; from ringside.report.html import write_html;"
            "write_html(json.load(open(sys.argv[1])), pathlib.Path(sys.argv[2]))"
        )
        subprocess.run(
            [sys.executable, "-c", code, RESULTS / "rx_sweep.json", paths[-1]],
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
            check=True,
        )
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("extreme", [0.0, 1e-9, -5.0, 1e15, -1e15])
def test_bars_stay_inside(extreme: float) -> None:
    """Zero, tiny, huge and negative costs give coordinates inside the plot."""
    kinds = [Part(0, "A", "a"), Part(1, "B", "b")]
    stacks = [Bar("one", [extreme, 1.0]), Bar("two", [extreme, extreme]), Bar("", None)]
    parsed = _Page(str(bar_plot("name", stacks, kinds, 2)))
    for tag, attributes in parsed.elements:
        if tag == "rect":
            left = float(attributes["x"] or "nan")
            width = float(attributes["width"] or "nan")
            assert 0 <= left <= left + width <= 400


def test_bars_of_nothing() -> None:
    """Bars that are all 0 give a plot."""
    assert ">0.00<" in bar_plot("name", [Bar("one", [0.0])], [Part(0, "", "all")], 2)


def test_negative_part_lies_left_of_zero() -> None:
    """A group that cost less than the generator alone is drawn, on its own side."""
    kinds = [Part(0, "A", "a"), Part(1, "B", "b")]
    parsed = _Page(str(bar_plot("name", [Bar("one", [-2.0, 3.0])], kinds, 2)))
    rects = [a for tag, a in parsed.elements if tag == "rect" and a.get("class")]
    edges = [(float(a["x"] or ""), float(a["width"] or "")) for a in rects]
    (left, width), (zero, _) = edges
    assert width > 0 and left + width == pytest.approx(zero, abs=0.2)


@pytest.mark.parametrize("values", [[], [0.0], [1.0, None, 3.0], [None], [-1e15, 1e15]])
def test_lines_stay_inside(values: list[float | None]) -> None:
    """One rate, a gap and no figure at all give a plot without nan or inf."""
    known = Series("known", [(1.0, 2.0)])
    points = [(10.0**index, value) for index, value in enumerate(values)]
    svg = str(line_plot("name", [known, Series("odd", points)], "rate"))
    assert _Page(svg)
    assert "nan" not in svg and "inf" not in svg


def test_many_lines_have_room_for_their_labels() -> None:
    """Labels of lines that end in one place do not cover each other."""
    series = [Series(f"nic{n}", [(1.0, 4.0), (2.0, 4.0)]) for n in range(30)]
    parsed = _Page(str(line_plot("name", series, "rate")))
    heights = [
        float(attributes["y"] or "nan")
        for tag, attributes in parsed.elements
        if tag == "text" and attributes["class"] == "name"
    ]
    assert len(heights) == 30
    gaps = [b - a for a, b in zip(sorted(heights), sorted(heights)[1:])]
    assert min(gaps) > 12
    assert all(0 < height < 500 and math.isfinite(height) for height in heights)


def test_write_replaces_whole_file(tmp_path: Path) -> None:
    """The page takes the old one's place and leaves nothing else behind."""
    path = tmp_path / "report.html"
    path.write_text("old")
    write_html(_document("rx_sweep"), path)
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) & 0o444 == 0o444 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_write_takes_any_text(tmp_path: Path) -> None:
    """Half a surrogate pair, which UTF-8 does not have, is spelled out."""
    path = tmp_path / "report.html"
    write_whole(path, "\ud800 é")
    assert path.read_text("utf-8") == "\\ud800 é"


@pytest.mark.parametrize("name", ["missing/report.html", "", "file/report.html"])
def test_path_that_cannot_be(name: str, tmp_path: Path) -> None:
    """A missing directory, a directory and a file as directory are wrong use."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write ") as refusal:
        write_html(_document("rx_sweep"), tmp_path / name)
    assert str(refusal.value).isprintable()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_failed_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk leaves the old page and no half of the new one."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotMeasure, match="No space left"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """What is no regular file is written to: no file takes a device's place.

    A pipe stands for all of them: a fault here must not cost the machine its
    /dev/null.
    """
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(path, "text")
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
