# SPDX-License-Identifier: Apache-2.0
# The functions with which every folder declares its library, tests and benchmarks.

# cuda_programs: what nvcc compiles, and is not the same as in a build for processors alone.
set(shardmark_for_nvcc "shardmark::(kernels|workloads)|Kokkos::kokkos")
set(shardmark_not_from_host ${shardmark_for_nvcc}) # nor is comm, which copies memory of GPUs
if(SHARDMARK_CUDA)
  string(PREPEND shardmark_not_from_host "^comm;|")
endif()
if(SHARDMARK_CUDA)
  add_custom_target(cuda_programs)
endif()

# shardmark_host_library(NAME public targets ...): the one that SHARDMARK_HOST_BUILD, a build for processors of the same
# sources, has compiled in the folder of this name.
function(shardmark_host_library name)
  set(target shardmark_${name})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_BINARY_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE folder)
  add_library(${target} STATIC IMPORTED GLOBAL)
  if(NOT TARGET shardmark::${name})
    add_library(shardmark::${name} ALIAS ${target})
  endif()
  set_target_properties(${target} PROPERTIES IMPORTED_NO_SYSTEM ON
    IMPORTED_LOCATION ${SHARDMARK_HOST_BUILD}/${folder}/lib${target}.a)
  target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()

# shardmark_readers(NAME SOURCES ... LINK targets ...): what of the library reads files of others is compiled, and the rest
# is that of SHARDMARK_HOST_BUILD, whose objects come last.
function(shardmark_readers name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  set(target shardmark_${name}_readers)
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(shardmark::${name} ALIAS ${target})
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(${target} PUBLIC shardmark_${name} PRIVATE $<BUILD_INTERFACE:shardmark_warnings> ${arg_LINK})
  target_link_options(${target} INTERFACE LINKER:--allow-multiple-definition)
  shardmark_precompile(${target} headers)
  install(TARGETS ${target} EXPORT shardmark) # as all that the library of workloads is linked to
endfunction()

# shardmark_library(NAME [SOURCES ...] [LINK public targets ...] [LINK_PRIVATE targets ...] [READERS some sources ...])
# Library shardmark::NAME of the current folder; its public headers are all *.hpp below the folder except in test/ and
# bench/ and in folders with a CMakeLists.txt of their own. Without SOURCES it is header-only. Installed and exported.
function(shardmark_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LINK_PRIVATE;READERS" ${ARGN})
  if(SHARDMARK_HOST_BUILD AND NOT "${name};${arg_LINK}" MATCHES "${shardmark_not_from_host}")
    if(SHARDMARK_READERS AND arg_READERS)
      shardmark_readers(${name} SOURCES ${arg_READERS} LINK ${arg_LINK} ${arg_LINK_PRIVATE})
    endif()
    shardmark_host_library(${name} ${arg_LINK} ${arg_LINK_PRIVATE})
    return()
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
  list(FILTER headers EXCLUDE REGEX "/(test|bench)/")
  file(GLOB_RECURSE nested CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(file IN LISTS nested)
    cmake_path(GET file PARENT_PATH folder)
    list(FILTER headers EXCLUDE REGEX "^${folder}/")
  endforeach()
  set(target shardmark_${name})
  if(arg_SOURCES)
    set(scope PUBLIC)
    add_library(${target} STATIC ${arg_SOURCES})
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:shardmark_warnings> ${arg_LINK_PRIVATE})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(shardmark::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(${target} ${scope} ${arg_LINK})
  target_compile_features(${target} ${scope} cxx_std_20)
  if(arg_SOURCES AND "${arg_LINK}" MATCHES "${shardmark_for_nvcc}")
    shardmark_precompile(${target} kokkos_headers)
  elseif(arg_SOURCES)
    shardmark_precompile(${target} headers)
  endif()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  # One level deeper than usual: an include names its folder, and /usr/include/comm is not ours to take.
  install(TARGETS ${target} EXPORT shardmark FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shardmark)
endfunction()

# shardmark_compile_quickly(TARGET [-O0]): nothing in the target is timed: preset release, too, compiles it with -O1, in three
# quarters of the time, or as told.
function(shardmark_compile_quickly target)
  get_target_property(compiled_elsewhere ${target} IMPORTED)
  if(compiled_elsewhere)
    return()
  endif()
  set(levels -O1 ${ARGN})
  list(POP_BACK levels level)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>>:${level}>)
endfunction()

# The target is no part of the program whose definitions SHARDMARK_ODR compares.
function(shardmark_leave_out_of_odr target)
  if(SHARDMARK_ODR)
    target_compile_options(${target} PRIVATE -fno-lto)
  endif()
endfunction()

# shardmark_precompile(TARGET NAME): the target takes the precompiled headers shardmark_NAME (Precompiled.cmake), if there are
# any; they have its flags.
function(shardmark_precompile target name)
  if(TARGET shardmark_${name})
    target_precompile_headers(${target} REUSE_FROM shardmark_${name})
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:shardmark_${name},INTERFACE_COMPILE_DEFINITIONS>)
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:shardmark_${name},INTERFACE_COMPILE_OPTIONS>)
  endif()
