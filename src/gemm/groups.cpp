// Grouped batches in four steps: check, gather, plan, run. Nothing is written before every group has been
// checked, and a group that shares its shape with no other is run from the caller's own arrays of pointers.
#include "gemm/groups.hpp"

#include <algorithm>
#include <complex>
#include <unordered_map>

#include "gemm/execute.hpp"
#include "gemm/overlap.hpp"
#include "gemm/parallel.hpp"
#include "gemm/report.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

// With more shapes than this in one call, those with little work are left to the portable kernel: generating
// costs up to 200 us each, and the Context would drop kernels again before they are reused.
constexpr std::size_t many_shapes = 1024;
constexpr double generation_s = 200e-6;
// Work is handed out in pieces of about this size, far above the cost of handing one out (under 1 us).
constexpr double piece_s = 20e-6;

// One shape: the groups that have it and, when there is more than one or some problem is bad, their gathered
// operands.
template <class T>
struct Bin {
  GemmProblem problem;
  std::vector<std::int64_t> groups;
  std::vector<const T*> a;
  std::vector<const T*> b;
  std::vector<T*> c;
  std::vector<T> alpha;
  std::vector<T> beta;
  Operands operands;
  std::shared_ptr<const GemmPlan::Impl> plan;
};

template <class T>
class GroupedCall {
 public:
  GroupedCall(Context::Impl& context, std::span<const GemmGroup<T>> groups, const GemmOptions& options,
              const BatchInfo& info)
      : context_(context),
        groups_(groups),
        options_(options),
        firsts_(first_indices(groups)),
        report_(info, firsts_.back(), std::int64_t(groups.size())) {}

  void run() {
    if (options_.stream != nullptr)
      throw Error(ErrorCode::invalid_argument, "stream",
                  fmt::format("stream = {} is given, but the operands are in host memory", options_.stream));
    for (std::size_t g = 0; g < groups_.size(); ++g) check(g);
    if (options_.checked) check_overlaps();
    fill_bins();
    for (Bin<T>& bin : bins_) prepare(bin);
    execute_bins();
  }

 private:
  bool is_bad(std::int64_t problem_index) const { return !bad_.empty() && bad_[std::size_t(problem_index)]; }
  void mark_bad(std::int64_t first, std::int64_t count) {
    if (bad_.empty()) bad_.resize(std::size_t(firsts_.back()));
    std::fill_n(bad_.begin() + first, count, true);
  }

  void bad_group(std::size_t g, const Fault& fault) {
    report_.group(firsts_[g], groups_[g].count, std::int64_t(g), fault);
    mark_bad(firsts_[g], groups_[g].count);
  }

  void check(std::size_t g) {
    const GemmGroup<T>& group = groups_[g];
    const GemmProblem p = problem_of(group);
    if (auto fault = group_fault(group, p)) return bad_group(g, *fault);
    if (p.m == 0 || p.n == 0 || group.count == 0) return;
    const bool reads_ab = p.k > 0 && p.alpha != Scalar::zero;
    for (std::int64_t i = 0; i < group.count; ++i) {
      if (reads_ab && group.a[i] == nullptr)
        bad_problem(g, i, {"a", blas_number::a, "a is null"});
      else if (reads_ab && group.b[i] == nullptr)
        bad_problem(g, i, {"b", blas_number::b, "b is null"});
      else if (group.c[i] == nullptr)
        bad_problem(g, i, {"c", blas_number::c, "c is null"});
      else if (reads_ab && (group.c[i] == group.a[i] || group.c[i] == group.b[i]))
        bad_problem(g, i, {"c", blas_number::c, "c is a or b: " + std::string(in_place_reason)});
    }
  }

  void bad_problem(std::size_t g, std::int64_t i, const Fault& fault) {
    report_.problem(firsts_[g] + i, std::int64_t(g), fault);
    mark_bad(firsts_[g] + i, 1);
  }

