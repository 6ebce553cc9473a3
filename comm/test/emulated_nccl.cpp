// SPDX-License-Identifier: Apache-2.0
// The part of emulated_cuda.cpp that stands in for NCCL: a group of calls is one piece of work of a stream, each call
// in it a set of messages, which travel by MPI between copies of the memory. Sums are added in the order of ranks. What
// is sent is read when its turn comes in the stream or, where the turn is behind other work, when the host next waits
// in CUDA for any; what is received is written as late as the order of streams lets it.
#include <mpi.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>

#include "comm/test/emulated_cuda.hpp"

namespace shardmark::comm {
namespace {

constexpr int data_tag = 1, lost_tag = 2;

thread_local std::string last_nccl_error;

ncclResult_t refuse(ncclResult_t code, std::string why) {
  last_nccl_error = std::move(why);
  return code;
}
ncclResult_t cuda_failed() { return refuse(ncclUnhandledCudaError, "Cuda failure"); }

struct Outgoing {
  const void* from;
  std::size_t bytes;
  int peer;
};
/// Receives bytes of one peer, or the sums of floats of several.
struct Incoming {
  void* to;
  std::size_t bytes;
  std::vector<int> peers;
};
struct Calls {
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
};

}  // namespace
}  // namespace shardmark::comm

using namespace shardmark::comm;

struct ncclComm {
  MPI_Comm mpi = MPI_COMM_NULL;
  int rank = 0, size = 0, gpu = 0;
  std::vector<MPI_Request> notes{};  ///< of ranks that are lost
  bool rank_lost = false, aborted = false;
  EmulatedWorkPtr last{};
  std::vector<std::shared_ptr<void>> transfers{};  ///< as long as MPI may use their copies

  /// Returns whether another rank has aborted.
  bool sees_loss() {
    int which = MPI_UNDEFINED, flag = 0;
    MPI_Testany(static_cast<int>(notes.size()), notes.data(), &which, &flag, MPI_STATUS_IGNORE);
    return rank_lost = rank_lost || (flag != 0 && which != MPI_UNDEFINED);
  }
};

namespace shardmark::comm {
namespace {

/// Carries the calls of one group.
struct Transfer {
  ncclComm& comm;
  Calls calls;
  std::vector<std::vector<std::byte>> copies{};
  std::vector<MPI_Request> requests{};
  std::chrono::steady_clock::time_point begin{};
  bool illegal = false;

  /// Reads what is sent, and sends it.
  void start_early() { illegal = requests.empty() && !start(); }

  bool advance() {
    if (comm.aborted) return true;
    if (illegal || (requests.empty() && !start())) return emulated_illegal_address();
    std::vector<MPI_Status> statuses(requests.size());
    int done = 0;
    if (PMPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses.data()) != MPI_SUCCESS)
      fail("a message is longer than its receiver expects: on a GPU the group hangs or mixes data up");
    if (done != 0) return finish(statuses);
    emulated_step_needs_lost_rank |= comm.sees_loss();
    if (std::chrono::steady_clock::now() > begin + std::chrono::seconds(30))
      fail(("a group has waited for 30 s for calls that other ranks do not make:" + listed()).c_str());
    return false;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    print_emulated("NCCL: %s", what);
    std::abort();
  }

  std::string listed() const {
    std::string list;
    for (const Outgoing& out : calls.outgoing)
      list += " " + std::to_string(out.bytes) + " bytes to rank " + std::to_string(out.peer);
    for (const Incoming& in : calls.incoming)
      for (const int peer : in.peers)
        list += " " + std::to_string(in.bytes) + " bytes from rank " + std::to_string(peer);
    return list;
  }

  bool start() {
    begin = std::chrono::steady_clock::now();
    for (const Outgoing& out : calls.outgoing) {
      const auto from = seen_by_emulated_gpu(comm.gpu, out.from, out.bytes);
      if (from == nullptr) return false;
      auto& bytes = copies.emplace_back(from.get(), from.get() + out.bytes);
      PMPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, out.peer, data_tag, comm.mpi,
                 &requests.emplace_back());
    }
    for (const Incoming& in : calls.incoming)
      for (const int peer : in.peers) {
        auto& bytes = copies.emplace_back(in.bytes);
        PMPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, data_tag, comm.mpi,
                   &requests.emplace_back());
      }
    return true;
  }

  bool finish(std::span<const MPI_Status> statuses) {
    std::size_t next = calls.outgoing.size();
    for (const Incoming& in : calls.incoming) {
      const auto to = seen_by_emulated_gpu(comm.gpu, in.to, in.bytes);
      if (to == nullptr) return emulated_illegal_address();
      for (const int peer : in.peers) {
        int bytes = 0;
        MPI_Get_count(&statuses[next], MPI_BYTE, &bytes);
        if (static_cast<std::size_t>(bytes) != in.bytes)
          fail("a message is shorter than its receiver expects: on a GPU the group hangs or mixes data up");
        const std::byte* from = copies[next++].data();
        if (peer == in.peers.front())
          std::memcpy(to.get(), from, in.bytes);
        else
          add(reinterpret_cast<float*>(to.get()), reinterpret_cast<const float*>(from), in.bytes / sizeof(float));
      }
    }
    return true;
  }

  static void add(float* sums, const float* more, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sums[i] += more[i];
  }
};

