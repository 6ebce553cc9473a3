// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#ifdef __linux__
#include <sys/uio.h>
#include <unistd.h>
#endif

#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "comm/collectives.hpp"
#include "workloads/command/doctor/facts.hpp"

namespace shardmark::workloads {
namespace {

/// The control variables of MPI's tool interface that are set in this process, by name: texts and truths as they are,
/// numbers of an enumeration by their names, other numbers in decimal. Those of components that MPI has closed are not
/// among them.
class ControlVariables {
 public:
  ControlVariables() {
    int provided = 0, count = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return;
    MPI_T_cvar_get_num(&count);
    for (int index = 0; index < count; ++index) read(index);
    MPI_T_finalize();
  }

  std::string value(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }
  const std::map<std::string, std::string>& values() const { return values_; }

 private:
  void read(int index) {
    std::array<char, 256> name{};
    int name_size = name.size(), no_text = 0, verbosity = 0, binding = 0, scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    if (MPI_T_cvar_get_info(index, name.data(), &name_size, &verbosity, &type, &names, nullptr, &no_text, &binding,
                            &scope) != MPI_SUCCESS)
      return;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = 0;
    if (binding != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS)
      return;
    std::vector<std::int64_t> room(static_cast<std::size_t>(count) + 1);  // no element has more than 8 bytes
    if (MPI_T_cvar_read(handle, room.data()) == MPI_SUCCESS) {
      const auto* bytes = reinterpret_cast<const char*>(room.data());
      if (type == MPI_CHAR) values_[name.data()] = bytes;
      if (type == MPI_C_BOOL) values_[name.data()] = *bytes != 0 ? "true" : "false";
      if (type == MPI_INT) values_[name.data()] = text_of(*reinterpret_cast<const int*>(bytes), names);
    }
    MPI_T_cvar_handle_free(&handle);
  }

  static std::string text_of(int number, MPI_T_enum names) {
    if (names == MPI_T_ENUM_NULL) return fmt::format("{}", number);
    std::array<char, 64> text{};
    int items = 0, size = text.size();
    MPI_T_enum_get_info(names, &items, text.data(), &size);
    for (int item = 0; item < items; ++item) {
      int value = 0;
      size = text.size();
      if (MPI_T_enum_get_item(names, item, &value, text.data(), &size) == MPI_SUCCESS && value == number)
        return text.data();
    }
    return fmt::format("{}", number);
  }

  std::map<std::string, std::string> values_;
};

/// Open MPI names variables FRAMEWORK_COMPONENT_...: "pml ob1", "btl self vader". An open component has its version
/// there, and of pml the one that was chosen is left open.
std::vector<std::string> open_components(const ControlVariables& variables) {
  std::vector<std::string> all;
  for (const std::string framework : {"pml", "btl"}) {
    std::set<std::string> names;
    for (const auto& [name, value] : variables.values()) {
      if (!name.starts_with(framework + "_")) continue;
      const std::size_t begin = framework.size() + 1;
      names.insert(name.substr(begin, name.find('_', begin) - begin));
    }
    names.erase("base");
    if (!names.empty()) all.push_back(fmt::format("{} {}", framework, fmt::join(names, " ")));
  }
  return all;
}

/// Whether each rank can read memory of the next rank of its node, as MPI does to copy a message once (CMA); absent
/// where no node has two ranks. By a trial, since Open MPI asks the kernel for leave itself.
std::optional<bool> reads_neighbours(const comm::Communicator& world) {
  if (comm::all_reduce(world, world.node_size(), comm::Reduce::max) < 2) return {};
  bool read = true;
#ifdef __linux__
  const std::int64_t secret = 1000003 + world.rank();
  const auto processes = comm::all_gather(world, static_cast<std::int64_t>(getpid()));
  const auto places = comm::all_gather(world, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&secret)));
  const auto& ranks = world.ranks_of(world.node_of(world.rank()));
  const int neighbour = ranks[(world.node_rank() + 1) % world.node_size()];
  std::int64_t seen = 0;
  const iovec own{&seen, sizeof seen};
  const iovec other{reinterpret_cast<void*>(static_cast<std::intptr_t>(places[neighbour])), sizeof seen};
  const auto bytes = process_vm_readv(static_cast<pid_t>(processes[neighbour]), &own, 1, &other, 1, 0);
  read = bytes == sizeof seen && seen == 1000003 + neighbour;
#endif
  return comm::all_reduce(world, read ? 1 : 0, comm::Reduce::min) ==
         1;  // and nobody's `secret` goes away before all have read
}

std::vector<std::string> fabrics() {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  for (const char* folder : {"/sys/class/infiniband", "/sys/class/cxi"}) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      names.push_back(entry->path().filename());
  }
  return names;
}

}  // namespace

MpiFacts mpi_facts(const comm::Communicator& world) {
  MpiFacts facts;
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  facts.library = std::string(version.data());
  facts.library = facts.library.substr(0, facts.library.find_first_of(",\n"));
  const ControlVariables variables;
  facts.components = open_components(variables);
  for (const char* framework : {"pml", "btl", "mtl", "coll", "osc"})
    if (const std::string value = variables.value(framework); !value.empty())
      facts.settings.push_back(fmt::format("{} {}", framework, value));
  if (const std::string yields = variables.value("mpi_yield_when_idle"); !yields.empty())
    facts.yields = yields == "true";
  for (const char* name : {"btl_vader_single_copy_mechanism", "smsc"})  // Open MPI 4, 5
    if (const std::string value = variables.value(name); !value.empty()) facts.copies = value;
  facts.reads_neighbours = reads_neighbours(world);
  facts.fabrics = fabrics();
  return facts;
}

}  // namespace shardmark::workloads