  void check_overlaps() {
    std::vector<Extent> extents;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const GemmGroup<T>& x = groups_[g];
      for (std::int64_t i = 0; i < x.count && x.m > 0 && x.n > 0; ++i)
        if (!is_bad(firsts_[g] + i))
          extents.push_back({reinterpret_cast<const char*>(x.c[i]), x.m * std::int64_t(sizeof(T)),
                             x.ldc * std::int64_t(sizeof(T)), x.n, firsts_[g] + i});
    }
    for (const Overlap& overlap : find_overlaps(extents)) {
      const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), overlap.problem_index);
      const auto g = std::size_t(after - firsts_.begin()) - 1;
      bad_problem(g, overlap.problem_index - firsts_[g],
                  {"c", blas_number::c, fmt::format("c overlaps that of problem {}", overlap.other_index)});
    }
  }

  // Groups with nothing left to compute take no part.
  std::int64_t good_count(std::size_t g) const {
    const GemmGroup<T>& group = groups_[g];
    if (bad_.empty()) return group.count;
    const auto begin = bad_.begin() + firsts_[g];
    return group.count - std::count(begin, begin + group.count, true);
  }

  void fill_bins() {
    // The fields in which the problems of groups differ; the rest of GemmProblem is the same for all.
    struct Hash {
      std::size_t operator()(const GemmProblem& p) const {
        auto h = std::size_t(p.op_a) | std::size_t(p.op_b) << 8 | std::size_t(p.alpha) << 16 |
                 std::size_t(p.beta) << 24;
        for (const std::int64_t x : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc})
          h = (h ^ std::size_t(x)) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 32;
      }
    };
    std::unordered_map<GemmProblem, std::size_t, Hash> bin_of;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::int64_t count = good_count(g);
      if (count == 0 || groups_[g].m == 0 || groups_[g].n == 0) continue;
      GemmProblem p = problem_of(groups_[g]);
      p.batch_count = 0;
      const auto [it, is_new] = bin_of.try_emplace(p, bins_.size());
      if (is_new) bins_.emplace_back().problem = p;
      Bin<T>& bin = bins_[it->second];
      bin.groups.push_back(std::int64_t(g));
      bin.problem.batch_count += count;
    }
  }

  void prepare(Bin<T>& bin) {
    const GemmGroup<T>& only = groups_[std::size_t(bin.groups[0])];
    if (bin.groups.size() == 1 && bin.problem.batch_count == only.count)
      bin.operands = {only.a, only.b, const_cast<T**>(only.c), &only.alpha, &only.beta, 0, 0};
    else
      gather(bin);
    GemmOptions options = options_;
    const GemmProblem& p = bin.problem;
    const bool small = std::max({p.m, p.n, p.k}) <= gemm_small_cpu_limit;
    if (bins_.size() > many_shapes && small && options.config.empty() && options.candidate.empty() &&
        estimate_s(p) < generation_s)
      options.config = R"({"isa":"portable"})";
    if (p.k == 0 || p.alpha == Scalar::zero) options.config.clear();
    bin.plan = find_plan(context_, p, options);
  }

  void gather(Bin<T>& bin) {
    const GemmProblem& p = bin.problem;
    const bool reads_ab = p.k > 0 && p.alpha != Scalar::zero;
    const auto count = std::size_t(p.batch_count);
    if (reads_ab) bin.a.reserve(count), bin.b.reserve(count);
    bin.c.reserve(count);
    for (const std::int64_t g : bin.groups) {
      const GemmGroup<T>& group = groups_[std::size_t(g)];
      for (std::int64_t i = 0; i < group.count; ++i) {
        if (is_bad(firsts_[std::size_t(g)] + i)) continue;
        if (reads_ab) bin.a.push_back(group.a[i]), bin.b.push_back(group.b[i]);
        bin.c.push_back(group.c[i]);
        if (p.alpha == Scalar::general) bin.alpha.push_back(group.alpha);
        if (p.beta == Scalar::general) bin.beta.push_back(group.beta);
      }
    }
    bin.operands = {bin.a.data(), bin.b.data(), bin.c.data()};
    // One value when all are equal, which kernels read once.
    const auto set = [&](const std::vector<T>& values, const T& common, const void*& to,
                         std::int64_t& stride) {
      const auto differs = [&](const T& v) { return v != values[0]; };
      stride = std::any_of(values.begin(), values.end(), differs) ? 1 : 0;
      to = values.empty() ? &common : values.data();
    };
    const GemmGroup<T>& first = groups_[std::size_t(bin.groups[0])];
    set(bin.alpha, first.alpha, bin.operands.alpha, bin.operands.alpha_stride);
    set(bin.beta, first.beta, bin.operands.beta, bin.operands.beta_stride);
  }

  struct Piece {
    const Bin<T>* bin;
    std::int64_t first;
    std::int64_t count;
  };

  // Bins with a thread-aware library behind them run one after another, and so does a single bin; all others
  // are cut into pieces that the threads take as they come.
  void execute_bins() {
    std::vector<Piece> pieces;
    double work_s = 0;
    for (const Bin<T>& bin : bins_) {
      if (bins_.size() == 1 || !bin.plan->runner->cuts_batches()) {
        execute(*bin.plan, bin.operands);
        continue;
      }
      const double bin_s = estimate_s(bin.plan->problem);
      work_s += bin_s;
      const std::int64_t count = bin.problem.batch_count;
      const auto per_piece = std::max<std::int64_t>(1, std::int64_t(piece_s / (bin_s / double(count))));
      for (std::int64_t first = 0; first < count; first += per_piece)
        pieces.push_back({&bin, first, std::min(per_piece, count - first)});
    }
    const bool worth_threads = work_s >= parallel_worth_s(options_);
    parallel_each(worth_threads ? allowed_threads(options_.threads) : 1, std::int64_t(pieces.size()),
                  [&](std::int64_t i) {
                    const Piece& piece = pieces[std::size_t(i)];
                    piece.bin->plan->runner->run_range(piece.bin->operands, piece.first, piece.count);
                  });
  }

  Context::Impl& context_;
  std::span<const GemmGroup<T>> groups_;
  const GemmOptions& options_;
  std::vector<std::int64_t> firsts_;
  InfoReport report_;
  std::vector<bool> bad_;  // empty while no problem is
  std::vector<Bin<T>> bins_;
};

}  // namespace

template <class T>
void run_groups(Context::Impl& context, std::span<const GemmGroup<T>> groups, const GemmOptions& options,
                const BatchInfo& info) {
  GroupedCall<T>(context, groups, options, info).run();
}

template void run_groups(Context::Impl&, std::span<const GemmGroup<float>>, const GemmOptions&,
                         const BatchInfo&);
template void run_groups(Context::Impl&, std::span<const GemmGroup<double>>, const GemmOptions&,
                         const BatchInfo&);
template void run_groups(Context::Impl&, std::span<const GemmGroup<std::complex<float>>>, const GemmOptions&,
                         const BatchInfo&);
template void run_groups(Context::Impl&, std::span<const GemmGroup<std::complex<double>>>, const GemmOptions&,
                         const BatchInfo&);

}  // namespace tilewright
