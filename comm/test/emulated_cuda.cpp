// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA runtime that this folder calls, for ranks without a GPU: memory that the host cannot touch,
// and streams whose work runs only where CUDA lets the host wait for it. So a missing wait is a wrong value in each
// run, not a race, and a host that touches a GPU's memory ends with a line. What CUDA leaves open happens as late as it
// may:
// - A stream runs where the host queries or waits for it, for an event behind its work, or for all work of its GPU
//   (cudaFree, but not cudaFreeHost). The legacy stream and others wait for each other, but for cudaStreamNonBlocking
//   and the stream of the kernels of EmulatedArrays.
// - A copy from pageable memory reads it during the call, one from pinned memory when the stream runs. One to pageable
//   memory has run at return. cudaMemcpy on one GPU, or to it from pageable memory, may run after its return.
// A rank's work moves only while that rank is in one of these functions: ranks that wait for MPI meanwhile, with work
// queued that others wait for, hang here and not on GPUs. Threads of a process take turns.
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
#include <new>
#include <optional>
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
  std::shared_ptr<double> seconds{};  ///< when the work ran
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
  struct sigaction before {};  ///< of what else is done about a fault

  Memory() {
    emulated_rank();
    struct sigaction action {};
    action.sa_sigaction = report_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
  }
  /// Returns the region of an address; null for pageable memory.
  Region* of(const void* at) {
    if (of_gpus.holds(at)) return &of_gpus;
    return pinned.holds(at) ? &pinned : nullptr;
  }
};

Memory& memory() {
  alignas(Memory) static char storage[sizeof(Memory)];  // never destroyed, and not in a heap that may be closed
  static auto* const all = new (storage) Memory;
  return *all;
}

enum class Kind { pageable, pinned, of_gpu };

/// Describes some bytes as CUDA sees them.
struct Place {
  Kind kind = Kind::pageable;
  int gpu = -1;         ///< the one that has them, or for which they were pinned
  bool valid = false;   ///< whether CUDA takes them as an argument: all of one allocation, or pageable
  std::byte* inside{};  ///< where this process has them

  /// Returns where they can be touched while the result lives; null where they are not valid (any more).
  std::shared_ptr<std::byte> touch() const {
    const bool open = valid && kind == Kind::of_gpu && emulated_arrays != nullptr && emulated_arrays->holds(inside, 0);
    return {open ? emulated_arrays->open() : nullptr, valid ? inside : nullptr};
  }
};

Place place_of(const void* at, std::size_t bytes) {
  auto* const same = static_cast<std::byte*>(const_cast<void*>(at));
  if (emulated_arrays != nullptr && emulated_arrays->holds(at, 0))
    return {Kind::of_gpu, current_emulated_gpu(), emulated_arrays->holds(at, bytes), same};
  Region* const region = memory().of(at);
  if (region == nullptr) return {.valid = at != nullptr, .inside = same};
  const Block* const block = region->block_of(at, bytes);
  return {region == &memory().of_gpus ? Kind::of_gpu : Kind::pinned, block ? block->gpu : -1, block != nullptr,
          region->inside(at)};
}

