#!/usr/bin/env python3
"""The header and the recipes of distributions name the project's version, and options that exist, each ON or OFF. Spack's is executed with a stand-in for
Spack, with every variant on and off."""

import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CMAKE = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake"), *(ROOT / "python").glob("*.txt"), *(ROOT / "experiments").glob("*.txt")]


def options():
    text = "\n".join(path.read_text() for path in CMAKE)
    return set(re.findall(r"(?:feature|option|set)\((TILEWRIGHT_\w+) [^\n]*", text)) | {"BUILD_SHARED_LIBS", "CMAKE_BUILD_TYPE"}


class Spack:
    """What a recipe finds in `spack.package`: directives that are kept, and a package of all variants on or off."""

    def __init__(self):
        self.variants, self.versions, self.on = [], [], True
        spec = types.SimpleNamespace(target=types.SimpleNamespace(name="x86_64", family="x86_64"))
        keep = {"variant": lambda name, **_: self.variants.append(name), "version": lambda name, **_: self.versions.append(name)}
        directives = ("depends_on", "requires", "generator", "license", "maintainers", "variant", "version")
        package = types.ModuleType("spack.package")
        for name in directives:
            setattr(package, name, keep.get(name, lambda *_, **__: None))
        cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
        cmake.CMakePackage = type("CMakePackage", (), {
            "spec": spec, "define": lambda _, name, value: (name, value), "define_from_variant": lambda _, name, variant: self.defined(name, variant)})
        sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package, "spack_repo": types.ModuleType("spack_repo"),
                            "spack_repo.builtin": types.ModuleType("b"), "spack_repo.builtin.build_systems": types.ModuleType("c"),
                            cmake.__name__: cmake})

    def defined(self, name, variant):
        assert variant in self.variants, f"the variant {variant} is not declared"
        return name, self.on


def main():
    version = (ROOT / "VERSION").read_text().strip()
    known, wrong, spack = options(), [], Spack()
    scope: dict = {}
    exec(compile((ROOT / "packaging/spack/package.py").read_text(), "package.py", "exec"), scope)
    for spack.on in (True, False):
        arguments = dict(scope["Tilewright"]().cmake_args())
        wrong += [f"Spack's recipe sets {name}, which is not an option" for name in arguments if name not in known]
        wrong += [f"Spack's recipe sets {name} to {value!r}" for name, value in arguments.items() if name != "TILEWRIGHT_MARCH" and not isinstance(value, bool)]
    if spack.versions != [version] or not spack.variants:
        wrong.append(f"Spack's recipe has the versions {spack.versions}, but the project is {version}")
    conda = (ROOT / "packaging/conda/recipe.yaml").read_text()
    if f'version: "{version}"' not in conda:
        wrong.append(f"the conda recipe is not of version {version}")
    named = set(re.findall(r"-D(TILEWRIGHT_\w+|BUILD_\w+)=", conda))
    wrong += [f"the conda recipe sets {name}, which is not an option" for name in sorted(named - known)]
    header = re.findall(r"#define TILEWRIGHT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "include/tilewright/version.h").read_text())
    if ".".join(header) != version:
        wrong.append(f"version.h has {header}, but the project is {version}")
    # A build of a distribution takes nothing because it happens to be there.
    left = {"TILEWRIGHT_GPU", "TILEWRIGHT_PYTHON", "TILEWRIGHT_CCACHE", "TILEWRIGHT_PEER_LIBXSMM"} - named
    wrong += [f"the conda recipe leaves {name} to what is found" for name in sorted(left)]
    print("\n".join(wrong))
    return int(bool(wrong) or len(known) < 10)


sys.exit(main())
