# SPDX-License-Identifier: GPL-2.0-only
"""The set-up scripts without a network: fakes stand for apt and dpkg."""

import fcntl
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parent.parent
SETUP = TREE / "tools/setup"
APT_DATA = TREE / "tests/data/apt"

# A fake apt knows one kernel package and "downloads" what $FAKE_DEB is.
FAKE_APT_CACHE = """#!/bin/sh
case $* in
*pkgnames*) printf 'linux-image-6.12.%s\\n' 9-amd64 10-amd64 10-cloud-amd64 \\
    10-rt-amd64 10-amd64-dbg 10-amd64-unsigned ;;
*show*linux-source-6.12=6.12.10-1) printf 'Package: x\\nVersion: 6.12.10-1\\n\\n' ;;
*show*6.12.10-amd64) printf 'Package: x\\nVersion: 6.12.10-1\\n\\n' ;;
esac
"""
FAKE_APT_GET = """#!/bin/sh
echo "$*" >> "$FAKE_LOG"
case $* in
*download*) [ -z "$FAKE_ERROR" ] || { echo "$FAKE_ERROR" >&2; exit 100; }
    cp "$FAKE_DEB" package.deb ;;
*) [ -z "$FAKE_ERROR" ] || { echo "$FAKE_ERROR" >&2; exit 100; } ;;
esac
"""
FAKE_SUDO = """#!/bin/sh
case $* in *apt-get*) while [ "$1" != env ]; do shift; done; "$@" ;; esac
"""


class Fakes:
    """A cache, and a PATH whose apt and dpkg-query are scripts."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"
        self.log.touch()
        self.deb = folder / "fake.deb"
        self.environment = {
            "PATH": f"{self.bin}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(folder),
            "RINGSIDE_CACHE": str(self.cache),
            "RINGSIDE_LOCK_WAIT": "1",
            "FAKE_LOG": str(self.log),
            "FAKE_DEB": str(self.deb),
            "FAKE_ERROR": "",
        }
        self.program("apt-get", FAKE_APT_GET)
        self.program("apt-cache", FAKE_APT_CACHE)

    def program(self, name: str, text: str) -> None:
        """Put a script in front of the real program of that name."""
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def make_deb(self, content: str = "boot/vmlinuz-6.12.10-amd64") -> None:
        """A package that holds one file."""
        root = self.deb.parent / "root"
        (root / "DEBIAN").mkdir(parents=True)
        (root / "DEBIAN/control").write_text(
            "Package: x\nVersion: 1\nArchitecture: all\n"
            "Maintainer: x <x@x.example>\nDescription: x\n"
        )
        (root / content).parent.mkdir(parents=True)
        (root / content).write_text("image")
        subprocess.run(
            ["dpkg-deb", "--build", str(root), str(self.deb)],
            check=True,
            capture_output=True,
        )

    def run(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """tools/setup/run with these arguments and extra environment."""
        return subprocess.run(
            [str(SETUP / "run"), *arguments],
            env={**self.environment, **extra},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def leftovers(self) -> list[str]:
        """Scratch in the cache that a set-up should have removed."""
        return [str(path) for path in self.cache.rglob("*.tmp")]


@pytest.fixture(name="fakes")
def _fakes(tmp_path: Path) -> Iterator[Fakes]:
    fakes = Fakes(tmp_path)
    yield fakes
    assert not fakes.leftovers()


def cannot(result: subprocess.CompletedProcess[str], text: str) -> None:
    """Exit 3, nothing on stdout, and a last line that says this."""
    assert result.returncode == 3, result.stderr
    assert result.stdout == ""
    assert text in result.stderr.splitlines()[-1]


def derive(folder: str, suite: str = "bookworm-backports", kind: str = "deb") -> str:
    """The stanza for a suite out of recorded files of apt."""
    return subprocess.run(
        [
            "bash",
            "-c",
            f'SETUP={SETUP}; . "$SETUP/common.sh"; APT_ETC={APT_DATA / folder}; '
            f'. "$SETUP/apt.sh"; derive_source bookworm {suite} {kind}',
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_source_from_container_image() -> None:
    """The archive's entry is taken, not that of security."""
    assert derive("docker") == (
        "Types: deb\nURIs: http://mirror.example/debian\n"
        "Suites: bookworm-backports\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )


def test_source_from_installer_skips_disc() -> None:
    """One-line entries: the disc and deb-src lines do not count."""
    assert derive("installer", "bookworm", "deb-src") == (
        "Types: deb-src\nURIs: http://mirror.example/debian/\n"
        "Suites: bookworm\nComponents: main\n"
    )


def test_source_from_cloud_image() -> None:
    """A mirror list is as good as an address."""
    assert "URIs: mirror+file:///etc/apt/mirrors/debian.list\n" in derive("cloud")


def test_source_prefers_the_archive_and_keeps_its_key() -> None:
    """Disabled, foreign and contrib-only entries lose; the key block stays."""
    stanza = derive("mixed")
    assert "URIs: http://first.example/debian\n" in stanza
    assert "Signed-By:\n -----BEGIN" in stanza
    assert " -----END PGP PUBLIC KEY BLOCK-----\n" in stanza


def test_no_source_no_stanza() -> None:
    """A machine without the archive gives nothing to derive from."""
    assert derive("none") == ""
    assert derive("no-such-folder") == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["--nonsense", "bench"],
        ["packages"],
        ["packages", "nonsense"],
        ["packages", "bench", "test"],
        ["kernel", "nonsense"],
        ["kernel", "6.12; reboot"],
        ["kernel", "../6.12"],
        ["headers"],
        ["headers", "nonsense"],
        ["qemu", "9"],
        ["--suite"],
        ["--suite", "../etc", "kernel"],
    ],
)
def test_wrong_use(fakes: Fakes, arguments: list[str]) -> None:
    """Arguments that cannot be meant: exit 2, a line, and apt is not asked."""
    result = fakes.run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr
    assert fakes.log.read_text() == ""


