# SPDX-License-Identifier: GPL-2.0-only
"""The guest's initramfs: which modules are in it, and what a profile's settings become."""

from dataclasses import replace
from pathlib import Path

import fakes
import pytest

from ringside import builds, cache, profiles
from ringside.errors import CannotMeasure
from ringside.lab import image, kernel
from ringside.profiles import Profile


@pytest.fixture(name="place")
def place_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with an out-of-tree driver "nic", whose build is a copy of its source."""
    source = tmp_path / "tree/drivers/nic"
    source.mkdir(parents=True)
    (source / "nic.c").write_bytes(fakes.module("mii"))
    (source / "nic.o").write_text("left by an older build")
    fakes.kernel_folder(
        tmp_path / "kernel", {"mii": "", "e1000": "mii", "virtio_net": ""}
    )
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(builds, "TREE", tmp_path / "tree")
    monkeypatch.setattr(builds, "compiler_version", lambda: "gcc 12")
    monkeypatch.setattr(image, "headers", lambda release: tmp_path / "headers")
    monkeypatch.setattr(builds, "run_compiler", fake_kbuild)
    return tmp_path


def fake_kbuild(words: list[str | Path]) -> None:
    """Makes FOLDER/NAME.ko of FOLDER/NAME.c, as `make M=FOLDER` would."""
    folder = Path(next(str(w)[2:] for w in words if str(w).startswith("M=")))
    assert not (folder / "nic.o").exists()
    for path in folder.glob("*.c"):
        path.with_suffix(".ko").write_bytes(path.read_bytes())


def nic(**changes: object) -> Profile:
    """A profile of the out-of-tree driver."""
    (known,) = profiles.choose("e1000")
    whole: dict[str, object] = {
        "name": "nic",
        "driver": "nic",
        "source": "drivers/nic",
        "out_of_tree": True,
    }
    return replace(known, **(whole | changes))  # type: ignore[arg-type]


def settings(profile: Profile) -> dict[str, str]:
    """Files of the settings by path."""
    # pylint: disable-next=protected-access
    return {e.path: e.content.decode() for e in image._settings(profile)}


def test_an_out_of_tree_driver_is_built_and_loaded_after_what_it_needs(
    place: Path,
) -> None:
    """Its own file says what it needs; the kernel has that."""
    lab_kernel = kernel.from_folder(place / "kernel")
    names = [path.name for path in image.module_files(lab_kernel, nic())]
    assert names == ["mii.ko", "nic.ko"]
    assert image.loaded_file(lab_kernel, nic(), "nic") == image.driver_file(
        lab_kernel, nic()
    )
    mii = image.loaded_file(lab_kernel, nic(), "mii")
    assert mii and mii.is_relative_to(place / "kernel")


def test_a_built_module_is_kept_until_its_source_changes(place: Path) -> None:
    """What a build left beside the source is no source."""
    lab_kernel = kernel.from_folder(place / "kernel")
    first = image.driver_file(lab_kernel, nic())
    (place / "tree/drivers/nic/nic.mod.c").write_text("of a build")
    assert image.driver_file(lab_kernel, nic()) == first
    (place / "tree/drivers/nic/nic.c").write_bytes(fakes.module(""))
    assert image.driver_file(lab_kernel, nic()) != first
    assert image.driver_hash(lab_kernel, nic()) == cache.file_hash(
        place / "tree/drivers/nic/nic.c"
    )


def test_a_driver_that_is_not_there_has_no_hash(place: Path) -> None:
    """And cannot be measured."""
    lab_kernel = kernel.from_folder(place / "kernel")
    (tulip,) = profiles.choose("tulip")
    assert image.driver_hash(lab_kernel, tulip) is None
    with pytest.raises(CannotMeasure, match="has no module tulip"):
        image.driver_file(lab_kernel, tulip)


def test_in_tree_drivers_get_no_settings() -> None:
    """Their guest is as it always was."""
    (known,) = profiles.choose("e1000")
    assert settings(known) == {}


def test_an_out_of_tree_driver_gets_the_port_by_name() -> None:
    """The port under test is in slot 3."""
    assert settings(nic()) == {"etc/override": "0000:00:03.0 nic\n"}


def test_private_flags_become_lines() -> None:
    """Of the port under test only."""
    profile = nic(out_of_tree=False, private_flags={"napi": False, "rx-copy": True})
    assert settings(profile) == {"etc/private-flags/port0": "napi off\nrx-copy on\n"}
