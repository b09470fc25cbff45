# SPDX-License-Identifier: GPL-2.0-only
"""Plots as SVG text that follows the page's colours and reads without them."""

import contextlib
import io
import logging
import os
import pathlib
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy
from markupsafe import Markup

from ringside.report.figures import short_number


@contextlib.contextmanager
def _scratch_settings() -> Iterator[None]:
    """Keep matplotlib's list of fonts out of the user's home, which may be lost."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MPLCONFIGDIR"], os.environ["MPLBACKEND"] = scratch, "svg"
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


# It says so when that list takes long to make.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
with _scratch_settings():
    from matplotlib import style
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.ticker import MaxNLocator
    from matplotlib.transforms import offset_copy

# In SVG units: so narrow that a plot fills a phone's width and stays legible.
_WIDTH, _ROW, _LEGEND_ROW = 400, 26, 18
_LONGEST_LABEL = 15
_MARKERS, _DASHES = "osD^vPX*", ("-", "--", ":", "-.")
_HATCHES = ("", "///", "++", "\\\\\\", "--", "xxx", "|||")

# bench.css says what they are. matplotlib, which knows no variables, draws each in
# a stand-in; what it draws in black is text, which has a colour in bench.css too.
_COLOURS = "paper soft rule hatch s0 s1 s2 s3 s4 s5 s6 s7 g0 g1 g2 g3 g4 g5 g6".split()
_DRAWN = {name: f"#0000{place:02x}" for place, name in enumerate(_COLOURS, 1)}
_STYLE = {
    "grid.color": _DRAWN["rule"],
    "lines.markeredgecolor": _DRAWN["paper"],
    "patch.edgecolor": _DRAWN["hatch"],
    "axes.labelcolor": _DRAWN["soft"],
    "xtick.labelcolor": _DRAWN["soft"],
    "ytick.labelcolor": _DRAWN["soft"],
}
_STYLE_FILE = str(pathlib.Path(__file__).with_name("templates") / "plots.mplstyle")


@dataclass(frozen=True)
class Series:
    """One line: a label and its (rate, value) by rate; an unknown value is None."""

    label: str
    points: Sequence[tuple[float, float | None]]


@dataclass(frozen=True)
class Bar:
    """One bar: a label and the parts it is stacked from; None when unknown."""

    label: str
    parts: Sequence[float] | None


def line_plot(name: str, series: Sequence[Series], across_name: str) -> Markup:
    """Return lines over a logarithmic axis; no two plots of a page share a name."""
    known = [[v for _, v in line.points if v is not None] for line in series]
    drawn = [(line, values[-1]) for line, values in zip(series, known) if values]
    rates = sorted({rate for line, _ in drawn for rate, _ in line.points})
    height = 58 + max(220, _LEGEND_ROW * len(drawn))
    with _style(name):
        axes = _axes(height, 44, 150, 12, 46)
        for index, (line, _) in enumerate(drawn):
            axes.plot(
                *numpy.array(line.points, float).T,
                label=index,
                color=_DRAWN[f"s{index % 8}"],
                linestyle=_DASHES[(index + index // 8) % 4],
                marker=_MARKERS[index % 8],
                clip_on=False,
            )
        axes.set_xscale("log")
        axes.minorticks_off()
        rates = _apart(rates)
        axes.set_xticks(rates, [short_number(rate) for rate in rates])
        axes.set_xlabel(across_name)
        ticks = _ticks([value for values in known for value in values])
        axes.set_yticks(ticks, [short_number(tick) for tick in ticks])
        axes.set_ylim(ticks[0], ticks[-1])
        axes.grid(axis="x", visible=False)
        # Beside the lines' ends and in their order.
        order = sorted(range(len(drawn)), key=lambda index: -drawn[index][1])
        handles = [axes.lines[index] for index in order]
        legend = axes.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(1.04, 1)
        )
        # Only now, for a label that begins with an underscore is left out.
        for index, text in zip(order, legend.get_texts()):
            text.set_text(_cut(drawn[index][0].label))
        return _svg(axes.figure, name)


def bar_plot(
    name: str, bars: Sequence[Bar], kinds: Sequence[str], digits: int
) -> Markup:
    """Return stacked bars with their sums, an unknown one saying so; name as above."""
    values = numpy.array([bar.parts or [0.0] * len(kinds) for bar in bars], float)
    # What is negative is stacked to the left of zero.
    above, below = values.clip(min=0).cumsum(1), values.clip(max=0).cumsum(1)
    ends = numpy.where(values < 0, below, above)
    ticks = _ticks([*below[:, -1], *above[:, -1]])
    legend = _LEGEND_ROW * (len(kinds) + 1) // 2 if len(kinds) > 1 else 0
    with _style(name):
        axes = _axes(30 + _ROW * len(bars) + legend, 126, 60, 4, 26 + legend)
        axes.set_xlim(ticks[0], ticks[-1])
        axes.set_xticks(ticks, [short_number(tick) for tick in ticks])
        axes.set_ylim(len(bars) - 0.5, -0.5)
        axes.set_yticks([])
        patches = [
            PathPatch(
                _boxes(ends[:, index] - values[:, index], ends[:, index]),
                facecolor=_DRAWN[f"g{index}"],
                hatch=_HATCHES[index],
                label=kind,
            )
            for index, kind in enumerate(kinds)
        ]
        for patch in patches:
            axes.add_artist(patch)
        _labels(axes, [ticks[0]] * len(bars), -8, [_cut(bar.label) for bar in bars])
        _labels(axes, above[:, -1], 6, [_sum_text(bar, digits) for bar in bars])
        if legend:
            axes.figure.legend(handles=patches, loc="lower left", ncol=2)
        return _svg(axes.figure, name)


def _boxes(left: Any, right: Any) -> Any:
    """Return one path for all rows: a patch for each takes ten times as long."""
    row = numpy.arange(len(left))
    top, bottom = row - 0.35, row + 0.35
    boxes = numpy.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    return Path.make_compound_path_from_polys(boxes.transpose(2, 0, 1)[left != right])


def _sum_text(bar: Bar, digits: int) -> str:
    return "not measured" if bar.parts is None else f"{sum(bar.parts) + 0.0:.{digits}f}"


def _labels(
    axes: Any, places: Sequence[float], away: int, texts: Sequence[str]
) -> None:
    """Write a text in every row, so far to the right or left of a place."""
    beside = offset_copy(axes.transData, axes.figure, away, 0, "points")
    look = {"transform": beside, "ha": "left" if away > 0 else "right", "va": "center"}
    for row, (place, text) in enumerate(zip(places, texts)):
        axes.figure.text(place, row, text, **look)


def _style(name: str) -> Any:
    """Return the context to draw in; the name makes the ids in the plot its own."""
    own = {**_STYLE, "svg.hashsalt": name}
    return style.context([_STYLE_FILE, own], after_reset=True)


def _axes(height: float, left: float, right: float, top: float, bottom: float) -> Any:
    """Return the axes of a new figure, with those margins."""
    figure = Figure(figsize=(_WIDTH / 72, height / 72))
    width, tall = _WIDTH - left - right, height - top - bottom
    place = (left / _WIDTH, bottom / height, width / _WIDTH, tall / height)
    return figure.add_axes(place)


def _svg(figure: Any, name: str) -> Markup:
    """Return the figure as an element of the page, with the page's colours."""
    text = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with warnings.catch_warnings():
        # The reader's fonts draw the letters, not this one.
        warnings.filterwarnings("ignore", "Glyph")
        figure.savefig(text, format="svg", metadata=nothing)
    root = ElementTree.fromstring(text.getvalue())
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {
            key.rpartition("}")[2]: re.sub("#0000(..)", _variable, value)
            for key, value in element.items()
            # Groups are numbered alike in all figures, and nothing refers to them.
            if (element.tag, key) != ("g", "id")
        }
    # It would hold for the whole page.
    for defs in root.findall("defs[style]"):
        root.remove(defs)
    root.attrib = {
        "class": "plot",
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-label": name,
    }
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _variable(drawn: re.Match[str]) -> str:
    return f"var(--{_COLOURS[int(drawn[1], 16) - 1]})"


def _ticks(values: Sequence[float]) -> list[float]:
    """Return a few round numbers that span the values and zero."""
    low, high = min([0.0, *values]), max([0.0, *values])
    if low == high:
        high = 1.0
    ticks = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
    # Adding 0.0 turns -0.0 into 0.0.
    return [float(tick) + 0.0 for tick in ticks]


def _apart(rates: Sequence[float]) -> list[float]:
    """Return the rates whose labels do not run into the one before."""
    kept = [*rates[:1]]
    for rate in rates:
        if rate >= kept[-1] * (rates[-1] / rates[0]) ** (1 / 6) and rate > kept[-1]:
            kept.append(rate)
    return kept


def _cut(label: str) -> str:
    """Shorten a label in its middle: its end may tell bars of one NIC apart."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[:8]}…{label[-6:]}"
