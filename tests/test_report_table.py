# SPDX-License-Identifier: GPL-2.0-only
"""The table is plain ASCII in a pipe, fits a terminal, and hides nothing."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ringside.report.figures import Document, figure_text, visible
from ringside.report.table import render, render_detail

RESULTS = Path(__file__).parent / "data" / "results"
STORED = sorted(path.stem for path in RESULTS.glob("*.json"))

Renderer = Callable[[Document, Console], None]


def _document(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _printed(
    document: Document, renderer: Renderer = render, terminal: int | None = None
) -> str:
    """Return what is printed to a pipe, or to a terminal of that many columns."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=terminal or 80,
        force_terminal=terminal is not None,
        color_system="truecolor" if terminal else None,
        legacy_windows=False,
        # TERM=dumb, as under many CI systems, would make any console plain.
        _environ={"TERM": "xterm"},
    )
    renderer(document, console)
    return out.getvalue()


def _on_terminal(document: Document, renderer: Renderer, width: int) -> list[str]:
    """Return the lines on the terminal without their colours."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=True,
        color_system=None,
        legacy_windows=False,
        _environ={"TERM": "xterm"},
    )
    renderer(document, console)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("renderer", [render, render_detail])
def test_plain_as_stored(name: str, renderer: Renderer) -> None:
    """A pipe gets the stored text; RINGSIDE_UPDATE_GOLDEN=1 stores it anew."""
    text = _printed(_document(name), renderer)
    golden = RESULTS / f"{name}.{renderer.__name__}.txt"
    if os.environ.get("RINGSIDE_UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("renderer", [render, render_detail])
def test_plain_is_printable_ascii(name: str, renderer: Renderer) -> None:
    """No colours, box characters or control characters reach a pipe."""
    lines = _printed(_document(name), renderer).split("\n")
    assert all(line.isascii() and visible(line) == line for line in lines)


def test_plain_has_one_line_per_run() -> None:
    """Rows are not wrapped, and every field of a row stands below its heading."""
    document = _document("rx_sweep")
    lines = _printed(document).splitlines()
    heading, rows = lines[1], lines[2 : 2 + len(document["runs"])]
    assert len(heading) > 80
    assert lines[2 + len(rows)] == ""
    for run, row in zip(document["runs"], rows):
        fields = dict(zip(heading.split(), row.split(), strict=True))
        assert fields["nic"] == run["nic"]
        assert fields["rate"] == str(run["rate_pps"])
        assert fields["mmio_rd"] == f"{run['per_packet']['mmio_reads']:.2f}"
        assert fields["port_wr"] == f"{run['per_packet']['port_writes']:.2f}"
        assert fields["pkt/irq"] == f"{run['packets_per_irq']:.2f}"
        assert fields["delivered/sent"] == f"{run['delivered']}/{run['sent']}"
        assert fields["status"] == run["status"]


def test_dumb_terminal_is_plain() -> None:
    """A terminal that cannot place text gets what a pipe gets."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, _environ={"TERM": "dumb"})
    render(_document("rx_sweep"), console)
    assert out.getvalue() == _printed(_document("rx_sweep"))


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("renderer", [render, render_detail])
@pytest.mark.parametrize("width", [80, 100, 200])
def test_terminal_width_is_kept(name: str, renderer: Renderer, width: int) -> None:
    """No line is longer than the terminal is wide."""
    lines = _on_terminal(_document(name), renderer, width)
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_terminal_keeps_every_figure(width: int) -> None:
    """A narrow terminal splits the table; no figure or name is cut."""
    document = _document("rx_sweep")
    words = " ".join(_on_terminal(document, render, width)).split()
    for run in document["runs"]:
        assert run["nic"] in words
        assert f"{run['delivered']}/{run['sent']}" in words
        for name, value in run["per_packet"].items():
            assert figure_text(name, value) in words
    assert words.count("fail") == (1 if width == 200 else 2)


