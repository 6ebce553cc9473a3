// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/dense/uncertain.hpp"

namespace shardmark::reference {

/// a b^T with the errors of sum_of_products(Uncertain), taken for found by what is a template of its numbers: the same
/// sums of values, squares and brought errors, for many elements at a time, since a batch has many. Sums of a few
/// terms, and products of few columns, go one by one; of the others none counts as exact but those whose terms are all
/// 0.
Matrix<Uncertain> product_transposed(const Matrix<Uncertain>& a, const Matrix<Uncertain>& b);

}  // namespace shardmark::reference
