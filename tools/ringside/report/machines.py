# SPDX-License-Identifier: GPL-2.0-only
"""Results as other programs read them: JUnit, KCIDB, LAVA, TAP, benchstat, OpenMetrics.

Each function takes the cases and what is known of the machine, and returns a text.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

from ringside.report.cases import Case, Figure
from ringside.report.figures import visible

_ORIGIN = "ringside"
_KCIDB = {"pass": "PASS", "fail": "FAIL", "error": "ERROR"}
_LAVA = {"pass": "pass", "fail": "fail", "error": "fail"}
# What XML 1.0 cannot hold, even escaped; visible() spells the rest.
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")

Environment = Mapping[str, str]


def _plain(text: str) -> str:
    """One line of printable text."""
    return _NOT_XML.sub("?", visible(" ".join(text.split())))


def _number(value: float) -> str:
    return f"{value + 0.0:.6f}".rstrip("0").rstrip(".")


def _property(parent: ElementTree.Element, name: str, value: str) -> None:
    ElementTree.SubElement(parent, "property", name=name, value=_plain(value))


def junit(found: Sequence[Case], environment: Environment) -> str:
    """Figures are properties; a figure that is not there says why."""
    failed = sum(case.outcome == "fail" for case in found)
    errors = sum(case.outcome == "error" for case in found)
    suite = ElementTree.Element("testsuite", name=_ORIGIN, tests=str(len(found)))
    suite.set("failures", str(failed))
    suite.set("errors", str(errors))
    properties = ElementTree.SubElement(suite, "properties")
    for name, text in environment.items():
        _property(properties, name, text)
    for case in found:
        element = ElementTree.SubElement(
            suite, "testcase", classname=f"{_ORIGIN}.{case.kind}", name=case.name
        )
        inside = ElementTree.SubElement(element, "properties")
        for figure in case.figures:
            text = (
                f"null: {figure.reason}"
                if figure.value is None
                else _number(figure.value)
            )
            _property(inside, f"{figure.name}_per_packet", text)
        if case.outcome != "pass":
            kind = "failure" if case.outcome == "fail" else "error"
            ElementTree.SubElement(element, kind, message=_plain(case.reason))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _node(case: Case, path: str, build: str) -> dict[str, object]:
    return {
        "id": f"{_ORIGIN}:{build.partition(':')[2]}.{path}",
        "origin": _ORIGIN,
        "build_id": build,
        "path": f"{_ORIGIN}.{case.name}{path.removeprefix(case.name)}",
    }


def kcidb(found: Sequence[Case], environment: Environment) -> str:
    """Version 5.3: a node for each case, and one below it for each figure."""
    release = re.sub(r"[^\w.+-]", "-", environment.get("kernel_release", "unknown"))
    build = f"{_ORIGIN}:{release}"
    tests = []
    for case in found:
        node = _node(case, case.name, build) | {"status": _KCIDB[case.outcome]}
        if case.reason:
            node["misc"] = {"reason": _plain(case.reason)}
        tests.append(node)
        for figure in case.figures:
            node = _node(case, f"{case.name}.{figure.name}", build)
            if figure.value is None:
                node |= {"status": "SKIP", "misc": {"reason": _plain(figure.reason)}}
            else:
                unit = f"{figure.unit}/packet"
                node |= {
                    "status": "DONE",
                    "number": {"value": figure.value, "unit": unit},
                }
            tests.append(node)
    document = {"version": {"major": 5, "minor": 3}, "tests": tests}
    return json.dumps(document, indent=1) + "\n"


def lava(found: Sequence[Case], _: Environment) -> str:
    """Signals that a LAVA worker reads from the output of a test."""
    lines = []
    for case in found:
        signal = f"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={case.name}"
        lines.append(f"{signal} RESULT={_LAVA[case.outcome]}>")
        for figure in case.figures:
            line = f"{signal}.{figure.name} RESULT="
            if figure.value is None:
                lines.append(f"{line}skip>")
            else:
                number = _number(figure.value)
                lines.append(
                    f"{line}pass MEASUREMENT={number} UNITS={figure.unit}/packet>"
                )
    return "".join(f"{line}\n" for line in lines)


def _comment(text: str) -> str:
    """A comment in which the netdev CI finds no result of its own."""
    plain = _plain(text).replace("# SKIP", "#SKIP").replace("FAIL", "fail")
    return f"# {plain}"


def _tap_figure(figure: Figure) -> str:
    if figure.value is None:
        return _comment(f"metric {figure.name}=null reason={figure.reason}")
    number = _number(figure.value)
    return _comment(f"metric {figure.name}={number} unit={figure.unit}/packet")


def tap(found: Sequence[Case], _: Environment) -> str:
    """Version 13, flat, a line a case; figures are comments before it."""
    lines = ["TAP version 13", f"1..{len(found)}"]
    for number, case in enumerate(found, 1):
        lines += [_tap_figure(figure) for figure in case.figures]
        if case.reason:
            lines.append(_comment(case.reason))
        word = "ok" if case.outcome == "pass" else "not ok"
        lines.append(f"{word} {number} {case.name}")
    return "".join(f"{line}\n" for line in lines)


def benchstat(found: Sequence[Case], environment: Environment) -> str:
    """A line a case, as go test -bench writes them; figures that are null are left out."""
    lines = [f"{name}: {_plain(text)}" for name, text in environment.items()]
    for case in found:
        pairs = [
            f"{_number(figure.value)} {figure.name}/packet"
            for figure in case.figures
            if figure.value is not None
        ]
        if pairs:
            name = case.name.replace(".", "/")
            lines.append(f"Benchmark{name[0].upper()}{name[1:]} 1 {' '.join(pairs)}")
    return "".join(f"{line}\n" for line in lines)


def _labels(case: Case, environment: Environment) -> str:
    labels = {
        "kind": case.kind,
        "nic": case.nic,
        "direction": case.direction,
        "rate_pps": str(case.rate_pps),
        "size_bytes": str(case.size_bytes),
        "kernel": environment.get("kernel_release", ""),
    }
    return ",".join(f'{name}="{_label(text)}"' for name, text in labels.items())


def _label(text: str) -> str:
    return _plain(text).replace("\\", "\\\\").replace('"', '\\"')


def _families(found: Sequence[Case]) -> Iterator[str]:
    yield from dict.fromkeys(f.name for case in found for f in case.figures)


def openmetrics(found: Sequence[Case], environment: Environment) -> str:
    """A gauge for each figure and one for the outcome; null figures are left out."""
    lines = ["# TYPE ringside_passed gauge"]
    for case in found:
        passed = int(case.outcome == "pass")
        lines.append(f"ringside_passed{{{_labels(case, environment)}}} {passed}")
    for name in _families(found):
        family = f"ringside_{name}_per_packet"
        lines.append(f"# TYPE {family} gauge")
        for case in found:
            lines += [
                f"{family}{{{_labels(case, environment)}}} {_number(figure.value)}"
                for figure in case.figures
                if figure.name == name and figure.value is not None
            ]
    return "".join(f"{line}\n" for line in [*lines, "# EOF"])


FORMATS = {
    "junit": junit,
    "kcidb": kcidb,
    "lava": lava,
    "tap": tap,
    "benchstat": benchstat,
    "openmetrics": openmetrics,
}
