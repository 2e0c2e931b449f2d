// Nothing is written before every group has been checked. Small groups run from the caller's own arrays, each
// as a single call does.
#include "gemm/cpu_small/groups.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/dispatch.hpp"
#include "gemm/cpu_small/calls.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "gemm/pointers.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

// True if two groups differ at most in addresses, counts and general values.
template <class T>
bool are_alike(const GemmGroup<T>& x, const GemmGroup<T>& y) {
  return x.op_a == y.op_a && x.op_b == y.op_b && x.m == y.m && x.n == y.n && x.k == y.k && x.lda == y.lda &&
         x.ldb == y.ldb && x.ldc == y.ldc && scalar_class(x.alpha) == scalar_class(y.alpha) &&
         scalar_class(x.beta) == scalar_class(y.beta);
}

// The groups of a call; addresses from here stay valid.
template <class T>
class GroupSource {
 public:
  using Value = T;
  explicit GroupSource(std::span<const GemmGroup<T>> groups)
      : groups_(groups), firsts_(first_indices(groups)) {}
  std::size_t size() const { return groups_.size(); }
  const GemmGroup<T>& operator[](std::size_t g) const { return groups_[g]; }
  const T* alpha(std::size_t g) const { return &groups_[g].alpha; }
  const T* beta(std::size_t g) const { return &groups_[g].beta; }
  // Returns the number of its first problem; for g = size() that of all problems.
  std::int64_t first(std::size_t g) const { return firsts_[g]; }
  std::size_t group_of(std::int64_t problem_index) const {
    return std::size_t(std::upper_bound(firsts_.begin(), firsts_.end(), problem_index) - firsts_.begin()) - 1;
  }

 private:
  std::span<const GemmGroup<T>> groups_;
  std::vector<std::int64_t> firsts_;
};

// Items as groups of one problem, whose arrays of pointers are inside the items.
template <class T>
class ItemSource {
 public:
  using Value = T;
  explicit ItemSource(std::span<const GemmItem<T>> items) : items_(items) {}
  std::size_t size() const { return items_.size(); }
  GemmGroup<T> operator[](std::size_t g) const {
    const GemmItem<T>& x = items_[g];
    return {x.op_a, x.op_b, x.m, x.n, x.k, x.alpha, &x.a, x.lda, &x.b, x.ldb, x.beta, &x.c, x.ldc, 1};
  }
  const T* alpha(std::size_t g) const { return &items_[g].alpha; }
  const T* beta(std::size_t g) const { return &items_[g].beta; }
  std::int64_t first(std::size_t g) const { return std::int64_t(g); }
  std::size_t group_of(std::int64_t problem_index) const { return std::size_t(problem_index); }

 private:
  std::span<const GemmItem<T>> items_;
};

// The groups of one shape and, for several groups or bad problems, their gathered operands.
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

template <class Source>
class GroupedCall {
  using T = typename Source::Value;

 public:
  GroupedCall(Context::Impl& context, Source&& groups, const GemmOptions& options, const BatchInfo& info,
              CountedIn counted, const ArgumentNames& names)
      : context_(context),
        groups_(std::move(groups)),
        options_(options),
        names_(names),
        are_default_(are_default(options)),
        report_(info, groups_.first(groups_.size()), std::int64_t(groups_.size()), counted) {}

  void run() {
    check_call_options(context_, options_, Location::host);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (!are_default_ || !is_plainly_right(groups_[g]))
        check(g);
      else
        add_small(groups_[g]);
    if (options_.checked) check_overlaps();
    for (const std::size_t g : planned_) add_to_bin(g);
    for (Bin<T>& bin : bins_) prepare(bin);
    execute_small();
    execute_bins();
  }

 private:
  bool is_bad(std::int64_t problem_index) const { return !bad_.empty() && bad_[std::size_t(problem_index)]; }
  void mark_bad(std::int64_t first, std::int64_t count) {
    if (bad_.empty()) bad_.resize(std::size_t(groups_.first(groups_.size())));
    std::fill_n(bad_.begin() + first, count, true);
  }

  // Not among the small ones: bad, empty, or for a plan.
  bool is_aside(std::size_t g) const { return !aside_.empty() && aside_[g]; }
  void set_aside(std::size_t g) {
    if (aside_.empty()) aside_.resize(groups_.size());
    aside_[g] = true;
  }

  void bad_group(std::size_t g, const Fault& fault) {
    report_.group(groups_.first(g), groups_[g].count, std::int64_t(g), fault);
    mark_bad(groups_.first(g), groups_[g].count);
  }

