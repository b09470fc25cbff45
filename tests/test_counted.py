# SPDX-License-Identifier: GPL-2.0-only
"""Counted guests: what replaces which module, and what cannot be built."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import fakes
from ringside import profiles
from ringside.errors import CannotMeasure
from ringside.lab import counted, image, kernel, qemu
from ringside.lab.counted import Recipe
from ringside.lab.kernel import LabKernel
from ringside.lab.source import Source
from ringside.profiles import Helper

PROFILE = replace(
    profiles.choose("8139cp")[0],
    source="drivers/cp.c",
    counted=(Helper("helper", "drivers/helper.c"), Helper("inside", "drivers/in.c")),
)
# Stands for drivers/iotally/build HEADERS OUT [SOURCE MODULE ...].
BUILD = """
mkdir -p "$2/driver"
echo counter > "$2/iotally.ko"
[ -z "$3" ] && exit
grep -q broken "$3" && { echo "x.c:1: error: no such thing" >&2
    echo "iotally: the source does not build for this kernel" >&2; exit 3; }
grep -q reads "$3" || { echo "iotally: no site in $4.ko: nothing there" >&2; exit 3; }
{ printf 'depends=iotally\\0'; cat "$2/options.h"; } > "$2/$4.ko"
"""


@pytest.fixture(name="recipe")
def _recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """A tree with the driver and two helpers, and a build that is a script."""
    monkeypatch.setenv("RINGSIDE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "iotally").mkdir()
    fakes.script(tmp_path / "iotally/build", BUILD)
    monkeypatch.setattr(counted, "_FOLDER", tmp_path / "iotally")
    monkeypatch.setattr(counted, "headers", lambda _: tmp_path / "headers")
    (tmp_path / "tree/drivers").mkdir(parents=True)
    for name in ("cp", "helper", "in"):
        (tmp_path / f"tree/drivers/{name}.c").write_text("reads\n")
    return Recipe(Source(tmp_path / "tree", "a tree"))


@pytest.fixture(name="lab")
def _lab(tmp_path: Path) -> LabKernel:
    """A kernel with the driver and one helper as modules."""
    folder = fakes.kernel_folder(tmp_path / "k", {"8139cp": "helper", "helper": ""})
    return kernel.from_folder(folder)


def test_the_driver_and_its_helpers_are_replaced(
    lab: LabKernel, recipe: Recipe
) -> None:
    """What is built into the kernel cannot be; the counter is loaded first."""
    built = counted.build(lab, PROFILE, recipe)
    assert sorted(built.replaced) == ["8139cp", "helper", "iotally"]
    names = [path.name for path in image.module_files(built, PROFILE)]
    assert names == ["iotally.ko", "8139cp.ko"]
    assert image.driver_file(built, PROFILE) != image.driver_file(lab, PROFILE)
    assert counted.built_in_helpers(lab, PROFILE) == ["inside"]


def test_a_build_is_kept(lab: LabKernel, recipe: Recipe) -> None:
    """Until source or options change."""
    first = counted.build(lab, PROFILE, recipe)
    assert counted.build(lab, PROFILE, recipe) == first
    (recipe.source.tree / "drivers/cp.c").write_text("reads more\n")
    second = counted.build(lab, PROFILE, recipe)
    assert second.replaced["8139cp"] != first.replaced["8139cp"]
    options = counted.build(
        lab, PROFILE, replace(recipe, options={"X": True, "Y": False})
    )
    assert (
        options.replaced["8139cp"]
        .read_text()
        .endswith("#undef CONFIG_X\n#define CONFIG_X 1\n#undef CONFIG_Y\n")
    )


def test_some_module_must_have_a_site(lab: LabKernel, recipe: Recipe) -> None:
    """A driver may leave all accesses to its helpers, but not nobody to nobody."""
    (recipe.source.tree / "drivers/cp.c").write_text("calls\n")
    assert sorted(counted.build(lab, PROFILE, recipe).replaced) == ["helper", "iotally"]
    (recipe.source.tree / "drivers/helper.c").write_text("calls\n")
    with pytest.raises(CannotMeasure) as caught:
        counted.build(lab, PROFILE, recipe)
    text = str(caught.value)
    assert "no site in 8139cp.ko" in text and "(inside: built into this kernel)" in text


def test_a_source_that_does_not_build_is_told(
    lab: LabKernel, recipe: Recipe, tmp_path: Path
) -> None:
    """In one line, with the compiler's first error; nothing is left."""
    (recipe.source.tree / "drivers/cp.c").write_text("broken\n")
    with pytest.raises(CannotMeasure) as caught:
        counted.build(lab, PROFILE, recipe)
    text = str(caught.value)
    assert "does not build for this kernel: x.c:1: error" in text and "\n" not in text
    assert not list((tmp_path / "cache/modules").glob(".*"))


def test_the_generator_is_another_nic_when_its_driver_is_counted() -> None:
    """One module would count for both ports."""
    assert qemu.generator({"8139cp": 1}) == "e1000"
    assert qemu.generator({"e1000": 1}) == "e1000e"


def test_the_snapshot_of_a_bench_is_as_before(lab: LabKernel) -> None:
    """The machine of a guest that is not counted has not changed."""
    arguments = qemu.machine(PROFILE, lab.image, Path("initrd"))
    assert any(word.startswith("e1000,netdev=net0") for word in arguments)


def test_the_build_script_refuses_another_release(tmp_path: Path) -> None:
    """drivers/iotally/build reads a tree's version without its make."""
    for name, version in (("tree", 13), ("headers", 12)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Makefile").write_text(
            f"# SPDX\nVERSION = 6\nPATCHLEVEL = {version}\nSUBLEVEL = 1\n"
            "EXTRAVERSION =\nkernelversion:\n"
            f"\t@echo 6.{version}.1\n%:\n\t@:\n"
        )
    (tmp_path / "tree/x.c").touch()
    (tmp_path / "out/iotally").mkdir(parents=True)
    for name in ("out/iotally.ko", "out/iotally/Module.symvers"):
        (tmp_path / name).touch()
    words = [str(Path(counted.__file__).parents[3] / "drivers/iotally/build")]
    words += [str(tmp_path / "headers"), str(tmp_path / "out")]
    words += [str(tmp_path / "tree/x.c"), "x"]
    result = subprocess.run(words, check=False, capture_output=True, text=True)
    assert result.returncode == 3
    assert "the source is of kernel 6.13.1, the headers are of 6.12.1" in result.stderr
