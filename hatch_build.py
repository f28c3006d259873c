"""Build hook: compiles ``qpsvm/native`` and puts the library into the wheel.

With the system's C compiler; where there is none, the package ``ziglang``, a compiler as a wheel,
is required for the build. ``QPSVM_NATIVE_TARGET`` names another platform of
``qpsvm.native.build.TARGETS``, for which ``ziglang`` is required, too.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path(__file__).resolve().parent / "qpsvm" / "native"


def _build() -> Any:
    """The module ``qpsvm.native.build``, without importing the package: it has dependencies."""
    spec = importlib.util.spec_from_file_location("qpsvm_native_build", NATIVE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class CompiledCore(BuildHookInterface):
    """Compiles the core: into the wheel, or beside its sources for an editable install."""

    def dependencies(self) -> list[str]:
        """Require a compiler from the package index where the system has none."""
        has_own = "QPSVM_NATIVE_TARGET" not in os.environ and _build().system_compiler()
        return [] if has_own else ["ziglang>=0.13"]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the library that is now in the wheel."""
        shutil.rmtree(Path(self.directory) / ".native", ignore_errors=True)

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell hatchling the library's place and the wheel's tag."""
        build = _build()
        name = os.environ.get("QPSVM_NATIVE_TARGET")
        target = build.TARGETS[name] if name else None
        build_data["pure_python"] = False
        build_data["tag"] = build.wheel_tag(target)
        if version == "editable":
            build.rebuilt()
            return
        path = build.compiled(Path(self.directory) / ".native", target)
        build_data["force_include"][str(path)] = f"qpsvm/native/{path.name}"