endfunction()

# shardmark_program(NAME SOURCES ... LINK targets ...)
function(shardmark_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE shardmark_warnings ${arg_LINK})
  if(SHARDMARK_CUDA AND "${arg_LINK}" MATCHES "${shardmark_for_nvcc}")
    add_dependencies(cuda_programs ${name})
  endif()
endfunction()

# shardmark_benchmark(NAME SOURCES ... LINK targets ...): a program of Google Benchmark that knows how it was built.
function(shardmark_benchmark name)
  if(NOT SHARDMARK_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  shardmark_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} shardmark_build_info benchmark::benchmark)
  shardmark_leave_out_of_odr(${name})
  if(NOT SHARDMARK_CUDA) # names the commit and so is compiled with each; nvcc would take longer over two files
    set_source_files_properties(bench/main.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# shardmark_test(NAME SOURCES ... LINK targets ... [RANKS 1 2 3 4 [PARTS 4]] [MPI] [TIMEOUT seconds] [OPTIMIZED])
# One GoogleTest program test_NAME. Without RANKS: one ctest NAME, label "serial". With RANKS: linked to the MPI main,
# one ctest NAME.npN for each N, labels "mpi" and "ranks-N"; in PARTS: NAME.npN.P, every PARTS-th test each. MPI: so linked,
# for shardmark_test_part. Its data are SHARDMARK_TEST_DATA, the folder's test/data.
function(shardmark_test name)
  if(NOT SHARDMARK_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "OPTIMIZED;MPI" "TIMEOUT;PARTS" "SOURCES;LINK;RANKS" ${ARGN})
  set(target test_${name})
  shardmark_program(${target} SOURCES ${arg_SOURCES} LINK ${arg_LINK} GTest::gtest)
  target_compile_definitions(${target} PRIVATE SHARDMARK_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/test/data")
  if(arg_OPTIMIZED) # its own loops take longer than compiling them well
    shardmark_compile_quickly(${target})
  else()
    shardmark_compile_quickly(${target} -O0)
    # Of templates that its objects and libraries both hold, the linker takes the first: the optimised ones of the library.
    if("${arg_LINK}" MATCHES "shardmark::(cases|datasets|placement|results)" AND NOT SHARDMARK_HOST_BUILD)
      target_link_options(${target} PRIVATE
        LINKER:--whole-archive,$<TARGET_FILE:shardmark_${CMAKE_MATCH_1}>,--no-whole-archive)
    endif()
  endif()
  shardmark_leave_out_of_odr(${target})
  if(arg_OPTIMIZED AND "${arg_LINK}" MATCHES "${shardmark_for_nvcc}")
    shardmark_precompile(${target} kokkos_headers)
  elseif(NOT arg_OPTIMIZED AND NOT "${arg_LINK}" MATCHES "${shardmark_for_nvcc}")
    shardmark_precompile(${target} test_headers)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(arg_RANKS OR arg_MPI)
    target_link_libraries(${target} PRIVATE shardmark_mpi_test_main)
    foreach(ranks IN LISTS arg_RANKS)
      if(NOT arg_PARTS)
        shardmark_mpi_run(${name}.np${ranks} ${ranks} ${arg_TIMEOUT} $<TARGET_FILE:${target}>)
        continue()
      endif()
      foreach(part RANGE 1 ${arg_PARTS})
        set(run ${name}.np${ranks}.${part})
        shardmark_mpi_run(${run} ${ranks} ${arg_TIMEOUT} $<TARGET_FILE:${target}>)
        math(EXPR index "${part} - 1")
        set_tests_properties(${run} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_PARTS};GTEST_SHARD_INDEX=${index}")
      endforeach()
    endforeach()
  else()
    target_link_libraries(${target} PRIVATE shardmark_test_main)
    add_test(NAME ${name} COMMAND ${target})
    set_tests_properties(${name} PROPERTIES LABELS serial TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()

# shardmark_test_part(PROGRAM NAME RANKS 1 3 [SUITES suite ...]): one ctest NAME.npN for each N runs these suites of
# test_PROGRAM. Without SUITES, once for each program and last: those that no part before has named.
function(shardmark_test_part program name)
  if(NOT SHARDMARK_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "RANKS;SUITES" ${ARGN})
  if(arg_SUITES)
    list(TRANSFORM arg_SUITES APPEND ".*")
    set_property(TARGET test_${program} APPEND PROPERTY shardmark_suites ${arg_SUITES})
    list(JOIN arg_SUITES ":" filter)
  else()
    get_target_property(named test_${program} shardmark_suites)
    list(JOIN named ":" filter)
    string(PREPEND filter "-")
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    shardmark_mpi_run(${name}.np${ranks} ${ranks} 300 $<TARGET_FILE:test_${program}> --gtest_filter=${filter})
  endforeach()
endfunction()

# shardmark_mpi_run(NAME RANKS TIMEOUT command...): a ctest that runs the command under mpiexec. It counts as two processors at
# most, as tests with launches of their own do: with more it would start only where several of these have ended at once, at the
# end and alone, where its ranks mostly wait.
function(shardmark_mpi_run name ranks timeout)
  set(processors ${ranks})
  if(ranks GREATER 2)
    set(processors 2)
  endif()
  add_test(NAME ${name} COMMAND ${shardmark_on_one_core} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "mpi;ranks-${ranks}" TIMEOUT ${timeout} PROCESSORS ${processors} RESOURCE_GROUPS cores:1)
endfunction()

# In a unity build a name may hide one of another file.
set(shadow $<IF:$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<CXX_COMPILER_ID:GNU>>,-Wshadow=local,-Wshadow>)
add_library(shardmark_warnings INTERFACE)
target_compile_options(shardmark_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-Wall -Wextra -Wpedantic ${shadow} -Wconversion -Wno-sign-conversion
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>> # false alarms of GCC 12 on std::string +
  $<$<AND:$<BOOL:${SHARDMARK_WARNINGS_AS_ERRORS}>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>>:-Werror>)

if(SHARDMARK_TESTS)
  enable_testing()
  # Tests with RESOURCE_GROUPS cores:1 that begin with this run on one core each, three on a core, where ctest is given this file.
  set(shardmark_on_one_core ${PROJECT_SOURCE_DIR}/scripts/cmake/on_one_core)
  cmake_host_system_information(RESULT shardmark_cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR last "${shardmark_cores} - 1")
  set(slots "")
  foreach(core RANGE ${last})
    list(APPEND slots "{\"id\": \"${core}\", \"slots\": 3}")
  endforeach()
  list(JOIN slots ", " slots)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cores.json
    CONTENT "{\"version\": {\"major\": 1, \"minor\": 0}, \"local\": [{\"cores\": [${slots}]}]}\n")
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY
    TEST_INCLUDE_FILES ${PROJECT_SOURCE_DIR}/scripts/cmake/test_environment.cmake)
  add_library(shardmark_test_main STATIC ${PROJECT_SOURCE_DIR}/scripts/cmake/test_main.cpp)
  target_link_libraries(shardmark_test_main PUBLIC GTest::gtest PRIVATE Kokkos::kokkos)
  set(mpi_test_main ${PROJECT_SOURCE_DIR}/scripts/cmake/mpi_test_main.cpp)
  if(SHARDMARK_CUDA) # in the unit of each test, few of which are built: nvcc takes 12 s over Kokkos' headers alone
    add_library(shardmark_mpi_test_main INTERFACE)
    target_sources(shardmark_mpi_test_main INTERFACE ${mpi_test_main})
    target_link_libraries(shardmark_mpi_test_main INTERFACE GTest::gtest MPI::MPI_CXX Kokkos::kokkos)
  else()
    add_library(shardmark_mpi_test_main STATIC ${mpi_test_main})
    target_link_libraries(shardmark_mpi_test_main PUBLIC GTest::gtest MPI::MPI_CXX PRIVATE Kokkos::kokkos)
  endif()
endif()
