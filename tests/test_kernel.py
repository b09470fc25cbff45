# SPDX-License-Identifier: GPL-2.0-only
"""Lab kernels: found in folders and packages, and refused in one line."""

import gzip
import lzma
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import fakes
from ringside import builds
from ringside.errors import CannotMeasure, RingsideError, UsageError
from ringside.lab import kernel


@pytest.fixture(name="cache_folder")
def _cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def order(folder: Path, depends: dict[str, str], *names: str) -> list[str]:
    """Names of the modules that are loaded for some, in order."""
    found = kernel.from_folder(fakes.kernel_folder(folder, depends))
    return [path.name.removesuffix(".ko") for path in found.module_closure([*names])]


# Folders


def test_an_unpacked_package_is_found(tmp_path: Path) -> None:
    """Image, modules and configuration of one release."""
    folder = fakes.kernel_folder(tmp_path, {"e1000": ""})
    found = kernel.from_folder(folder)
    assert found.release == fakes.RELEASE
    assert found.image == folder / f"boot/vmlinuz-{fakes.RELEASE}"
    assert found.modules == folder / f"lib/modules/{fakes.RELEASE}"
    assert found.config.read_text(encoding="ascii") == fakes.CONFIG
    assert len(found.config_hash()) == 64


def test_modules_below_usr_are_found(tmp_path: Path) -> None:
    """Debian 13 ships them there."""
    folder = fakes.kernel_folder(tmp_path, {"e1000": ""})
    (folder / "usr").mkdir()
    (folder / "lib").rename(folder / "usr/lib")
    assert kernel.from_folder(folder).module_file("e1000")


def test_a_built_tree_is_found(tmp_path: Path) -> None:
    """The image has another name and the modules lie among the sources."""
    (tmp_path / "arch/x86/boot").mkdir(parents=True)
    image = fakes.boot_image(b"7.1.0-rc2+ (me@here) #1\0")
    (tmp_path / "arch/x86/boot/bzImage").write_bytes(image)
    (tmp_path / ".config").write_text("CONFIG_SMP=y\n")
    (tmp_path / "drivers/net").mkdir(parents=True)
    (tmp_path / "drivers/net/tun.ko").write_bytes(fakes.module())
    (tmp_path / "drivers/net/.tun.ko.cmd").write_text("cmd")
    found = kernel.from_folder(tmp_path)
    assert found.release == "7.1.0-rc2+"
    assert found.module_file("tun") == tmp_path / "drivers/net/tun.ko"


def test_another_image_is_another_key(tmp_path: Path) -> None:
    """Equal releases may be different builds."""
    folder = fakes.kernel_folder(tmp_path, {})
    first = kernel.from_folder(folder)
    with first.image.open("ab") as file:
        file.write(b"x")
    assert kernel.from_folder(folder).key != first.key


def _no_image(folder: Path) -> None:
    (folder / f"boot/vmlinuz-{fakes.RELEASE}").unlink()


def _two_images(folder: Path) -> None:
    (folder / "boot/vmlinuz-6.1.0").write_bytes(fakes.boot_image(b"6.1.0\0"))


def _no_modules(folder: Path) -> None:
    (folder / "lib").rename(folder / "bil")


def _no_config(folder: Path) -> None:
    (folder / f"boot/config-{fakes.RELEASE}").unlink()


