// SPDX-License-Identifier: Apache-2.0
#include "reference/storage.hpp"

int main() {
  const shardmark::Table table{.name = "colours", .rows = 64, .dim = 16, .storage = shardmark::Storage::tt};
  return shardmark::storage_of(table).parts(table).size() > 1 ? 0 : 1;
}
