// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_error.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <string>

namespace shardmark::comm {
namespace {

std::string reason_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return fmt::format("error code {}", code);
  return std::string(text, length);
}

std::string line(std::string_view call, std::string_view reason, int peer, std::int64_t bytes) {
  std::string text(call);
  if (peer >= 0) text += fmt::format(", peer rank {}", peer);
  if (bytes >= 0) text += fmt::format(", {} bytes", bytes);
  return text + fmt::format(": {}", reason);
}

}  // namespace

MpiError::MpiError(std::string_view call, int code, int peer, std::int64_t bytes)
    : MpiError(call, reason_of(code), peer, bytes) {}

MpiError::MpiError(std::string_view call, std::string_view reason, int peer, std::int64_t bytes)
    : std::runtime_error(line(call, reason, peer, bytes)) {}

}  // namespace shardmark::comm
