"""Compile the core: for this machine, or for the platforms that have wheels.

``python -m qpsvm.native.build`` compiles it for this machine. This module needs the standard
library alone: the build hook (``hatch_build.py``) loads it where nothing else is installed.

The name of a library contains a digest of its sources and flags, so that a library that is older
than its sources is never loaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent

FLAGS = (
    "-std=c99",
    "-O3",
    "-ffp-contract=off",  # the same bits on every processor
    "-fno-math-errno",
    "-fno-trapping-math",  # changes no result: lets conditional expressions use vector registers
    "-fvisibility=hidden",
)
"""Flags of every variant. What would change results (``-ffast-math``) stays out."""

LEVELS = ("generic", "v2", "v3", "v4")
"""Variants for the micro-architecture levels of x86-64; elsewhere there is the first one only."""


SUFFIX = ".bin"
"""Ending of a library on every platform; with ``.so`` Python would take it for a module."""


class BuildError(RuntimeError):
    """The core cannot be compiled here; the message says why, and what helps."""


class Target(NamedTuple):
    """A platform that the core is compiled for with another machine's compiler.

    Parameters
    ----------
    triple : str
        Its name for zig, with the oldest version of the system library.
    platform : str
        Its name as ``sysconfig.get_platform`` gives it, without versions.
    tag : str
        Platform tag of its wheel.
    """

    triple: str
    platform: str
    tag: str


_MANYLINUX = "manylinux_2_17_{0}.manylinux2014_{0}"
TARGETS = {
    name: Target(*facts)
    for name, *facts in (
        ("linux-x86_64", "x86_64-linux-gnu.2.17", "linux-x86_64", _MANYLINUX.format("x86_64")),
        ("linux-aarch64", "aarch64-linux-gnu.2.17", "linux-aarch64", _MANYLINUX.format("aarch64")),
        ("macos-x86_64", "x86_64-macos.11.0", "macosx-x86_64", "macosx_11_0_x86_64"),
        ("macos-arm64", "aarch64-macos.11.0", "macosx-arm64", "macosx_11_0_arm64"),
        ("windows-x86_64", "x86_64-windows-gnu", "win-amd64", "win_amd64"),
    )
}
"""Platforms with a wheel, by the name that ``.ci/wheels.py`` and ``QPSVM_NATIVE_TARGET`` use."""


def sources() -> list[Path]:
    """List the C sources."""
    return sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")])


def digest() -> str:
    """Digest of the sources and flags, 16 hexadecimal digits."""
    total = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sources():
        text = path.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"\0{path.name}\0{len(text)}\0".encode() + text)
    return total.hexdigest()[:16]


def this_platform() -> str:
    """Name this platform, such as ``linux-x86_64``; macOS by its processor, without versions."""
    if sys.platform == "darwin":
        return f"macosx-{platform.machine()}"
    return sysconfig.get_platform()


def library_name(target: Target | None = None) -> str:
    """Return the file name of the library, with the digest of its C sources and its platform."""
    return f"core-{digest()}-{target.platform if target else this_platform()}{SUFFIX}"


def wheel_tag(target: Target | None = None) -> str:
    """Tag of a wheel with the library: one for every Python 3 of the platform."""
    if target is not None:
        return f"py3-none-{target.tag}"
    if sys.platform == "darwin":
        return f"py3-none-macosx_11_0_{platform.machine()}"
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def system_compiler() -> list[str] | None:
    """Command of a C compiler that compiles and links here: ``$CC``, cc, gcc or clang."""
    named = os.environ.get("CC")
    for command in [named.split()] if named else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]) and _works(command):
            return command
    return None


def _works(command: list[str]) -> bool:
    """Return whether a compiler makes a library of an empty function (some are only stubs)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "probe.c").write_text("#include <string.h>\nint probe(void){return 0;}\n")
        arguments = ["-shared", *_pic(), "probe.c", "-o", "probe" + SUFFIX]
        try:
            done = subprocess.run(
                [*command, *arguments], cwd=folder, capture_output=True, check=False
            )
        except OSError:
            return False
        return done.returncode == 0


def zig_compiler() -> list[str] | None:
    """Command of the C compiler in the package ``ziglang``, where that is installed."""
    if importlib.util.find_spec("ziglang") is None:
        return None
    return [sys.executable, "-m", "ziglang", "cc"]


def _pic() -> list[str]:
    return [] if sys.platform == "win32" else ["-fPIC"]