void report_fault(int signal, siginfo_t* info, void* context) {
  Region* const region = memory().of(info->si_addr);
  if (region == nullptr && (memory().before.sa_flags & SA_SIGINFO) != 0)
    return memory().before.sa_sigaction(signal, info, context);
  if (region != nullptr) {
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
  cudaError_t error = cudaSuccess;  ///< stays once it is there
  std::map<int, CUstream_st> legacy{};
  std::set<cudaStream_t> streams{};
  std::vector<std::pair<int, EmulatedWorkPtr>> of_destroyed{};  ///< by GPU: work of streams that were destroyed
  std::vector<std::pair<EmulatedWorkPtr, std::function<void()>>> to_begin{};
};

Process& process() {
  static auto* const state = new Process;
  return *state;
}

thread_local int current_gpu = 0;

/// Is that of EmulatedArrays, whose work is queued there.
CUstream_st* stream_of_kernels() {
  static CUstream_st stream{.with_legacy = false};
  return &stream;
}

bool runs_kernels(cudaStream_t handle) { return emulated_arrays != nullptr && handle == emulated_arrays->stream; }

/// Returns null for a handle that is none.
CUstream_st* stream_of(cudaStream_t handle) {
  Process& p = process();
  if (runs_kernels(handle)) {
    stream_of_kernels()->gpu = current_gpu;
    return stream_of_kernels();
  }
  if (handle != nullptr && handle != cudaStreamLegacy) return p.streams.contains(handle) ? handle : nullptr;
  p.legacy[current_gpu].gpu = current_gpu;
  return &p.legacy[current_gpu];
}

bool nothing() { return true; }

/// Ends the process where `work` has not been done for long since a rank is lost; `since`: from when on.
void give_up_on(const EmulatedWork& work, std::optional<std::chrono::steady_clock::time_point>& since) {
  constexpr auto patience = std::chrono::seconds(2);  // what other ranks have sent may be under way
  const auto now = std::chrono::steady_clock::now();
  if (work.done || !emulated_step_needs_lost_rank) return since.reset();
  if (now <= since.value_or(now) + patience) return static_cast<void>(since = since.value_or(now));
  print_emulated("the host waits in CUDA for work that needs a rank that is lost: on a GPU, for ever");
  std::abort();
}

/// Queues work behind kernels; the result is done when they and it have run.
EmulatedWorkPtr push_behind_kernels(std::function<bool()> step, const EmulatedWorkPtr& also) {
  auto work = std::make_shared<EmulatedWork>(), behind_kernels = std::make_shared<EmulatedWork>();
  work->step = std::move(step);
  if (also && !also->done) work->after.push_back(also);
  emulated_arrays->push([work, since = std::optional<std::chrono::steady_clock::time_point>()]() mutable {
    emulated_step_needs_lost_rank = false;
    work->advance();
    give_up_on(*work, since);
    return work->done;
  });
  behind_kernels->step = [work] {
    emulated_arrays->run([&work] { return work->done; });
    return work->done;
  };
  return behind_kernels;
}

/// Queues work behind that of the stream and `also`.
EmulatedWorkPtr push(CUstream_st& stream, std::function<bool()> step, const EmulatedWorkPtr& also = {}) {
  Process& p = process();
  if (&stream == stream_of_kernels()) return push_behind_kernels(std::move(step), also);
  auto work = std::make_shared<EmulatedWork>();
  work->step = std::move(step);
  const auto behind = [&](const EmulatedWorkPtr& other) {
    if (other && !other->done) work->after.push_back(other);
  };
  behind(also);  // which runs before work that it need not wait for
  behind(stream.last);
  CUstream_st& legacy = p.legacy[stream.gpu];
  if (stream.with_legacy) behind(legacy.last);
  for (const cudaStream_t other : p.streams)
    if (&stream == &legacy && other->gpu == stream.gpu && other->with_legacy) behind(other->last);
  return stream.last = work;
}

/// Queues work that has no effect but for its place in the order: where it waits for nothing, it is done at once.
EmulatedWorkPtr push_mark(CUstream_st& stream, std::function<bool()> step, const EmulatedWorkPtr& also = {}) {
  EmulatedWorkPtr work = push(stream, std::move(step), also);
  if (work->after.empty() && &stream != stream_of_kernels()) work->advance();
  return work;
}

/// Runs work without waiting for what other ranks have to do.
cudaError_t query(const EmulatedWorkPtr& work) {
  const bool done = !work || work->advance();
  if (!done) begin_emulated_work();
  if (process().error != cudaSuccess) return process().error;
  return done ? cudaSuccess : cudaErrorNotReady;
}

void wait_for_all_work(int gpu) {
  Process& p = process();
  std::vector<EmulatedWorkPtr> all{p.legacy[gpu].last};  // other threads may make and destroy streams meanwhile
  for (const auto& [number, work] : p.of_destroyed)
    if (number == gpu) all.push_back(work);
  for (const cudaStream_t stream : p.streams)
    if (stream->gpu == gpu) all.push_back(stream->last);
  for (const EmulatedWorkPtr& work : all) wait_for_emulated(work);
  std::erase_if(p.of_destroyed, [](const auto& one) { return one.second->done; });
}

bool copy_now(void* to, const void* from, std::size_t bytes) {
  const auto target = place_of(to, bytes).touch(), source = place_of(from, bytes).touch();
  if (target == nullptr || source == nullptr) return emulated_illegal_address();
  std::memmove(target.get(), source.get(), bytes);
  return true;
}

/// Queues a copy, and runs it where the host may rely on that: `whole_call` for cudaMemcpy, not cudaMemcpyAsync.
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t handle,
                 bool whole_call) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  CUstream_st* const stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  const Place target = place_of(to, bytes), source = place_of(from, bytes);
  if (!target.valid || !source.valid) return cudaErrorInvalidValue;
  const bool to_gpu = target.kind == Kind::of_gpu, from_gpu = source.kind == Kind::of_gpu;
  const auto actual = from_gpu ? (to_gpu ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost)
                               : (to_gpu ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost);
  if (kind != cudaMemcpyDefault && kind != actual) return cudaErrorInvalidMemcpyDirection;
  if (to_gpu && source.kind == Kind::pageable) {
    if (whole_call) wait_for_emulated(push(*stream, nothing));
    const auto* first = static_cast<const std::byte*>(from);
    push(*stream,
         [to, read = std::vector<std::byte>(first, first + bytes)] { return copy_now(to, read.data(), read.size()); });
    return process().error;
  }
  const EmulatedWorkPtr work = push(*stream, [=] { return copy_now(to, from, bytes); });
  const bool pageable = target.kind == Kind::pageable || source.kind == Kind::pageable;
  const bool at_return = actual == cudaMemcpyHostToHost || pageable || (whole_call && !(to_gpu && from_gpu));
  return at_return ? wait_for_emulated(work) : process().error;
}

