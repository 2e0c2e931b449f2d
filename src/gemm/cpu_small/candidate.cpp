// cpu_small: generated or portable kernels for sizes up to the family's limit. Zeros among general
// alphas and betas are handled here for all kernels: alpha = 0 never reads A and B, beta = 0 never reads C.

#include "gemm/candidate.hpp"

#include <algorithm>
#include <set>

#include "core/dispatch.hpp"
#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/cpu_small/engine.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/reference.hpp"
#include "kernel/jit/x86.hpp"
#include "plan/config_choice.hpp"

namespace tilewright {
namespace {

// True if one of the values of a general scalar is 0.
bool has_zero(const GemmProblem& p, Scalar kind, const void* values, std::int64_t stride, std::int64_t first,
              std::int64_t count) {
  return kind == Scalar::general && dispatch(p.dtype, [&]<class T>() {
           const T* const v = static_cast<const T*>(values) + first * stride;
           const T* const end = v + (stride == 0 ? 1 : count);
           return std::find(v, end, T(0)) != end;
         });
}
bool alpha_has_zero(const GemmProblem& p, const Operands& o, std::int64_t first, std::int64_t count) {
  return has_zero(p, p.alpha, o.alpha, o.alpha_stride, first, count);
}
bool beta_has_zero(const GemmProblem& p, const Operands& o, std::int64_t first, std::int64_t count) {
  return has_zero(p, p.beta, o.beta, o.beta_stride, first, count);
}

class SmallCpuRunner : public HostRunner {
 public:
  SmallCpuRunner(const PlanRequest& r, const GemmSmallCpuConfig& config)
      : HostRunner(r),
        kernels_(r.context.kernels),
        kernel_(kernels_->get(problem(), config)),
        batch_(problem(), {problem(), *kernel_}) {
    const GemmProblem& p = problem();
    if (!is_sequential() || batch_.kernel().takes_much_stack() || has_levels(p)) return;
    direct_call_ = {kernel_.get(), batch_.call({}, 0, p.batch_count)};
  }

  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    const GemmProblem& p = problem();
    // Problems of one block share vectors: interleaved kernels handle zeros themselves.
    if (is_interleaved(p) || (!alpha_has_zero(p, o, first, count) && !beta_has_zero(p, o, first, count)))
      batch_.run(o, first, count);
    else
      run_with_zeros(o, first, count);
  }

  nlohmann::json config() const override { return to_json(kernel_->config()); }
  std::string config_text() const override { return describe(kernel_->config()); }
  nlohmann::json metrics() const override { return {{"kernel_counts", to_json(kernel_->counts())}}; }
  std::string prediction(double least_s) const override {
    return fmt::format("about {} on one thread ({})", seconds_text(*predicted_s(least_s)),
                       estimate_s(problem()) < least_s ? "what this machine's ceilings allow at best"
                                                       : "round figures of a current core");
  }
  std::optional<double> predicted_s(double least_s) const override {
    return std::max(estimate_s(problem()), least_s);
  }
  bool takes_blocks() const override { return true; }
  std::shared_ptr<const GemmSmallCpuKernel> small_kernel() const override { return kernel_; }

 private:
  // Runs consecutive problems with the same zeros of alpha and beta by what serves them.
  void run_with_zeros(const Operands& o, std::int64_t first, std::int64_t count) const {
    const GemmProblem& p = problem();
    const auto reads_no_c = kernels_->get(p, Scalar::zero, kernel_->config());
    const SmallBatch beta_zero(p, {p, *reads_no_c});
    struct Zeros {
      bool alpha, beta;
      bool operator==(const Zeros&) const = default;
    };
    const auto zeros = [&](std::int64_t at) {
      return Zeros{alpha_has_zero(p, o, at, 1), beta_has_zero(p, o, at, 1)};
    };
    const std::int64_t last = first + count;
    for (std::int64_t begin = first, end = first; begin < last; begin = end) {
      const Zeros kind = zeros(begin);
      for (end = begin + 1; end < last && zeros(end) == kind; ++end) {
      }
      if (kind.alpha)
        scale_c(p, o, begin, end - begin);
      else
        (kind.beta ? beta_zero : batch_).run(o, begin, end - begin);
    }
  }

