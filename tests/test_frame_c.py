# SPDX-License-Identifier: GPL-2.0-only
"""The sender's frames: whole ones are good, changed ones corrupted, others foreign."""

import ctypes
import subprocess

import pytest

from ringside import builds

GOOD, FOREIGN, CORRUPTED = range(3)
TO, FROM = bytes.fromhex("525400123457"), bytes.fromhex("525400123456")
# Ethernet addresses and type, magic, stream, sequence number.
ADDRESSES, TYPE, HEADER = range(12), range(12, 14), range(14, 30)


@pytest.fixture(name="library", scope="module")
def _library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """frame.c as a shared library."""
    path = tmp_path_factory.mktemp("frame") / "frame.so"
    source = builds.TREE / "selftests/lib/frame.c"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, source, "-o", path], check=True)
    library = ctypes.CDLL(str(path))
    size_t, text = ctypes.c_size_t, ctypes.c_char_p
    library.frame_init.argtypes = [text, size_t, text, text, ctypes.c_uint32]
    library.frame_number.argtypes = [text, size_t, ctypes.c_uint64]
    library.frame_check.argtypes = [text, size_t, size_t, ctypes.c_uint32]
    library.frame_check.argtypes += [ctypes.POINTER(ctypes.c_uint64)]
    return library


def made(library: ctypes.CDLL, size: int, stream: int, *numbers: int) -> bytes:
    """A frame that was given these sequence numbers one after the other."""
    buffer = ctypes.create_string_buffer(b"\xee" * (size + 8), size + 8)
    library.frame_init(buffer, size, TO, FROM, stream)
    for number in numbers:
        library.frame_number(buffer, size, number)
    assert buffer.raw[size:] == b"\xee" * 8, "wrote beyond the frame"
    return buffer.raw[:size]


def check(
    library: ctypes.CDLL, frame: bytes, size: int | None = None, stream: int = 0
) -> tuple[int, int]:
    """What the receiver takes it for, and its sequence number."""
    number = ctypes.c_uint64(0)
    size = len(frame) if size is None else size
    verdict = library.frame_check(frame, len(frame), size, stream, ctypes.byref(number))
    return int(verdict), number.value


@pytest.mark.parametrize("size", [60, 61, 67, 68, 1513, 1514])
@pytest.mark.parametrize("number", [0, 1, 255, 2**32, 2**64 - 1])
def test_a_frame_arrives_as_it_was_made(
    library: ctypes.CDLL, size: int, number: int
) -> None:
    """All remainders of the payload to the eight bytes of a step."""
    frame = made(library, size, 1, number)
    assert frame[:14] == TO + FROM + b"\x88\xb5"
    assert check(library, frame, stream=1) == (GOOD, number)


def test_a_reused_buffer_has_nothing_of_the_frame_before(library: ctypes.CDLL) -> None:
    """The sender numbers one buffer again and again."""
    assert made(library, 100, 0, 7, 8) == made(library, 100, 0, 8)


@pytest.mark.parametrize("size", [60, 65])
def test_every_changed_byte_is_seen(library: ctypes.CDLL, size: int) -> None:
    """Behind the addresses, which the port's filter and switch look at."""
    frame = made(library, size, 0, 12345)
    for at in range(size):
        for flip in (0x01, 0x80, 0xFF):
            changed = frame[:at] + bytes([frame[at] ^ flip]) + frame[at + 1 :]
            verdict = check(library, changed)[0]
            if at in ADDRESSES:
                assert verdict == GOOD
            else:
                assert verdict == (FOREIGN if at in TYPE else CORRUPTED), at


def test_the_payload_of_another_frame_is_seen(library: ctypes.CDLL) -> None:
    """A stale buffer: the header is new, the rest of the frame before."""
    old, new = made(library, 200, 0, 41), made(library, 200, 0, 42)
    assert check(library, new[: HEADER.stop] + old[HEADER.stop :])[0] == CORRUPTED
    assert check(library, new[:100] + old[100:])[0] == CORRUPTED
    assert check(library, new[:-1] + old[-1:])[0] == CORRUPTED


@pytest.mark.parametrize("shift", [1, 2, 8, 16])
def test_a_shifted_payload_is_seen(library: ctypes.CDLL, shift: int) -> None:
    """A copy from a wrong place."""
    frame = made(library, 200, 0, 42)
    payload = frame[HEADER.stop :]
    moved = payload[shift:] + payload[:shift]
    assert check(library, frame[: HEADER.stop] + moved)[0] == CORRUPTED


@pytest.mark.parametrize("change", [-1, 1, 4])
def test_another_length_is_seen(library: ctypes.CDLL, change: int) -> None:
    """Cut, padded, or with the checksum still behind it."""
    frame = made(library, 100, 0, 3)
    arrived = frame[:change] if change < 0 else frame + b"\0" * change
    assert check(library, arrived, 100)[0] == CORRUPTED


def test_another_stream_is_seen(library: ctypes.CDLL) -> None:
    """A frame that went the other way."""
    assert check(library, made(library, 60, 1, 3), stream=0)[0] == CORRUPTED


@pytest.mark.parametrize("length", [0, 13, 14, 29])
def test_a_frame_without_room_for_the_header_is_foreign(
    library: ctypes.CDLL, length: int
) -> None:
    """It is not read beyond its end."""
    assert check(library, made(library, 60, 0, 3)[:length], 60)[0] == FOREIGN


def test_sizes_are_those_of_the_command_line() -> None:
    """The command refuses what the sender could not send."""
    header = (builds.TREE / "selftests/lib/frame.h").read_text(encoding="ascii")
    assert "#define FRAME_SIZE_MIN 60\n#define FRAME_SIZE_MAX 1514\n" in header
    cli = (builds.TREE / "tools/ringside/cli.py").read_text(encoding="utf-8")
    assert "SIZE_MIN = 60\nSIZE_MAX = 1514\n" in cli


def test_the_header_is_where_this_test_believes(library: ctypes.CDLL) -> None:
    """Sequence number, big endian, at the header's end."""
    frame = made(library, 60, 0x01020304, 0x1122334455667788)
    assert frame[18 : HEADER.stop] == bytes.fromhex("01020304 1122334455667788")
