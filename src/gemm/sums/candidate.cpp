// batch_reduce: products summed into one C on the host, product after product by what serves a single one,
// for sizes that have no kernel of their own. Products whose A and B lie side by side are one product of a
// longer k.
#include "gemm/candidate.hpp"

#include <limits>

#include "core/dispatch.hpp"
#include "core/refuse.hpp"
#include "gemm/cpu_small/kernels.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/reference.hpp"
#include "gemm/sums/run.hpp"

namespace tilewright {
namespace {

SumList list_of(const GemmProblem& p, const Operands& o) {
  SumList list{p, o.alpha, o.a, o.b, o.c};
  list.by_arrays = true;
  return list;
}

// True if op(A) and op(B) of the batch are the columns and rows of two larger matrices.
bool lies_side_by_side(const GemmProblem& p) {
  if (p.sums != Sums::batch_reduce || p.layout != Layout::strided || p.k == 0) return false;
  const auto all = __int128(p.k) * p.batch_count;
  if (all > std::numeric_limits<std::int64_t>::max()) return false;
  const bool a = p.op_a == Op::none ? p.stride_a == p.lda * p.k : p.stride_a == p.k && p.lda >= all;
  const bool b = p.op_b == Op::none ? p.stride_b == p.k && p.ldb >= all : p.stride_b == p.ldb * p.k;
  return a && b;
}

// Base of runners of sums, by kernels or by one product after the other.
class SumsRunner : public HostRunner {
 public:
  explicit SumsRunner(const PlanRequest& r) : HostRunner(r), small_(r.context.small) {}

  void check(const Operands& o) const override {
    HostRunner::check(o);
    for (const auto& [name, stride] : {std::pair{"alpha", o.alpha_stride}, std::pair{"beta", o.beta_stride}})
      if (stride != 0)
        refuse_argument(
            name, fmt::format("{} holds a value per product, but sums take one for all products", name));
  }

  void run(const Operands& o) const override {
    const GemmProblem& p = problem();
    const bool adds_nothing = p.batch_count == 0 || p.k == 0 || is_zero(p, p.alpha, o.alpha);
    // Code for any beta may read C.
    const bool clears = p.beta == Scalar::general && is_zero(p, p.beta, o.beta);
    if (adds_nothing || clears) scale(o);
    if (adds_nothing) return;
    SumCode code = code_;
    if (clears) code.first_kernel = code.later_kernel, code.first_product = code.later_product;
    if (p.sums == Sums::batch_reduce) return reduce(o, code);
    const SumList lists[] = {list_of(p, o)};
    const int threads = code.first_kernel != nullptr ? thread_count() : 1;
    run_sums(lists, std::span(&code, 1), SumOrder(lists, small_->sum_scratches()), o.beta, threads);
  }

  bool cuts_batches() const override { return false; }
  std::string threads_text() const override {
    return problem().sums == Sums::batch_reduce ? "1, because all products have one C"
                                                : HostRunner::threads_text();
  }
  int thread_count() const override {
    return problem().sums == Sums::batch_reduce ? 1 : HostRunner::thread_count();
  }

 protected:
  SumCode code_;

 private:
  // All products of a batch that is not empty into its one C.
  virtual void reduce(const Operands& operands, const SumCode& code) const = 0;

  void scale(const Operands& o) const {
    const GemmProblem& p = problem();
    if (p.sums == Sums::stack) {
      const SumList lists[] = {list_of(p, o)};
      const SumCode none;
      return run_sums(lists, std::span(&none, 1), SumOrder(lists, small_->sum_scratches()), o.beta, 1);
    }
    Operands one = o;
    if (p.layout == Layout::pointer) one.c = *static_cast<void* const*>(o.c);
    scale_c(single_of(p, p.beta), one, 0, 1);
  }

  std::shared_ptr<SmallKernels> small_;  // whose scratch it sorts in
};

// By kernels that hold C in registers.
class SmallSumsRunner : public SumsRunner {
 public:
  SmallSumsRunner(const PlanRequest& r, const GemmSmallCpuConfig& config) : SumsRunner(r) {
    KernelCache& kernels = *r.context.kernels;
    code_.first_kernel = code_.later_kernel = kernels.get(problem(), config);
    if (problem().beta != Scalar::one) code_.later_kernel = kernels.get(problem(), Scalar::one, config);
  }

  nlohmann::json config() const override { return to_json(code_.first_kernel->config()); }
  std::string config_text() const override { return describe(code_.first_kernel->config()); }
  nlohmann::json metrics() const override {
    return {{"kernel_counts", to_json(code_.first_kernel->counts())}};
  }
  std::shared_ptr<const GemmSmallCpuKernel> small_kernel() const override { return code_.first_kernel; }

 private:
  void reduce(const Operands& o, const SumCode& code) const override {
    SmallBatch(problem(), {problem(), *code.first_kernel}).run(o, 0, problem().batch_count);
  }
};

class ProductsRunner : public SumsRunner {
 public:
  explicit ProductsRunner(const PlanRequest& r) : SumsRunner(r), whole_(lies_side_by_side(r.problem)) {
    GemmProblem one = single_of(r.problem, r.problem.beta);
    if (whole_) one.k *= r.problem.batch_count;
    code_.first_product = product(r, one);
    one.beta = Scalar::one;
    code_.later_product = product(r, one);
  }

  std::string threads_text() const override { return code_.first_product->threads_text(); }
  int thread_count() const override { return code_.first_product->thread_count(); }
  std::string library() const override { return code_.first_product->library(); }

 private:
  static std::shared_ptr<const Runner> product(const PlanRequest& r, const GemmProblem& p) {
    GemmOptions options = r.options;
    options.candidate.clear();
    options.config.clear();
    const auto plan = make_plan(r.context, p, options, r.may_compile);
    if (plan->runner == nullptr)
      throw Error(ErrorCode::unsupported, "problem", fmt::format("no candidate runs {}", to_string(p)));
    return plan->runner;
  }

  void reduce(const Operands& o, const SumCode& code) const override {
    const GemmProblem& p = problem();
    const bool pointers = p.layout == Layout::pointer;
    Operands one = o;
    if (pointers) one.c = *static_cast<void* const*>(o.c);
    const auto of = [&](const void* base, std::int64_t i, std::int64_t step) {
      return pointers ? static_cast<const void* const*>(base)[i]
                      : static_cast<const char*>(base) + i * step * size_bytes(p.dtype);
    };
    for (std::int64_t i = 0; i < (whole_ ? 1 : p.batch_count); ++i) {
      one.a = of(o.a, i, p.stride_a), one.b = of(o.b, i, p.stride_b);
      (i == 0 ? code.first_product : code.later_product)->run(one);
    }
  }

  const bool whole_;
};

std::string sums_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_host(r); !reason.empty()) return reason;
  return r.problem.sums == Sums::none ? "each product has its own C" : "";
}

}  // namespace

constinit const GemmCandidate batch_reduce_candidate{
    "batch_reduce", Tier::large, sums_declines, one_runner<ProductsRunner>, {.forms_sums = true}};

std::shared_ptr<const Runner> small_sums_runner(const PlanRequest& r, const GemmSmallCpuConfig& config) {
  return std::make_shared<const SmallSumsRunner>(r, config);
}

}  // namespace tilewright
