# SPDX-License-Identifier: GPL-2.0-only
"""Frames of the guest: whole ones come out, damaged ones are told, in any pieces."""

import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from ringside.errors import CannotMeasure
from ringside.lab.frames import Frame, Reader

RECORDED = Path(__file__).parent / "data/guest/8139cp.frames"


def framed(kind: str, data: bytes) -> bytes:
    """The bytes that the agent sends for a message."""
    return b"\x01RSF %s %d %08x\n%s\n" % (
        kind.encode(),
        len(data),
        zlib.crc32(data),
        data,
    )


def read_in_pieces(path: Path, data: bytes, cuts: list[int]) -> list[Frame]:
    """What the reader gives when the file grows to each of the lengths."""
    reader = Reader(path)
    frames = []
    for cut in [*cuts, len(data)]:
        path.write_bytes(data[:cut])
        frames += reader.poll()
    return frames


def test_a_recorded_run_is_read_whole() -> None:
    """What a guest of the lab sent, in its order."""
    frames = Reader(RECORDED).poll()
    assert [frame.type for frame in frames] == [
        "statistics.gen0.before",
        "statistics.port0.before",
        "output",
        "statistics.gen0.after",
        "statistics.port0.after",
        "log",
        "done",
    ]
    assert frames[2].text.startswith("achieved_rate_pps=19999.800\n")
    assert frames[-1].data == b"0"


def test_no_file_yet_is_no_frame(tmp_path: Path) -> None:
    """QEMU makes the file some time after its start."""
    path = tmp_path / "frames"
    reader = Reader(path)
    assert not reader.poll()
    path.write_bytes(framed("ready", b""))
    assert reader.poll() == [Frame("ready", b"")]


def test_a_frame_is_given_once_and_only_when_complete(tmp_path: Path) -> None:
    """Byte by byte: nothing before the closing newline, nothing twice."""
    path = tmp_path / "frames"
    reader = Reader(path)
    data = framed("log", b"a\nb\x01RSF x 1 00000000\n")
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert not reader.poll()
    path.write_bytes(data)
    assert len(reader.poll()) == 1
    assert not reader.poll()


DAMAGED = {
    "data": framed("log", b"hello").replace(b"hello", b"hallo"),
    "checksum": b"\x01RSF log 2 00000000\nok\n",
    "longer": framed("log", b"hello").replace(b"hello", b"hello!"),
    "no_newline": framed("log", b"hello")[:-1] + b"X",
    "length": framed("log", b"hello").replace(b" 5 ", b" 4 "),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_frame_is_told(tmp_path: Path, data: bytes) -> None:
    """One flipped, lost or added byte, whether or not more follows."""
    with pytest.raises(CannotMeasure, match="arrived damaged"):
        read_in_pieces(tmp_path / "frames", data + framed("ready", b""), [])


GARBAGE = {
    "a_line": b"Booting from ROM...\n",
    "long_without_newline": b"x" * 97,
    "header_without_start": b"RSF log 0 00000000\n\n",
    "type_with_space": b"\x01RSF a b 0 00000000\n\n",
    "upper_case_checksum": b"\x01RSF log 0 0000000A\n\n",
    "length_of_many_digits": b"\x01RSF log " + b"9" * 5000 + b" 00000000\n",
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_what_is_no_frame_is_told(tmp_path: Path, data: bytes) -> None:
    """Also behind a good frame."""
    for before in (b"", framed("ready", b"")):
        with pytest.raises(CannotMeasure, match="not a frame"):
            read_in_pieces(tmp_path / "frames", before + data, [])


def test_the_start_of_a_header_is_waited_for(tmp_path: Path) -> None:
    """Too short to be judged: the rest may still come."""
    data = framed("ready", b"")
    assert not read_in_pieces(tmp_path / "frames", data[:7], [])


def test_text_that_is_no_utf8_shows_as_replacement() -> None:
    """A kernel log may hold any byte."""
    assert Frame("log", b"a\xffb").text == "a\ufffdb"


KINDS = strategies.from_regex("[a-z0-9.-]{1,20}", fullmatch=True)
MESSAGES = strategies.lists(strategies.tuples(KINDS, strategies.binary(max_size=200)))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=MESSAGES, data=strategies.data())
def test_any_frames_in_any_pieces_come_out_the_same(
    tmp_path: Path,
    messages: list[tuple[str, bytes]],
    data: strategies.DataObject,
) -> None:
    """The file may be read at any moment."""
    whole = b"".join(framed(*message) for message in messages)
    lengths = strategies.integers(0, len(whole))
    cuts = sorted(data.draw(strategies.lists(lengths, max_size=5)))
    path = tmp_path / "frames"
    frames = read_in_pieces(path, whole, cuts)
    assert frames == [Frame(*message) for message in messages]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=strategies.binary(max_size=300), good=strategies.booleans())
def test_any_junk_is_waited_for_or_told(
    tmp_path: Path, junk: bytes, good: bool
) -> None:
    """No other way to fail, and no frame out of nothing."""
    start = b"\x01RSF log " if good else b""
    try:
        assert not read_in_pieces(tmp_path / "frames", start + junk, [])
    except CannotMeasure as error:
        assert "\n" not in str(error)