  // True if a small group needs no other check: some compares, where faults are found by many.
  static bool is_plainly_right(const GemmGroup<T>& x) {
    const bool turned_a = x.op_a != Op::none, turned_b = x.op_b != Op::none;
    if (!is_small_size(x.m) || !is_small_size(x.n) || !is_small_size(x.k) || x.op_a > Op::conj_trans ||
        x.op_b > Op::conj_trans || x.lda < (turned_a ? x.k : x.m) || x.ldb < (turned_b ? x.n : x.k) ||
        x.ldc < x.m || std::max({x.lda, x.ldb, x.ldc}) > largest_plain || x.alpha == T(0) || x.count < 1 ||
        x.a == nullptr || x.b == nullptr || x.c == nullptr)
      return false;
    bool right = true;
    for (std::int64_t i = 0; i < x.count; ++i)
      right &= Addresses{x.a[i], x.b[i], x.c[i]}.are_plainly_right(true);
    return right;
  }

  // Checks group g, reports its faults, and says how it is run.
  void check(std::size_t g) {
    const GemmGroup<T>& x = groups_[g];
    const GemmProblem p = problem_of(x);
    const auto fault = group_fault(x, p, names_);
    if (fault) bad_group(g, *fault);
    if (fault || p.m == 0 || p.n == 0 || x.count == 0) return set_aside(g);
    const bool reads = reads_ab(p);
    for (std::int64_t i = 0; i < x.count; ++i) {
      const Addresses at{reads ? x.a[i] : nullptr, reads ? x.b[i] : nullptr, x.c[i]};
      if (!at.are_plainly_right(reads)) bad_problem(g, i, *address_fault(at, reads, names_));
    }
    const bool is_plain = std::max({x.lda, x.ldb, x.ldc}) <= largest_plain;
    if (are_default_ && is_plain && is_small(p)) return add_small(x);
    set_aside(g);
    planned_.push_back(g);
  }

  void add_small(const GemmGroup<T>& x) {
    const auto count = double(x.count), m = double(x.m), n = double(x.n), k = double(x.k);
    small_s_ += count * small_problem_s(is_complex(dtype_of<T>), m * n * k);
    small_bytes_ += count * (m * k + k * n + m * n) * double(sizeof(T));
    small_count_ += x.count;
  }

  void bad_problem(std::size_t g, std::int64_t i, const Fault& fault) {
    report_.problem(groups_.first(g) + i, std::int64_t(g), fault);
    mark_bad(groups_.first(g) + i, 1);
  }

