// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/interruption.hpp"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstring>

#include "comm/collectives.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::array signals{SIGUSR1, SIGTERM, SIGINT};
volatile std::sig_atomic_t noted = 0;

void note(int signal) { noted = signal; }

void set_handler(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

}  // namespace

Interruption::Interruption() {
  noted = 0;
  for (const int signal : signals) set_handler(signal, note, SA_RESTART | SA_RESETHAND);
}

Interruption::~Interruption() {
  for (const int signal : signals) set_handler(signal, SIG_DFL, 0);
}

int Interruption::signal(const comm::Communicator& comm) const {
  return comm::all_reduce(comm, static_cast<int>(noted), comm::Reduce::max);
}

std::string name_of_signal(int signal) { return fmt::format("SIG{}", sigabbrev_np(signal)); }

}  // namespace shardmark::workloads
