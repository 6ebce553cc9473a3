// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA runtime that this folder calls, for ranks without a GPU: memory that the host cannot touch,
// and streams whose work runs only where CUDA lets the host wait for it. So a missing wait is a wrong value in each
// run, not a race, and a host that touches a GPU's memory ends with a line. What CUDA leaves open happens as late as it
// may:
// - A stream runs where the host queries or waits for it, for an event behind its work, or for all work of its GPU
//   (cudaFree, but not cudaFreeHost). The legacy stream and others wait for each other, but for cudaStreamNonBlocking.
// - A copy from pageable memory reads it during the call, one from pinned memory when the stream runs. One to pageable
//   memory has run at return. cudaMemcpy on one GPU, or to it from pageable memory, may run after its return.
// A rank's work moves only while that rank is in one of these functions: ranks that wait for MPI meanwhile, with work
// queued that others wait for, hang here and not on GPUs. A process uses this by one thread at a time.
#include "comm/test/emulated_cuda.hpp"

#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <utility>

struct CUstream_st {
  int gpu = 0;
  bool with_legacy = true;
  shardmark::comm::EmulatedWorkPtr last{};
};
struct CUevent_st {
  shardmark::comm::EmulatedWorkPtr work{};
};

namespace shardmark::comm {
namespace {

// Memory.

struct Block {
  std::size_t bytes = 0;
  int gpu = 0;
  bool freed = false;
};

/// Gives out addresses once: each block has pages of its own, filled with 0xff (NaN, -1), a page behind them that is
/// nobody's, and none after it is freed.
class Region {
 public:
  /// The memory is hidden from the host and seen at inside() alone, or the host's.
  explicit Region(bool hidden) : hidden_(hidden) {
    const int file = hidden ? memfd_create("emulated_gpu", 0) : -1;
    const int sharing = (hidden ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | MAP_NORESERVE;
    if (hidden && (file < 0 || ftruncate(file, reserved) != 0)) std::abort();
    const auto map = [&](int access) { return mmap(nullptr, reserved, access, sharing, file, 0); };
    base_ = static_cast<std::byte*>(map(PROT_NONE));
    inside_ = hidden ? static_cast<std::byte*>(map(PROT_READ | PROT_WRITE)) : base_;
    if (base_ == MAP_FAILED || inside_ == MAP_FAILED) std::abort();
    if (hidden) close(file);
  }

  void* take(std::size_t bytes, int gpu) {
    const std::size_t begin = used_;
    if (begin + pages_of(bytes) + page > reserved) std::abort();
    used_ += pages_of(bytes) + page;
    if (!hidden_) mprotect(base_ + begin, pages_of(bytes), PROT_READ | PROT_WRITE);
    std::memset(inside_ + begin, 0xff, pages_of(bytes));
    blocks_[begin] = {bytes, gpu};
    return base_ + begin;
  }

  /// Frees the block that begins at `at`, and returns whether there is one.
  bool give_back(const void* at) {
    const auto [block, place] = block_at(at);
    if (block == nullptr || block->freed || place != 0) return false;
    block->freed = true;
    madvise(inside(at), pages_of(block->bytes), hidden_ ? MADV_REMOVE : MADV_DONTNEED);
    if (!hidden_) mprotect(inside(at), pages_of(block->bytes), PROT_NONE);
    return true;
  }

  bool holds(const void* at) const { return at >= base_ && at < base_ + reserved; }

  /// Returns the block at or before `at`, null before the first, and how far behind its begin `at` is.
  std::pair<Block*, std::size_t> block_at(const void* at) {
    const std::size_t offset = static_cast<const std::byte*>(at) - base_;
    auto block = holds(at) ? blocks_.upper_bound(offset) : blocks_.begin();
    if (block == blocks_.begin()) return {nullptr, 0};
    --block;
    return {&block->second, offset - block->first};
  }

  /// Returns the block that has these bytes; null where they are not all of one that is not freed.
  const Block* block_of(const void* at, std::size_t bytes) {
    const auto [block, place] = block_at(at);
    return block != nullptr && !block->freed && place + bytes <= block->bytes ? block : nullptr;
  }

  std::byte* inside(const void* at) const { return inside_ + (static_cast<const std::byte*>(at) - base_); }

  std::size_t bytes_of(int gpu) const {
    std::size_t sum = 0;
    for (const auto& [begin, block] : blocks_) sum += block.gpu == gpu && !block.freed ? block.bytes : 0;
    return sum;
  }

 private:
  static constexpr std::size_t reserved = std::size_t{1} << 36, page = 4096;
  static std::size_t pages_of(std::size_t bytes) { return (bytes + page - 1) / page * page; }

  bool hidden_;
  std::byte *base_, *inside_;
  std::size_t used_ = 0;
  std::map<std::size_t, Block> blocks_;
};

void report_fault(int, siginfo_t* info, void*);

struct Memory {
  Region of_gpus{true}, pinned{false};

