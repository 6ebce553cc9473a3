// SPDX-License-Identifier: Apache-2.0
#include "comm/agree.hpp"

#include <fmt/format.h>

#include <new>

#include "comm/collectives.hpp"

namespace shardmark::comm {
namespace {

enum class Kind : int { failure, input, agreed, agreed_input };

Kind kind_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const CollectiveInputError&) {
    return Kind::agreed_input;
  } catch (const CollectiveError&) {
    return Kind::agreed;
  } catch (const InputError&) {
    return Kind::input;
  } catch (...) {
    return Kind::failure;
  }
}

}  // namespace

std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

void throw_if_any_failed(const Communicator& comm, const std::exception_ptr& failure) {
  const int failed = all_reduce(comm, failure ? comm.rank() : comm.size(), Reduce::min);
  if (failed == comm.size()) return;

  std::string text;
  Kind kind = Kind::failure;
  if (comm.rank() == failed) {
    text = message_of(failure);
    kind = kind_of(failure);
  }
  broadcast(comm, std::as_writable_bytes(std::span(&kind, 1)), failed);
  broadcast(comm, text, failed);
  const bool names_rank = kind == Kind::agreed || kind == Kind::agreed_input;
  if (!names_rank && comm.size() > 1) text = fmt::format("rank {} ({}): {}", failed, comm.host_of(failed), text);
  if (kind == Kind::input || kind == Kind::agreed_input) throw CollectiveInputError(text, comm.size());
  throw CollectiveError(text, comm.size());
}

}  // namespace shardmark::comm
