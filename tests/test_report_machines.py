# SPDX-License-Identifier: GPL-2.0-only
"""Results for other programs: read back by the readers that there are, or by their rules."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies

from ringside import cli
from ringside.report import cases, machines, options
from ringside.report.cases import Case, Figure

_DATA = Path(__file__).parent / "data/results"
_CASES = [
    Case(
        *("bench", "8139cp", "rx", 20000, 60, "pass", ""),
        [Figure("mmio_reads", 4.0, "accesses"), Figure("polls", None, "polls", "none")],
    ),
    Case(
        "bench", "tulip", "rx", 20000, 60, "fail", "ledger: 1 FAIL: <&\"'> # SKIP", []
    ),
    Case("compare", "e1000", "tx", 100, 1514, "error", "base: no link", []),
]
_WHERE = {"kernel_release": "6.12.1-x"}


def test_junit_has_figures_as_properties() -> None:
    """Failures and errors with their reasons, and no time that is none."""
    text = machines.junit(_CASES, _WHERE)
    suite = ElementTree.fromstring(text)
    assert [suite.get(n) for n in ("tests", "failures", "errors")] == ["3", "1", "1"]
    first, second, third = suite.findall("testcase")
    found = {p.get("name"): p.get("value") for p in first.iter("property")}
    assert found["mmio_reads_per_packet"] == "4"
    assert found["polls_per_packet"] == "null: none"
    failure, error = second.find("failure"), third.find("error")
    assert failure is not None and failure.get("message") == _CASES[1].reason
    assert error is not None and error.get("message") == "base: no link"
    assert "time=" not in text


def test_kcidb_has_a_node_for_each_figure() -> None:
    """By the rules of its version 5.3: ids, dotted paths, one number a node."""
    document = json.loads(machines.kcidb(_CASES, _WHERE))
    assert document["version"] == {"major": 5, "minor": 3}
    tests = document["tests"]
    assert len({node["id"] for node in tests}) == len(tests) == 5
    for node in tests:
        assert node["id"].startswith("ringside:") and node["origin"] == "ringside"
        assert node["build_id"] == "ringside:6.12.1-x"
        assert re.fullmatch(r"[\w-]+(\.[\w-]+)*", node["path"], re.ASCII)
        assert node["status"] in ("PASS", "FAIL", "ERROR", "DONE", "SKIP")
        assert ("number" in node) == (node["status"] == "DONE")
    (number,) = [node["number"] for node in tests if "number" in node]
    assert number == {"value": 4.0, "unit": "accesses/packet"}


def test_lava_signals_have_one_word_a_field() -> None:
    """A worker splits them at blanks."""
    lines = machines.lava(_CASES, _WHERE).splitlines()
    for line in lines:
        assert re.fullmatch(r"<LAVA_SIGNAL_TESTCASE( [A-Z_]+=[^\s<>=]+)+>", line)
    assert " MEASUREMENT=4 UNITS=accesses/packet>" in lines[1]
    assert lines[2].endswith("polls RESULT=skip>")
    assert [line.rpartition("=")[2] for line in lines[3:]] == ["fail>", "fail>"]


def _netdev_ci(text: str) -> dict[str, str]:
    """What the netdev CI's parser reads, by the rules in formats.md."""
    assert text.startswith("TAP version 13\n")
    assert " # SKIP" not in text and " FAIL:" not in text and "[FAIL]" not in text
    found = re.findall(r"^(not )?ok \d+ (\S+)$", text, re.MULTILINE)
    return {name: "fail" if bad else "pass" for bad, name in found}


def test_tap_is_read_by_the_netdev_ci() -> None:
    """Flat, and no comment looks like a result."""
    text = machines.tap(_CASES, _WHERE)
    assert list(_netdev_ci(text).values()) == ["pass", "fail", "fail"]
    assert "1..3\n" in text
    assert "# metric mmio_reads=4 unit=accesses/packet\n" in text
    assert "# metric polls=null reason=none\n" in text


def test_benchstat_lines_are_those_of_go() -> None:
    """Name, count, then values and units; a figure that is null is left out."""
    text = machines.benchstat(_CASES, _WHERE)
    assert "kernel_release: 6.12.1-x\n" in text
    (line,) = re.findall(r"^Benchmark.*$", text, re.MULTILINE)
    assert line == "BenchmarkBench/8139cp/rx/20000pps/60B 1 4 mmio_reads/packet"


