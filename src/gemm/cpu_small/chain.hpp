// Chains of planned batches, types erased: checks of the passes, elements per piece, and the run.
#pragma once

#include <array>
#include <vector>

#include "gemm/operand.hpp"
#include "gemm/plan.hpp"
#include "tilewright/chain.hpp"

namespace tilewright {

// A pass as the caller gives it; scratch numbers are 0 for operands with addresses.
struct ErasedPass {
  const GemmPlan* plan = nullptr;
  Operands operands;
  std::array<int, 3> scratch{};  // numbers for A, B and C
};

// Compatible passes. Throws Error(invalid_argument or unsupported) naming the first that is not.
class Chain {
 public:
  Chain(DType dtype, std::int64_t count, const std::vector<ErasedPass>& passes, const ChainOptions& options);

  void run() const;
  std::string explain() const;

 private:
  struct Pass {
    const GemmPlan::Impl* plan;
    Operands operands;
    std::array<int, 3> scratch;
    std::array<OperandLayout, 3> layouts;
    std::int64_t problems;  // of an element

    const void* data(std::size_t operand) const;
  };

  void add(std::size_t index, DType dtype, const ErasedPass& pass);
  void check_scratch(std::size_t index, const Pass& pass);
  std::int64_t bytes_of_element(const Pass& pass, std::size_t operand) const;
  std::int64_t element_bytes() const;
  std::int64_t room_bytes(int number, std::int64_t piece) const;
  void choose_piece();
  void run_piece(std::byte* scratch, std::int64_t first, std::int64_t count) const;
  void run_on_host() const;

  std::int64_t count_;
  ChainOptions options_;
  std::vector<Pass> passes_;
  std::vector<std::int64_t>
      written_;  // numbers of an element that passes so far have written to each scratch
  int threads_ = 1;
  std::int64_t piece_ = 1;
  std::vector<std::int64_t> rooms_;  // offsets of scratch 1, 2, ... of a thread, and their total
};

}  // namespace tilewright
