# SPDX-License-Identifier: GPL-2.0-only
"""The sender's reading of /proc/interrupts: what rose, by line, over all CPUs."""

import subprocess
from pathlib import Path

import pytest

from ringside import counts
from ringside.lab.run import Outcome

TESTS = Path(__file__).resolve().parent
DATA = TESTS / "data/proc"

HEAD = "           CPU0       CPU1       \n"
LINES = {
    "22": " 22:        149          1   IO-APIC  22-fasteoi   gen0\n",
    "24": " 24:          0         72  PCI-MSIX-0000:00:03.0   0-edge      port0-rx-0\n",
    "2": "  2:         10          0   IO-APIC   2-edge      timer\n",
    "LOC": "LOC:       1287         13   Local timer interrupts\n",
    "ERR": "ERR:          0\n",
}


@pytest.fixture(name="program", scope="module")
def _program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("interrupts") / "interrupts_host"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=address"]
    source = TESTS / "sender/interrupts_host.c"
    subprocess.run(["gcc", *flags, source, "-o", program], check=True)
    return program


def delta(program: Path, before: Path, after: Path) -> list[str]:
    """Lines that the sender would print."""
    result = subprocess.run(
        [program, before, after], check=True, capture_output=True, text=True
    )
    assert all(line.startswith("irq=") for line in result.stdout.splitlines())
    return [line.removeprefix("irq=") for line in result.stdout.splitlines()]


def of_texts(program: Path, folder: Path, before: str, after: str) -> list[str]:
    """The same of two texts."""
    (folder / "before").write_text(before, encoding="ascii")
    (folder / "after").write_text(after, encoding="ascii")
    return delta(program, folder / "before", folder / "after")


def table(**changed: str) -> str:
    """A table of the lines above, some changed."""
    return HEAD + "".join((LINES | changed).values())


def test_a_recorded_run_has_its_interrupts(program: Path) -> None:
    """500 frames to an e1000e: one vector of three, the generator, the timer."""
    lines = delta(program, DATA / "guest-before.txt", DATA / "guest-after.txt")
    assert lines == [
        "22:196:IO-APIC  22-fasteoi   gen0",
        "24:370:PCI-MSIX-0000:00:03.0   0-edge      port0-rx-0",
        "LOC:20:Local timer interrupts",
    ]
    outcome = Outcome(0, "".join(f"irq={line}\n" for line in lines), None, [])
    assert counts.port_interrupts(outcome, frozenset({"24", "25", "26"})) == 370


def test_equal_tables_have_no_difference(program: Path) -> None:
    """Also of a table with itself."""
    assert delta(program, DATA / "guest-after.txt", DATA / "guest-after.txt") == []


def test_cpus_are_added(program: Path, tmp_path: Path) -> None:
    """An interrupt may move from one to another."""
    after = table(**{"24": LINES["24"].replace(" 0 ", " 5 ").replace("72", "79")})
    assert of_texts(program, tmp_path, table(), after) == [
        "24:12:PCI-MSIX-0000:00:03.0   0-edge      port0-rx-0"
    ]


def test_a_name_that_begins_with_a_number_is_no_count(
    program: Path, tmp_path: Path
) -> None:
    """ "22-fasteoi" follows the counts on some kernels at once."""
    before = HEAD + " 22:  1  2  22-fasteoi  gen0\n"
    after = HEAD + " 22:  3  2  22-fasteoi  gen0\n"
    lines = of_texts(program, tmp_path, before, after)
    assert lines == ["22:2:22-fasteoi  gen0"]


def test_a_line_that_was_not_there_counts_whole(program: Path, tmp_path: Path) -> None:
    """A vector that was taken in the window."""
    before = table().replace(LINES["24"], "")
    assert of_texts(program, tmp_path, before, table()) == [
        "24:72:PCI-MSIX-0000:00:03.0   0-edge      port0-rx-0"
    ]
    assert of_texts(program, tmp_path, table(), before) == []


def test_a_line_that_began_anew_counts_from_nothing(
    program: Path, tmp_path: Path
) -> None:
    """The vector was given back and taken again: no number of twenty digits."""
    after = table(**{"24": LINES["24"].replace("72", "7")})
    assert of_texts(program, tmp_path, table(), after) == [
        "24:7:PCI-MSIX-0000:00:03.0   0-edge      port0-rx-0"
    ]


def test_a_name_is_not_found_in_another(program: Path, tmp_path: Path) -> None:
    """2 is no part of 22, nor 22 of 2."""
    after = table(**{"2": LINES["2"].replace("10", "11")})
    lines = of_texts(program, tmp_path, table(), after)
    assert lines == ["2:1:IO-APIC   2-edge      timer"]


@pytest.mark.parametrize(
    "before, after",
    [
        ("", ""),
        ("", HEAD),
        (HEAD, HEAD + "nonsense without a colon\n\n"),
        (HEAD, HEAD + " 24:"),
        (HEAD, HEAD + " 24: text\n"),
    ],
)
def test_an_odd_table_has_no_difference(
    program: Path, tmp_path: Path, before: str, after: str
) -> None:
    """And is not read beyond its end."""
    assert of_texts(program, tmp_path, before, after) == []


def test_a_table_without_its_last_newline_counts(program: Path, tmp_path: Path) -> None:
    """Cut behind a number."""
    assert of_texts(program, tmp_path, HEAD, HEAD + "ERR:  4") == ["ERR:4:"]
