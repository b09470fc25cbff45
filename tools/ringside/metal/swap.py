# SPDX-License-Identifier: GPL-2.0-only
"""A counted driver in the place of the system's, and the system's back afterwards.

Everything that is changed is put back in the reverse order, also after an error or a
signal; what cannot be put back is told.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ringside.errors import CannotMeasure
from ringside.lab.counted import COUNTER
from ringside.lab.kernel import LabKernel
from ringside.metal import interfaces
from ringside.metal.interfaces import Interface, ip

_DEBUGFS = Path("/sys/kernel/debug")
_ADMIN = 0x1  # IFF_UP
# A port may train its link or load firmware.
_APPEARS_S = 30.0
_CARRIER_S = 30.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(CannotMeasure):
    """A signal came; everything was put back."""


# Of a route that the kernel will find out again, or that goes with its time.
_FOUND_AGAIN = {"kernel", "ra", "redirect"}
# What a listing says of a route's state, and no command takes.
_STATES = {"linkdown", "dead", "offload", "trap", "rt_offload", "rt_trap"}


@dataclass(frozen=True)
class Settings:
    """What an interface loses with its driver.

    link, addresses and routes are words for ip, without the interface's name.
    """

    up: bool
    link: tuple[str, ...]
    addresses: tuple[tuple[str, ...], ...] = ()
    routes: tuple[tuple[str, ...], ...] = ()


def _call(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CannotMeasure(f"{words[0]} is not installed: run make setup") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise CannotMeasure(f"{' '.join(words)}: {said[-1]}")


def _unload(name: str) -> None:
    """Unloads a module that is there."""
    if (interfaces.SYS / "module" / name).exists():
        _call("rmmod", name)


def _address_words(found: dict[str, Any]) -> tuple[str, ...]:
    """An address of ip's list as words for adding it."""
    words = [found["local"]]
    if "address" in found:
        words.append("peer")
        words.append(found["address"])
    words[-1] += f"/{found['prefixlen']}"
    for key in ("broadcast", "label", "scope", "metric"):
        if key in found:
            words += [key, str(found[key])]
    words += [flag for flag in ("noprefixroute", "home") if found.get(flag)]
    return tuple(words)


def _lasting(found: dict[str, Any]) -> bool:
    """Whether an address would not come again by itself: it is no lease, no link's."""
    own = found.get("family") == "inet6" and found.get("scope") == "link"
    return not own and not found.get("dynamic")


def _routes(port: Interface) -> Iterator[tuple[str, ...]]:
    """The routes of all tables; a line of ip's list is what ip takes."""
    for family in ("-4", "-6"):
        text = ip(family, "route", "show", "table", "all", "dev", port.name)
        for line in text.splitlines():
            words = [word for word in line.split() if word not in _STATES]
            origin = words[words.index("proto") + 1] if "proto" in words else ""
            if origin not in _FOUND_AGAIN and "expires" not in words:
                yield (family, "route", "replace", *words)


def settings_of(port: Interface) -> Settings:
    """As they are now; what the kernel or a server gives by itself is left out."""
    link: dict[str, Any] = json.loads(ip("-j", "address", "show", "dev", port.name))[0]
    words = ["txqueuelen", str(link.get("txqlen", 1000)), "mtu", str(link["mtu"])]
    if "permaddr" in link:
        words = ["address", link["address"], *words]
    listed = [found for found in link.get("addr_info", []) if _lasting(found)]
    return Settings(
        bool(int(port.read("flags"), 16) & _ADMIN),
        tuple(words),
        tuple(_address_words(found) for found in listed),
        tuple(_routes(port)),
    )


def restore(port: Interface, settings: Settings) -> None:
    """Gives an interface what settings_of() found."""
    ip("link", "set", "dev", port.name, *settings.link)
    ip("link", "set", "dev", port.name, "up" if settings.up else "down")
    for address in settings.addresses:
        ip("address", "replace", *address, "dev", port.name)
    for route in settings.routes:
        ip(*route, "dev", port.name)


