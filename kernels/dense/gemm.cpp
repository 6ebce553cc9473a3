// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/gemm.hpp"

#include <limits>
#include <sstream>
#include <stdexcept>

extern "C" void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);
extern "C" __attribute__((weak)) void openblas_set_num_threads(int count);
extern "C" __attribute__((weak)) const char* openblas_get_config();
extern "C" __attribute__((weak)) const char* openblas_get_corename();

namespace shardmark::kernels {
namespace {

int blas_int(std::int64_t extent) {
  if (extent > std::numeric_limits<int>::max())
    throw std::invalid_argument("dense model: an extent of " + std::to_string(extent) + " is more than BLAS takes");
  return static_cast<int>(extent);
}

/// Calls the BLAS, whose matrices are column-major: what is row-major is the transpose there, and c^T = b^T a^T.
void sgemm(char a_is, ConstFloats a, char b_is, ConstFloats b, std::int64_t depth, Floats c, float beta) {
  if (c.rows == 0 || c.columns == 0) return;
  static const bool single_threaded = [] {
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(single_threaded);
  const int m = blas_int(c.columns), n = blas_int(c.rows), k = blas_int(depth);
  const auto stride = [](const auto& matrix) { return std::max(1, blas_int(matrix.stride)); };
  const int lda = stride(a), ldb = stride(b), ldc = stride(c);
  const float alpha = 1.0F;
  sgemm_(&b_is, &a_is, &m, &n, &k, &alpha, b.data, &ldb, a.data, &lda, &beta, c.data, &ldc);
}

constexpr std::int64_t whole_tiles = 32;  ///< rows or columns of c, so that threads share no tile of a product

}  // namespace

void product_transposed(ConstFloats a, ConstFloats b, Floats c) { sgemm('N', a, 'T', b, a.columns, c, 0.0F); }

void product(ConstFloats a, ConstFloats b, Floats c, bool add) {
  sgemm('N', a, 'N', b, a.columns, c, add ? 1.0F : 0.0F);
}

void product_of_transposed(ConstFloats a, ConstFloats b, Floats c) {
  const bool by_rows = c.rows >= c.columns;
  for_each_part(by_rows ? c.rows : c.columns, whole_tiles, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    if (by_rows)
      sgemm('T', a.column_range(begin, end), 'N', b, a.rows, c.row_range(begin, end), 0.0F);
    else
      sgemm('T', a, 'N', b.column_range(begin, end), a.rows, c.column_range(begin, end), 0.0F);
  });
}

std::string blas_name() {
  if (openblas_get_config == nullptr || openblas_get_corename == nullptr) return "unknown";
  std::istringstream config(openblas_get_config());  // name, version, how it was built
  std::string name, version;
  config >> name >> version;
  return name + ' ' + version + ", " + openblas_get_corename();
}

}  // namespace shardmark::kernels
