# SPDX-License-Identifier: GPL-2.0-only
"""Plots as SVG text that follows the page's colours and reads without them."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

# In SVG units: so narrow that a plot fills a phone's width and stays legible.
WIDTH = 400
_LINE_LEFT, _LINE_RIGHT, _LINE_TOP, _LINE_BOTTOM = 40, 100, 12, 46
_BAR_LEFT, _BAR_RIGHT, _BAR_TOP, _BAR_BOTTOM = 108, 56, 4, 24
_ROW, _BAR = 26, 18
_LABEL_HEIGHT = 14
_LONGEST_LABEL = 15
_SMALLEST_LETTERED = 15
_TICK_DISTANCE = 40

_Scale = Callable[[float], float]
_Points = Sequence[tuple[float, float]]

SERIES_STYLES = 8
_DASHES = ("none", "7 3", "2 3", "9 3 2 3")
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-4-4h8v8h-8z",
    "M0-5l5 9h-10z",
    "M0-5l5 5l-5 5l-5-5z",
    "M0 5l5-9h-10z",
    "M-5-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
    "M-5 0l2.5-4.5h5l2.5 4.5l-2.5 4.5h-5z",
    "M-5-3l2-2l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3z",
)


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


@dataclass(frozen=True)
class Part:
    """One kind of part of all bars of a plot: its style, letter and name."""

    style: int
    letter: str
    name: str


def short_number(value: float) -> str:
    """Return a number with k or M for thousands and millions."""
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"


def line_plot(name: str, series: Sequence[Series], across_name: str) -> Markup:
    """Return lines over a logarithmic axis, each labelled at its end."""
    lines = [
        (
            line.label,
            [(rate, value) for rate, value in line.points if value is not None],
        )
        for line in series
    ]
    lines = [(label, points) for label, points in lines if points]
    rates = sorted({rate for _, points in lines for rate, _ in points})
    ticks = _ticks([value for _, points in lines for _, value in points])
    bottom = _LINE_TOP + max(220, _LABEL_HEIGHT * len(lines))
    across = _across_rates(rates)
    upward = _scale((ticks[0], ticks[-1]), (bottom, _LINE_TOP))
    drawn = [
        [(across(rate), upward(value)) for rate, value in points] for _, points in lines
    ]
    heights = _spread([places[-1][1] for places in drawn], _LINE_TOP, bottom)
    parts = [
        _upward_axis(ticks, [upward(tick) for tick in ticks]),
        _across_axis(rates, [across(rate) for rate in rates], bottom, across_name),
    ]
    for index, line in enumerate(lines):
        parts.append(_line(index, line, drawn[index]))
        parts.append(_end_label(index, line[0], drawn[index][-1], heights[index]))
    return _svg(name, bottom + _LINE_BOTTOM, parts)


def bar_plot(
    name: str, stacks: Sequence[Bar], kinds: Sequence[Part], digits: int
) -> Markup:
    """Return horizontal stacked bars with their sums; an unknown bar says so."""
    ticks = _ticks([edge for stack in stacks for edge in _reach(stack)])
    across = _scale((ticks[0], ticks[-1]), (_BAR_LEFT, WIDTH - _BAR_RIGHT))
    bottom = _BAR_TOP + _ROW * len(stacks)
    parts = [
        Markup('<path class="grid" d="M{:.1f} {}V{}"/>{}').format(
            across(tick),
            _BAR_TOP,
            bottom,
            _text(across(tick), bottom + 17, short_number(tick), "middle"),
        )
        for tick in _thinned(ticks, [across(tick) for tick in ticks])
    ]
    for index, stack in enumerate(stacks):
        top = _BAR_TOP + _ROW * index + (_ROW - _BAR) / 2
        parts.append(_text(_BAR_LEFT - 8, top + 13, _cut(stack.label), "name end"))
        if stack.parts is None:
            parts.append(_text(across(0) + 6, top + 13, "not measured"))
            continue
        parts.extend(_stack(stack.label, stack.parts, kinds, (across, top, digits)))
        length = f"{sum(stack.parts) + 0.0:.{digits}f}"
        parts.append(_text(across(_reach(stack)[1]) + 6, top + 13, length, "name"))
    return _svg(name, bottom + _BAR_BOTTOM, parts)


def _reach(stack: Bar) -> tuple[float, float]:
    """Return where a bar ends below and above zero."""
    parts = stack.parts or ()
    return (
        sum((part for part in parts if part < 0), 0.0),
        sum((part for part in parts if part > 0), 0.0),
    )


def _stack(
    label: str,
    values: Sequence[float],
    kinds: Sequence[Part],
    place: tuple[_Scale, float, int],
) -> Iterator[Markup]:
    """Yield the parts of one bar, negative ones to the left of zero."""
    across, top, digits = place
    above = below = 0.0
    for kind, value in zip(kinds, values):
        if value < 0:
            left, right = below + value, below
            below = left
        else:
            left, right = above, above + value
            above = right
        title = f"{label}, {kind.name}: {value:.{digits}f}"
        yield _segment(kind, title, (across(left), across(right)), top)


def _scale(values: tuple[float, float], places: tuple[float, float]) -> _Scale:
    """Return the straight line that takes the two values to the two places."""
    slope = (places[1] - places[0]) / (values[1] - values[0])
    return lambda value: places[0] + slope * (value - values[0])


def _across_rates(rates: Sequence[float]) -> _Scale:
    """Return the place of a rate: equal ratios have equal distances."""
    first, last = math.log(rates[0]), math.log(rates[-1])
    # A single rate stands in the middle.
    ends = (first, last) if last > first else (first - 1, first + 1)
    straight = _scale(ends, (_LINE_LEFT + 8, WIDTH - _LINE_RIGHT - 8))
    return lambda rate: straight(math.log(rate))


def _text(left: float, base: float, text: str, style: str = "") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>').format(
        left, base, style, text
    )


def _svg(name: str, height: float, parts: Iterable[Markup]) -> Markup:
    return Markup(
        '<svg class="plot" viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">'
        "\n{}\n</svg>"
    ).format(WIDTH, height, name, Markup("\n").join(parts))


def _segment(kind: Part, label: str, edges: Sequence[float], top: float) -> Markup:
    left, right = edges
    shape = Markup('x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}"').format(
        left, top, max(0.0, right - left), _BAR
    )
    letter = Markup("")
    if right - left >= _SMALLEST_LETTERED:
        letter = _text((left + right) / 2, top + 13, kind.letter, "letter middle")
    return Markup(
        '<g class="g{0}"><title>{1}</title><rect class="fill" {2}/>'
        '<rect fill="url(#hatch{0})" {2}/>{3}</g>'
    ).format(kind.style, label, shape, letter)


def _line(index: int, line: tuple[str, _Points], places: _Points) -> Markup:
    label, points = line
    marks = [
        Markup(
            '<path class="mark" d="{}" transform="translate({:.1f} {:.1f})">'
            "<title>{}</title></path>"
        ).format(
            _MARKERS[index % len(_MARKERS)],
            *place,
            f"{label}, {rate:.0f} pps: {value:.2f}",
        )
        for (rate, value), place in zip(points, places)
    ]
    path = "L".join(f"{left:.1f} {height:.1f}" for left, height in places)
    return Markup(
        '<g class="s{}"><path class="line" d="M{}" stroke-dasharray="{}"/>{}</g>'
    ).format(
        index % SERIES_STYLES,
        path,
        _DASHES[index % len(_DASHES)],
        Markup("").join(marks),
    )


def _end_label(
    index: int, label: str, end: tuple[float, float], height: float
) -> Markup:
    """Return a line's label beside its end, with its marker and a leader."""
    left = WIDTH - _LINE_RIGHT + 12
    return Markup(
        '<path class="lead" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/><g class="s{}">'
        '<path class="mark" d="{}" transform="translate({:.1f} {:.1f})"/></g>{}'
    ).format(
        *(end[0] + 6, end[1], left - 6, height),
        *(index % SERIES_STYLES, _MARKERS[index % len(_MARKERS)], left, height),
        _text(left + 8, height + 4, _cut(label), "name"),
    )