  std::shared_ptr<KernelCache> kernels_;
  std::shared_ptr<const GemmSmallCpuKernel> kernel_;
  SmallBatch batch_;
};

std::string small_cpu_declines(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (auto reason = why_not_on_host(r); !reason.empty()) return reason;
  const std::int64_t largest = std::max({p.m, p.n, p.k});
  if (largest > gemm_small_cpu_limit)
    return fmt::format("size {} exceeds the limit of {}", largest, gemm_small_cpu_limit);
  if (p.sums != Sums::none &&
      (!has_elements_of_c(p) || p.batch_count == 0 || p.k == 0 || p.alpha == Scalar::zero))
    return "there are no products to sum";
  return "";
}

// Returns the Context's, or the one that the requested config names.
Isa wanted_isa(const PlanRequest& r) {
  Isa isa = r.context.isa;
  const auto asked = asked_config(GemmOperation::asked(r));
  if (auto it = asked.find("isa"); it != asked.end()) value_from_json(*it, "isa", isa);
  // The Context's was tried when it was made; a page for another trial may be refused for lack of memory.
  if (isa != Isa::portable && isa != r.context.isa && !jit_available(isa))
    throw Error(ErrorCode::unsupported, "config",
                fmt::format("config: isa = {} is not supported by this machine", to_string(isa)));
  return isa;
}

// Upper bound of instructions per problem against the default config. In caches they compare configs well
// enough to reject one of a merely similar shape; for some shapes they are wrong by a few in a hundred.
constexpr double as_many = 1.02;

// Applies the record of a near problem: the values in which its config differs from the default there replace
// those of the default here. Equal values were not decided by the record, and the tail of whole vectors
// depends on the shape alone. The result is used only if it needs no more instructions than the default.
GemmSmallCpuConfig carry(const GemmProblem& p, const GemmProblem& recorded, const GemmSmallCpuConfig& found,
                         KernelCache& kernels) {
  const GemmSmallCpuConfig there = gemm_small_cpu_default(recorded, found.isa);
  const GemmSmallCpuConfig here = gemm_small_cpu_default(p, found.isa);
  GemmSmallCpuConfig carried = here;
  // The best tail depends on its number of rows, and so does the order in which columns of C are loaded and
  // stored. With overlapping masks a load waits until the store before it is in the cache: 5x5 with early
  // loads, or with all of A held, by records of 4x4 took two and four times as long as the default.
  const auto tail_bits = [&](const GemmProblem& x) {
    return x.m * size_bytes(x.dtype) * 8 % found.vector_bits;
  };
  const bool same_tail = found.vector_bits > 0 && tail_bits(recorded) == tail_bits(p);
  for_each_field<GemmSmallCpuConfig>([&](const auto& f) {
    using Value = std::remove_cvref_t<decltype(found.*(f.member))>;
    constexpr bool is_of_tail =
        std::is_same_v<Value, Tail> || std::is_same_v<Value, CLoad> || std::is_same_v<Value, Hold>;
    if (is_of_tail && !same_tail) return;
    if (found.*(f.member) != there.*(f.member)) carried.*(f.member) = found.*(f.member);
  });
  if (carried == here || found.isa == Isa::portable) return here;
  if (!gemm_small_cpu_space(p, found.isa).contains(carried)) return here;
  const auto work = [&](const GemmSmallCpuConfig& config) {
    const auto kernel = kernels.get(p, config);
    return kernel->counts().loads + kernel->counts().stores + kernel->counts().multiply_adds;
  };
  return work(carried) <= as_many * work(here) ? carried : here;
}

// Among kernels of nearly equal speed the generation of the CPU decides. With the records of 456 problems
// from one Xeon, another was 1.4 % slower than with default configs (up to 21 %), and 0.3 % faster with the
// 30 that had gained this much.
constexpr double least_gain_elsewhere = 0.15;

// Adds two configs worth measuring that differ from the default in one axis, each in another, for plans that
// learn: nothing ranks the others.
void add_neighbours(const GemmProblem& p, Isa isa, std::vector<GemmSmallCpuConfig>& to) {
  const GemmSmallCpuConfig base = to.front();
  std::set<std::string> axes;
  gemm_small_cpu_search(p, isa).visit(
      [&](const GemmSmallCpuConfig& config) {
        std::vector<std::string> differ;
        for_each_field<GemmSmallCpuConfig>([&](const auto& f) {
          if (config.*(f.member) != base.*(f.member)) differ.emplace_back(f.name);
        });
        if (differ.size() == 1 && axes.insert(differ.front()).second) to.push_back(config);
        return axes.size() < 2;
      },
      base);
}

// If a kernel cannot be generated, the portable one serves.
ConfigFamily<GemmOperation, GemmSmallCpuConfig> small_cpu_family(const PlanRequest& r, Isa isa) {
  const GemmProblem& p = r.problem;
  ConfigFamily<GemmOperation, GemmSmallCpuConfig> family{
      "gemm_small_cpu", to_string(isa), cpu_info().device, [&p, isa] { return gemm_small_cpu_space(p, isa); },
      [&p, isa, learns = r.learns] {
        std::vector all{gemm_small_cpu_default(p, isa)};
        if (learns) add_neighbours(p, isa, all);
        if (isa != Isa::portable) all.push_back(gemm_small_cpu_default(p, Isa::portable));
        return all;
      }};
  family.carry = [&r](const GemmProblem& recorded, const GemmSmallCpuConfig& found) {
    return carry(r.problem, recorded, found, *r.context.kernels);
  };
  family.least_gain_elsewhere = least_gain_elsewhere;
  return family;
}

GemmOffers small_cpu_offers(const PlanRequest& r) {
  const Isa isa = wanted_isa(r);
  // For large sizes no register block is looped over: product after product is as fast.
  if (r.problem.sums != Sums::none)
    if (const auto reasons =
            gemm_small_cpu_space(r.problem, isa).explain(gemm_small_cpu_default(r.problem, isa));
        !reasons.empty())
      throw Error(ErrorCode::unsupported, "problem",
                  fmt::format("no kernel for its sums: {}", reasons.front()));
  const auto family = small_cpu_family(r, isa);
  if (tunes_on_miss(r.options))
    if (ConfigChoices known(r, family); known.next()->known.match != WisdomMatch::exact) tune_missing(r);
  return config_offers(r, family, [&r, declined = std::make_shared<std::string>()](const auto& config) {
    try {
      GemmMade made{r.problem.sums == Sums::none ? std::make_shared<const SmallCpuRunner>(r, config)
                                                 : small_sums_runner(r, config)};
      if (!declined->empty())
        made.notice = fmt::format("{}; {} kernels are used instead", *declined, to_string(config.isa));
      return made;
    } catch (const Error& error) {
      *declined = fmt::format("{} kernels declined ({})", to_string(config.isa), error.what());
      throw;
    }
  });
}

}  // namespace

constinit const GemmCandidate cpu_small_candidate{
    "cpu_small", Tier::small, small_cpu_declines, small_cpu_offers, {.forms_sums = true}};

}  // namespace tilewright
