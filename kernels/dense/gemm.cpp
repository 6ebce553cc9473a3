// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/gemm.hpp"

#include <cstdlib>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

#ifdef KOKKOS_ENABLE_CUDA
#include <cublas_v2.h>
#endif

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

/// Is a call of the BLAS, whose matrices are column-major: what is row-major is the transpose there, and c^T = b^T a^T.
struct Sgemm {
  char b_is, a_is;
  int m, n, k, lda, ldb, ldc;
  const float *a, *b;
  float beta, *c;
  DenseMath math;

  void operator()() const {
    const float alpha = 1.0F;
    sgemm_(&b_is, &a_is, &m, &n, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc);
  }
};

#ifdef KOKKOS_ENABLE_CUDA
/// Is cuBLAS on the stream of Kokkos, from the first product to the end of Kokkos, in memory of its own.
class Cublas {
 public:
  static Cublas& get() {
    static Cublas* one = nullptr;
    if (one == nullptr) {
      one = new Cublas;
      Kokkos::push_finalize_hook([] {
        delete one;
        one = nullptr;
      });
    }
    return *one;
  }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  void run(const Sgemm& p) {
    if (p.k == 0) return without_samples(p);
    if (p.math != math_) {
      const bool tf32 = p.math == DenseMath::tf32;
      check(cublasSetMathMode(handle_, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH), "its arithmetic");
      math_ = p.math;
    }
    const float alpha = 1.0F;
    const auto is = [](char letter) { return letter == 'T' ? CUBLAS_OP_T : CUBLAS_OP_N; };
    check(cublasSgemm(handle_, is(p.b_is), is(p.a_is), p.m, p.n, p.k, &alpha, p.b, p.ldb, p.a, p.lda, &p.beta, p.c,
                      p.ldc),
          "a product");
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20,
                               alignment = 256;  // as its manual says for sm_90

  Cublas() {
    check(cublasCreate(&handle_), "its start");
    check(cublasSetStream(handle_, Kokkos::Cuda().cuda_stream()), "its stream");
    const auto skip = -reinterpret_cast<std::uintptr_t>(workspace_.data()) % alignment;
    check(cublasSetWorkspace(handle_, workspace_.data() + skip, workspace_bytes), "its workspace");
    check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "its arithmetic");  // without TF32
  }
  ~Cublas() { cublasDestroy(handle_); }

  /// Computes c = beta c, which the manual of cuBLAS does not promise.
  static void without_samples(const Sgemm& p) {
    constexpr std::size_t number = sizeof(float);
    if (p.beta == 0.0F &&
        cudaMemset2DAsync(p.c, p.ldc * number, 0, p.m * number, p.n, Kokkos::Cuda().cuda_stream()) != cudaSuccess)
      check(CUBLAS_STATUS_EXECUTION_FAILED, "a product of no samples");
  }

  static void check(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error(std::string("dense model: cuBLAS has failed in ") + what + ": " +
                               cublasGetStatusString(status) +
                               (status == CUBLAS_STATUS_ALLOC_FAILED ? "; use fewer rows or samples a GPU" : ""));
  }

  cublasHandle_t handle_ = nullptr;
  DenseMath math_ = DenseMath::fp32;
  Array<Kokkos::Cuda, std::byte> workspace_ =
      allocate<Kokkos::Cuda, std::byte>("shardmark::cublas_workspace", workspace_bytes + alignment);
};
#endif

#if defined(SHARDMARK_EMULATED_DEVICE)
struct Free {
  void operator()(float* memory) const { std::free(memory); }
};

/// Returns the rows of an operand as TF32 has them, in memory of malloc: the heap of `new` may be closed to kernels.
std::unique_ptr<float[], Free> in_tf32(const float* from, std::int64_t rows, int stride, int columns) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(1, rows * stride));
  std::unique_ptr<float[], Free> to(static_cast<float*>(std::malloc(size * sizeof(float))));
  for (std::int64_t row = 0; row < rows; ++row)
    for (int c = 0; c < columns; ++c) to[row * stride + c] = reference::as_tf32(from[row * stride + c]);
  return to;
}

void run(const Sgemm& product) {
  emulated::Device::get().launch([product] {
    if (product.math == DenseMath::fp32) return product();
    const auto a = product.a_is == 'N' ? in_tf32(product.a, product.n, product.lda, product.k)
                                       : in_tf32(product.a, product.k, product.lda, product.n);
    const auto b = product.b_is == 'N' ? in_tf32(product.b, product.k, product.ldb, product.m)
                                       : in_tf32(product.b, product.m, product.ldb, product.k);
    Sgemm of_copies = product;
    of_copies.a = a.get();
    of_copies.b = b.get();
    of_copies();
  });
}
#elif defined(KOKKOS_ENABLE_CUDA)
void run(const Sgemm& product) { Cublas::get().run(product); }
#else
void run(const Sgemm& product) { product(); }
#endif

void sgemm(char a_is, ConstFloats a, char b_is, ConstFloats b, std::int64_t depth, Floats c, float beta,
           DenseMath math) {
  if (c.rows == 0 || c.columns == 0) return;
  static const bool single_threaded = [] {
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
    return true;
  }();
  static_cast<void>(single_threaded);
  const auto stride = [](const auto& matrix) { return std::max(1, blas_int(matrix.stride)); };
  run({b_is, a_is, blas_int(c.columns), blas_int(c.rows), blas_int(depth), stride(a), stride(b), stride(c), a.data,
       b.data, beta, c.data, math});
}

constexpr std::int64_t whole_tiles = 32;  ///< rows or columns of c, so that threads share no tile of a product

}  // namespace

void product_transposed(ConstFloats a, ConstFloats b, Floats c, DenseMath math) {
  sgemm('N', a, 'T', b, a.columns, c, 0.0F, math);
}

void product(ConstFloats a, ConstFloats b, Floats c, bool add, DenseMath math) {
  sgemm('N', a, 'N', b, a.columns, c, add ? 1.0F : 0.0F, math);
}

void product_of_transposed(ConstFloats a, ConstFloats b, Floats c, DenseMath math) {
  const bool by_rows = c.rows >= c.columns;
  in_parts(by_rows ? c.rows : c.columns, whole_tiles, [&](std::int64_t begin, std::int64_t end) {
    if (by_rows)
      sgemm('T', a.column_range(begin, end), 'N', b, a.rows, c.row_range(begin, end), 0.0F, math);
    else
      sgemm('T', a, 'N', b.column_range(begin, end), a.rows, c.column_range(begin, end), 0.0F, math);
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
