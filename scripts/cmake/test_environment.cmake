# SPDX-License-Identifier: Apache-2.0
# Included by ctest: the environment of every test. More ranks than cores, which yield while they wait; as root only in
# containers, where it is the only user. Variables rather than options of mpiexec, so that an MPI other than Open MPI 4
# (OMPI_) or 5 (PRTE_) ignores them.
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_hwloc_base_binding_policy} none)
set(ENV{OMPI_MCA_mpi_yield_when_idle} 1)
set(ENV{OMPI_MCA_pml} ob1) # of all ways to send, that of shared memory and TCP: looking for the others takes 0.2 s a launch
# Nor does a launch look for devices on buses, or share what it knows in files of 4 MiB: together a third of its time.
set(ENV{HWLOC_COMPONENTS} -pci,-linuxio)
set(ENV{PMIX_MCA_gds} hash)
set(ENV{PRTE_MCA_rmaps_default_mapping_policy} :oversubscribe)
set(ENV{PRTE_MCA_hwloc_default_binding_policy} none)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{SHARDMARK_MACHINE} off) # nothing is calibrated but where a test asks for it
set(ENV{OMP_NUM_THREADS} 2)
set(ENV{OMP_PROC_BIND} false)
set(ENV{OMP_WAIT_POLICY} passive) # threads of oversubscribed ranks must not spin

# Every mpiexec makes and removes the folder ompi.HOST.USER, and fails when two that start together make it at once: here it
# stays.
set(temporary "/tmp")
if(DEFINED ENV{TMPDIR})
  set(temporary "$ENV{TMPDIR}")
endif()
execute_process(COMMAND uname -n OUTPUT_VARIABLE host OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND id -u OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
file(MAKE_DIRECTORY "${temporary}/ompi.${host}.${user}/tests")

# Found once: each look imports NumPy.
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../python -c "import sys; print(sys.executable)"
  OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(python)
  set(ENV{SHARDMARK_PYTHON} ${python})
endif()