def _sized_image(there: int, whole: int) -> bytes:
    """Of so many bytes, with a header that promises others (7 sectors of set-up)."""
    image = bytearray(fakes.boot_image(fakes.RELEASE.encode() + b"\0"))
    image[0x1F1] = 7
    image[0x1F4:0x1F8] = ((whole - 8 * 512) // 16).to_bytes(4, "little")
    return bytes(image.ljust(there, b"\0"))


def test_a_whole_image_is_taken(tmp_path: Path) -> None:
    """As long as its header says, or longer: signatures come behind."""
    folder = fakes.kernel_folder(tmp_path, {})
    for there in (0x2000, 0x2010):
        _image(_sized_image(there, 0x2000), folder)
        assert kernel.from_folder(folder).release == fakes.RELEASE


def _image(data: bytes, folder: Path) -> None:
    (folder / f"boot/vmlinuz-{fakes.RELEASE}").write_bytes(data)


FOLDERS = {
    "no_image": (_no_image, UsageError, "holds 0 kernel images"),
    "two_images": (_two_images, UsageError, "holds 2 kernel images"),
    "no_modules": (_no_modules, UsageError, "has no modules of its kernel"),
    "no_config": (_no_config, UsageError, "has no configuration of its kernel"),
    "no_kernel": (
        lambda folder: _image(b"MZ" * 0x400, folder),
        CannotMeasure,
        "is not an x86 kernel image",
    ),
    "empty": (
        lambda folder: _image(b"", folder),
        CannotMeasure,
        "is not an x86 kernel image",
    ),
    "no_release": (
        lambda folder: _image(fakes.boot_image(b""), folder),
        CannotMeasure,
        "does not say its release",
    ),
    "cut": (
        lambda folder: _image(fakes.boot_image(b"6.12")[:0x400], folder),
        CannotMeasure,
        "is cut: 1024 of 2560 bytes are there",
    ),
    "cut_late": (
        lambda folder: _image(_sized_image(0x1000, 0x2000), folder),
        CannotMeasure,
        "is cut: 4096 of 8192 bytes are there",
    ),
    "release_of_junk": (
        lambda folder: _image(fakes.boot_image(b"6.12\xff\xfe\0"), folder),
        CannotMeasure,
        "does not say its release",
    ),
}


@pytest.mark.parametrize("spoil, kind, told", FOLDERS.values(), ids=FOLDERS)
def test_a_folder_without_a_whole_kernel_is_refused(
    tmp_path: Path, spoil: Callable[[Path], None], kind: type[RingsideError], told: str
) -> None:
    """In one line that says which part is wrong."""
    folder = fakes.kernel_folder(tmp_path, {})
    spoil(folder)
    with pytest.raises(kind, match=told) as caught:
        kernel.from_folder(folder)
    assert "\n" not in str(caught.value)


# Modules


def test_modules_come_after_what_they_need(tmp_path: Path) -> None:
    """A diamond: each once, the shared one first."""
    depends = {"top": "left,right", "left": "base", "right": "base", "base": ""}
    assert order(tmp_path, depends, "top") == ["base", "left", "right", "top"]


def test_modules_keep_the_order_asked_for(tmp_path: Path) -> None:
    """The generator's driver first, so that it is the first port."""
    assert order(tmp_path, {"b": "", "a": ""}, "b", "a", "b") == ["b", "a"]


def test_dashes_and_underscores_are_alike(tmp_path: Path) -> None:
    """File names have either, depends lines only underscores."""
    depends = {"ne2k-pci": "8390_x", "8390-x": ""}
    assert order(tmp_path, depends, "ne2k_pci") == ["8390-x", "ne2k-pci"]


def test_what_has_no_file_is_built_in(tmp_path: Path) -> None:
    """It needs no loading."""
    assert order(tmp_path, {"a": "mii"}, "virtio_pci", "a") == ["a"]


@pytest.mark.parametrize("back", ["a-b", "a_b"])
def test_a_cycle_ends(tmp_path: Path, back: str) -> None:
    """Every module of it once."""
    depends = {"a-b": "c", "c": back}
    assert sorted(order(tmp_path, depends, "a-b")) == ["a-b", "c"]


@pytest.mark.parametrize(
    "image, names",
    [
        (b"\0license=GPL\0depends=mii,libphy\0", ["mii", "libphy"]),
        (b"depends=mii\0", ["mii"]),
        (b"\0depends=\0", []),
        (b"\0license=GPL\0", []),
        (b"\0softdepends=x\0depends=y\0", ["y"]),
        (b"\0depends=cut", []),
        (b"", []),
    ],
)
def test_depends_is_read(image: bytes, names: list[str]) -> None:
    """Only the whole line of that name."""
    assert kernel.module_depends(image) == names


def _zstd(data: bytes) -> bytes:
    command = ["zstd", "-c"]
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


Change = Callable[[bytes], bytes]

PACKERS: dict[str, Change] = {"xz": lzma.compress, "gz": gzip.compress, "zst": _zstd}


@pytest.mark.parametrize("ending", PACKERS)
def test_a_compressed_module_is_unpacked(tmp_path: Path, ending: str) -> None:
    """Found by its name without endings, read as it was before."""
    folder = fakes.kernel_folder(tmp_path, {"a": ""})
    plain = next(folder.rglob("a.ko"))
    packed = plain.with_name(f"a.ko.{ending}")
    packed.write_bytes(PACKERS[ending](plain.read_bytes()))
    plain.unlink()
    found = kernel.from_folder(folder)
    assert found.module_file("a") == packed
    assert kernel.module_image(packed) == fakes.module()


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("spoil", [lambda data: data[:-9], lambda data: b"junk"])
def test_a_damaged_module_is_told(tmp_path: Path, ending: str, spoil: Change) -> None:
    """Cut or not compressed at all."""
    path = tmp_path / f"mii.ko.{ending}"
    path.write_bytes(spoil(PACKERS[ending](fakes.module("x" * 1000))))
    with pytest.raises(CannotMeasure, match=r"damaged kernel module mii\.ko") as caught:
        kernel.module_image(path)
    assert "\n" not in str(caught.value)


def test_a_missing_unpacker_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """zstd is not on every Debian."""
    path = tmp_path / "mii.ko.zst"
    path.write_bytes(b"any")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotMeasure, match="zstd is not installed"):
        kernel.module_image(path)


