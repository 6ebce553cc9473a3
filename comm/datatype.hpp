// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>

namespace shardmark::comm {

/// A committed MPI datatype, freed with the object.
class Datatype {
 public:
  Datatype() = default;  ///< no type; get() is MPI_BYTE, for counts of zero
  Datatype(Datatype&& other) noexcept;
  Datatype& operator=(Datatype&& other) noexcept;
  ~Datatype();

  /// One element of `bytes` bytes; std::invalid_argument unless 1 <= bytes <= INT_MAX.
  static Datatype element(std::int64_t bytes);

  /// `count` elements of `element_bytes` bytes, `offset` elements after the buffer's start, for any 64-bit count:
  /// whole blocks of `limit` elements, then the remainder (the construction of BigMPI, Hammond et al., ExaMPI 2014).
  static Datatype run_of_elements(std::int64_t offset, std::int64_t count, std::int64_t element_bytes,
                                  std::int64_t limit);

  MPI_Datatype get() const { return type_ == MPI_DATATYPE_NULL ? MPI_BYTE : type_; }

 private:
  explicit Datatype(MPI_Datatype built);

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace shardmark::comm