def wait_for(port: Interface) -> None:
    """Until the device has an interface again, under its old name."""
    deadline = time.monotonic() + _APPEARS_S
    while not (names := list(interfaces.at(port.pci))):
        if time.monotonic() > deadline:
            raise CannotMeasure(f"{port.pci} shows no interface with its driver loaded")
        time.sleep(0.05)
    if port.name in names:
        return
    # Who names interfaces here may be about to do it.
    time.sleep(1.0)
    names = list(interfaces.at(port.pci))
    if port.name not in names:
        ip("link", "set", "dev", names[0], "down")
        ip("link", "set", "dev", names[0], "name", port.name)


def wait_for_carrier(port: Interface) -> None:
    """Until the link is up."""
    deadline = time.monotonic() + _CARRIER_S
    while time.monotonic() < deadline:
        with suppress(OSError):
            if port.read("carrier") == "1":
                return
        time.sleep(0.1)
    raise CannotMeasure(
        f"{port.name} has no link: is the cable to its generator there?"
    )


@contextmanager
def _no_signals() -> Iterator[None]:
    """Puts signals off while something is put back."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Lets a signal end the work as an error does, so that all is put back."""

    def stop(number: int, _: FrameType | None) -> None:
        raise Interrupted(
            f"ended by {signal.Signals(number).name}; the system's driver is back"
        )

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Undo:
    """What has to be put back, last thing first, whatever fails meanwhile."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def later(self, what: str, act: Callable[..., object], *words: Any) -> None:
        """Remembers an action; one that fails is told and the others go on."""

        def guarded() -> None:
            try:
                act(*words)
            except (CannotMeasure, OSError) as error:
                print(f"ringside: cannot {what}: {error}", file=sys.stderr)

        self._stack.callback(guarded)

    def all(self) -> None:
        """Puts everything back."""
        with _no_signals():
            self._stack.close()


def _name_of(module: Path) -> str:
    return module.name.removesuffix(".ko").replace("-", "_")


def _mount_debugfs(undo: Undo) -> None:
    if any(
        words[1] == str(_DEBUGFS)
        for words in map(
            str.split, Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
        )
    ):
        return
    _call("mount", "-t", "debugfs", "debugfs", str(_DEBUGFS))
    undo.later("unmount debugfs", _call, "umount", str(_DEBUGFS))


def _bring_up(port: Interface, undo: Undo) -> None:
    before = settings_of(port)
    undo.later(f"give {port.name} its settings", restore, port, before)
    ip("link", "set", "dev", port.name, "up")


@contextmanager
def counted(port: Interface, generator: Interface, kernel: LabKernel) -> Iterator[None]:
    """The port under the counted driver of @kernel's replaced modules, link up.

    @kernel.replaced holds the modules in loading order, the counter last.
    """
    counter = kernel.replaced[COUNTER]
    modules = [path for name, path in kernel.replaced.items() if name != COUNTER]
    undo = Undo()
    with signals_raise():
        try:
            _mount_debugfs(undo)
            _bring_up(generator, undo)
            settings = settings_of(port)
            undo.later(f"give {port.name} its settings", restore, port, settings)
            undo.later(f"find {port.name} again", wait_for, port)
            undo.later(f"load {port.module}", _call, "modprobe", port.module)
            ip("link", "set", "dev", port.name, "down")
            for path in reversed(modules):
                _unload(_name_of(path))
            undo.later(f"unload {COUNTER}", _unload, COUNTER)
            _call("insmod", str(counter))
            for path in modules:
                name = _name_of(path)
                undo.later(f"unload the counted {name}", _unload, name)
                _call("insmod", str(path))
            wait_for(port)
            ip("link", "set", "dev", port.name, "up")
            wait_for_carrier(port)
            wait_for_carrier(generator)
            yield
        finally:
            undo.all()
