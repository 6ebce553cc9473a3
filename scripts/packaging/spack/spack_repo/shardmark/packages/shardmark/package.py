# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Shardmark(CMakePackage):
    """Benchmark and reference suite for distributed embedding learning: kernels, exchanges, placements, for processors.

    There is no +cuda: nvcc 13 needs a Kokkos with Kokkos_ENABLE_IMPL_VIEW_LEGACY, which Spack's recipe does not offer;
    `scripts/setup cuda` builds one."""

    git = Path(__file__).resolve().parents[7].as_uri()  # the checkout that holds this recipe

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3.1:")
    depends_on("hdf5@1.10.2: +mpi")
    depends_on("kokkos@4.7 +openmp +serial cxxstd=20")
    depends_on("lapack")
    depends_on("fmt@9:")
    depends_on("cli11@2.1:")
    depends_on("nlohmann-json@3.10:")
    depends_on("hwloc@2:")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("zstd")

    conflicts("%gcc@:11", msg="C++20 as of GCC 12 is needed")

    def cmake_args(self):
        return [self.define("SHARDMARK_TESTS", False), self.define("SHARDMARK_BENCHMARKS", False)]
