// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/exchange_record.hpp"
#include "results/table/layout.hpp"

namespace shardmark::results {

/// Names the exchange of the MPI library, which the others are compared with, and the one that chooses among them.
inline constexpr std::string_view library_exchange = "mpi_alltoallv", automatic_exchange = "auto";

/// Says what the columns of exchange_columns() mean, a line each.
std::vector<std::string> exchange_legend();

/// Returns the cells of the table of exchanges, a record each.
std::vector<Column> exchange_columns(std::span<const ExchangeRecord> records);

/// Returns the order in which the records are printed: traffics as they come, on each the shortest median first.
std::vector<Line> exchange_order(std::span<const ExchangeRecord> records);

/// Returns exchange_legend() as lines of '#', and the line with the headers; exchange_lines() returns a line per
/// record. Columns are as wide as the names and numbers that are usual, so that lines can be printed while others are
/// measured.
std::string exchange_header();
std::string exchange_lines(std::span<const ExchangeRecord> records);

/// Names where another exchange beats the library's MPI_Alltoallv, which no collection of other MPI calls should
/// (Traeff, Gropp and Thakur, Self-consistent MPI performance guidelines, IEEE TPDS 2010): the whole confidence
/// interval of its median lies below the library's. It also compares `auto` with the library, if both were measured.
std::string exchange_findings(std::span<const ExchangeRecord> records);

/// Returns whether all bytes arrived as they were sent, and the last line, "RESULT: VALID".
bool are_valid(std::span<const ExchangeRecord> records);
std::string exchange_verdict(std::span<const ExchangeRecord> records);

}  // namespace shardmark::results
