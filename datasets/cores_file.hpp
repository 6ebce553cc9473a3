// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "datasets/tt_svd.hpp"

namespace shardmark::datasets {

/// Writes the cores of one table to an HDF5 file: on "/" the attributes format ("shardmark-cores/1"), rows, dim and
/// cores; for core t the float32 data set "/core<t>" of all its entries, [p][r][q][r'] one after the other, with the
/// attributes p, q and rank (r').
void write_cores(const std::string& path, const Table& table, const DecomposedTable& tt);

/// Reads such a file, without the error; rows and dim of the file must be those of the table. Throws InputError that
/// names file, table and what is wrong.
DecomposedTable read_cores(const std::string& path, const Table& table);

}  // namespace shardmark::datasets
