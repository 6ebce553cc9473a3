// SPDX-License-Identifier: Apache-2.0
// Rank 0 prints as usual, the others print their failures only, with their rank; the verdict is that of all ranks.
#include <gtest/gtest.h>
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <cstdio>

/// Defined by tests several threads of which use MPI: MPI_THREAD_MULTIPLE.
__attribute__((weak)) int mpi_threads_of_tests();

namespace {

class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "[rank %d] %s:%d: %s\n", rank_, result.file_name() ? result.file_name() : "?",
                 result.line_number(), result.summary());
  }

 private:
  int rank_;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, mpi_threads_of_tests ? mpi_threads_of_tests() : MPI_THREAD_SINGLE, &provided);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly(rank));
    GTEST_FLAG_SET(output, "");  // a file, which rank 0 writes
  }
  int failed = 0;
  {
    // One thread: the ranks of a test outnumber the cores, and threads that wait for each other would spin.
    Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings().set_num_threads(1).set_disable_warnings(true));
    failed = RUN_ALL_TESTS();
  }
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && failed == 0 && any != 0) std::printf("[  FAILED  ] on a rank other than 0\n");
  MPI_Finalize();
  return any;
}