std::size_t bytes_left() {
  const std::size_t all = process().gpus.memory;
  return all - std::min(all, memory().of_gpus.bytes_of(current_gpu));
}

}  // namespace

const EmulatedArrays* emulated_arrays = nullptr;

void set_emulated_gpus(const EmulatedGpus& gpus) {
  const std::set<cudaStream_t> streams = std::move(process().streams);
  process() = {.gpus = gpus, .streams = streams};
  for (const cudaStream_t stream : streams) stream->last.reset();
  current_gpu = 0;
  emulated_mpi_reads_gpus = false;
}

std::int64_t emulated_calls() { return process().calls; }

bool EmulatedWork::reach() {
  return std::ranges::all_of(after, [](const auto& other) { return other->advance(); });
}

bool EmulatedWork::advance() {
  if (done) return true;
  if (!reach() || !step()) return false;
  after.clear();
  step = nullptr;
  return done = true;
}

std::recursive_mutex& emulated_turn() {
  static auto* const turn = new std::recursive_mutex;
  return emulated_arrays != nullptr ? emulated_arrays->turn : *turn;
}

EmulatedCall::EmulatedCall() : turn_(emulated_turn()) {
  Process& p = process();
  const bool old_driver = p.gpus.driver / 1000 < CUDART_VERSION / 1000, none = p.gpus.visible.empty();
  if (!old_driver && !none && p.calls++ == p.gpus.lost_after) p.error = cudaErrorDevicesUnavailable;
  error = old_driver ? cudaErrorInsufficientDriver : none ? cudaErrorNoDevice : p.error;
}

int emulated_gpu_of(cudaStream_t handle) {
  const CUstream_st* stream = stream_of(handle);
  return stream == nullptr ? -1 : stream->gpu;
}

EmulatedWorkPtr push_emulated(cudaStream_t stream, std::function<bool()> step, const EmulatedWorkPtr& also,
                              std::function<void()> begin) {
  EmulatedWorkPtr work = push(*stream_of(stream), std::move(step), also);
  auto& later = process().to_begin;
  std::erase_if(later, [](const auto& one) { return one.first->done; });
  if (work->after.empty())
    begin();
  else
    later.emplace_back(work, std::move(begin));
  return work;
}

void begin_emulated_work() {
  std::erase_if(process().to_begin, [](const auto& one) {
    const auto& [work, begin] = one;
    if (!work->done && !work->reach()) return false;
    if (!work->done) begin();
    return true;
  });
}

bool emulated_step_needs_lost_rank = false;

