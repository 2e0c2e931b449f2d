// Batches of a call as launches see them, and what all launches of a call begin with.
#pragma once

#include <string>

#include "factor/candidates.hpp"
#include "kernel/factor_gpu/loader.hpp"

namespace tilewright {

// Problems that one launch computes: all if the levels of both operands are one each, else as many as neither
// innermost level ends within.
std::int64_t problems_of_launch(const FactorWork& work);

// The matrices from problem `first` on; `offset` elements behind the beginning of each.
FactorGpuBatch gpu_batch_of(const FactorOperand& x, std::int64_t first, std::int64_t rows, std::int64_t cols,
                            std::int64_t offset);

// Returns why the GPU of a call runs none of the kernels, or "".
std::string gpu_declines(const FactorRequest& request);

std::int64_t sides_of(const FactorWork& work);  // 0 if the right sides are those of an inverse
bool scales_sides(const FactorWork& work);      // by an alpha that is not 1
bool has_one_info(const FactorWork& work);      // for all problems

// Problems from `first` on, at most `most` and all of one level, that kernels find from where the first lies:
// interleaved ones of whole blocks, or of a part of one.
std::int64_t problems_of_part(const FactorWork& work, std::int64_t first, std::int64_t most);

// Refuses operands that do not lie at multiples of their elements' size.
void refuse_misplaced(const FactorWork& work);
// Queues the clearing of a single info, which must come after all that may throw.
void clear_one_info(const Gpu& gpu, const FactorWork& work);

}  // namespace tilewright
