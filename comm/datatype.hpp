// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>

namespace shardmark::comm {

/// Holds a committed MPI datatype, which is freed with the object.
class Datatype {
 public:
  Datatype() = default;  ///< no type; get() is MPI_BYTE, for counts of zero
  Datatype(Datatype&& other) noexcept;
  Datatype& operator=(Datatype&& other) noexcept;
  ~Datatype();

  /// Makes the type of one element of `bytes` bytes. Throws std::invalid_argument unless 1 <= bytes <= INT_MAX.
  static Datatype element(std::int64_t bytes);

  /// Makes the type of `count` elements of `element_bytes` bytes that begin `offset` elements after the start of the
  /// buffer, for any 64-bit count: whole blocks of `limit` elements, then the remainder (the construction of BigMPI,
  /// Hammond et al., ExaMPI 2014).
  static Datatype run_of_elements(std::int64_t offset, std::int64_t count, std::int64_t element_bytes,
                                  std::int64_t limit);

  MPI_Datatype get() const { return type_ == MPI_DATATYPE_NULL ? MPI_BYTE : type_; }

 private:
  explicit Datatype(MPI_Datatype built);

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace shardmark::comm
