// The peers made of plain loops: two with compile-time sizes, one over interleaved data.
#include <fmt/format.h>

#include "batch_loop.hpp"

namespace tilewright::peers {
namespace {

class Loops : public Peer {
 public:
  Loops(std::string name, FixedTable<float> f32, FixedTable<double> f64)
      : name_(std::move(name)), f32_(f32), f64_(f64) {}
  std::string name() const override { return name_; }
  std::string version() const override { return fmt::format("GCC-compatible {}", __VERSION__); }

  PeerOffer prepare(const PeerCase& request) const override {
    if (const std::string reason = fixed_case_declined(request); !reason.empty())
      return PeerOffer::decline(reason);
    PeerOffer offer;
    if (request.problem.dtype == DType::f64)
      add_fixed_variants(offer, request, f64_);
    else if (request.problem.dtype == DType::f32)
      add_fixed_variants(offer, request, f32_);
    else
      offer.declined = "compiled for real types only";
    return offer;
  }

 private:
  std::string name_;
  FixedTable<float> f32_;
  FixedTable<double> f64_;
};

class LoopInterleaved : public Peer {
 public:
  std::string name() const override { return "loop_interleaved"; }
  std::string version() const override { return std::string("GCC-compatible ") + __VERSION__; }

  GemmProblem stored(const GemmProblem& problem) const override {
    if (!is_interleaved(problem.layout)) return problem;
    GemmProblem blocked = problem;
    blocked.layout = Layout::block_interleaved;
    const bool single = problem.dtype == DType::f32;
    blocked.block = single ? interleaved_loop_f32().block : interleaved_loop_f64().block;
    return blocked;
  }

  PeerOffer prepare(const PeerCase& request) const override {
    const GemmProblem& p = request.problem;
    if (!is_interleaved(p.layout)) return PeerOffer::decline("only interleaved batches");
    if (p.op_a != Op::none || p.op_b != Op::none) return PeerOffer::decline("not transposed");
    if (request.alpha != 1.0 || (request.beta != 0.0 && request.beta != 1.0))
      return PeerOffer::decline("alpha = 1 and beta = 0 or 1 only");
    if (p.dtype == DType::f64) return prepare_typed(request, interleaved_loop_f64());
    if (p.dtype == DType::f32) return prepare_typed(request, interleaved_loop_f32());
    return PeerOffer::decline("real types only");
  }

 private:
  template <class T>
  static PeerOffer prepare_typed(const PeerCase& request, const InterleavedLoop<T>& loop) {
    if (!runs_here(loop.needs)) return PeerOffer::decline(wrong_processor);
    const InterleavedRun<T> run = request.beta == 1.0 ? loop.accumulate : loop.overwrite;
    PeerOffer offer;
    offer.variants.push_back(
        {"", [run, request](const Operands& operands) { share(run, request, operands); }});
    return offer;
  }

  template <class T>
  static void share(InterleavedRun<T> run, const PeerCase& request, const Operands& operands) {
    const GemmProblem& p = request.problem;
    const std::int64_t blocks = (p.batch_count + p.block - 1) / p.block;
    const auto part = [&](std::int64_t first, std::int64_t last) {
      run({p.m, p.n, p.k, p.lda, p.ldb, p.ldc, last - first},
          static_cast<const T*>(operands.a) + first * p.block * p.lda * p.k,
          static_cast<const T*>(operands.b) + first * p.block * p.ldb * p.n,
          static_cast<T*>(operands.c) + first * p.block * p.ldc * p.n);
    };
    if (request.threads == 1) return part(0, blocks);
#pragma omp parallel for num_threads(request.threads) schedule(static, 1)
    for (int thread = 0; thread < request.threads; ++thread)
      part(blocks * thread / request.threads, blocks * (thread + 1) / request.threads);
  }
};

}  // namespace

void find_loops(PeerSearch& search) {
  search.add(std::make_unique<Loops>("loop_ijk", loop_ijk_f32(), loop_ijk_f64()));
  search.add(std::make_unique<Loops>("loop_ikj", loop_ikj_f32(), loop_ikj_f64()));
}

void find_loop_interleaved(PeerSearch& search) { search.add(std::make_unique<LoopInterleaved>()); }

}  // namespace tilewright::peers