def _upward_axis(ticks: Sequence[float], places: Sequence[float]) -> Markup:
    return Markup("\n").join(
        Markup('<path class="grid" d="M{} {:.1f}H{}"/>{}').format(
            _LINE_LEFT,
            place,
            WIDTH - _LINE_RIGHT,
            _text(_LINE_LEFT - 7, place + 4, short_number(tick), "end"),
        )
        for tick, place in zip(ticks, places)
    )


def _across_axis(
    rates: Sequence[float], places: Sequence[float], bottom: float, name: str
) -> Markup:
    place_of = dict(zip(rates, places))
    ticks = [
        Markup('<path class="grid" d="M{:.1f} {:.1f}v5"/>{}').format(
            place_of[rate],
            bottom,
            _text(place_of[rate], bottom + 18, short_number(rate), "middle"),
        )
        for rate in _thinned(rates, places)
    ]
    middle = (_LINE_LEFT + WIDTH - _LINE_RIGHT) / 2
    ticks.append(_text(middle, bottom + 37, name, "middle"))
    return Markup("\n").join(ticks)


def _ticks(values: Sequence[float]) -> list[float]:
    """Return up to seven round numbers that span the values and zero."""
    low, high = min([0.0, *values]), max([0.0, *values])
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 5))
    step = next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= 5.5)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    return [count * step for count in range(first, last + 1)]


def _thinned(values: Sequence[float], places: Sequence[float]) -> list[float]:
    """Return the values whose labels do not run into the one before."""
    kept: list[float] = []
    free = -math.inf
    for value, place in zip(values, places):
        if place >= free:
            kept.append(value)
            free = place + _TICK_DISTANCE
    return kept


def _spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return places near the wanted ones, a label's height apart."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places = [0.0] * len(wanted)
    free = top
    for index in order:
        places[index] = max(wanted[index], free)
        free = places[index] + _LABEL_HEIGHT
    ceiling = bottom
    for index in reversed(order):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - _LABEL_HEIGHT
    return places


def _cut(label: str) -> str:
    if len(label) <= _LONGEST_LABEL:
        return label
    return label[: _LONGEST_LABEL - 1] + "…"
