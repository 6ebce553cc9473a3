# SPDX-License-Identifier: Apache-2.0
# Headers of libraries that most files include, precompiled once for all targets with the same flags. Included where the
# flags of all targets are known; only where files are compiled many at once, which hides what each lacks of them anyway.
if(NOT CMAKE_UNITY_BUILD OR SHARDMARK_CUDA) # nvcc knows no precompiled headers
  return()
endif()
set(common <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <limits>
  <map> <memory> <numbers> <numeric> <optional> <random> <set> <span> <sstream> <stdexcept> <string> <string_view> <tuple>
  <type_traits> <unordered_map> <utility> <vector> <fmt/format.h> <nlohmann/json.hpp>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/empty.cpp CONTENT "")

# shardmark_precompiled(NAME libraries <header> ...): what reuses it has the macros of the libraries that it has read.
function(shardmark_precompiled name libraries)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/empty.cpp)
  target_link_libraries(${name} PRIVATE shardmark_warnings ${libraries})
  foreach(library IN LISTS libraries)
    target_compile_definitions(${name} INTERFACE $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
  target_precompile_headers(${name} PRIVATE ${common} ${ARGN})
endfunction()

set(libraries fmt::fmt nlohmann_json::nlohmann_json)
shardmark_precompiled(shardmark_headers "${libraries}")
list(APPEND libraries MPI::MPI_CXX)
set(of_tests "")
if(SHARDMARK_TESTS)
  list(APPEND libraries GTest::gtest)
  set(of_tests <gtest/gtest.h>)
  shardmark_precompiled(shardmark_test_headers "${libraries}" <mpi.h> ${of_tests}) # of tests that are not OPTIMIZED
  shardmark_compile_quickly(shardmark_test_headers -O0)
  shardmark_leave_out_of_odr(shardmark_test_headers)
endif()
# Of libraries with kernels, and of tests that are optimised as they are.
shardmark_precompiled(shardmark_kokkos_headers "${libraries};Kokkos::kokkos" <Kokkos_Core.hpp> <mpi.h> ${of_tests})
target_compile_options(shardmark_kokkos_headers PRIVATE $<TARGET_PROPERTY:shardmark_kernels,INTERFACE_COMPILE_OPTIONS>)
if(SHARDMARK_TESTS) # has a macro among its options
  target_compile_options(shardmark_kokkos_headers INTERFACE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
endif()
