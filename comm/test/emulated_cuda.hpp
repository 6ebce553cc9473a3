// SPDX-License-Identifier: Apache-2.0
// This header configures the GPUs of emulated_cuda.cpp, emulated_nccl.cpp and emulated_mpi.cpp, which stand in for the
// CUDA runtime, NCCL and an MPI that reads GPUs: a test program that has them instead runs device_memory.cpp and
// exchange/nccl.cpp without a GPU. The second half is what the other two need of the first.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shardmark::comm {

/// Describes the GPUs of this process and what goes wrong with them.
struct EmulatedGpus {
  /// Holds the numbers of the GPUs that the process sees, in this order; on all ranks a number is the same GPU.
  std::vector<int> visible = {0, 1, 2, 3, 4, 5, 6, 7};
  std::size_t memory = std::size_t{1} << 30;  ///< bytes of each GPU
  int driver = CUDART_VERSION;                ///< CUDA version that it supports, 12040 for 12.4; 0: there is none
  std::int64_t lost_after = -1;               ///< calls of CUDA and NCCL until the GPU is lost; -1: never
};

/// Begins anew with these GPUs: forgets work that is queued, an error that stays, and the current GPU. Memory remains.
void set_emulated_gpus(const EmulatedGpus& gpus);

/// Returns the calls that were made since set_emulated_gpus().
std::int64_t emulated_calls();

/// Describes memory of GPUs that is given out elsewhere, as that of kernels/test/emulated is: CUDA, NCCL and MPI take
/// it as if cudaMalloc had given it out on the current GPU. Its kernels run on a stream of their own, with which no
/// other is ordered but by events.
struct EmulatedArrays {
  /// Returns whether these bytes are all of one allocation.
  bool (*holds)(const void* at, std::size_t bytes);
  /// Lets the host touch all of it while the result lives.
  std::shared_ptr<void> (*open)();

  const void* stream;          ///< of its kernels: a handle that the functions of CUDA take
  std::recursive_mutex& turn;  ///< is locked by the thread that runs its kernels
  /// Queues a step behind what the stream has; it is made again while it returns false.
  void (*push)(std::function<bool()> step);
  /// Runs what the stream has until `done` returns true, or a step is not done. Returns whether nothing is left.
  bool (*run)(const std::function<bool()>& done);
};
extern const EmulatedArrays* emulated_arrays;  ///< null: there is none

// For emulated_nccl.cpp and emulated_mpi.cpp.

/// An EmulatedWork is a step that may run when all work in `after` has run. It returns true when it is done.
struct EmulatedWork {
  std::vector<std::shared_ptr<EmulatedWork>> after;
  std::function<bool()> step;
  bool done = false;

  bool reach();  ///< runs what it is behind; returns whether it may run
  bool advance();
};
using EmulatedWorkPtr = std::shared_ptr<EmulatedWork>;

/// Is locked by the thread that is in a call, or runs kernels of EmulatedArrays.
std::recursive_mutex& emulated_turn();

/// Is a call of CUDA or NCCL while it lives: counts it, and has the error with which all calls end from now on.
class EmulatedCall {
 public:
  EmulatedCall();

  cudaError_t error;

 private:
  std::lock_guard<std::recursive_mutex> turn_;
};

/// Returns the number of a stream's GPU; -1 for a handle that is none.
int emulated_gpu_of(cudaStream_t stream);

/// Queues work behind that of the stream, and behind `also`. It begins where its turn has come, or where the host waits
/// in CUDA for other work: other ranks may need that before the host waits for this.
EmulatedWorkPtr push_emulated(cudaStream_t stream, std::function<bool()> step, const EmulatedWorkPtr& also,
                              std::function<void()> begin);

/// Begins what the streams let begin, as GPUs do by themselves.
void begin_emulated_work();

/// Runs the work and all that it is behind, in a call, until it is done; ends the process where a GPU would wait for
/// ever.
cudaError_t wait_for_emulated(EmulatedWorkPtr work);

/// Is set by a step that is not done since a rank that it needs is lost.
extern bool emulated_step_needs_lost_rank;

/// Returns the number, among those that the process sees, of the current GPU, and what set_emulated_gpus() calls it.
int current_emulated_gpu();
int number_of_emulated_gpu(int gpu);

/// Returns where NCCL and MPI can read and write, while the result lives, bytes that kernels of GPU `gpu` can; null
/// where these cannot.
std::shared_ptr<std::byte> seen_by_emulated_gpu(int gpu, const void* at, std::size_t bytes);

/// Sets the error that stays where a GPU reads or writes what is not there, or not any more. Returns true.
bool emulated_illegal_address();

/// Returns this process's rank in MPI_COMM_WORLD.
int emulated_rank();

/// Is true from when a program asks whether MPI reads the memory of GPUs (MPIX_Query_cuda_support), until
/// set_emulated_gpus(): an exchange that does not ask must not give it any.
extern bool emulated_mpi_reads_gpus;

/// Prints one line on stderr, in one piece: "emulated GPU: rank N: ...".
void print_emulated(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace shardmark::comm