  Memory() {
    emulated_rank();
    struct sigaction action {};
    action.sa_sigaction = report_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
  }
  /// Returns the region of an address; null for pageable memory.
  Region* of(const void* at) {
    if (of_gpus.holds(at)) return &of_gpus;
    return pinned.holds(at) ? &pinned : nullptr;
  }
};

Memory& memory() {
  static auto* const all = new Memory;
  return *all;
}

bool on_emulated_gpu(const void* at) { return memory().of(at) == &memory().of_gpus; }

/// Returns whether CUDA accepts the bytes as an argument: all of one allocation, or pageable.
bool valid(const void* at, std::size_t bytes) {
  Region* const region = memory().of(at);
  return region == nullptr ? at != nullptr : region->block_of(at, bytes) != nullptr;
}

/// Returns where the bytes can be read and written; null where they are not valid (any more).
std::byte* inside(const void* at, std::size_t bytes) {
  if (!valid(at, bytes)) return nullptr;
  return on_emulated_gpu(at) ? memory().of_gpus.inside(at) : static_cast<std::byte*>(const_cast<void*>(at));
}

void report_fault(int, siginfo_t* info, void*) {
  if (Region* const region = memory().of(info->si_addr)) {
    const auto [block, place] = region->block_at(info->si_addr);
    print_emulated("the host touches %s memory%s: byte %zu of an allocation of %zu",
                   region == &memory().of_gpus ? "a GPU's" : "pinned", block && block->freed ? " that is freed" : "",
                   place, block ? block->bytes : 0);
  }
  std::signal(SIGSEGV, SIG_DFL);  // the access is made again, and ends the process
}

// Streams.

struct Process {
  EmulatedGpus gpus{};
  std::int64_t calls = 0;
  int gpu = 0;                      ///< the current one
  cudaError_t error = cudaSuccess;  ///< stays once it is there
  std::map<int, CUstream_st> legacy{};
  std::set<cudaStream_t> streams{};
  std::vector<std::pair<int, EmulatedWorkPtr>> of_destroyed{};  ///< by GPU: work of streams that were destroyed
};

Process& process() {
  static auto* const state = new Process;
  return *state;
}

/// Returns null for a handle that is none.
CUstream_st* stream_of(cudaStream_t handle) {
  Process& p = process();
  if (handle != nullptr && handle != cudaStreamLegacy) return p.streams.contains(handle) ? handle : nullptr;
  p.legacy[p.gpu].gpu = p.gpu;
  return &p.legacy[p.gpu];
}

bool nothing() { return true; }

EmulatedWorkPtr push(CUstream_st& stream, std::function<bool()> step, const EmulatedWorkPtr& also = {}) {
  Process& p = process();
  auto work = std::make_shared<EmulatedWork>();
  work->step = std::move(step);
  const auto behind = [&](const EmulatedWorkPtr& other) {
    if (other && !other->done) work->after.push_back(other);
  };
  behind(stream.last);
  behind(also);
  CUstream_st& legacy = p.legacy[stream.gpu];
  if (stream.with_legacy) behind(legacy.last);
  for (const cudaStream_t other : p.streams)
    if (&stream == &legacy && other->gpu == stream.gpu && other->with_legacy) behind(other->last);
  return stream.last = work;
}

/// Runs work without waiting for what other ranks have to do.
cudaError_t query(const EmulatedWorkPtr& work) {
  const bool done = !work || work->advance();
  if (process().error != cudaSuccess) return process().error;
  return done ? cudaSuccess : cudaErrorNotReady;
}

void wait_for_all_work(int gpu) {
  Process& p = process();
  for (const auto& [number, work] : p.of_destroyed)
    if (number == gpu) wait_for_emulated(work);
  std::erase_if(p.of_destroyed, [](const auto& one) { return one.second->done; });
  for (const cudaStream_t stream : p.streams)
    if (stream->gpu == gpu) wait_for_emulated(stream->last);
  wait_for_emulated(p.legacy[gpu].last);
}

bool copy_now(void* to, const void* from, std::size_t bytes) {
  std::byte *target = inside(to, bytes), *source = inside(from, bytes);
  if (target == nullptr || source == nullptr) return emulated_illegal_address();
  std::memmove(target, source, bytes);
  return true;
}

/// Queues a copy, and runs it where the host may rely on that: `whole_call` for cudaMemcpy, not cudaMemcpyAsync.
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, CUstream_st* stream,
                 bool whole_call) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  if (!valid(to, bytes) || !valid(from, bytes)) return cudaErrorInvalidValue;
  const bool to_gpu = on_emulated_gpu(to), from_gpu = on_emulated_gpu(from);
  const auto actual = from_gpu ? (to_gpu ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost)
                               : (to_gpu ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost);
  if (kind != cudaMemcpyDefault && kind != actual) return cudaErrorInvalidMemcpyDirection;
  if (to_gpu && memory().of(from) == nullptr) {
    if (whole_call) wait_for_emulated(push(*stream, nothing));
    const auto* first = static_cast<const std::byte*>(from);
    push(*stream,
         [to, read = std::vector<std::byte>(first, first + bytes)] { return copy_now(to, read.data(), read.size()); });
    return process().error;
  }
  const EmulatedWorkPtr work = push(*stream, [=] { return copy_now(to, from, bytes); });
  const bool pageable = memory().of(to) == nullptr || memory().of(from) == nullptr;
  const bool at_return = actual == cudaMemcpyHostToHost || pageable || (whole_call && !(to_gpu && from_gpu));
  return at_return ? wait_for_emulated(work) : process().error;
}

}  // namespace

