# SPDX-License-Identifier: GPL-2.0-only
"""The static list: what object code shows of a driver, and what it cannot show."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies

import fakes
from ringside import object_code, static_list
from ringside.errors import CannotMeasure, UsageError
from ringside.lab import kernel
from ringside.lab.kernel import LabKernel

DRIVER = """
#define noinline __attribute__((noinline))
extern int request_threaded_irq(int, int (*)(int, void *), void *, long, char *, void *);
extern void netif_napi_add_weight(void *, void *, int (*)(void *, int), int);
extern unsigned int ioread32(void *);
extern void iowrite32(unsigned int, void *);
extern void *memory;

static noinline void helper(void) { iowrite32(1, memory); }
static noinline int handler(int irq, void *data)
{
	unsigned char value;

	__asm__ volatile("inb %w1, %0" : "=a"(value) : "Nd"(data));
	return value;
}
static noinline int poll(void *napi, int weight) { helper(); return ioread32(napi); }
int unrelated(void) { return ioread32(memory); }
int open(void *dev)
{
	netif_napi_add_weight(dev, dev, poll, 64);
	return request_threaded_irq(5, handler, 0, 0, "x", dev);
}
"""


# What objtool puts before a function, under a name of its own.
PREFIX = """
__asm__(".text\\n.type __pfx_my_isr, @function\\n__pfx_my_isr: nop\\n"
	".size __pfx_my_isr, 1\\n.data\\n.quad __pfx_my_isr\\n");
"""


@pytest.fixture(name="lab")
def _lab(tmp_path: Path) -> LabKernel:
    return kernel.from_folder(fakes.kernel_folder(tmp_path / "k", {}))


def module(folder: Path, text: str, *flags: str) -> Path:
    """A module's object, built from C."""
    (folder / "x.c").write_text(text)
    path = folder / "my-nic.ko"
    words = ["gcc", "-O2", "-fno-pie", "-mcmodel=kernel", *flags, "-c"]
    subprocess.run([*words, "-o", path, folder / "x.c"], check=True)
    return path


@pytest.mark.parametrize(
    "flags", [(), ("-ffunction-sections",), ("-mcmodel=small", "-fpie")]
)
def test_sites_in_the_handlers_are_listed(
    lab: LabKernel, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """With what is reached from there, and without the rest."""
    entry = static_list.of_file(lab, module(tmp_path, DRIVER, *flags))
    found = {
        (s["context"], s["op"], s["direction"], s["reached_by"]) for s in entry["sites"]
    }
    assert found == {
        ("irq", "in", "read", "handler"),
        ("poll", "ioread32", "read", "poll"),
        ("poll", "iowrite32", "write", "poll > helper"),
    }
    assert entry["static"] and entry["status"] == "pass"
    assert all(s["count"] is None and s["per_packet"] is None for s in entry["sites"])
    assert "plain mov instructions" in entry["reasons"]["sites"]
    assert entry["reasons"]["count"] == "static list: nothing was run"
    json.dumps(entry)


def test_a_handler_that_is_passed_on_is_guessed(lab: LabKernel, tmp_path: Path) -> None:
    """By its name, and that is said."""
    text = DRIVER.replace("5, handler", "5, which").replace(
        "int open(", "int (*which)(int, void *) = handler;\nint open("
    )
    text = text.replace("handler", "my_isr") + PREFIX
    entry = static_list.of_file(lab, module(tmp_path, text))
    assert {s["function"] for s in entry["sites"]} == {"my_isr", "poll", "helper"}
    assert "found by their names" in entry["reasons"]["sites"]


def test_a_module_without_a_site_cannot_be_listed(
    lab: LabKernel, tmp_path: Path
) -> None:
    """Nor one without a handler."""
    with pytest.raises(CannotMeasure, match="no site in my_nic"):
        static_list.of_file(lab, module(tmp_path, "int f(void) { return 1; }"))
    text = "extern int ioread32(void *); int f(void *p) { return ioread32(p); }"
    with pytest.raises(CannotMeasure, match="no interrupt handler and no poll"):
        static_list.of_file(lab, module(tmp_path, text))


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF" + b"\0" * 60])
def test_what_is_no_module_is_refused(
    lab: LabKernel, tmp_path: Path, content: bytes
) -> None:
    """Wrong use, in one line."""
    (tmp_path / "x.ko").write_bytes(content)
    with pytest.raises(UsageError, match="is no kernel module"):
        static_list.of_file(lab, tmp_path / "x.ko")
    with pytest.raises(UsageError, match="no such file"):
        static_list.of_file(lab, tmp_path / "y.ko")


@pytest.fixture(name="good", scope="module")
def _good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return module(tmp_path_factory.mktemp("good"), DRIVER).read_bytes()


@given(data=strategies.data())
def test_damaged_modules_are_read_or_refused(
    good: bytes, data: strategies.DataObject
) -> None:
    """Whatever bytes are changed or cut off."""
    image = bytearray(good)
    for _ in range(data.draw(strategies.integers(1, 8))):
        at = data.draw(strategies.integers(0, len(image) - 1))
        image[at] = data.draw(strategies.integers(0, 255))
    end = data.draw(strategies.sampled_from([len(image), len(image) // 2, 64]))
    try:
        object_code.read(bytes(image[:end]))
    except ValueError:
        pass
