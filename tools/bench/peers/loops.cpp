// The two peers made of plain compile-time loops.
#include <fmt/format.h>

#include "fixed_peer.hpp"

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

}  // namespace

void find_loops(PeerSearch& search) {
  search.add(std::make_unique<Loops>("loop_ijk", loop_ijk_f32(), loop_ijk_f64()));
  search.add(std::make_unique<Loops>("loop_ikj", loop_ikj_f32(), loop_ikj_f64()));
}

}  // namespace tilewright::peers
