#!/usr/bin/env python3
"""Configures the project on machines where optional parts are half installed, all of them fakes: a part that does not work is
left out with a reason, fails only where it is asked for, and is noticed again in the same build folder once it is repaired
or removed. Nothing is compiled. usage: configure_test.py CMAKE CXX [-v]"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CMAKE, CXX = sys.argv[1], sys.argv[2]
USUAL = ["-DTILEWRIGHT_DEVELOPER=OFF", "-DTILEWRIGHT_MPI=OFF", "-DTILEWRIGHT_PEER_EIGEN=ON",
         *(f"-DTILEWRIGHT_{name}=AUTO" for name in ("CCACHE", "GPU", "PEER_LIBXSMM", "PYTHON"))]


class HalfInstalled(unittest.TestCase):
    """One build folder for all tests, as a user's that has seen a machine change: each test has fakes of its own, and those
    of the test before are gone."""

    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-configure-"))
        cls.addClassCleanup(shutil.rmtree, cls.work)

    def setUp(self):
        self.fakes = self.work / self.id().rpartition(".")[2]
        self.fakes.mkdir()
        self.addCleanup(shutil.rmtree, self.fakes, ignore_errors=True)

    def put(self, name, text, executable=False):
        path = self.fakes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if executable else 0o644)
        return path

    def configure(self, *options, **environment):
        environment = {**os.environ, "PATH": f"{self.fakes}/bin:{os.environ['PATH']}",
                       "CMAKE_PREFIX_PATH": str(self.fakes), "LC_ALL": "C", **environment}
        return subprocess.run([CMAKE, "-S", ROOT, "-B", self.work / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={CXX}",
                               "-UCMAKE_CXX_COMPILER_LAUNCHER", "-UPython_EXECUTABLE", *USUAL, *options], env=environment, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def configured(self, *options, **environment):
        """The summary's lines by part: (ON or OFF, the rest)."""
        said = self.configure(*options, **environment)
        self.assertIn("Generating done", said)
        lines = said[said.index("is built with"):].splitlines()[1:]
        parts = {line[5:31].strip(): (line[31:35].strip(), line[36:].strip()) for line in lines if line.startswith("--   ")}
        self.assertIn("GPU sources", parts, said)
        return parts

    def refused(self, *options, **environment):
        said = self.configure(*options, **environment)
        self.assertNotIn("Generating done", said)
        return " ".join(said.split())

    def break_parts(self):
        # As openmpi-bin alone, a ccache without its libraries, a toolkit after its packages were removed, and a library
        # without what its header includes.
        self.put("bin/mpicc", f"""#!/bin/sh
case "$*" in *show*) echo "gcc -I{self.fakes}/none/include -L{self.fakes}/none/lib -lmpi"; exit 0 ;; esac
echo "gcc: error: mpi.h is not here"; exit 1
""", True)
        self.put("bin/ccache", "#!/bin/sh\necho 'ccache: error while loading shared libraries: libhiredis.so.0.14'\nexit 127\n", True)
        self.put("include/nvrtc.h", "#include <cuda_half_of_it.h>\n")
        self.put("include/libxsmm.h", "#include <libxsmm_half_of_it.h>\n")
        for name in ("libxsmm", "libxsmmnoblas"):
            self.put(f"lib/{name}.a", "!<arch>\n")
            self.put(f"lib/{name.replace('xsmm', 'scalapack').replace('noblas', '-openmpi')}.a", "!<arch>\n")

    def repair_parts(self):
        self.put("bin/ccache", "#!/bin/sh\nexec \"$@\"\n", True)
        self.put("include/nvrtc.h", "\n")
        self.put("include/cuda.h", "#define CUDA_VERSION 12000\n")
        self.put("include/libxsmm.h", "".join(f"inline void libxsmm_{name}() {{}}\n" for name in (
            "init", "dmmdispatch", "mmbatch", "dispatch_pgemm")))

    def test_what_does_not_work_is_left_out_and_noticed_when_it_changes(self):
        self.break_parts()
        parts = self.configured("-UCCACHE", "-UCUDA_INCLUDE_DIR", "-ULIBXSMM_*", "-DTILEWRIGHT_GPU:BOOL=ON")  # what works and was found stays, else
        for part, reason in {"compiler cache": f"{self.fakes}/bin/ccache does not compile: ccache: error while loading",
                             "GPU sources": f"the CUDA headers in {self.fakes}/include cannot be used: cuda_half",
                             "LIBXSMM in bench": f"LIBXSMM in {self.fakes}/include cannot be used: libxsmm_half_of_it.h",
                             "MPI and ScaLAPACK": "TILEWRIGHT_MPI=OFF"}.items():
            self.assertEqual(parts[part][0], "OFF", parts)
            self.assertIn(reason, parts[part][1])
        for option, reason in {"CCACHE": "ccache does not compile", "GPU": "CUDA headers in", "PEER_LIBXSMM": "cannot be used",
                               "MPI": "mpicc does not compile a program of MPI"}.items():
            said = self.refused(f"-DTILEWRIGHT_{option}=ON")
            self.assertRegex(said, f"TILEWRIGHT_{option}=ON, but .*{reason}")
        self.repair_parts()
        parts = self.configured()
        self.assertEqual([parts[part][0] for part in ("compiler cache", "GPU sources", "LIBXSMM in bench")], 3 * ["ON"], parts)
        self.assertIn(f"{self.fakes}/include", parts["GPU sources"][1])
        self.put("include/cuda.h", "#define CUDA_VERSION 11080\n")
        self.put("include/libxsmm.h", "inline void libxsmm_init() {}\n")  # of a later version, which lacks what is used
        parts = self.configured()
        self.assertIn("they are older than CUDA 12.0", parts["GPU sources"][1])
        self.assertIn("libxsmm_dmmdispatch", parts["LIBXSMM in bench"][1])
        shutil.rmtree(self.fakes)
        for part, (_, detail) in self.configured().items():
            self.assertNotIn(str(self.fakes), detail, part)

    def test_what_a_build_needs_is_named_when_it_is_missing_or_half_there(self):
        self.put("eigen/Eigen/Core", "#include <src/Core/gone.h>\n")
        self.put("eigen/Eigen/Dense", "#include <Eigen/Core>\n")
        said = self.refused(f"-DEIGEN_INCLUDE_DIR={self.fakes}/eigen")
        self.assertIn("A header that the build needs is missing: src/Core/gone.h", said)
        self.assertIn("scripts/install_packages build", said)
        shutil.rmtree(self.fakes / "eigen")
        pc = "Name: hwloc\nDescription: fake\nVersion: 2.9.0\n"
        self.put("pc/hwloc.pc", pc + f"Libs: -L{self.fakes}/pc -lhwloc_that_is_gone\n")
        said = self.refused(PKG_CONFIG_PATH=f"{self.fakes}/pc")
        self.assertRegex(said, "A library that the build needs is missing: .*hwloc_that_is_gone")
        self.put("pc/hwloc.pc", pc + f"Cflags: -I{self.fakes}/gone\nLibs: -lhwloc\n")
        said = self.refused(PKG_CONFIG_PATH=f"{self.fakes}/pc")
        self.assertIn(f"pkg-config says that hwloc is in {self.fakes}/gone, which is not a folder", said)
        self.configured()  # in the folder where all that failed

    def test_values_of_options_are_checked_and_the_callers_launcher_is_kept(self):
        self.assertIn("TILEWRIGHT_GPU = 'maybe' is not ON, OFF or AUTO", self.refused("-DTILEWRIGHT_GPU=maybe"))
        self.put("bin/ccache", "#!/bin/sh\nexec \"$@\"\n", True)
        parts = self.configured("-DTILEWRIGHT_GPU=0", "-DTILEWRIGHT_PEER_EIGEN=OFF", "-DTILEWRIGHT_PEER_LIBXSMM=OFF", "-DCMAKE_CXX_COMPILER_LAUNCHER=/usr/bin/env")
        self.assertEqual(parts["GPU sources"], ("OFF", "TILEWRIGHT_GPU=OFF"))
        for peer in ("EIGEN", "LIBXSMM"):  # what bench says of it
            self.assertIn(f'TILEWRIGHT_NO_{peer}=\\"TILEWRIGHT_PEER_{peer}=OFF\\"', (self.work / "build" / "build.ninja").read_text())
        self.assertEqual(parts["compiler cache"], ("OFF", "CMAKE_CXX_COMPILER_LAUNCHER=/usr/bin/env is used"))

    def test_what_several_processes_do_is_a_part_of_its_own(self):
        parts = self.configured("-DTILEWRIGHT_MULTINODE=OFF")
        self.assertEqual(parts["several processes"], ("OFF", "TILEWRIGHT_MULTINODE=OFF"))
        self.assertNotIn("multinode", (self.work / "build" / "build.ninja").read_text())
        self.assertIn("TILEWRIGHT_MPI=ON, but TILEWRIGHT_MULTINODE=OFF", self.refused("-DTILEWRIGHT_MPI=ON"))

    def test_a_python_that_lacks_parts_is_left_out_of_developers_builds(self):
        def python_with(nanobind, numpy):
            return self.put("bin/half_python", f"""#!/bin/sh
case "$*" in *nanobind*) echo "{self.fakes}/nanobind;{self.fakes}/numpy;{nanobind};{numpy}"; exit 0 ;; esac
exec {sys.executable} "$@"
""", True)
        python = python_with("3.1.0", "2.4.6")
        options = (f"-DPython_EXECUTABLE={python}", "-DTILEWRIGHT_DEVELOPER=ON", "-DTILEWRIGHT_GPU=OFF")
        parts = self.configured(*options)
        self.assertEqual(parts["Python package"][0], "OFF")
        self.assertRegex(parts["Python package"][1], f"nanobind in {self.fakes}/nanobind is incomplete|no Python 3.10 or newer")
        python_with("2.1.0", "1.26.4")
        said = self.refused(*options, "-DTILEWRIGHT_PYTHON=ON")
        self.assertRegex(said, "TILEWRIGHT_PYTHON=ON, but .*(has nanobind 2.1.0 and NumPy 1.26.4|no Python 3.10 or newer)")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
