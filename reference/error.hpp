// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace shardmark::reference {

/// Reports that the user's input (file, option, plan, data) cannot be used. what() is one line: what is wrong, where
/// (file, line, table, rank) and what to do. The programs print it and exit with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::InputError;
}  // namespace shardmark
