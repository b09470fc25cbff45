# SPDX-License-Identifier: GPL-2.0-only
"""A chip's transmit switch, turned behind its driver's back through sysfs.

The driver holds the registers, so the kernel must run with iomem=relaxed where it
is built with CONFIG_IO_STRICT_DEVMEM.
"""

import mmap
from dataclasses import dataclass

from lib.ports import Port, Refused


@dataclass(frozen=True)
class Switch:
    """A bit of a register: BAR, offset and width in bytes, the bit's value."""

    bar: int
    offset: int
    width: int
    bit: int


_RTL8139 = Switch(1, 0x37, 1, 0x04)  # Command Register, Transmitter Enable
_8254X = Switch(0, 0x400, 4, 0x02)  # TCTL.EN
_21143 = Switch(1, 0x30, 4, 0x2000)  # CSR6.ST

# By PCI vendor and device.
_TRANSMIT = {
    ("0x10ec", "0x8139"): _RTL8139,
    ("0x8086", "0x100e"): _8254X,
    ("0x8086", "0x100f"): _8254X,
    ("0x8086", "0x10d3"): _8254X,
    ("0x1011", "0x0019"): _21143,
}


def transmit_switch(port: Port) -> Switch | None:
    """The switch of a port's chip, if we know it."""
    ids = tuple(
        (port.device / name).read_text(encoding="ascii").strip()
        for name in ("vendor", "device")
    )
    return _TRANSMIT.get((ids[0], ids[1]))


def turn_off(port: Port, switch: Switch) -> None:
    """Clears the bit; Refused when it is not set or the registers cannot be had."""
    path = port.device / f"resource{switch.bar}"
    try:
        with path.open("r+b") as file:
            memory = mmap.mmap(file.fileno(), path.stat().st_size)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error
    lines = (port.device / "resource").read_text(encoding="ascii").splitlines()
    if int(lines[switch.bar].split()[0], 16) % mmap.PAGESIZE:
        raise Refused(f"{path}: its registers begin in the middle of a page")
    with memory, memoryview(memory) as view:
        # One access of the register's width, no more.
        with view.cast("B" if switch.width == 1 else "I") as registers:
            index = switch.offset // switch.width
            value = registers[index]
            if not value & switch.bit:
                raise Refused(f"{port.name}: its transmitter is not on")
            registers[index] = value & ~switch.bit