void set_emulated_gpus(const EmulatedGpus& gpus) {
  const std::set<cudaStream_t> streams = std::move(process().streams);
  process() = {.gpus = gpus, .streams = streams};
  for (const cudaStream_t stream : streams) stream->last.reset();
  emulated_mpi_reads_gpus = false;
}

std::int64_t emulated_calls() { return process().calls; }

bool EmulatedWork::advance() {
  if (done) return true;
  for (const auto& other : after)
    if (!other->advance()) return false;
  if (!step()) return false;
  after.clear();
  step = nullptr;
  return done = true;
}

cudaError_t enter_emulated_cuda() {
  Process& p = process();
  if (p.gpus.driver / 1000 < CUDART_VERSION / 1000) return cudaErrorInsufficientDriver;
  if (p.gpus.visible.empty()) return cudaErrorNoDevice;
  if (p.calls++ == p.gpus.lost_after) p.error = cudaErrorDevicesUnavailable;
  return p.error;
}

int emulated_gpu_of(cudaStream_t handle) {
  const CUstream_st* stream = stream_of(handle);
  return stream == nullptr ? -1 : stream->gpu;
}

EmulatedWorkPtr push_emulated(cudaStream_t stream, std::function<bool()> step, const EmulatedWorkPtr& also) {
  return push(*stream_of(stream), std::move(step), also);
}

bool emulated_step_needs_lost_rank = false;

cudaError_t wait_for_emulated(const EmulatedWorkPtr& work) {
  constexpr auto patience = std::chrono::seconds(2);  // what other ranks have sent may be under way
  const auto begin = std::chrono::steady_clock::now();
  emulated_step_needs_lost_rank = false;
  while (work && !work->advance()) {
    std::this_thread::yield();
    if (emulated_step_needs_lost_rank && std::chrono::steady_clock::now() > begin + patience) {
      print_emulated("the host waits in CUDA for work that needs a rank that is lost: on a GPU, for ever");
      std::abort();
    }
  }
  return process().error;
}

int current_emulated_gpu() { return process().gpu; }
int number_of_emulated_gpu(int gpu) { return process().gpus.visible[gpu]; }

std::byte* seen_by_emulated_gpu(int gpu, const void* at, std::size_t bytes) {
  Region* const region = memory().of(at);
  const Block* block = region == nullptr ? nullptr : region->block_of(at, bytes);
  return block == nullptr || (on_emulated_gpu(at) && block->gpu != gpu) ? nullptr : region->inside(at);
}

bool emulated_illegal_address() {
  process().error = cudaErrorIllegalAddress;
  return true;
}

