// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/dense/matrix_view.hpp"

namespace shardmark::kernels {

// Products of large matrices, by sgemm of the BLAS that was found (OpenBLAS). Each is made by the thread that calls it:
// the threads of a model take parts of its products (OpenBLAS is told so once, for the whole program). The order of
// sums is the library's. Throws std::invalid_argument for extents beyond its 32-bit integers.

/// c = a b^T: a [m, k], b [n, k], c [m, n].
void product_transposed(ConstFloats a, ConstFloats b, Floats c);
/// c = a b, or c + a b: a [m, k], b [k, n], c [m, n].
void product(ConstFloats a, ConstFloats b, Floats c, bool add = false);
/// c = a^T b: a [k, m], b [k, n], c [m, n]; by all threads, each a part of c.
void product_of_transposed(ConstFloats a, ConstFloats b, Floats c);

/// "OpenBLAS 0.3.21, Cooperlake": the library, and the processor whose kernels it has chosen; "unknown" of others.
std::string blas_name();

}  // namespace shardmark::kernels
