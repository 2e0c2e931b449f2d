// Makes the columns kernels. gemm_small_cpu/columns_space.cpp lists their configs and the default one.
#include "kernel/gemm_small_cpu/columns_flat.hpp"
#include "kernel/gemm_small_cpu/columns_generator.hpp"
#include "kernel/gemm_small_cpu/columns_kvector.hpp"
#include "kernel/gemm_small_cpu/parts.hpp"

namespace tilewright {
namespace {

template <class Code>
class GeneratedKernel : public GemmSmallCpuKernel {
 public:
  GeneratedKernel(const GemmProblem& problem, const GemmSmallCpuConfig& config) : code_(problem, config) {
    code_.generate();
    function_ = code_.template entry<GemmSmallCpuFunction>();
    counts_ = code_.counts();
    config_ = config;
  }

 private:
  Code code_;
};

// Returns the config for problems that fill no period: A is held if the registers allow it.
GemmSmallCpuConfig one_by_one(const GemmProblem& problem, GemmSmallCpuConfig config) {
  config.matrices_per_vector = 1;
  config.hold = Hold::a;
  const columns::Tile tile = columns::make_tile(problem, config);
  if (columns::loop_registers(tile, problem, config) > tile.register_count) config.hold = Hold::b;
  return config;
}

class FlatKernel : public GemmSmallCpuKernel {
 public:
  FlatKernel(const GemmProblem& problem, const GemmSmallCpuConfig& config)
      : rest_(problem, one_by_one(problem, config)), code_(problem, config, rest_.function()) {
    code_.generate();
    function_ = code_.entry<GemmSmallCpuFunction>();
    counts_ = code_.counts();
    config_ = config;
  }

 private:
  GeneratedKernel<columns::Generator> rest_;
  columns::FlatGenerator code_;
};

}  // namespace

std::shared_ptr<const GemmSmallCpuKernel> make_columns(const GemmProblem& problem,
                                                       const GemmSmallCpuConfig& config) {
  if (!within_displacement(problem))
    throw Error(ErrorCode::unsupported, "lda",
                "a leading dimension is too large for the displacements of generated code");
  if (config.matrices_per_vector == 0) return std::make_shared<FlatKernel>(problem, config);
  if (config.k_per_vector > 1)
    return std::make_shared<GeneratedKernel<columns::KVectorGenerator>>(problem, config);
  return std::make_shared<GeneratedKernel<columns::Generator>>(problem, config);
}

}  // namespace tilewright
