// Vector instructions of the interleaved generator: one name for f32/f64, zmm/ymm and masked forms, counted.
#pragma once

#include "kernel/jit/x86.hpp"

namespace tilewright {

// Accesses to all lanes, or to those of the remaining problems in the last vector of a run.
enum class Lanes : std::uint8_t { whole, masked };

class VectorCode : public JitCode {
 protected:
  using Xmm = Xbyak::Xmm;
  using Address = Xbyak::Address;

  // mask_vector is the place of the mask of AVX2's masked accesses; AVX-512 keeps it in k1.
  VectorCode(Isa isa, int vector_bits, bool single, const Address& mask_vector)
      : opmask_(isa == Isa::avx512),
        kind_(vector_bits == 512 ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM),
        single_(single),
        mask_vector_(mask_vector) {}

  Xmm v(int index) const { return Xmm(kind_, index); }

  void load(const Xmm& d, const Address& from, Lanes lanes) {
    count_load();
    if (lanes == Lanes::whole) {
      vmovups(d, from);
    } else if (opmask_) {
      single_ ? vmovups(d | k1 | T_z, from) : vmovupd(d | k1 | T_z, from);
    } else {
      count_load();  // the mask
      vmovups(d, mask_vector_);
      single_ ? vmaskmovps(d, d, from) : vmaskmovpd(d, d, from);
    }
  }

  // `scratch` holds the mask of AVX2's masked store.
  void store(const Address& to, const Xmm& s, Lanes lanes, const Xmm& scratch) {
    count_store();
    if (lanes == Lanes::whole) {
      vmovups(to, s);
    } else if (opmask_) {
      single_ ? vmovups(to | k1, s) : vmovupd(to | k1, s);
    } else {
      count_load();
      vmovups(scratch, mask_vector_);
      single_ ? vmaskmovps(to, scratch, s) : vmaskmovpd(to, scratch, s);
    }
  }

  void store_non_temporal(const Address& to, const Xmm& s) {
    count_store();
    vmovntps(to, s);
  }

  void zero(const Xmm& d) {
    count_other();
    if (d.getIdx() < 16) {
      const Xmm low(d.getIdx());
      vxorps(low, low, low);
    } else {
      vpxord(d, d, d);
    }
  }

  // d += x * y, and d = x * y.
  void multiply_add(const Xmm& d, const Xmm& x, const Xbyak::Operand& y) {
    count_multiply_add(y.isMEM());
    single_ ? vfmadd231ps(d, x, y) : vfmadd231pd(d, x, y);
  }
  void multiply(const Xmm& d, const Xmm& x, const Xbyak::Operand& y) {
    count_arithmetic(y);
    single_ ? vmulps(d, x, y) : vmulpd(d, x, y);
  }
  void sum_of(const Xmm& d, const Xmm& x, const Xbyak::Operand& y) {
    count_arithmetic(y);
    single_ ? vaddps(d, x, y) : vaddpd(d, x, y);
  }
  void bit_and(const Xmm& d, const Xmm& x, const Xbyak::Operand& y) {
    count_arithmetic(y);
    single_ ? vandps(d, x, y) : vandpd(d, x, y);
  }
  void bit_or(const Xmm& d, const Xmm& x, const Xbyak::Operand& y) {
    count_arithmetic(y);
    single_ ? vorps(d, x, y) : vorpd(d, x, y);
  }

  // Complex lanes are (re, im) pairs. The signs of d = d * y +- x in the re and in the im lanes.
  enum class Signs : std::uint8_t { minus_plus, plus_minus, plus_plus, minus_minus };
  void scale_combine(const Xmm& d, const Xmm& x, const Xbyak::Operand& y, Signs signs) {
    count_arithmetic(y);
    switch (signs) {
      case Signs::minus_plus:
        single_ ? vfmaddsub132ps(d, x, y) : vfmaddsub132pd(d, x, y);
        return;
      case Signs::plus_minus:
        single_ ? vfmsubadd132ps(d, x, y) : vfmsubadd132pd(d, x, y);
        return;
      case Signs::plus_plus:
        single_ ? vfmadd132ps(d, x, y) : vfmadd132pd(d, x, y);
        return;
      case Signs::minus_minus:
        single_ ? vfmsub132ps(d, x, y) : vfmsub132pd(d, x, y);
        return;
    }
  }
  void swap_pairs(const Xmm& d, const Xbyak::Operand& x) {
    count_arithmetic(x);
    single_ ? vpermilps(d, x, 0xb1) : vpermilpd(d, x, 0x55);
  }
  void duplicate_re(const Xmm& d, const Xbyak::Operand& x) {
    count_arithmetic(x);
    single_ ? vmovsldup(d, x) : vmovddup(d, x);
  }
  void duplicate_im(const Xmm& d, const Xbyak::Operand& x) {
    count_arithmetic(x);
    if (single_)
      vmovshdup(d, x);
    else
      vpermilpd(d, x, 0xff);
  }

  // Sets all bits of the lanes of d where x != 0 (NaN included); keeps x and zeros, which differ from d.
  void nonzero_mask(const Xmm& d, const Xmm& x, const Xmm& zeros) {
    constexpr int not_equal_unordered = 4;
    count_other();
    if (opmask_) {
      count_other();
      single_ ? vcmpps(k2, x, zeros, not_equal_unordered) : vcmppd(k2, x, zeros, not_equal_unordered);
      single_ ? vpmovm2d(d, k2) : vpmovm2q(d, k2);
    } else {
      single_ ? vcmpps(d, x, zeros, not_equal_unordered) : vcmppd(d, x, zeros, not_equal_unordered);
    }
  }

  // Broadcasts one element (real number or complex pair) to all lanes.
  void broadcast(const Xmm& d, const Address& from, int element_bytes) {
    count_load();
    if (element_bytes == 4)
      vbroadcastss(d, from);
    else if (element_bytes == 8)
      vbroadcastsd(Xbyak::Ymm(d.getIdx(), d.getKind(), d.getBit()), from);
    else if (d.isZMM())
      vbroadcastf64x2(Xbyak::Zmm(d.getIdx()), from);
    else
      vbroadcastf128(Xbyak::Ymm(d.getIdx()), from);
  }

  bool opmask_;

 private:
  void count_arithmetic(const Xbyak::Operand& y) { y.isMEM() ? count_load() : count_other(); }

  Xbyak::Operand::Kind kind_;
  bool single_;
  Address mask_vector_;
};

}  // namespace tilewright
