// Whole tiny problems side by side in a vector (config.matrices_per_vector = 0): a packed batch is one run of
// elements, from which permutations select the A and B of each vector of C. For real types and packed strided
// batches with alpha = 1; an ordinary columns kernel computes the problems beyond the last whole period.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kernel/gemm_small_cpu/kernel.hpp"
#include "kernel/jit/x86.hpp"

namespace tilewright::columns {

// Returns why the flat kernel cannot serve the problem; "" if it can.
std::string flat_refusal(const GemmProblem& problem, Isa isa);

class FlatGenerator : public JitCode {
 public:
  using Lanes = std::vector<int>;  // element offsets, one per lane

  // `rest` runs the problems that do not fill a period; it must outlive this kernel.
  FlatGenerator(const GemmProblem& problem, const GemmSmallCpuConfig& config, GemmSmallCpuFunction rest);
  void generate();

 private:
  enum Operand { operand_a, operand_b };
  // Elements of A or B of the period, one per lane.
  struct Value {
    Operand operand;
    Lanes lanes;
    bool operator==(const Value&) const = default;
  };

  // Registers 0 and 1 sum, 2 and 3 are scratch; then come remembered values, then index vectors.
  static constexpr int index_work_register = 2;
  static constexpr int low_work_register = 3;
  static constexpr int first_value_register = 4;

  void emit();
  void period_loop(bool stream);
  void period_body(bool stream);
  void call_rest();

  // gemm_small_cpu/columns_flat_gather.cpp
  Xbyak::Ymm gather(const Value& value);
  Xbyak::Ymm gather_from_registers(const Value& value);
  void permute_registers(const Xbyak::Ymm& to, const Lanes& index, const Xbyak::Ymm& low,
                         const Xbyak::Ymm& high, bool two);
  Xbyak::Ymm whole_vector(Operand operand, int vector);
  bool within_aligned_vectors(const Value& value) const;
  bool gather_broadcast(const Xbyak::Ymm& to, const Value& value);
  bool gather_in_lane(const Xbyak::Ymm& to, const Value& value);
  void gather_permute(const Xbyak::Ymm& to, const Value& value);
  void forget_values();
  int claim(const Value& value);
  Xbyak::Ymm index_vector(const Lanes& lanes);
  void keep_tables();
  void index_tables();
  Xbyak::Reg64 base(Operand operand) const { return operand == operand_a ? rsi : rdx; }

  // gemm_small_cpu/columns_flat_avx2.cpp: the same with 256-bit vectors, which permute one source at a time
  bool has_wide_permutations() const { return config_.isa == Isa::avx512; }
  void gather_256(const Xbyak::Ymm& to, const Value& value);
  void permute_256(const Xbyak::Ymm& to, const Lanes& index, const Xbyak::Operand& from);
  void permute_two_256(const Xbyak::Ymm& to, const Lanes& index, const Xbyak::Operand& low,
                       const Xbyak::Operand& high);

  // Returns a register of the width of the instruction set.
  Xbyak::Ymm vec(int index) const {
    return has_wide_permutations() ? Xbyak::Ymm(Xbyak::Zmm(index)) : Xbyak::Ymm(index);
  }
  Xbyak::Address at(Operand operand, int element) const { return ptr[base(operand) + element * real_bytes_]; }

  GemmProblem problem_;
  GemmSmallCpuConfig config_;
  GemmSmallCpuFunction rest_;
  int real_bytes_ = 8;
  int lanes_ = 8;
  int vector_bytes_ = 64;
  int value_registers_ = 10;                   // of remembered values
  int problems_ = 1;                           // per period
  int vectors_ = 1;                            // of C per period
  std::int64_t available_[2] = {};             // elements of A and B per period
  std::vector<std::pair<Value, int>> values_;  // contents of registers, least recent first
  std::map<Lanes, int> tables_;                // index vectors, in order of first use
  std::map<Lanes, int> registers_;             // those kept in registers
  Xbyak::Label table_data_;
};

// Returns the immediate of a permutation within groups of four elements, if it is the same in each.
std::optional<std::uint8_t> quad_immediate(const FlatGenerator::Lanes& index);

}  // namespace tilewright::columns
