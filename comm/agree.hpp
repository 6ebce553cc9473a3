// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "comm/communicator.hpp"
#include "reference/error.hpp"

namespace shardmark::comm {

/// Marks an exception that all `ranks` of a communicator throw together, with one text: no rank waits for another. This
/// holds only in the thread that threw it: another thread that it is passed to may be anywhere, and wait for other
/// ranks.
class Agreed {
 public:
  explicit Agreed(int ranks) : ranks_(ranks) {}
  virtual ~Agreed() = default;
  int ranks() const { return ranks_; }
  bool in_this_thread() const { return thread_ == std::this_thread::get_id(); }

 private:
  int ranks_;
  std::thread::id thread_ = std::this_thread::get_id();
};

/// Reports that some rank failed: what() is "rank N (host): its message", of the lowest rank that failed; of a single
/// rank the message alone.
class CollectiveError : public std::runtime_error, public Agreed {
 public:
  CollectiveError(const std::string& text, int ranks) : std::runtime_error(text), Agreed(ranks) {}
};

/// This is thrown in place of CollectiveError where the error of that rank was an InputError.
class CollectiveInputError : public InputError, public Agreed {
 public:
  CollectiveInputError(const std::string& text, int ranks) : InputError(text), Agreed(ranks) {}
};

/// Returns the text of the error; it says more than what() where the standard library is terse ("out of memory").
std::string message_of(const std::exception_ptr& failure);

/// Throws the same CollectiveError or CollectiveInputError on every rank if `failure` is set on any. Collective.
void throw_if_any_failed(const Communicator& comm, const std::exception_ptr& failure);

/// Runs `work`, which may throw on any subset of the ranks, and returns its result once all ranks have succeeded; if
/// one has failed, every rank throws as throw_if_any_failed does. `work` must not communicate unless what it calls
/// fails on all ranks alike: a rank that throws between two collectives would leave the others in the second. Costs one
/// all-reduce. Collective.
template <class Work>
std::invoke_result_t<Work> agree(const Communicator& comm, Work&& work) {
  using Result = std::invoke_result_t<Work>;
  std::exception_ptr failure;
  if constexpr (std::is_void_v<Result>) {
    try {
      std::forward<Work>(work)();
    } catch (...) {
      failure = std::current_exception();
    }
    throw_if_any_failed(comm, failure);
  } else {
    std::optional<Result> result;
    try {
      result.emplace(std::forward<Work>(work)());
    } catch (...) {
      failure = std::current_exception();
    }
    throw_if_any_failed(comm, failure);
    return std::move(*result);
  }
}

}  // namespace shardmark::comm