def test_package_list_is_well_formed() -> None:
    """Each line has a known purpose, one package name and a reason."""
    names = []
    for line in (SETUP / "packages.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            purpose, name, reason = line.split(maxsplit=2)
            assert purpose in ("bench", "kunit", "peers", "test")
            assert re.fullmatch(r"[a-z0-9][-a-z0-9.+]+", name)
            assert reason
            names.append(name)
    assert len(names) == len(set(names)) > 10


def test_launcher_and_package_list_agree() -> None:
    """A module that the launcher looks for comes with a listed package."""
    packages = (SETUP / "packages.txt").read_text()
    launcher = (TREE / "ringside").read_text()
    modules = re.search(r"for module in ([a-z0-9 ]+);", launcher)
    assert modules
    assert f'"{modules[1]}".split()' in launcher
    for module in modules[1].replace("elftools", "pyelftools").split():
        assert f"python3-{module}\t" in packages


def all_installed(but: str = "-") -> str:
    """A dpkg-query that knows every package asked for except one."""
    return f"""#!/bin/sh
for name; do
    case $name in -* | *status*) ;; {but}) ;; *) echo "installed $name" ;; esac
done
"""


def test_installs_only_what_is_missing(fakes: Fakes) -> None:
    """One call of apt-get, with the one package that is not there."""
    fakes.program("dpkg-query", all_installed(but="kmod"))
    fakes.program("sudo", FAKE_SUDO)
    result = fakes.run("packages", "bench")
    assert result.returncode == 0, result.stderr
    calls = [call for call in fakes.log.read_text().splitlines() if "install" in call]
    assert len(calls) == 1
    assert calls[0].endswith("install --no-install-recommends kmod")


def test_quiet_when_nothing_is_missing(fakes: Fakes) -> None:
    """No output, and apt is not asked."""
    fakes.program("dpkg-query", all_installed())
    result = fakes.run("packages", "test")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert fakes.log.read_text() == ""


def test_held_dpkg_lock(fakes: Fakes) -> None:
    """Another program's lock is waited for, then named."""
    fakes.program("dpkg-query", all_installed(but="kmod"))
    fakes.program("sudo", FAKE_SUDO)
    error = "E: Could not get lock /var/lib/dpkg/lock-frontend."
    cannot(
        fakes.run("packages", "bench", FAKE_ERROR=error), "locked by another program"
    )
    assert len(fakes.log.read_text().splitlines()) > 1


def test_kernel_is_the_newest_plain_one(fakes: Fakes) -> None:
    """Versions are ordered by number; cloud, rt, dbg and unsigned do not count."""
    fakes.make_deb()
    result = fakes.run("kernel")
    assert result.returncode == 0, result.stderr
    assert (
        result.stdout == f"{fakes.cache}/kernels/linux-image-6.12.10-amd64_6.12.10-1\n"
    )
    assert (Path(result.stdout.strip()) / "boot/vmlinuz-6.12.10-amd64").is_file()


def wrong(result: subprocess.CompletedProcess[str], text: str) -> None:
    """Exit 2 and a last line that says this."""
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert text in result.stderr.splitlines()[-1]


def bookworm(folder: Path) -> dict[str, str]:
    """The environment of a Debian 12 from a container image."""
    (folder / "os").write_text("VERSION_CODENAME=bookworm\n", encoding="ascii")
    return {"OS_RELEASE": str(folder / "os"), "APT_ETC": str(APT_DATA / "docker")}


def test_unknown_package(fakes: Fakes, tmp_path: Path) -> None:
    """Wrong use when the lists were all there; else they may be to blame."""
    name = "linux-image-6.13.1-amd64"
    environment = bookworm(tmp_path)
    fakes.program("sudo", FAKE_SUDO)
    wrong(fakes.run("kernel", name, **environment), f"no package {name}: not in")
    error = "E: Could not resolve 'mirror.example'"
    cannot(fakes.run("kernel", name, FAKE_ERROR=error, **environment), "no network?")


def test_a_suite_counts_for_a_kernel_in_the_cache(fakes: Fakes, tmp_path: Path) -> None:
    """An unknown one is refused; a known one is noted, and need not have it for ever."""
    name = "linux-image-6.12.10-amd64"
    environment = bookworm(tmp_path)
    fakes.make_deb()
    first = fakes.run("kernel", name)
    error = "E: The repository 'x nosuch Release' does not have a Release file."
    words = ["--suite", "nosuch", "kernel", name]
    wrong(
        fakes.run(*words, FAKE_ERROR=error, **environment),
        "suite 'nosuch' is not in the archive",
    )
    assert not (fakes.cache / "apt/nosuch-deb").exists()
    cannot(fakes.run("--offline", *words, **environment), "of suite nosuch is not here")
    words[1] = "trixie"
    assert fakes.run(*words, **environment).stdout == first.stdout
    fakes.program("apt-cache", "#!/bin/sh\n")
    assert fakes.run("--offline", *words, **environment).stdout == first.stdout


def test_second_run_repeats_no_work(fakes: Fakes) -> None:
    """The stamp answers; without the directory it does not."""
    fakes.make_deb()
    first = fakes.run("kernel")
    fakes.log.write_text("")
    again = fakes.run("kernel")
    assert again.stdout == first.stdout
    assert (again.stderr, fakes.log.read_text()) == ("", "")
    subprocess.run(["rm", "-r", first.stdout.strip()], check=True)
    assert fakes.run("kernel").stdout == first.stdout
    assert "download" in fakes.log.read_text()


def test_damaged_package(fakes: Fakes) -> None:
    """A .deb that does not unpack is removed; nothing half-unpacked stays."""
    fakes.make_deb()
    data = fakes.deb.read_bytes()
    fakes.deb.write_bytes(data[: len(data) // 2])
    cannot(fakes.run("kernel"), "package.deb is damaged and was removed")
    assert not list((fakes.cache / "kernels").iterdir())


def test_package_without_a_kernel(fakes: Fakes) -> None:
    """A meta package unpacks but is no kernel."""
    fakes.make_deb("usr/share/doc/x")
    cannot(fakes.run("kernel"), "holds no kernel")
    assert not list((fakes.cache / "kernels").iterdir())


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("E: Could not resolve 'mirror.example'", "no network? Could not resolve"),
        ("E: You don't have enough free space in /x.", "disk full"),
        ("dpkg: error: unpack: No space left on device", "disk full"),
        ("E: Something apt says", "Something apt says"),
    ],
)
def test_failed_download(fakes: Fakes, error: str, text: str) -> None:
    """What apt complains about is said in one line."""
    cannot(fakes.run("kernel", FAKE_ERROR=error), text)


def test_full_disk_while_unpacking(fakes: Fakes) -> None:
    """dpkg-deb runs out of space: the disk is named, not the package."""
    fakes.make_deb()
    fakes.program(
        "dpkg-deb",
        "#!/bin/sh\necho 'tar: x: Cannot write: No space left on device' >&2\nexit 2\n",
    )
    cannot(fakes.run("kernel"), "disk full")


def test_offline(fakes: Fakes) -> None:
    """Nothing is fetched: what is cached is used, what is not is named."""
    cannot(fakes.run("--offline", "kernel"), "offline: kernel 6.12 is not here")
    cannot(
        fakes.run("headers", "6.12.10-amd64", RINGSIDE_OFFLINE="1"), "offline: linux"
    )
    assert fakes.log.read_text() == ""
    fakes.make_deb()
    online = fakes.run("kernel")
    assert fakes.run("--offline", "kernel").stdout == online.stdout


def test_waits_for_another_setup(fakes: Fakes) -> None:
    """A second set-up waits for the first and gives up in the end."""
    fakes.make_deb()
    locks = fakes.cache / "locks"
    locks.mkdir(parents=True)
    with open(
        locks / "linux-image-6.12.10-amd64_6.12.10-1", "w", encoding="ascii"
    ) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cannot(fakes.run("kernel"), "another set-up held")
    assert fakes.run("kernel").returncode == 0


def test_scratch_of_a_killed_setup_is_removed(fakes: Fakes) -> None:
    """The next set-up of the same package cleans up."""
    fakes.make_deb()
    left = fakes.cache / "kernels/linux-image-6.12.10-amd64_6.12.10-1.abcdef.tmp"
    left.mkdir(parents=True)
    assert fakes.run("kernel").returncode == 0
    assert not left.exists()


def test_cache_that_cannot_be_made(fakes: Fakes) -> None:
    """A file where the cache should be."""
    fakes.cache.write_text("")
    cannot(fakes.run("kernel"), "cannot write to the cache")


@pytest.mark.parametrize(
    ("rows", "code", "last"),
    [
        ("echo '3 passed, 0 failed'", 0, "3 passed, 0 failed"),
        ("echo '3 passed, 1 failed'; false", 2, "3 passed, 1 failed"),
        ("echo '3 passed, 0 failed'; kill -9 $$$$", 2, "3 passed, 1 failed"),
        ("false", 2, "0 passed, 1 failed"),
        ("true", 1, "0 passed, 1 failed"),
    ],
)
def test_ci_closing_line(tmp_path: Path, rows: str, code: int, last: str) -> None:
    """The last line is the closing line, and never a good one after a crash."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci/run").write_text((TREE / ".ci/run").read_text())
    (tmp_path / "Makefile").write_text(f"test:\n\t@{rows}\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    result = subprocess.run(
        ["bash", str(tmp_path / ".ci/run")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout.splitlines()[-1]) == (code, last)
    assert sum(" passed, " in row for row in result.stdout.splitlines()) == 1


def test_launcher_works_through_a_link(tmp_path: Path) -> None:
    """From any folder, by any name, and without leaving compiled files."""
    link = tmp_path / "ringside"
    link.symlink_to(TREE / "ringside")
    result = subprocess.run(
        [str(link), "--help"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "bench" in result.stdout


def source_deb(fakes: Fakes, archive: bytes | None) -> None:
    """A source package that holds this archive; None for a good one of two drivers."""
    tree = fakes.deb.parent / "linux-source-6.12"
    for name in ("drivers/net/tun.c", "drivers/gpu/drm.c", "sound/pcm.c", "Makefile"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("VERSION = 6\n")
    if archive is None:
        words = ["tar", "-C", str(tree.parent), "-cJf", "-", tree.name]
        archive = subprocess.run(words, check=True, capture_output=True).stdout
    fakes.make_deb("usr/src/linux-source-6.12.tar.xz")
    root = fakes.deb.parent / "root"
    (root / "usr/src/linux-source-6.12.tar.xz").write_bytes(archive)
    words = ["dpkg-deb", "--build", str(root), str(fakes.deb)]
    subprocess.run(words, check=True, capture_output=True)


def test_source_is_unpacked_once(fakes: Fakes) -> None:
    """Of that version only; drivers and version are all that is kept."""
    source_deb(fakes, None)
    first = fakes.run("source", "6.12.10-1")
    assert first.returncode == 0, first.stderr
    folder = Path(first.stdout.strip())
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert found == {"Makefile", "drivers/net/tun.c"}
    fakes.log.write_text("")
    assert fakes.run("--offline", "source", "6.12.10-1").stdout == first.stdout
    assert fakes.log.read_text() == ""


def test_source_that_cannot_be_had_is_told(fakes: Fakes) -> None:
    """Another version, a damaged archive, a package without one, no network."""
    source_deb(fakes, b"no archive")
    cannot(fakes.run("--offline", "source", "6.12.10-1"), "linux-source-6.12=6.12.10-1")
    cannot(fakes.run("source", "6.12.10-1"), "cannot unpack the source")
    cannot(fakes.run("source", "6.12.11-1"), "linux-source-6.12=6.12.11-1")
    misused = fakes.run("source", "newest")
    assert misused.returncode == 2 and "of which version?" in misused.stderr
    assert not list((fakes.cache / "sources").glob("*"))