def test_openmetrics_ends_and_names_its_types() -> None:
    """By the rules of its text format."""
    lines = machines.openmetrics(_CASES, _WHERE).splitlines()
    assert lines[-1] == "# EOF"
    sample = re.compile(r'([a-z_0-9]+)\{([a-z_]+="(?:[^"\\]|\\.)*",?)*\} -?[0-9.]+')
    types = set()
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            types.add(line.split()[2])
            continue
        match = sample.fullmatch(line)
        assert match and match[1] in types
    assert "ringside_mmio_reads_per_packet" in types


_TEXT = strategies.text(max_size=40)
_FIGURES = strategies.lists(
    strategies.builds(
        Figure,
        strategies.sampled_from(["mmio_reads", "polls", "instructions"]),
        strategies.none() | strategies.floats(-1e9, 1e9),
        strategies.just("accesses"),
        _TEXT,
    ),
    max_size=3,
)
_ANY = strategies.lists(
    strategies.builds(
        Case,
        strategies.sampled_from(["bench", "compare"]),
        _TEXT,
        strategies.just("rx"),
        strategies.integers(1, 10**9),
        strategies.just(60),
        strategies.sampled_from(["pass", "fail", "error"]),
        _TEXT,
        _FIGURES,
    ),
    max_size=4,
)


@given(_ANY, strategies.dictionaries(strategies.just("kernel_release"), _TEXT))
def test_whatever_a_result_holds_the_forms_keep_their_rules(
    found: list[Case], where: dict[str, str]
) -> None:
    """Names and reasons come from drivers and users."""
    suite = ElementTree.fromstring(machines.junit(found, where))
    assert len(suite.findall("testcase")) == len(found)
    assert json.loads(machines.kcidb(found, where))["tests"] is not None
    for line in machines.lava(found, where).splitlines():
        assert re.fullmatch(r"<LAVA_SIGNAL_TESTCASE( [A-Z_]+=[^\s<>=]+)+>", line)
    assert len(machines.tap(found, where).splitlines()) >= 2 + len(found)
    _netdev_ci(machines.tap(found, where))
    for line in machines.openmetrics(found, where).splitlines():
        assert line.isprintable()


@pytest.mark.parametrize(
    "name", ["rx_sweep", "error_run", "null_with_reason", "hostile"]
)
@pytest.mark.parametrize("form", list(machines.FORMATS))
def test_stored_results_become_every_form(form: str, name: str, tmp_path: Path) -> None:
    """Also of NICs that could not be measured."""
    out = tmp_path / "out"
    assert cli.main(["report", str(_DATA / f"{name}.json"), f"--{form}", str(out)]) == 0
    document = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    found = list(cases.cases(document))
    assert len(found) == len(document["runs"]) and out.stat().st_size > 0


def _unreadable(folder: Path) -> str:
    (folder / "x.json").write_text("{", encoding="utf-8")
    return str(folder / "x.json")


def _bench(_: Path) -> str:
    return str(_DATA / "rx_sweep.json")


@pytest.mark.parametrize(
    ("result", "words", "told"),
    [
        (_bench, [], (2, "in which form")),
        (_bench, ["--markdown"], (2, "--markdown takes one result of compare")),
        (_bench, ["--tap", "/nosuch/x"], (2, "cannot write /nosuch/x")),
        (_unreadable, ["--tap"], (3, "is not JSON")),
        (lambda folder: str(folder / "none"), ["--tap"], (3, "cannot read results")),
    ],
)
def test_what_cannot_be_is_told(
    result: Callable[[Path], str],
    words: list[str],
    told: tuple[int, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one line, and nothing is written."""
    status, why = told
    assert cli.main(["report", result(tmp_path), *words]) == status
    said = capsys.readouterr()
    assert why in said.err and said.out == ""


def test_every_form_is_an_option() -> None:
    """And every option is a form."""
    assert set(options.HELP) == {*options.PAGES, *machines.FORMATS}


def test_a_comparison_shows_head_and_what_changed() -> None:
    """Worse is a failure, no verdict an error."""
    metric: dict[str, Any] = {"name": "irqs", "base": 1.0, "head": 2.0, "delta": 1.0}
    metric |= {"verdict": "worse", "reason": "", "ci95": None}
    run = {
        "nic": "x",
        "direction": "rx",
        "rate_pps": 1,
        "size": 60,
        "metrics": [metric],
    }
    runs = [run | {"verdict": v, "reason": ""} for v in ("worse", "unknown", "same")]
    found = list(cases.cases({"kind": "compare", "runs": runs}))
    assert [case.outcome for case in found] == ["fail", "error", "pass"]
    assert [(f.name, f.value) for f in found[0].figures] == [
        ("irqs", 2.0),
        ("irqs_delta", 1.0),
    ]