def test_terminal_drops_what_all_runs_share() -> None:
    """Driver and direction are columns only where they tell runs apart."""
    document = _document("rx_sweep")
    assert "driver" not in _on_terminal(document, render, 200)[2]
    assert " dir " not in _on_terminal(document, render, 200)[2]
    document["runs"][0].update(driver="cp", direction="tx")
    assert "driver" in _on_terminal(document, render, 200)[2]
    assert " dir " in _on_terminal(document, render, 200)[2]


def test_terminal_has_colours_and_words_for_status() -> None:
    """Colour only adds to the word."""
    text = _printed(_document("rx_sweep"), terminal=200)
    assert "\x1b[32mpass" in text and "\x1b[1;31mfail" in text


@pytest.mark.parametrize("renderer", [render, render_detail])
def test_terminal_gets_no_foreign_control_characters(renderer: Renderer) -> None:
    """Names and log lines cannot drive the terminal."""
    for line in _on_terminal(_document("hostile"), renderer, 200):
        assert line.isprintable()


def test_notes_say_what_the_table_cannot() -> None:
    """Failed checks, named drops, errors and reasons have a line each."""
    lines = _printed(_document("rx_sweep")).splitlines()
    assert "tulip rx 80000 pps 60 B: 148 dropped at rx_missed_errors" in lines
    assert "tulip rx 80000 pps 60 B: 12 unexplained" in lines
    assert any(": fail: conservation: 2000 sent" in line for line in lines)
    errors = _printed(_document("error_run"))
    # Once: the reasons of all the figures that are missing are the error itself.
    assert errors.count("QEMU 7.2.17 has no device igb") == 1
    nulls = _printed(_document("null_with_reason"))
    assert "l1d_misses, l2_misses, llc_misses: no cache model asked for" in nulls
    assert "packets_per_irq: no interrupt in the window" in nulls


def test_environment_is_below() -> None:
    """The last line states kernel, QEMU, caches and what packet data is taken for."""
    last = _printed(_document("rx_sweep")).rstrip().splitlines()[-1]
    for part in (
        "Linux 6.12.43+deb12-amd64",
        "QEMU 7.2.17",
        "L1d 32 KiB 8-way",
        "packet data assumed cached",
    ):
        assert part in last


def test_functions_add_up() -> None:
    """Functions are ranked, and those below the line are summed, not left out."""
    document = _document("rx_sweep")
    document["runs"] = document["runs"][:1]
    lines = _printed(document, render_detail).splitlines()
    start = lines.index("By function, per packet") + 2
    costs = [float(line.split()[-4]) for line in lines[start : start + 16]]
    assert costs[:15] == sorted(costs[:15], reverse=True)
    assert lines[start + 15].startswith("(3 more)")
    whole = sum(f["instructions"] for f in document["runs"][0]["functions"])
    assert sum(costs) == pytest.approx(whole, abs=1)


def test_no_runs() -> None:
    """A document without runs still states its environment."""
    document = _document("rx_sweep")
    document["runs"] = []
    assert "Linux 6.12.43" in _printed(document)
    assert _printed(document, render_detail)
    assert _on_terminal(document, render, 80)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("mmio_reads", 4.0, "4.00"),
        ("mmio_reads", -0.001, "0.00"),
        ("mmio_reads", None, "-"),
        ("instructions", 9301.26, "9301.3"),
        ("irqs", -1.5, "-1.50"),
    ],
)
def test_figure_text(name: str, value: float | None, text: str) -> None:
    """Two decimals, one for instructions, never a negative zero."""
    assert figure_text(name, value) == text


def test_table_starts_quickly() -> None:
    """The table needs none of the libraries that take long to import."""
    code = "import sys, ringside.report.table; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    assert "ringside.report.table" in modules
    assert not {"matplotlib", "jinja2", "jsonschema"} & set(modules)
