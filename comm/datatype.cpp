// SPDX-License-Identifier: Apache-2.0
#include "comm/datatype.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <utility>

#include "comm/mpi_error.hpp"

namespace shardmark::comm {
namespace {

int int_of(std::int64_t count) {
  if (count < 0 || count > std::numeric_limits<int>::max())
    throw std::invalid_argument(fmt::format("datatype: {} does not fit an int count", count));
  return static_cast<int>(count);
}

MPI_Datatype contiguous(std::int64_t count, MPI_Datatype of) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(int_of(count), of, &type), "MPI_Type_contiguous");
  return type;
}

}  // namespace

Datatype::Datatype(MPI_Datatype built) : type_(built) { check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit"); }

Datatype::Datatype(Datatype&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}

Datatype& Datatype::operator=(Datatype&& other) noexcept {
  std::swap(type_, other.type_);
  return *this;
}

Datatype::~Datatype() {
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

Datatype Datatype::element(std::int64_t bytes) {
  if (bytes < 1) throw std::invalid_argument(fmt::format("datatype: element of {} bytes", bytes));
  return Datatype(contiguous(bytes, MPI_BYTE));
}

Datatype Datatype::run_of_elements(std::int64_t offset, std::int64_t count, std::int64_t element_bytes,
                                   std::int64_t limit) {
  const Datatype one = element(element_bytes);
  const Datatype block(contiguous(limit, one.get()));
  const std::int64_t blocks = count / limit;
  const int lengths[] = {int_of(blocks), int_of(count % limit)};
  const MPI_Aint begin = offset * element_bytes;
  const MPI_Aint displacements[] = {begin, begin + blocks * limit * element_bytes};
  const MPI_Datatype types[] = {block.get(), one.get()};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_struct(2, lengths, displacements, types, &type), "MPI_Type_create_struct");
  return Datatype(type);
}

}  // namespace shardmark::comm