struct Group {
  int depth = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  Calls calls;
};
thread_local Group group;

/// Queues the group behind the work of its stream and of its communicator.
ncclResult_t launch() {
  Group all;
  std::swap(all, group);
  if (all.comm == nullptr) return ncclSuccess;
  const EmulatedCall call;
  if (call.error != cudaSuccess) return cuda_failed();
  if (emulated_gpu_of(all.stream) != all.comm->gpu)
    return refuse(ncclInvalidArgument, "the stream is not one of the communicator's GPU");
  auto transfer = std::make_shared<Transfer>(*all.comm, std::move(all.calls));
  std::erase_if(all.comm->transfers, [](const auto& other) { return other.use_count() == 1; });
  all.comm->transfers.push_back(transfer);
  all.comm->last = push_emulated(
      all.stream, [transfer] { return transfer->advance(); }, all.comm->last, [transfer] { transfer->start_early(); });
  return ncclSuccess;
}

/// Adds a call to the group, or makes a group of it.
ncclResult_t call(ncclComm_t comm, cudaStream_t stream, const Calls& calls) {
  if (group.comm != nullptr && (group.comm != comm || group.stream != stream))
    return refuse(ncclInvalidUsage, "emulated: a group has one communicator and one stream");
  group.comm = comm;
  group.stream = stream;
  for (const Outgoing& out : calls.outgoing)
    if (out.bytes > 0) group.calls.outgoing.push_back(out);
  for (const Incoming& in : calls.incoming)
    if (in.bytes > 0) group.calls.incoming.push_back(in);
  return group.depth > 0 ? ncclSuccess : launch();
}

std::size_t bytes_of(ncclDataType_t type) {
  constexpr std::size_t of[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // ncclInt8, ncclUint8, ncclInt32, ...
  return of[type];
}

/// Adds the floats of all ranks up at each rank of `roots`; for roots[i] they begin at from + i step.
ncclResult_t add_up(std::span<const int> roots, const void* from, std::size_t step, void* to, std::size_t count,
                    ncclDataType_t type, ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  if (type != ncclFloat || operation != ncclSum) return refuse(ncclInvalidArgument, "emulated: only sums of floats");
  Calls calls;
  std::vector<int> ranks(comm->size);
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto* first = static_cast<const float*>(from);
  for (const int root : roots.empty() ? ranks : std::vector<int>(roots.begin(), roots.end())) {
    calls.outgoing.push_back({first + root * step, count * sizeof(float), root});
    if (root == comm->rank) calls.incoming.push_back({to, count * sizeof(float), ranks});
  }
  return call(comm, stream, calls);
}

/// Is what a ncclUniqueId holds: the rank that collects the members of a communicator, and by which messages.
struct Ticket {
  int root, tag;
};
struct Member {
  int rank, world, gpu;
};

std::vector<Member> collect(const Ticket& ticket, const Member& own, int size) {
  std::vector<Member> members(size);
  const int bytes = static_cast<int>(members.size() * sizeof(Member));
  MPI_Request sent = MPI_REQUEST_NULL;
  PMPI_Isend(&own, sizeof own, MPI_BYTE, ticket.root, ticket.tag, MPI_COMM_WORLD, &sent);
  for (int i = 0; i < size && own.world == ticket.root; ++i) {
    Member member{};
    MPI_Recv(&member, sizeof member, MPI_BYTE, MPI_ANY_SOURCE, ticket.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    members[member.rank] = member;
  }
  for (int i = 0; i < size && own.world == ticket.root; ++i)
    if (i != own.rank) MPI_Send(members.data(), bytes, MPI_BYTE, members[i].world, ticket.tag + 1, MPI_COMM_WORLD);
  if (own.world != ticket.root)
    MPI_Recv(members.data(), bytes, MPI_BYTE, ticket.root, ticket.tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  return members;
}

MPI_Comm communicator_of(std::span<const Member> members, int tag) {
  std::vector<int> ranks;
  for (const Member& member : members) ranks.push_back(member.world);
  MPI_Group world = MPI_GROUP_NULL, own = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &own);
  MPI_Comm_create_group(MPI_COMM_WORLD, own, tag, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Group_free(&own);
  MPI_Group_free(&world);
  return comm;
}

}  // namespace
}  // namespace shardmark::comm

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t code) {
  switch (code) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t) { return last_nccl_error.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int number = 0;
  const EmulatedCall call;
  if (call.error != cudaSuccess) return cuda_failed();
  const Ticket ticket{emulated_rank(), 20000 + 2 * (number++ % 1000)};
  std::memcpy(id->internal, &ticket, sizeof ticket);
  return ncclSuccess;
}

