"""How the core is compiled, found and loaded."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from qpsvm.exceptions import CompiledCoreError, QPSVMError
from qpsvm.native import build, library
from tests.processes import run


def copy_of(folder: Path) -> Any:
    """The module ``build`` of a copy of the sources, which it compiles instead."""
    folder.mkdir()
    for path in [*build.sources(), build.FOLDER / "build.py"]:
        shutil.copy(path, folder)
    spec = importlib.util.spec_from_file_location("copied_build", folder / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["copied_build"] = module
    spec.loader.exec_module(module)
    return module


def test_import_loads_and_compiles_nothing() -> None:
    code = (
        "import sys, qpsvm.native, qpsvm.native.library as l;"
        "print(l._loaded, 'qpsvm.native.build' in sys.modules)"
    )
    assert run([sys.executable, "-c", code], check=True).stdout.split() == ["[]", "False"]


def test_the_library_has_variants_of_its_sources() -> None:
    core = library.core()
    assert core.variants[0] == "generic"
    assert set(core.variants) <= set(build.LEVELS)
    assert build.digest() in core.path.name or "QPSVM_NATIVE_LIBRARY" in os.environ


def test_another_source_is_another_library(tmp_path: Path) -> None:
    copied = copy_of(tmp_path / "copy")
    assert copied.library_name() == build.library_name()
    (tmp_path / "copy" / "tiles.c").write_text("/* changed */\n")
    assert copied.digest() != build.digest()
    assert copied.existing() is None


def test_line_ends_do_not_matter(tmp_path: Path) -> None:
    copied = copy_of(tmp_path / "copy")
    for path in copied.sources():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert copied.digest() == build.digest()


def test_a_stale_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = library.core().path
    monkeypatch.setattr(build, "digest", lambda: "0123456789abcdef")
    with pytest.raises(CompiledCoreError, match=r"stale.*python -m qpsvm.native.build"):
        library.CompiledLibrary(path)


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "core.so"
    path.write_bytes(b"nothing")
    with pytest.raises(CompiledCoreError, match="cannot be loaded"):
        library.CompiledLibrary(path)
    assert issubclass(CompiledCoreError, QPSVMError)


@pytest.mark.parametrize("old", [None, "core-0000-any.so"])
def test_without_a_compiler_the_message_says_what_helps(
    old: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in build.sources():
        shutil.copy(path, tmp_path)
    if old:
        (tmp_path / old).touch()
    monkeypatch.delenv("QPSVM_NATIVE_LIBRARY", raising=False)
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    monkeypatch.setattr(build, "existing", lambda: None)
    monkeypatch.setattr(build, "system_compiler", lambda: None)
    monkeypatch.setattr(build, "zig_compiler", lambda: None)
    state = r"is stale \(core-0000-any.so" if old else "is missing"
    with pytest.raises(CompiledCoreError, match=f"{state}.*pip install ziglang"):
        library._path()


def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    copied = copy_of(tmp_path / "copy")
    if copied.system_compiler() is None:
        pytest.skip("no C compiler here")
    (tmp_path / "copy" / "tiles.c").write_text("#error these sources are broken\n")
    with pytest.raises(copied.BuildError, match="these sources are broken"):
        copied.compiled(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_read_only_folder_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def compiled(folder: Path) -> Path:
        if folder == build.FOLDER:
            raise PermissionError(13, "Permission denied")
        written.append(folder)
        return folder / build.library_name()

    monkeypatch.setattr(build, "compiled", compiled)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert build.rebuilt().name == build.library_name()
    assert written == [build.cache_folder()]
    monkeypatch.setattr(build, "cache_folder", lambda: build.FOLDER)
    with pytest.raises(build.BuildError, match=r"no folder can be written.*Permission denied"):
        build.rebuilt()


def test_the_remedy_names_a_missing_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "zig_compiler", lambda: None)
    with pytest.raises(build.BuildError, match="pip install ziglang"):
        build.compiled(Path("nowhere"), build.TARGETS["windows-x86_64"])
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    assert build.system_compiler() is None


def test_libraries_and_wheels_are_named_by_platform() -> None:
    names = {build.library_name(target) for target in build.TARGETS.values()}
    tags = {build.wheel_tag(target) for target in build.TARGETS.values()}
    assert len(names) == len(tags) == len(build.TARGETS)
    assert all(tag.startswith("py3-none-") for tag in [*tags, build.wheel_tag()])


@pytest.mark.exhaustive
def test_several_may_compile_at_once(tmp_path: Path) -> None:
    copied = copy_of(tmp_path / "copy")
    if (copied.system_compiler() or copied.zig_compiler()) is None:
        pytest.skip("no C compiler here")
    (tmp_path / "copy" / f"core-old-{copied.this_platform()}{copied.SUFFIX}").touch()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: copied.rebuilt(), range(2))
    assert first == second == copied.existing()
    assert [path.name for path in (tmp_path / "copy").glob("*core-*")] == [first.name]
    assert library.CompiledLibrary(first).variants == library.core().variants
