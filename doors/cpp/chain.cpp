// run_chain for the four element types: passes lose their types, and errors name a pass by its
// number.
#include "tilewright/chain.hpp"

#include "core/dispatch.hpp"
#include "gemm/cpu_small/chain.hpp"

namespace tilewright {
namespace {

template <class T>
Chain to_chain(std::int64_t count, std::span<const ChainPass<T>> passes, const ChainOptions& options) {
  std::vector<ErasedPass> erased;
  erased.reserve(passes.size());
  for (const ChainPass<T>& x : passes) {
    const auto values = [](const BatchScalar<T>& scalar) {
      return scalar.values == nullptr ? &scalar.value : scalar.values;
    };
    const auto stride = [](const BatchScalar<T>& scalar) { return scalar.values == nullptr ? 0 : 1; };
    erased.push_back(
        {x.plan,
         {x.a.data, x.b.data, x.c.data, values(x.alpha), values(x.beta), stride(x.alpha), stride(x.beta)},
         {x.a.scratch, x.b.scratch, x.c.scratch}});
  }
  return Chain(dtype_of<T>, count, erased, options);
}

}  // namespace

template <class T>
void run_chain(std::int64_t count, std::span<const ChainPass<T>> passes, const ChainOptions& options) {
  to_chain(count, passes, options).run();
}

template <class T>
std::string explain_chain(std::int64_t count, std::span<const ChainPass<T>> passes,
                          const ChainOptions& options) {
  return to_chain(count, passes, options).explain();
}

#define TILEWRIGHT_INSTANTIATE(T)                                                            \
  template void run_chain(std::int64_t, std::span<const ChainPass<T>>, const ChainOptions&); \
  template std::string explain_chain(std::int64_t, std::span<const ChainPass<T>>, const ChainOptions&);

TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
