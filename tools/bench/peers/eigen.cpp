// Eigen as a peer: compile-time sizes if the table has them, run-time sizes always; the better one counts.
#include "batch_loop.hpp"

#ifndef TILEWRIGHT_PEER_EIGEN

namespace tilewright::peers {

void find_eigen(PeerSearch& search) {
  search.missing.push_back({"eigen", "left out of this build: " TILEWRIGHT_NO_EIGEN});
}

}  // namespace tilewright::peers

#else

#include "core/dispatch.hpp"
#include "native.hpp"

namespace tilewright::peers {
namespace {

class Eigen : public Peer {
 public:
  std::string name() const override { return "eigen"; }
  std::string version() const override { return eigen_version(); }

  PeerOffer prepare(const PeerCase& request) const override {
    const GemmProblem& problem = request.problem;
    if (is_complex(problem.dtype) && (problem.op_a != Op::none || problem.op_b != Op::none))
      return PeerOffer::decline("complex products are compiled only without transposition");
    if (problem.layout == Layout::single && request.threads > 1)
      return PeerOffer::decline("it is compiled without threads, and there is only one product");
    PeerOffer offer;
    if (fixed_case_declined(request).empty()) {
      if (request.problem.dtype == DType::f64) add_fixed_variants(offer, request, eigen_fixed_f64());
      if (request.problem.dtype == DType::f32) add_fixed_variants(offer, request, eigen_fixed_f32());
    }
    const EigenDynamic dynamic = eigen_dynamic(static_cast<int>(request.problem.dtype));
    if (!runs_here(dynamic.needs)) return PeerOffer::decline(wrong_processor);
    dispatch(request.problem.dtype, [&]<class T>() { add_dynamic<T>(offer, request, dynamic.run); });
    return offer;
  }

 private:
  template <class T>
  static void add_dynamic(PeerOffer& offer, const PeerCase& request, decltype(EigenDynamic::run) run) {
    const GemmProblem& p = request.problem;
    const EigenCall call{p.m,
                         p.n,
                         p.k,
                         p.lda,
                         p.ldb,
                         p.ldc,
                         int{p.op_a != Op::none},
                         int{p.op_b != Op::none},
                         {request.alpha.real(), request.alpha.imag()},
                         {request.beta.real(), request.beta.imag()}};
    add_loop_variants<T>(offer, request, "dynamic", [call, run](const auto& at, std::int64_t i) {
      run(call, at.a(i), at.b(i), at.c(i));
    });
  }
};

}  // namespace

void find_eigen(PeerSearch& search) { search.add(std::make_unique<Eigen>()); }

}  // namespace tilewright::peers

#endif
