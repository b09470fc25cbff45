# SPDX-License-Identifier: GPL-2.0-only
"""The plugin's reading of x86 instructions, against tables and objdump."""

import itertools
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).resolve().parent
PLUGIN = TESTS.parent / "tools" / "qemu" / "plugin"

# Instructions that neither touch memory (operands are looked at apart) nor
# raise an exception nor transfer control.
PLAIN_MNEMONICS = re.compile(
    r"(data16 |rex\S* )*"
    r"(add|or|adc|sbb|and|sub|xor|cmp|test|xchg|mov|movabs|movs[bwl]?[wlq]|"
    r"movslq|movsxd|"
    r"movz[bw][wlq]|imul|sh[lr]d?|sa[lr]|ro[lr]|rc[lr]|lea|nop|endbr64|"
    r"cmov\w+|set\w+|bt[src]?|bs[fr]|bswap|cwtl|cltq|cbtw|cltd|cqto|cwtd)[bwlq]?( |$)"
)


class Classes(NamedTuple):
    """What the plugin thinks of an instruction."""

    mark: int
    leaves: bool
    iret: bool
    plain: bool


@pytest.fixture(name="program", scope="module")
def fixture_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The classifier as a program."""
    program = tmp_path_factory.mktemp("insn") / "insn_host"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{PLUGIN}"]
    sources = [str(TESTS / "plugin" / "insn_host.c"), str(PLUGIN / "insn.c")]
    subprocess.run(["gcc", *flags, "-o", str(program), *sources], check=True)
    return program


def classify(program: Path, insns: list[tuple[int, str]]) -> list[Classes]:
    """Ask the program about (address, bytes in hexadecimal)."""
    text = "".join(f"{addr:x} {code}\n" for addr, code in insns)
    out = subprocess.run(
        [program], input=text, capture_output=True, text=True, check=True
    )
    result = []
    for line in out.stdout.splitlines():
        mark, leaves, iret, plain = line.split()
        result.append(Classes(int(mark, 16), leaves == "1", iret == "1", plain == "1"))
    assert len(result) == len(insns)
    return result


@pytest.mark.parametrize(
    "code, mark",
    [
        ("0f1f8001005352", 0x52530001),
        ("0f1f8002005352", 0x52530002),
        ("0f1f8003005352", 0),
        ("0f1f8000000000", 0),
        ("0f1f8101005352", 0),
        ("0f1f80010053", 0),
        ("660f1f8001005352", 0),
    ],
)
def test_marks(program: Path, code: str, mark: int) -> None:
    """Only the two marked NOPs are marks."""
    assert classify(program, [(0x1000, code)])[0].mark == mark


@pytest.mark.parametrize(
    "addr, code, leaves",
    [
        (0x1800, "c3", True),
        (0x1800, "c20800", True),
        (0x1800, "f3c3", True),
        (0x1800, "e9fb070000", True),  # to 0x2000
        (0x1800, "e9fa070000", False),  # to 0x1fff
        (0x1800, "e9fbf7ffff", False),  # to 0x1000
        (0x1800, "e9faf7ffff", True),  # to 0x0fff
        (0x1FF0, "eb0e", True),  # to 0x2000
        (0x1FF0, "eb0d", False),  # to 0x1fff
        (0x1010, "ebee", False),  # to 0x1000
        (0x1010, "ebed", True),  # to 0x0fff
        (0x1800, "2ee900100000", True),
        (0x1800, "e800100000", False),  # call
        (0x1800, "ffd0", False),  # call *%rax
        (0x1800, "0f8400100000", False),  # je
        (0x1800, "cf", False),
        (0x1800, "f3", False),
    ],
)
def test_leaves(program: Path, addr: int, code: str, leaves: bool) -> None:
    """Returns and jumps out of [0x1000, 0x2000) leave the function."""
    assert classify(program, [(addr, code)])[0].leaves == leaves


@pytest.mark.parametrize(
    "code, iret", [("cf", True), ("48cf", True), ("c3", False), ("66cf", False)]
)
def test_iret(program: Path, code: str, iret: bool) -> None:
    """iret and iretq, and nothing else."""
    assert classify(program, [(0x1000, code)])[0].iret == iret


@pytest.mark.parametrize(
    "code",
    [
        "89d8",  # mov %ebx,%eax
        "4889c3",  # mov %rax,%rbx
        "83c001",  # add $1,%eax
        "4881ec00010000",  # sub $256,%rsp
        "488d7b08",  # lea 8(%rbx),%rdi
        "31c0",  # xor %eax,%eax
        "85c0",  # test %eax,%eax
        "0fb6c0",  # movzbl %al,%eax
        "b801000000",  # mov $1,%eax
        "48b80102030405060708",  # movabs
        "66b80100",  # mov $1,%ax
        "c1e004",  # shl $4,%eax
        "48c7c0ffffffff",  # mov $-1,%rax
        "90",
        "f30f1efa",  # endbr64
        "0f1f440000",  # nopl
    ],
)
def test_common_code_is_plain(program: Path, code: str) -> None:
    """What compilers emit most is recognised, or counting is slow."""
    assert classify(program, [(0x1000, code)])[0].plain


def disassemble(slots: list[bytes], folder: Path) -> list[tuple[str, str]]:
    """The (bytes, text) of the first instruction in each slot of 16 bytes."""
    image = folder / "slots.bin"
    image.write_bytes(b"".join(slots))
    command = ["objdump", "-D", "-w", "-b", "binary", "-m", "i386:x86-64", str(image)]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[int, tuple[str, str]] = {}
    for line in out.stdout.splitlines():
        parts = line.split("\t")
        if len(parts) == 3 and parts[0].strip().endswith(":"):
            addr = int(parts[0].strip()[:-1], 16)
            if addr % 16 == 0:
                found[addr // 16] = (parts[1].replace(" ", ""), parts[2].strip())
    return [found[i] for i in range(len(slots))]


def test_plain_is_plain_to_objdump(program: Path, tmp_path: Path) -> None:
    """No encoding that may touch memory, fault or jump is taken as plain."""
    prefixes = [
        b"",
        b"\x66",
        b"\x48",
        b"\x41",
        b"\x66\x48",
        b"\xf3",
        b"\xf2",
        b"\xf0",
        b"\x65",
    ]
    opcodes = [bytes([n]) for n in range(256)] + [bytes([0x0F, n]) for n in range(256)]
    modrms = [
        mod + 8 * reg + rm
        for mod in (0, 0x40, 0xC0)
        for reg in range(8)
        for rm in (0, 4)
    ]
    slots = [
        (prefix + opcode + bytes([modrm])).ljust(16, b"\x90")
        for prefix, opcode, modrm in itertools.product(prefixes, opcodes, modrms)
    ]
    insns = disassemble(slots, tmp_path)
    classes = classify(program, [(0x1000, code) for code, _ in insns])
    plain = {text for (_, text), c in zip(insns, classes) if c.plain}
    assert len(plain) > 1000
    for text in plain:
        assert PLAIN_MNEMONICS.match(text), text
        memory_operand = "(" in text
        assert not memory_operand or re.match(
            r"(data16 |rex\S* )*(lea|nop)", text
        ), text
