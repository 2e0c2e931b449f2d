#!/usr/bin/env python3
"""The Debian packages that `cpack -G DEB` makes: names, dependencies and contents; unpacked into an empty root, a program of their
headers and pkg-config files links and runs, and the tool starts. With --whole they are made twice, with the same bytes, lintian has
no errors, and apt installs and removes them in a Debian 12 that holds nothing else. usage: packages_test.py CPACK BUILD [--whole]"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CPACK, BUILD, *REST = sys.argv[1:]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERSION = (ROOT / "VERSION").read_text().strip()
RUNTIME = "libtilewright" + VERSION.rpartition(".")[0]
# A file that each package must have, and what no other may have.
CONTENTS = {RUNTIME: [f"lib/libtilewright.so.{VERSION}", f"lib/libtilewright_tune.so.{VERSION}", "share/doc/tilewright/NOTICE", "share/tilewright/wisdom/"],
            "libtilewright-dev": ["include/tilewright/gemm.hpp", "lib/libtilewright.so", "lib/libtilewright_tune.so", "lib/pkgconfig/tilewright.pc",
                                  "lib/cmake/tilewright/tilewright-config.cmake", "share/tilewright/fortran/tilewright.f90"],
            "libtilewright-blas": ["lib/libtilewright_blas.so"], "tilewright": ["bin/tilewright", "share/man/man1/tilewright-tune.1.gz"],
            "tilewright-doc": ["share/doc/tilewright/docs/README.md", "share/doc/tilewright/examples/01_one_product.cpp"]}
DEPENDS = {RUNTIME: ["libc6", "libhwloc15", "libsqlite3-0"], "libtilewright-dev": [f"{RUNTIME} (= {VERSION})"],
           "libtilewright-blas": [f"{RUNTIME} (= {VERSION})", "libc6"], "tilewright": [f"{RUNTIME} (= {VERSION})", "libhwloc15"], "tilewright-doc": []}


def output(*command, **more):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def quiet(*command, **more):
    """Output of a command that prints warnings."""
    return output(*command, stderr=subprocess.DEVNULL, **more)


def make(folder):
    """Returns the packages by name."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "DEBEMAIL": "tilewright@debian.org"}
    quiet(CPACK, "-G", "DEB", "--config", f"{BUILD}/CPackConfig.cmake", "-B", folder, env=environment)
    return {path.name.partition("_")[0]: path for path in folder.glob("*.deb")}


def check_contents(packages):
    files = {}
    for name, path in packages.items():
        listed = [line.split(None, 5)[5].partition(" -> ")[0].removeprefix("./").removeprefix("usr/") for line in output("dpkg-deb", "-c", path).splitlines()]
        files[name] = {one for one in listed if one and not one.endswith("/")}
        for one in CONTENTS[name]:
            assert any(file.startswith(one) for file in files[name]), f"{name} lacks {one}"
        depends = output("dpkg-deb", "-f", path, "Depends").strip()
        for one in DEPENDS[name]:
            assert one in depends, f"{name} depends on '{depends}', and not on {one}"
        assert f"share/doc/{name}/copyright" in files[name] and f"share/doc/{name}/changelog.gz" in files[name], name
    owners = {}
    for name, own in files.items():
        for file in own:
            owners.setdefault(file, []).append(name)
    twice = {file: names for file, names in owners.items() if len(names) > 1}
    assert not twice, f"files in two packages: {twice}"


def check_use(packages, work):
    root = work / "root"
    for path in packages.values():
        output("dpkg-deb", "-x", path, root)
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(root / "usr/lib/pkgconfig"), "LD_LIBRARY_PATH": str(root / "usr/lib"),
                   "XDG_DATA_HOME": str(work / "data")}
    flags = output("pkg-config", "--cflags", "--libs", "tilewright", env=environment).split()
    source = root / "usr/share/doc/tilewright/examples/01_one_product.cpp"
    output("c++", "-std=c++20", source, "-o", work / "program", *flags, env=environment)
    assert output(work / "program", env=environment).startswith("2 2 2\n")
    linked = output("ldd", work / "program", env=environment)
    assert str(root / "usr/lib/libtilewright.so") in linked, linked
    tool = root / "usr/bin/tilewright"
    assert VERSION in output(tool, "--version", env=environment)
    assert "RUNPATH" not in output("readelf", "-d", tool)
    assert "cpu_small" in output(tool, "explain", "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000", env=environment)


# What a user does in a Debian that has a compiler alone.
CLEAN_ROOT = """set -e
export DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root
cd /root
apt-get -qq update
apt-get -qq install -y --no-install-recommends ./*.deb
tilewright info | grep /usr/share/tilewright/wisdom
c++ -std=c++20 /usr/share/doc/tilewright/examples/01_one_product.cpp -o program $(pkg-config --cflags --libs tilewright)
test "$(./program | head -1)" = "2 2 2"
LD_PRELOAD=/usr/lib/libtilewright_blas.so true
gzip -t /usr/share/man/man1/tilewright*.gz
apt-get -qq purge -y $(dpkg-query -W -f '${Package} ' '*tilewright*')
test -z "$(find /usr /etc /var/lib -name '*tilewright*' -not -path '/var/lib/apt/*')"
"""


def check_clean_root(packages, work):
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("not installed into a clean root: that needs root and debootstrap")
        return
    root = work / "clean"
    subprocess.run(["debootstrap", "--variant=minbase", "--include=g++,pkg-config,ca-certificates", "bookworm", root, "http://deb.debian.org/debian"],
                   check=True, stdout=subprocess.DEVNULL)
    for path in packages.values():
        shutil.copy(path, root / "root")
    # /proc is mounted in a namespace that ends with the command
    said = subprocess.run(["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", root, "bash", "-c", CLEAN_ROOT],
                          text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert said.returncode == 0, said.stdout
    print("installed, used and removed in a clean root")


def main():
    if not all(shutil.which(one) for one in ("dpkg-deb", "dpkg-shlibdeps")):
        print("skipped: dpkg is not here")
        return 0
    with tempfile.TemporaryDirectory(prefix="tilewright-packages-") as name:
        work = pathlib.Path(name)
        packages = make(work / "one")
        assert packages.keys() == CONTENTS.keys(), sorted(packages)
        check_contents(packages)
        check_use(packages, work)
        print("\n".join(f"{path.stat().st_size / 1e6:6.1f} MB  {path.name}" for path in packages.values()))
        if REST == ["--whole"]:
            again = make(work / "two")
            for one, path in packages.items():
                assert path.read_bytes() == again[one].read_bytes(), f"{one} differs when it is made again"
            check_clean_root(packages, work)
            if shutil.which("lintian"):
                said = subprocess.run(["lintian", "--fail-on", "error", "--allow-root", *packages.values()], text=True, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                print(said.stdout)
                return said.returncode
    return 0


sys.exit(main())