int emulated_rank() {
  static const int rank = [] {
    int number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    return number;
  }();
  return rank;
}

void print_emulated(const char* format, ...) {
  char line[300];
  const int begin = std::snprintf(line, sizeof line, "emulated GPU: rank %d: ", emulated_rank());
  va_list values;
  va_start(values, format);
  const int more = std::vsnprintf(line + begin, sizeof line - begin - 1, format, values);
  va_end(values);
  const auto end = std::min<std::size_t>(begin + more, sizeof line - 2);
  line[end] = '\n';
  if (write(STDERR_FILENO, line, end + 1) < 0) std::abort();
}

}  // namespace shardmark::comm

using namespace shardmark::comm;

cudaError_t cudaDriverGetVersion(int* version) {
  *version = process().gpus.driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidMemcpyDirection:
      return "invalid copy direction for memcpy";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorDevicesUnavailable:
      return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    default:
      return "unrecognized error code";
  }
}

cudaError_t cudaGetDeviceCount(int* count) {
  const cudaError_t error = enter_emulated_cuda();
  *count = error ? 0 : static_cast<int>(process().gpus.visible.size());
  return error;
}

cudaError_t cudaSetDevice(int number) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  if (number < 0 || number >= std::ssize(process().gpus.visible)) return cudaErrorInvalidDevice;
  process().gpu = number;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* number) {
  *number = process().gpu;
  return enter_emulated_cuda();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  if (number < 0 || number >= std::ssize(process().gpus.visible)) return cudaErrorInvalidDevice;
  const int gpu = number_of_emulated_gpu(number);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "Emulated GPU");
  std::memcpy(properties->uuid.bytes, &gpu, sizeof gpu);
  properties->pciBusID = 16 + gpu;
  properties->totalGlobalMem = process().gpus.memory;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  *total = process().gpus.memory;
  *free = *total - std::min(*total, memory().of_gpus.bytes_of(process().gpu));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  std::size_t free = 0, total = 0;
  *at = nullptr;
  if (const cudaError_t error = cudaMemGetInfo(&free, &total)) return error;
  if (bytes > free) return cudaErrorMemoryAllocation;
  if (bytes > 0) *at = memory().of_gpus.take(bytes, process().gpu);
  return cudaSuccess;
}

cudaError_t cudaFree(void* at) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  if (at == nullptr) return cudaSuccess;
  const Block* block = memory().of_gpus.block_of(at, 0);
  if (block == nullptr) return cudaErrorInvalidValue;
  wait_for_all_work(block->gpu);
  return memory().of_gpus.give_back(at) ? process().error : cudaErrorInvalidValue;
}

cudaError_t cudaMallocHost(void** at, std::size_t bytes) {
  *at = nullptr;
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  if (bytes > 0) *at = memory().pinned.take(bytes, process().gpu);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* at) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  return at == nullptr || memory().pinned.give_back(at) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  Region* const region = memory().of(at);
  const Block* block = region == nullptr ? nullptr : region->block_of(at, 1);
  if (block == nullptr) return cudaSuccess;
  attributes->type = on_emulated_gpu(at) ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  attributes->device = block->gpu;
  attributes->devicePointer = const_cast<void*>(at);
  attributes->hostPointer = on_emulated_gpu(at) ? nullptr : const_cast<void*>(at);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  *stream = new CUstream_st{process().gpu, flags != cudaStreamNonBlocking};
  process().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  if (!process().streams.contains(handle)) return cudaErrorInvalidResourceHandle;
  if (handle->last) process().of_destroyed.emplace_back(handle->gpu, handle->last);
  process().streams.erase(handle);
  delete handle;
  return enter_emulated_cuda();
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  const CUstream_st* stream = stream_of(handle);
  return stream == nullptr ? cudaErrorInvalidResourceHandle : query(stream->last);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  const CUstream_st* stream = stream_of(handle);
  return stream == nullptr ? cudaErrorInvalidResourceHandle : wait_for_emulated(stream->last);
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  wait_for_all_work(process().gpu);
  return process().error;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return enter_emulated_cuda();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  event->work = push(*stream, nothing);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  return query(event->work);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  return wait_for_emulated(event->work);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  if (const cudaError_t error = enter_emulated_cuda()) return error;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  push(*stream, nothing, event->work);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(to, from, bytes, kind, stream_of(stream), false);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy(to, from, bytes, kind, stream_of(nullptr), true);
}
