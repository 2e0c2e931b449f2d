// Makes kernels and runs them under the fault trap and the register check. The oracle decides which results
// are right.
#include "support/kernel_trial.hpp"

#include <fmt/format.h>

#include <random>

#include "core/dispatch.hpp"
#include "support/trap.hpp"

namespace tilewright::testing {
namespace {

struct Placement {
  std::int64_t batch_count;
  Edge edge;
};
constexpr std::array<Placement, 6> placements{
    {{1, Edge::end}, {1, Edge::begin}, {2, Edge::begin}, {3, Edge::end}, {17, Edge::end}, {17, Edge::begin}}};

template <class T>
class TypedTrial : public KernelTrial {
 public:
  explicit TypedTrial(Choices choices) {
    for (const auto& [count, edge] : placements) {
      if (choices.layout == Layout::single && count != 1) continue;
      if (choices.layout == Layout::interleaved && count > 2) continue;
      choices.edge = edge;
      if (choices.layout != Layout::interleaved) choices.batch_count = count;
      batches_.emplace_back(make_case(choices));
    }
  }

  const GemmProblem& problem() const override { return batches_[0].problem(); }

  std::string run(const GemmSmallCpuConfig& config) override {
    try {
      const auto kernel = make_gemm_small_cpu(problem(), config);
      for (Batch<T>& batch : batches_)
        if (std::string wrong = run_on(batch, *kernel, describe(config)); !wrong.empty()) return wrong;
    } catch (const Error& error) {
      return fmt::format("threw Error({}): {}", static_cast<int>(error.code()), error.what());
    } catch (const std::exception& error) {
      return fmt::format("threw something else than Error: {}", error.what());
    }
    return {};
  }

 private:
  static std::string run_on(Batch<T>& batch, const GemmSmallCpuKernel& kernel, const std::string& text) {
    std::string spoiled;
    const GemmSmallCpuArguments args = batch.kernel_args(kernel);
    const auto trap = run_trapped(text, [&] { spoiled = call_checked(kernel.function(), args); });
    std::string wrong;
    if (trap) {
      wrong = to_string(*trap) + ", " + batch.locate(trap->address);
      batch.reset();
    } else {
      wrong = batch.check();
      if (!spoiled.empty()) wrong += " (not preserved: " + spoiled + ")";
    }
    if (wrong.empty()) return {};
    return fmt::format("count {}, guard page at the {}: {}", batch.problem().batch_count,
                       batch.edge() == Edge::end ? "end" : "begin", wrong);
  }

  std::vector<Batch<T>> batches_;
};

}  // namespace

std::unique_ptr<KernelTrial> make_kernel_trial(const Choices& choices) {
  return dispatch(choices.dtype, [&]<class T>() -> std::unique_ptr<KernelTrial> {
    return std::make_unique<TypedTrial<T>>(choices);
  });
}

std::vector<GemmSmallCpuConfig> sample_configs(const GemmProblem& problem, Isa isa, std::size_t limit,
                                               std::uint64_t seed) {
  std::vector<GemmSmallCpuConfig> all = gemm_small_cpu_space(problem, isa).enumerate({.isa = isa});
  std::vector<GemmSmallCpuConfig> sample{gemm_small_cpu_default(problem, isa)};
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < all.size() && sample.size() < limit; ++i) {
    if (all.size() > limit) std::swap(all[i], all[i + random() % (all.size() - i)]);
    if (all[i] != sample[0]) sample.push_back(all[i]);
  }
  return sample;
}

}  // namespace tilewright::testing
