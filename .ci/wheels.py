"""Build the wheels of all platforms on this one, and the source distribution.

Usage: ``python .ci/wheels.py FOLDER [TARGET ...]``

Needs ``hatchling`` and ``ziglang``. A target is a name of ``qpsvm.native.build.TARGETS``; by
default all are built. Prints a line per file.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def targets() -> list[str]:
    """Names of all platforms with a wheel, without importing the package."""
    path = ROOT / "qpsvm" / "native" / "build.py"
    spec = importlib.util.spec_from_file_location("qpsvm_native_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return list(module.TARGETS)


def built(folder: Path, kind: str, target: str | None = None) -> Path:
    """Build a wheel or source distribution, and return its path."""
    environment = os.environ | ({"QPSVM_NATIVE_TARGET": target} if target else {})
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    before = set(folder.glob("*"))
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    (path,) = {p for p in folder.glob("*") if p.is_file()} - before
    return path


def main() -> None:
    """Build what the command line asks for."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for target in sys.argv[2:] or targets():
        wheel = built(folder, "wheel", target)
        names = zipfile.ZipFile(wheel).namelist()
        (library,) = [name for name in names if name.startswith("qpsvm/native/core-")]
        print(f"{wheel.name}  {wheel.stat().st_size:,} bytes  {library}", flush=True)
    if not sys.argv[2:]:
        print(built(folder, "sdist").name)


if __name__ == "__main__":
    main()