  void check_overlaps() {
    std::vector<Extent> extents;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const GemmGroup<T>& x = groups_[g];
      for (std::int64_t i = 0; i < x.count && x.m > 0 && x.n > 0; ++i)
        if (!is_bad(groups_.first(g) + i))
          extents.push_back(extent_of(x.c[i], problem_of(x), groups_.first(g) + i));
    }
    for (const Overlap& overlap : find_overlaps(extents)) {
      const std::size_t g = groups_.group_of(overlap.problem_index);
      bad_problem(g, overlap.problem_index - groups_.first(g), overlap_fault(overlap, names_));
    }
  }

  // Returns the number of problems without bad ones.
  std::int64_t good_count(std::size_t g) const {
    const GemmGroup<T>& group = groups_[g];
    if (bad_.empty()) return group.count;
    const auto begin = bad_.begin() + groups_.first(g);
    return group.count - std::count(begin, begin + group.count, true);
  }

  // Groups in a row are often alike.
  void add_to_bin(std::size_t g) {
    const std::int64_t count = good_count(g);
    if (last_bin_ == nullptr || !are_alike<T>(groups_[std::size_t(last_group_)], groups_[g])) {
      GemmProblem p = problem_of(groups_[g]);
      p.batch_count = 0;
      const auto [it, is_new] = bin_of_.try_emplace(p, bins_.size());
      if (is_new) bins_.emplace_back().problem = p;
      last_bin_ = &bins_[it->second];
      last_group_ = g;
    }
    if (count == 0) return;
    last_bin_->groups.push_back(std::int64_t(g));
    last_bin_->problem.batch_count += count;
  }

  void prepare(Bin<T>& bin) {
    if (bin.groups.empty()) return;
    const auto g = std::size_t(bin.groups[0]);
    const GemmGroup<T>& only = groups_[g];
    if (bin.groups.size() == 1 && bin.problem.batch_count == only.count)
      bin.operands = {only.a, only.b, const_cast<T**>(only.c), groups_.alpha(g), groups_.beta(g), 0, 0};
    else
      gather(bin);
    GemmOptions options = options_;
    const GemmProblem& p = bin.problem;
    if (!reads_ab(p)) options.config.clear();
    bin.plan = find_plan(context_, p, options);
  }

  void gather(Bin<T>& bin) {
    const GemmProblem& p = bin.problem;
    const bool reads = reads_ab(p);
    const auto count = std::size_t(p.batch_count);
    if (reads) bin.a.reserve(count), bin.b.reserve(count);
    bin.c.reserve(count);
    for (const std::int64_t g : bin.groups) {
      const GemmGroup<T>& group = groups_[std::size_t(g)];
      for (std::int64_t i = 0; i < group.count; ++i) {
        if (is_bad(groups_.first(std::size_t(g)) + i)) continue;
        if (reads) bin.a.push_back(group.a[i]), bin.b.push_back(group.b[i]);
        bin.c.push_back(group.c[i]);
        if (p.alpha == Scalar::general) bin.alpha.push_back(group.alpha);
        if (p.beta == Scalar::general) bin.beta.push_back(group.beta);
      }
    }
    bin.operands = {bin.a.data(), bin.b.data(), bin.c.data()};
    // If all values are equal, kernels read one.
    const auto set = [&](const std::vector<T>& values, const T& common, const void*& to,
                         std::int64_t& stride) {
      const auto differs = [&](const T& v) { return v != values[0]; };
      stride = std::any_of(values.begin(), values.end(), differs) ? 1 : 0;
      to = values.empty() ? &common : values.data();
    };
    const auto first = std::size_t(bin.groups[0]);
    set(bin.alpha, *groups_.alpha(first), bin.operands.alpha, bin.operands.alpha_stride);
    set(bin.beta, *groups_.beta(first), bin.operands.beta, bin.operands.beta_stride);
  }

  // Consecutive problems of small groups: the place of the first, and their number.
  struct SmallPiece {
    std::size_t group = 0;
    std::int64_t index = 0, count = 0;
  };

  void execute_small() {
    if (small_count_ == 0) return;
    residency_ = residency_of(small_bytes_, options_);
    const int threads = threads_for(small_s_, options_.threads);
    if (threads == 1) return run_piece({0, 0, small_count_});
    const std::vector<SmallPiece> pieces = small_pieces();
    parallel_each(threads, std::int64_t(pieces.size()),
                  [&](std::int64_t i) { run_piece(pieces[std::size_t(i)]); });
  }

  std::vector<SmallPiece> small_pieces() const {
    std::vector<SmallPiece> pieces;
    PieceCutter cutter(batch_piece_s);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (is_aside(g)) continue;
      const GemmGroup<T>& x = groups_[g];
      const double problem_s = small_problem_s(is_complex(dtype_of<T>), double(x.m * x.n * x.k));
      for (std::int64_t i = 0; i < x.count;) {
        if (cutter.is_full()) pieces.push_back({g, i, 0}), cutter.begin();
        const std::int64_t count = cutter.take(x.count - i, problem_s);
        pieces.back().count += count;
        i += count;
      }
    }
    return pieces;
  }

  void run_piece(const SmallPiece& piece) {
    std::int64_t i = piece.index, left = piece.count;
    for (std::size_t g = piece.group; left > 0; ++g, i = 0) {
      if (is_aside(g)) continue;
      const GemmGroup<T>& x = groups_[g];
      const std::int64_t count = std::min(left, x.count - i);
      left -= count;
      if (x.count > 1)
        run_several(x, g, i, count);
      else if (!is_bad(groups_.first(g)))
        run_alone(x, g);
    }
  }

  void run_alone(const GemmGroup<T>& x, std::size_t g) {
    // The kernel of a single product fetches nothing ahead.
    if (residency_ == Residency::cold && g + 1 < groups_.size() && !is_aside(g + 1)) prefetch(groups_[g + 1]);
    const auto rows = [](Op op, std::int64_t own, std::int64_t other) {
      return op == Op::none ? own : other;
    };
    // It serves all leading dimensions of small groups.
    (void)run_one<T>(context_, x.op_a, x.op_b, x.k, *groups_.alpha(g),
                     {*x.a, rows(x.op_a, x.m, x.k), rows(x.op_a, x.k, x.m), x.lda},
                     {*x.b, rows(x.op_b, x.k, x.n), rows(x.op_b, x.n, x.k), x.ldb}, *groups_.beta(g),
                     {*x.c, x.m, x.n, x.ldc}, options_);
  }

  static void prefetch(const GemmGroup<T>& x) {
    const auto fetch = [](const T* matrix, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
      constexpr std::int64_t line = std::max<std::int64_t>(1, 64 / sizeof(T));
      if (matrix == nullptr) return;  // a bad one
      if (ld == rows) rows *= cols, cols = 1;
      for (std::int64_t j = 0; j < cols; ++j)
        for (std::int64_t i = 0; i < rows; i += line) __builtin_prefetch(matrix + j * ld + i);
    };
    const GemmProblem p = problem_of(x);
    fetch(*x.a, p.a_rows(), p.a_cols(), p.lda);
    fetch(*x.b, p.b_rows(), p.b_cols(), p.ldb);
    fetch(*x.c, p.m, p.n, p.ldc);
  }

  // Runs problems of one group except bad ones.
  void run_several(const GemmGroup<T>& x, std::size_t g, std::int64_t first, std::int64_t count) {
    GemmProblem p = problem_of(x);
    p.residency = residency_;
    p.batch_count = count;
    const SmallKernel kernel(context_, p, options_);
    const auto call = [&](std::int64_t from, std::int64_t to) {
      if (from < to)
        kernel.get().run(KernelCall(x.a + from, x.b + from, const_cast<T**>(x.c + from), groups_.alpha(g),
                                    groups_.beta(g), to - from));
    };
    std::int64_t begin = first;
    for (std::int64_t i = first; !bad_.empty() && i < first + count; ++i)
      if (is_bad(groups_.first(g) + i)) call(begin, i), begin = i + 1;
    call(begin, first + count);
  }

  struct Piece {
    const Bin<T>* bin;
    std::int64_t first;
    std::int64_t count;
  };

  // Bins served by a library with its own threads run one after another, and so does a single bin; all others
  // are cut into pieces that threads take one by one.
  void execute_bins() {
    std::vector<Piece> pieces;
    double work_s = 0;
    for (const Bin<T>& bin : bins_) {
      if (bin.groups.empty()) continue;
      if (bins_.size() == 1 || !bin.plan->runner->cuts_batches()) {
        execute(*bin.plan, bin.operands);
        continue;
      }
      const double bin_s = estimate_s(bin.plan->problem);
      work_s += bin_s;
      const std::int64_t count = bin.problem.batch_count;
      PieceCutter cutter(batch_piece_s);
      for (std::int64_t first = 0; first < count; first += pieces.back().count) {
        cutter.begin();
        pieces.push_back({&bin, first, cutter.take(count - first, bin_s / double(count))});
      }
    }
    parallel_each(threads_for(work_s, options_.threads), std::int64_t(pieces.size()), [&](std::int64_t i) {
      const Piece& piece = pieces[std::size_t(i)];
      piece.bin->plan->runner->run_range(piece.bin->operands, piece.first, piece.count);
    });
  }

  // Hashes the fields in which groups differ.
  struct Hash {
    std::size_t operator()(const GemmProblem& p) const {
      auto h = std::size_t(p.op_a) | std::size_t(p.op_b) << 8 | std::size_t(p.alpha) << 16 |
               std::size_t(p.beta) << 24;
      for (const std::int64_t x : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc})
        h = (h ^ std::size_t(x)) * 0x9e3779b97f4a7c15u;
      return h ^ h >> 32;
    }
  };

  Context::Impl& context_;
  Source groups_;
  const GemmOptions& options_;
  const ArgumentNames& names_;
  const bool are_default_;
  InfoReport report_;
  std::vector<bool> bad_;    // empty while no problem is
  std::vector<bool> aside_;  // empty while no group is
  double small_s_ = 0, small_bytes_ = 0;
  std::int64_t small_count_ = 0;
  Residency residency_ = Residency::automatic;  // of the small ones
  std::vector<std::size_t> planned_;
  std::unordered_map<GemmProblem, std::size_t, Hash> bin_of_;
  std::vector<Bin<T>> bins_;
  Bin<T>* last_bin_ = nullptr;  // of the last group that was added to one
  std::size_t last_group_ = 0;
};

}  // namespace

template <class T>
void run_groups(Context::Impl& context, std::span<const GemmGroup<T>> groups, const GemmOptions& options,
                const BatchInfo& info, CountedIn counted, const ArgumentNames& names) {
  GroupedCall(context, GroupSource<T>(groups), options, info, counted, names).run();
}

template <class T>
void run_items(Context::Impl& context, std::span<const GemmItem<T>> items, const GemmOptions& options,
               const BatchInfo& info) {
  GroupedCall(context, ItemSource<T>(items), options, info, CountedIn::problems, argument_names).run();
}

#define TILEWRIGHT_INSTANTIATE(T)                                                             \
  template void run_groups(Context::Impl&, std::span<const GemmGroup<T>>, const GemmOptions&, \
                           const BatchInfo&, CountedIn, const ArgumentNames&);                \
  template void run_items(Context::Impl&, std::span<const GemmItem<T>>, const GemmOptions&, const BatchInfo&);

TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