namespace {

/// Writes by what a rank sends, as NCCL does.
void write_channels(int rank, int size) {
  const char *level = std::getenv("NCCL_DEBUG"), *path = std::getenv("NCCL_DEBUG_FILE");
  if (level == nullptr || std::strcmp(level, "INFO") != 0 || path == nullptr) return;
  std::ofstream log(path, std::ios::app);
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank)
      log << "host:1:1 [0] NCCL INFO Channel 00/1 : " << rank << "[0] -> " << peer << "[0] via EMULATED/0/MPI\n";
}

}  // namespace

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  if (EmulatedCall().error != cudaSuccess) return cuda_failed();  // other threads go on while this one waits for ranks
  const int gpu = current_emulated_gpu();
  Ticket ticket{};
  std::memcpy(&ticket, id.internal, sizeof ticket);
  const auto members = collect(ticket, {rank, emulated_rank(), number_of_emulated_gpu(gpu)}, size);
  for (const Member& member : members)
    for (int other = 0; other < member.rank; ++other)
      if (members[other].gpu == member.gpu)
        return refuse(ncclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(member.rank) + " and rank " +
                                            std::to_string(other));
  *comm = new ncclComm{.mpi = communicator_of(members, ticket.tag), .rank = rank, .size = size, .gpu = gpu};
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank) PMPI_Irecv(nullptr, 0, MPI_BYTE, peer, lost_tag, (*comm)->mpi, &(*comm)->notes.emplace_back());
  write_channels(rank, size);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return cuda_failed();
  wait_for_emulated(comm->last);
  for (MPI_Request& note : comm->notes) {
    if (note != MPI_REQUEST_NULL) MPI_Cancel(&note);
    MPI_Wait(&note, MPI_STATUS_IGNORE);
  }
  if (!comm->rank_lost) MPI_Comm_free(&comm->mpi);
  delete comm;
  return ncclSuccess;
}

/// Leaves the communicator to MPI's messages that are under way: other ranks may never take them.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->aborted = true;
  for (int peer = 0; peer < comm->size; ++peer) {
    MPI_Request note = MPI_REQUEST_NULL;
    if (peer == comm->rank) continue;
    PMPI_Isend(nullptr, 0, MPI_BYTE, peer, lost_tag, comm->mpi, &note);
    MPI_Request_free(&note);
  }
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const EmulatedCall call;
  if (call.error != cudaSuccess) return cuda_failed();
  *error = comm->sees_loss() ? refuse(ncclRemoteError, "socket closed by remote peer") : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return --group.depth > 0 ? ncclSuccess : launch(); }

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return call(comm, stream, {{{from, count * bytes_of(type), peer}}, {}});
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return call(comm, stream, {{}, {{to, count * bytes_of(type), {peer}}}});
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return add_up(std::span(&root, 1), from, 0, to, count, type, operation, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return add_up({}, from, count, to, count, type, operation, comm, stream);
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
  return add_up({}, from, 0, to, count, type, operation, comm, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  Calls calls{{}, {{to, bytes, {root}}}};
  for (int peer = 0; peer < comm->size && root == comm->rank; ++peer) calls.outgoing.push_back({from, bytes, peer});
  return call(comm, stream, calls);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  Calls calls;
  for (int peer = 0; peer < comm->size; ++peer) {
    calls.outgoing.push_back({from, bytes, peer});
    calls.incoming.push_back({static_cast<std::byte*>(to) + peer * bytes, bytes, {peer}});
  }
  return call(comm, stream, calls);
}
