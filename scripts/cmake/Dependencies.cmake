# SPDX-License-Identifier: Apache-2.0
set(HDF5_PREFER_PARALLEL ON)
# Kokkos that scripts/setup built into the checkout, unless the user names another one.
list(APPEND CMAKE_PREFIX_PATH ${PROJECT_SOURCE_DIR}/.deps/kokkos)

find_package(MPI 3.1 REQUIRED COMPONENTS CXX)
find_package(Kokkos 4.7 CONFIG REQUIRED)
find_package(HDF5 1.10.2 REQUIRED COMPONENTS C)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(CLI11 2.1 CONFIG REQUIRED)
find_package(nlohmann_json 3.10 CONFIG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)

if(SHARDMARK_TESTS)
  find_package(GTest REQUIRED)
endif()
if(SHARDMARK_BENCHMARKS)
  find_package(benchmark CONFIG REQUIRED)
endif()
