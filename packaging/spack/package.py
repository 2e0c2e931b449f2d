# Spack recipe. In a repository of packages this file is packages/tilewright/package.py; from a checkout,
# `spack dev-build tilewright@0.2.0` builds the sources that it lies in. Each feature is ON or OFF: nothing is taken because it
# happens to be there.
from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Tilewright(CMakePackage):
    """Matrix multiplication that tunes itself and explains its choice: batches of small matrices and single large ones on CPUs
    and NVIDIA GPUs, from C++, C, Fortran, and by BLAS names."""

    maintainers()
    license("BSD-3-Clause", checked_by="tilewright")

    version("0.2.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("cuda", default=False, description="Include the GPU sources; driver and compiler are opened at run time")
    variant("tool", default=True, description="Build the command-line tool")
    variant("multinode", default=False, description="Build ScaLAPACK's names and what several processes do together")
    variant("eigen_peer", default=False, when="+tool", description="Compile Eigen as a peer of bench")
    variant("libxsmm_peer", default=False, when="+tool", description="Compile LIBXSMM as a peer of bench")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11", type="build", when="+tool")
    depends_on("cuda@12:", type="build", when="+cuda")
    depends_on("eigen", type="build")
    depends_on("fmt")
    depends_on("highway")
    depends_on("hwloc")
    depends_on("libxsmm", when="+libxsmm_peer")
    depends_on("nettle")
    depends_on("nlohmann-json", type="build")
    depends_on("spdlog")
    depends_on("sqlite")
    depends_on("xbyak", type="build")
    depends_on("zlib-api")

    requires("%gcc@12:", "%clang@14:", policy="one_of", msg="C++20 is needed")
    generator("ninja")

    def cmake_args(self):
        target = self.spec.target
        march = {"x86_64": "x86-64"}.get(target.name, target.name) if str(target.family) == "x86_64" else "armv8-a"
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("TILEWRIGHT_GPU", "cuda"),
            self.define_from_variant("TILEWRIGHT_TOOL", "tool"),
            self.define_from_variant("TILEWRIGHT_MULTINODE", "multinode"),
            self.define_from_variant("TILEWRIGHT_PEER_EIGEN", "eigen_peer"),
            self.define_from_variant("TILEWRIGHT_PEER_LIBXSMM", "libxsmm_peer"),
            # Spack compiles for the processor that it is asked for; bench follows it on x86-64.
            self.define("TILEWRIGHT_MARCH", march),
            self.define("TILEWRIGHT_CCACHE", False),
            self.define("TILEWRIGHT_DEVELOPER", False),
            self.define("TILEWRIGHT_MPI", False),
            self.define("TILEWRIGHT_FORTRAN", False),
            self.define("TILEWRIGHT_PYTHON", False),
        ]
