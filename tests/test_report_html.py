# SPDX-License-Identifier: GPL-2.0-only
"""The page is well formed, works offline and lets no text of a document act."""

import copy
import errno
import functools
import html.parser
import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.errors import CannotMeasure, UsageError
from ringside.report import html as report_html
from ringside.report.figures import short_number
from ringside.report.files import write_whole
from ringside.report.html import page, write_html
from ringside.report.plots import Bar, Series, bar_plot, line_plot

RESULTS = Path(__file__).parent / "data" / "results"
STORED = sorted(path.stem for path in RESULTS.glob("*.json"))

VOID = {"meta"}
ELEMENTS = set(
    "html head meta title style body header h1 h2 h3 h4 p ul li b nav a main"
    " section div table thead tbody tr th td meter span details summary figure"
    " figcaption dl dt dd code pre script svg g defs clippath pattern path rect use"
    " text".split()
)
WRITE = (
    "import json, pathlib, sys; from ringside.report.html import write_html;"
    "write_html(json.load(open(sys.argv[1])), pathlib.Path(sys.argv[2]))"
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


@functools.cache
def _page(name: str) -> str:
    return page(_document(name))


def _plots(text: str) -> list[str]:
    plots = [a for tag, a in _Page(text).elements if tag == "svg"]
    assert all(plot["role"] == "img" and "width" not in plot for plot in plots)
    return [str(plot["aria-label"]) for plot in plots]


def _paths(svg: str, colour: str) -> list[list[tuple[float, float]]]:
    """Return the corners of every path, or of its hatch, in one colour."""
    parsed = _Page(svg)
    fills = {f"var(--{colour})"}
    hatch = ""
    for tag, attributes in parsed.elements:
        if tag == "pattern":
            hatch = str(attributes["id"])
        elif tag == "rect" and attributes.get("fill") in fills:
            fills.add(f"url(#{hatch})")
    return [
        _numbers(a.get("d") or "")
        for tag, a in parsed.elements
        if tag == "path" and _fill(a.get("style") or "") in fills
    ]


def _fill(style: str) -> str:
    found = re.search(r"\bfill: ([^;]*)", style)
    return found[1] if found else ""


def _numbers(path: str) -> list[tuple[float, float]]:
    found = [float(number) for number in re.findall(r"[-+.\de]*\d", path)]
    return list(zip(found[::2], found[1::2], strict=True))


def _marks(svg: str) -> list[tuple[float, float]]:
    """Return where the marks of the lines and of the legend are."""
    uses = [a for tag, a in _Page(svg).elements if tag == "use"]
    return [(float(a["x"] or "nan"), float(a["y"] or "nan")) for a in uses]


@pytest.mark.parametrize("name", STORED)
def test_page_is_well_formed(name: str) -> None:
    """Elements are closed, ids are unique, and links and labels lead somewhere."""
    text = _page(name)
    parsed = _Page(text)
    ids = parsed.values("id")
    assert len(ids) == len(set(ids))
    links = parsed.values("href") + re.findall(r"url\(([^)]*)\)", text)
    assert links and all(link[0] == "#" and link[1:] in ids for link in links)
    assert set(parsed.values("aria-labelledby")) <= set(ids)
    names = _plots(text)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", STORED)
def test_plots_have_the_colours_of_the_page(name: str) -> None:
    """All colours are variables, which the dark scheme changes."""
    text = _page(name)
    style, body = text.split("</style>")
    used = set(re.findall(r"var\(--(\w+)\)", body))
    assert used and used <= set(re.findall(r"--(\w+):", style))
    assert not re.search(r"#[0-9a-f]{3,8}\b", "".join(_Page(text).values("style")))
    assert "<style" not in body and "atplotlib" not in body


@pytest.mark.parametrize("name", STORED)
def test_page_needs_nothing_else(name: str) -> None:
    """Nothing is fetched and nothing runs."""
    text = _page(name)
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
    embedded = "".join(_Page(_page(name)).texts["script"])
    assert json.loads(embedded) == _document(name)


def test_hostile_strings_are_text() -> None:
    """Names that look like markup or templates are shown as they are."""
    text = _page("hostile")
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
    assert _plots(text) == [
        f"{caption}: rx, 60-byte frames"
        for caption in (
            "Packets per interrupt, over rate",
            "Register reads per packet, over rate",
            "Register writes per packet, over rate",
            "Instructions per packet, over rate",
            "Instructions per packet, by group",
            "L1d misses per packet, by group",
            "L2 misses per packet, by group",
            "Last-level misses per packet, by group",
        )
    ]
    texts = _Page(text).texts["text"]
    assert {"5k", "20k", "80k", "e1000", "tulip 80k", "skb and page allocation"} <= set(
        texts
    )
    groups = document["runs"][-1]["groups"]
    assert f"{sum(group['instructions'] for group in groups):.1f}" in texts


def test_reads_and_writes_are_not_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each plot over rate shows its own figure."""
    drawn: dict[str, dict[str, Sequence[tuple[float, float | None]]]] = {}

    def record(name: str, series: Sequence[Series], _: str) -> str:
        drawn[name.split(",")[0]] = {line.label: line.points for line in series}
        return ""

    monkeypatch.setattr(report_html, "line_plot", record)
    page(_document("rx_sweep"))
    assert drawn["Packets per interrupt"]["e1000"][2] == (80000, 8.0)
    assert drawn["Register reads per packet"]["e1000"][0] == (5000, 1.0)
    assert drawn["Register writes per packet"]["e1000"][0] == (5000, 4.0)


def test_plots_of_one_rate() -> None:
    """One rate gives bars, and a NIC that was not measured keeps its place."""
    text = _page("error_run")
    assert [name.split(":")[0] for name in _plots(text)[:2]] == [
        "Packets per interrupt",
        "Register accesses per packet",
    ]
    assert text.count(">not measured<") == 2 * 6
    assert "not measured: QEMU 7.2.17 has no device igb" in text


def test_no_plot_without_figures() -> None:
    """Where a figure is null in all runs, the note stands and no plot."""
    text = _page("null_with_reason")
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
    """Another process with another hash seed and settings writes the same bytes."""
    (tmp_path / "matplotlibrc").write_text("svg.fonttype: path\nlegend.fontsize: 30\n")
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", WRITE, RESULTS / "rx_sweep.json", f"{seed}.html"],
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
            cwd=tmp_path,
            check=True,
        )
        (tmp_path / "matplotlibrc").unlink(missing_ok=True)
    one, two = (path.read_bytes() for path in tmp_path.iterdir())
    assert one == two
    assert one.decode() == page(_document("rx_sweep"))


@pytest.mark.parametrize("home", ["home", "/proc/none"])
def test_writing_leaves_nothing_behind(home: str, tmp_path: Path) -> None:
    """No list of fonts, no warning, whether HOME can be written or not."""
    document = _document("rx_sweep")
    # No font of matplotlib's has these letters.
    document["runs"][0]["nic"] = "\u7f51\u5361"
    (tmp_path / "in.json").write_text(json.dumps(document))
    for folder in ("home", "scratch"):
        (tmp_path / folder).mkdir()
    done = subprocess.run(
        [sys.executable, "-B", "-c", WRITE, "in.json", "out.html"],
        env={
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(tmp_path / home),
            "TMPDIR": str(tmp_path / "scratch"),
            "MPLBACKEND": "none of them",
        },
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == done.stderr == ""
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"in.json", "out.html", "home", "scratch"}
    assert "\u7f51\u5361" in (tmp_path / "out.html").read_text("utf-8")


@pytest.mark.parametrize(
    "label",
    ["$\\frac{", "$x^2$", "<b>&amp;</b>", "]]>-->", "#000001", 'id="g1"', "_x", "a\\n"],
)
def test_labels_are_text(label: str) -> None:
    """What means something to matplotlib or in SVG is shown as it is."""
    bars = str(bar_plot("name", [Bar(label, [1.0])], ["all"], 2))
    lines = str(line_plot(label, [Series(label, [(1.0, 1.0)])], "rate"))
    for svg in (bars, lines):
        assert label in _Page(svg).texts["text"]
    assert _plots(lines) == [label]


def test_hostile_nics_in_plots() -> None:
    """A page whose NICs have such names holds together."""
    document = _document("rx_sweep")
    for run, name in zip(
        document["runs"],
        ["$\\frac{", "</script><img onerror>", "x" * 5000],
        strict=False,
    ):
        run["nic"] = run["driver"] = name
    text = page(document)
    parsed = _Page(text)
    assert {tag for tag, _ in parsed.elements} <= ELEMENTS
    expected = {"$\\frac{ 5k", "</script…r> 20k", "xxxxxxxx…xx 80k"}
    assert expected <= set(parsed.texts["text"])


def test_a_thousand_runs_take_seconds() -> None:
    """The time grows with the runs and no faster."""
    document = _document("rx_sweep")
    runs = document["runs"]
    document["runs"] = [copy.deepcopy(runs[n % 9]) for n in range(1000)]
    for n, run in enumerate(document["runs"]):
        run["nic"] = run["driver"] = f"nic{n // 9}"
    start = time.process_time()
    assert page(document)
    # About 5 s on a machine that does nothing else.
    assert time.process_time() - start < 25


@pytest.mark.parametrize("extreme", [0.0, 1e-9, -5.0, 1e15, -1e15])
def test_bars_stay_inside(extreme: float) -> None:
    """Zero, tiny, huge and negative costs give coordinates inside the plot."""
    bars = [Bar("one", [extreme, 1.0]), Bar("two", [extreme, extreme]), Bar("", None)]
    svg = str(bar_plot("name", bars, ["a", "b"], 2))
    assert "not measured" in svg
    for path in _paths(svg, "g0") + _paths(svg, "g1"):
        assert all(0 <= x <= 400 and 0 <= y <= 200 for x, y in path)


def test_bars_of_nothing() -> None:
    """Bars that are all 0 give a plot."""
    svg = bar_plot("name", [Bar("one", [0.0])], ["all"], 2)
    assert ">0.00<" in svg
    ticks = [text for text in _Page(str(svg)).texts["text"] if text[-1:].isdigit()]
    assert ticks[0] == "0" and ticks[-2] == "1"
    assert _paths(str(svg), "g0") == [[]]


def test_bars_have_their_lengths() -> None:
    """Twice the cost is twice the length, and parts of a bar touch."""
    bars = [Bar("one", [2.0, 3.0]), Bar("two", [4.0, 0.0])]
    svg = str(bar_plot("name", bars, ["a", "b"], 2))
    first, second = _paths(svg, "g0")[0], _paths(svg, "g1")[0]
    rows = sorted({y for _, y in first})
    one, two = (sorted({x for x, y in first if y == row}) for row in rows[::2])
    assert one[0] == two[0] and two[1] - two[0] == pytest.approx(2 * (one[1] - one[0]))
    across = sorted({x for x, _ in second})
    assert across[0] == one[1] and across[1] - across[0] == pytest.approx(
        1.5 * (one[1] - one[0])
    )


def test_negative_part_lies_left_of_zero() -> None:
    """A group that cost less than the generator alone is drawn, on its own side."""
    svg = str(bar_plot("name", [Bar("one", [-2.0, 3.0])], ["a", "b"], 2))
    below = sorted({x for x, _ in _paths(svg, "g0")[0]})
    above = sorted({x for x, _ in _paths(svg, "g1")[0]})
    assert below[0] < below[1] == above[0] < above[1]


@pytest.mark.parametrize("values", [[], [0.0], [1.0, None, 3.0], [None], [-1e15, 1e15]])
def test_lines_stay_inside(values: list[float | None]) -> None:
    """One rate, a gap and no figure at all give a plot without nan or inf."""
    known = Series("known", [(1.0, 2.0)])
    points = [(10.0**index, value) for index, value in enumerate(values)]
    svg = str(line_plot("name", [known, Series("odd", points)], "rate"))
    assert "nan" not in svg and "inf" not in svg
    marks = _marks(svg)
    shown = 1 + sum(value is not None for value in values)
    assert len(marks) == shown + 1 + (shown > 1)
    assert all(0 <= x <= 400 and 0 <= y <= 300 for x, y in marks)


def test_lines_go_through_their_points() -> None:
    """Equal ratios of rates and equal differences of values have equal distances."""
    line = Series("one", [(100.0, 0.0), (1000.0, 5.0), (10000.0, 10.0)])
    first, second, third, _ = _marks(str(line_plot("name", [line], "rate")))
    assert first[0] < second[0] and first[1] > second[1]
    for axis in (0, 1):
        assert second[axis] - first[axis] == pytest.approx(third[axis] - second[axis])


def test_lines_are_told_apart_without_colour() -> None:
    """Thirty-two lines have a mark or a dash each of its own."""
    series = [Series(f"nic{n}", [(1.0, n), (2.0, n)]) for n in range(32)]
    elements = _Page(str(line_plot("name", series, "rate"))).elements
    looks = set()
    dash = ""
    for tag, attributes in elements:
        look = str(attributes.get("style"))
        if tag == "path" and "stroke-width: 2" in look:
            dash = re.sub("var[^;]*", "", look)
        elif tag == "use":
            looks.add((dash, attributes["href"]))
    assert len(looks) == 32


def test_many_lines_have_room_for_their_labels() -> None:
    """Labels do not cover each other, and stand in the order of the lines' ends."""
    series = [Series(f"nic{n}", [(1.0, 4.0), (2.0, n % 7)]) for n in range(30)]
    parsed = _Page(str(line_plot("name", series, "rate")))
    texts = [a for tag, a in parsed.elements if tag == "text"]
    labels = {
        label: float(attributes["y"] or "nan")
        for attributes, label in zip(texts, parsed.texts["text"], strict=True)
        if label.startswith("nic")
    }
    assert len(labels) == 30
    heights = sorted(labels.values())
    assert min(b - a for a, b in zip(heights, heights[1:])) > 12
    assert 0 < heights[0] and heights[-1] < float(
        parsed.values("viewbox")[0].split()[3]
    )
    assert labels["nic6"] == heights[0] and labels["nic28"] == heights[-1]


def test_crowded_rates_have_fewer_labels() -> None:
    """The labels of rates close together do not run into each other."""
    points = [(float(rate), 1.0) for rate in range(1000, 100000, 1000)]
    parsed = _Page(str(line_plot("name", [Series("one", points)], "rate")))
    texts = [a for tag, a in parsed.elements if tag == "text"]
    places = [
        float(attributes["x"] or "nan")
        for attributes, label in zip(texts, parsed.texts["text"], strict=True)
        if label.endswith("k")
    ]
    assert len(places) > 3
    assert min(b - a for a, b in zip(places, places[1:])) > 30


def test_long_labels_keep_their_ends() -> None:
    """The ends tell the bars of one NIC apart, and no label is longer than its room."""
    bars = [Bar(f"a-very-long-name-of-a-nic {rate}k", [1.0]) for rate in (5, 20)]
    labels = _Page(str(bar_plot("name", bars, ["all"], 2))).texts["text"]
    assert {"a-very-l…nic 5k", "a-very-l…ic 20k"} <= set(labels)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.05, "0.05"), (800.0, "800"), (14881, "14.88k"), (999999, "1000k"), (2e6, "2M")],
)
def test_short_number(value: float, text: str) -> None:
    """Thousands and millions have a letter."""
    assert short_number(value) == text


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