def compiled(
    folder: Path, target: Target | None = None, extra: tuple[str, ...] = (), name: str = ""
) -> Path:
    """Compile the package's C code into a shared library.

    The library appears there by one rename, complete: other processes may do the same at the
    same time.

    Parameters
    ----------
    folder : Path
        Is made if it does not exist.
    target : Target, optional
        Another platform, by zig. By default this one, by the system's compiler if there is one.
    extra : tuple of str
        More flags, such as those of sanitizers.
    name : str
        File name of the library, by default ``library_name``.

    Returns
    -------
    Path

    Raises
    ------
    BuildError
        No compiler is found, or it fails.
    OSError
        The folder cannot be written.
    """
    zig = zig_compiler()
    command = zig if target is not None else system_compiler() or zig
    if command is None:
        missing = "ziglang" if target is not None else "a C compiler (cc, gcc, clang or ziglang)"
        raise BuildError(f"{missing} is not installed. Remedy: pip install ziglang")
    is_zig = command[1:3] == ["-m", "ziglang"]
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / (name or library_name(target))
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as inside:
        work = Path(inside)
        options = [*FLAGS, *extra]
        if target is not None:
            options += ["-target", target.triple]
        elif sys.platform == "darwin":
            options += ["-mmacosx-version-min=11.0"]
        if target is None or not target.platform.startswith("win"):
            options += _pic()
        is_x86 = (target.platform if target else this_platform()).endswith(("x86_64", "amd64"))
        selection = [f'-DDIGEST="{digest()}"', "-DSELECTION", *_architecture("generic", is_zig)]
        units = {"selection": selection}
        for level in LEVELS if is_x86 else LEVELS[:1]:
            units[level] = [f"-DVARIANT={level}", *(_architecture(level, is_zig) if is_x86 else [])]

        def run(unit: str) -> subprocess.CompletedProcess[str]:
            arguments = [*units[unit], "-c", str(FOLDER / "library.c"), "-o", f"{unit}.o"]
            return _run([*command, *options, *arguments], work)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            results = dict(zip(units, pool.map(run, units), strict=True))
        for unit, result in results.items():
            if result.returncode and unit in LEVELS[1:]:
                continue  # a compiler that does not know this level
            _require(result, command)
        objects = [f"{unit}.o" for unit, result in results.items() if not result.returncode]
        is_mac = (target.platform if target else this_platform()).startswith("macosx")
        strip = [] if is_mac or extra else ["-s"]
        arguments = ["-shared", *strip, *objects, "-o", "library"]
        _require(_run([*command, *options, *arguments], work), command)
        try:
            os.replace(work / "library", final)
        except PermissionError:
            if not final.exists():  # on Windows another process may have loaded the same one
                raise
    return final


def _architecture(level: str, is_zig: bool) -> list[str]:
    """Flags for a micro-architecture level."""
    if level == "generic":
        return ["-mcpu=baseline"] if is_zig else []
    return [f"-march=x86_64_{level}" if is_zig else f"-march=x86-64-{level}"]


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _require(result: subprocess.CompletedProcess[str], command: list[str]) -> None:
    if result.returncode:
        lines = "\n".join(result.stderr.strip().splitlines()[-10:])
        raise BuildError(f"{' '.join(command)} failed with status {result.returncode}:\n{lines}")


def cache_folder() -> Path:
    """Return the user's cache folder, for the compiled library if the package's is read-only."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "qpsvm"


def existing() -> Path | None:
    """Return the path of the library compiled from the present C sources; None without one."""
    paths = (folder / library_name() for folder in (FOLDER, cache_folder()))
    return next(filter(Path.is_file, paths), None)


def rebuilt() -> Path:
    """Compile the core for this machine beside its sources, or in the cache.

    Returns
    -------
    Path

    Raises
    ------
    BuildError
        There is no compiler, it fails, or neither folder can be written.
    """
    reasons = []
    for folder in (FOLDER, cache_folder()):
        try:
            path = compiled(folder)
        except OSError as error:
            reasons.append(f"{folder}: {error}")
            continue
        # libraries compiled from older sources; on Windows they may be in use
        for old in folder.glob(f"core-*-{this_platform()}{SUFFIX}"):
            if old.name != path.name and sys.platform != "win32":
                old.unlink(missing_ok=True)
        return path
    raise BuildError("no folder can be written: " + "; ".join(reasons))


if __name__ == "__main__":
    print(rebuilt())