# Packages


@pytest.fixture(name="package")
def _package(tmp_path: Path) -> Path:
    """A .deb file with a kernel in it."""
    folder = fakes.kernel_folder(tmp_path / "deb", {"e1000": ""})
    (folder / "DEBIAN").mkdir()
    (folder / "DEBIAN/control").write_text(
        "Package: linux-image-fake\nVersion: 1\nArchitecture: all\n"
        "Maintainer: nobody\nDescription: kernel of a test\n"
    )
    path = tmp_path / "linux.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", str(folder), str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.mark.usefixtures("cache_folder")
def test_a_package_file_is_unpacked_once(package: Path) -> None:
    """The second time the unpacked one is taken."""
    first = kernel.find(str(package))
    assert first.release == fakes.RELEASE and first.module_file("e1000")
    made = first.config.stat().st_ino
    assert kernel.find(str(package)).config.stat().st_ino == made


DAMAGES: dict[str, Change] = {
    "cut": lambda data: data[: len(data) // 2],
    "junk": lambda data: b"not a package",
    "empty": lambda data: b"",
    "flipped": lambda data: data[:-200] + bytes(b ^ 0xFF for b in data[-200:]),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_package_is_told_and_not_kept(
    package: Path, cache_folder: Path, damage: Change
) -> None:
    """One line; the cache holds nothing."""
    package.write_bytes(damage(package.read_bytes()))
    with pytest.raises(CannotMeasure, match="damaged kernel package") as caught:
        kernel.find(str(package))
    assert "\n" not in str(caught.value)
    assert not [path for path in cache_folder.rglob("*") if path.is_file()]


@pytest.fixture(name="setup")
def _setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a fake set-up script, whose arguments go to a file "asked"."""
    monkeypatch.setattr(builds, "TREE", tmp_path)
    (tmp_path / "tools/setup").mkdir(parents=True)
    return tmp_path / "tools/setup/run"


@pytest.mark.parametrize(
    "name, asked",
    [
        (None, "kernel"),
        ("linux-image-6.1.0-amd64", "kernel linux-image-6.1.0-amd64"),
        ("linux-x@trixie-backports", "--suite trixie-backports kernel linux-x"),
    ],
)
def test_the_setup_is_asked_for_a_package(
    tmp_path: Path, setup: Path, name: str | None, asked: str
) -> None:
    """And names the folder on its standard output."""
    folder = fakes.kernel_folder(tmp_path / "k", {})
    fakes.script(setup, f'echo "$*" > {tmp_path}/asked; echo {folder}')
    found = kernel.find(name)
    assert found.release == fakes.RELEASE
    assert found.suite == (name or "").partition("@")[2]
    assert (tmp_path / "asked").read_text() == f"{asked}\n"


@pytest.mark.parametrize(
    "text, told",
    [
        ("echo 'fetching' >&2; echo 'no such package x' >&2", "no such package x"),
        (":", "no reason given"),
    ],
)
def test_a_failing_setup_is_told_by_its_last_line(
    setup: Path, text: str, told: str
) -> None:
    """Its first lines are progress."""
    fakes.script(setup, f"{text}; exit 3")
    with pytest.raises(CannotMeasure) as caught:
        kernel.find("x")
    assert str(caught.value) == f"--kernel x: {told}"
    with pytest.raises(CannotMeasure, match=f"no lab kernel: {told}"):
        kernel.find(None)


def test_what_the_setup_takes_for_wrong_use_is_wrong_use(setup: Path) -> None:
    """The name of no package."""
    fakes.script(setup, "echo 'ringside setup: no package x: y' >&2; exit 2")
    with pytest.raises(UsageError) as caught:
        kernel.find("x")
    assert str(caught.value) == "--kernel x: no package x: y"


@pytest.mark.parametrize("name", ["", "linux-x@", "@trixie", "@"])
def test_half_a_name_is_refused(setup: Path, name: str) -> None:
    """It does not stand for the stock kernel or suite."""
    fakes.script(setup, "exit 3")
    with pytest.raises(UsageError, match=f"--kernel '{name}': needs a folder"):
        kernel.find(name)


def test_headers_that_cannot_be_are_known(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a kernel that is not Debian's, or offline; but not what is in the cache."""
    found = kernel.from_folder(fakes.kernel_folder(tmp_path, {}))
    assert "none of Debian's" in str(kernel.no_headers(found))
    debian = replace(found, release="6.12.1+deb13-amd64")
    monkeypatch.setenv("RINGSIDE_OFFLINE", "0")
    assert kernel.no_headers(debian) is None
    monkeypatch.setenv("RINGSIDE_OFFLINE", "1")
    told = "no headers of kernel 6.12.1+deb13-amd64: offline"
    assert str(kernel.no_headers(debian)).startswith(told)
    (cache_folder / "headers/linux-headers-6.12.1+deb13-amd64_1").mkdir(parents=True)
    assert kernel.no_headers(debian) is None


@pytest.mark.parametrize("name", ["/nowhere/at/all", "./x.deb", "a/b"])
def test_a_path_to_nothing_is_refused(name: str) -> None:
    """It is not taken for the name of a package."""
    with pytest.raises(UsageError, match="no such folder or package"):
        kernel.find(name)


def test_the_fakes_are_as_real_as_the_stock_kernel() -> None:
    """The release in a real image is read the same way."""
    stock = kernel.find(None)
    assert f"vmlinuz-{stock.release}" == stock.image.name


def test_a_built_tree_is_its_own_headers(tmp_path: Path) -> None:
    """Modules are built in it; a copy without its makefiles has none."""
    (tmp_path / "arch/x86/boot").mkdir(parents=True)
    image = fakes.boot_image(b"7.1.0-rc2+ (me@here) #1\0")
    (tmp_path / "arch/x86/boot/bzImage").write_bytes(image)
    (tmp_path / ".config").touch()
    found = kernel.from_folder(tmp_path)
    assert "none of Debian's" in str(kernel.no_headers(found))
    (tmp_path / "scripts").mkdir()
    (tmp_path / "Makefile").touch()
    assert kernel.no_headers(found) is None
    assert kernel.headers(found) == tmp_path
