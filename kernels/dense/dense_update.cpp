// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense/dense_update.hpp"

#include "kernels/update/optimizers.hpp"

namespace shardmark::kernels {

/// Points at weights, their gradients and their state.
struct ValueArrays {
  float* w;
  const float* g;
  float *m, *v;
};

namespace {

template <class Step>
void update_values(const Step& step, const DecayFactors& decay, const ValueArrays& at, std::int64_t begin,
                   std::int64_t end) {
  constexpr int vectors = choice_of(Step::kind).vectors;
  for (std::int64_t i = begin; i < end; i += simd_width) {
    const std::int64_t count = std::min<std::int64_t>(simd_width, end - i);
    const Simd w = load_simd(at.w + i, count);
    const Simd g = fused(decay.l2, w, load_simd(at.g + i, count));
    Simd m = 0.0F, v = 0.0F;
    if constexpr (vectors > 0) m = load_simd(at.m + i, count);
    if constexpr (vectors > 1) v = load_simd(at.v + i, count);
    store_simd(at.w + i, fused(-decay.decoupled, w, step(w, g, m, v)), count);
    if constexpr (vectors > 0) store_simd(at.m + i, m, count);
    if constexpr (vectors > 1) store_simd(at.v + i, v, count);
  }
}

}  // namespace

namespace device {

/// Updates one value.
template <class Step>
struct DenseUpdate {
  Step step;
  DecayFactors decay;
  ValueArrays at;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    constexpr int vectors = choice_of(Step::kind).vectors;
    const float w = at.w[i], g = fused(decay.l2, w, at.g[i]);
    float m = 0.0F, v = 0.0F;
    if constexpr (vectors > 0) m = at.m[i];
    if constexpr (vectors > 1) v = at.v[i];
    at.w[i] = fused(-decay.decoupled, w, step(w, g, m, v));
    if constexpr (vectors > 0) at.m[i] = m;
    if constexpr (vectors > 1) at.v[i] = v;
  }
};

}  // namespace device

void dense_update(const Optimizer& optimizer, std::int64_t number, const Array<DenseExecution, float>& values,
                  const ConstArray<DenseExecution, float>& gradients, const Array<DenseExecution, float>& first_state,
                  const Array<DenseExecution, float>& second_state) {
  const ValueArrays at{values.data(), gradients.data(), first_state.data(), second_state.data()};
  const DecayFactors decay(optimizer);
  const auto size = static_cast<std::int64_t>(values.extent(0));
  with_step(optimizer, number, [&](const auto& step) {
    using Step = std::decay_t<decltype(step)>;
    if constexpr (row_sum_count(Step::kind) == 0) {
      if constexpr (on_device<DenseExecution>)
        Kokkos::parallel_for("shardmark::dense_update", static_range(DenseExecution(), size),
                             device::DenseUpdate<Step>{step, decay, at});
      else
        for_each_part(size, simd_width, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
          update_values(step, decay, at, begin, end);
        });
    }
  });
}

}  // namespace shardmark::kernels
