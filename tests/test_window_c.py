# SPDX-License-Identifier: GPL-2.0-only
"""When the sender's window begins: away from the periodic work at whole seconds."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies

SOURCE = Path(__file__).resolve().parent.parent / "selftests/lib/window.c"
MS = 10**6
S = 10**9
MILLISECONDS = strategies.integers(0, 5000).map(lambda ms: ms * MS)

Start = Callable[[int, int], int]


@pytest.fixture(name="start", scope="module")
def _start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    library = tmp_path_factory.mktemp("window") / "window.so"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, SOURCE, "-o", library], check=True)
    function = ctypes.CDLL(str(library)).window_start_ns
    function.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    function.restype = ctypes.c_uint64
    return function  # type: ignore[no-any-return]


@given(
    strategies.integers(0, 10**6 * S), strategies.integers(1, 1000 * S) | MILLISECONDS
)
def test_no_end_is_near_a_whole_second(
    start: Start, earliest: int, length: int
) -> None:
    """And the wait is never longer than the period."""
    begin = start(earliest, length)
    assert earliest <= begin < earliest + 3 * S
    assert 200 * MS <= begin % S <= 900 * MS
    assert 200 * MS <= (begin + length) % S <= 900 * MS


@given(strategies.integers(0, 1000 * S), strategies.integers(1, 1000 * S))
def test_windows_of_a_length_begin_in_one_phase(
    start: Start, earliest: int, length: int
) -> None:
    """Of two seconds, whenever they are asked for."""
    assert start(earliest, length) % (2 * S) == start(0, length) % (2 * S)