cudaError_t wait_for_emulated(EmulatedWorkPtr work) {
  std::optional<std::chrono::steady_clock::time_point> since;
  emulated_step_needs_lost_rank = false;
  while (work && !work->advance()) {
    give_up_on(*work, since);
    begin_emulated_work();
    emulated_turn().unlock();  // other threads go on
    std::this_thread::yield();
    emulated_turn().lock();
    emulated_step_needs_lost_rank = false;
  }
  return process().error;
}

int current_emulated_gpu() { return current_gpu; }
int number_of_emulated_gpu(int gpu) { return process().gpus.visible[gpu]; }

std::shared_ptr<std::byte> seen_by_emulated_gpu(int gpu, const void* at, std::size_t bytes) {
  const Place place = place_of(at, bytes);
  const bool seen = place.kind == Kind::pinned || (place.kind == Kind::of_gpu && place.gpu == gpu);
  return seen ? place.touch() : nullptr;
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
  const EmulatedCall call;
  *count = call.error != cudaSuccess ? 0 : static_cast<int>(process().gpus.visible.size());
  return call.error;
}

cudaError_t cudaSetDevice(int number) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  if (number < 0 || number >= std::ssize(process().gpus.visible)) return cudaErrorInvalidDevice;
  current_gpu = number;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* number) {
  *number = current_gpu;
  return EmulatedCall().error;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrClockRate) return cudaErrorInvalidValue;
  *value = 1000;  // kHz
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
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
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  *total = process().gpus.memory;
  *free = bytes_left();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  *at = nullptr;
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  if (bytes > bytes_left()) return cudaErrorMemoryAllocation;
  if (bytes > 0) *at = memory().of_gpus.take(bytes, current_gpu);
  return cudaSuccess;
}

cudaError_t cudaFree(void* at) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  if (at == nullptr) return cudaSuccess;
  const Block* block = memory().of_gpus.block_of(at, 0);
  if (block == nullptr) return cudaErrorInvalidValue;
  wait_for_all_work(block->gpu);
  return memory().of_gpus.give_back(at) ? process().error : cudaErrorInvalidValue;
}

cudaError_t cudaMallocHost(void** at, std::size_t bytes) {
  *at = nullptr;
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  if (bytes > 0) *at = memory().pinned.take(bytes, current_gpu);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* at) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  return at == nullptr || memory().pinned.give_back(at) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  const Place place = place_of(at, 1);
  if (place.kind == Kind::pageable || !place.valid) return cudaSuccess;
  attributes->type = place.kind == Kind::of_gpu ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  attributes->device = place.gpu;
  attributes->devicePointer = const_cast<void*>(at);
  attributes->hostPointer = place.kind == Kind::of_gpu ? nullptr : const_cast<void*>(at);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  *stream = new CUstream_st{current_gpu, flags != cudaStreamNonBlocking};
  process().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const EmulatedCall call;
  if (!process().streams.contains(handle)) return cudaErrorInvalidResourceHandle;
  if (handle->last) process().of_destroyed.emplace_back(handle->gpu, handle->last);
  process().streams.erase(handle);
  delete handle;
  return call.error;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  const CUstream_st* stream = stream_of(handle);
  if (!runs_kernels(handle)) return stream == nullptr ? cudaErrorInvalidResourceHandle : query(stream->last);
  const bool empty = emulated_arrays->run([] { return false; });
  if (!empty) {
    begin_emulated_work();
    std::this_thread::yield();
  }
  return process().error != cudaSuccess ? process().error : empty ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return wait_for_emulated(runs_kernels(handle) ? push(*stream, nothing) : stream->last);
}

cudaError_t cudaDeviceSynchronize() {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  wait_for_all_work(current_gpu);
  return process().error;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return EmulatedCall().error;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  event->seconds = std::make_shared<double>(0);
  event->work = push_mark(*stream, [seconds = event->seconds] {
    *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  if (!begin->work || !end->work) return cudaErrorInvalidResourceHandle;
  if (!begin->work->advance() || !end->work->advance()) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(1e3 * (*end->seconds - *begin->seconds));
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  return query(event->work);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  return wait_for_emulated(event->work);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return call.error;
  CUstream_st* stream = stream_of(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  push_mark(*stream, nothing, event->work);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(to, from, bytes, kind, stream, false);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy(to, from, bytes, kind, nullptr, true);
}
