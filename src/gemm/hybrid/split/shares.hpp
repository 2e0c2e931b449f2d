// The words of a shared product: what is asked for, and which columns (or rows) of C the CPU and each GPU
// compute, cut into which tiles. Who fills them in is split.hpp's.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {

// What of C is shared out: whole columns, as in the paper, or whole rows, where those are more; of a batch
// whole problems.
enum class SplitSide : std::uint8_t { columns, rows, problems };

enum class ProductMatrix : std::uint8_t { a, b, c };
inline constexpr std::array product_matrices{ProductMatrix::a, ProductMatrix::b, ProductMatrix::c};
// An answer for each of them.
using ForMatrices = std::array<bool, 3>;
inline constexpr ForMatrices all_matrices{true, true, true};

struct SplitRequest {
  GemmProblem problem;  // in host memory
  ForMatrices pinned{};
  bool may_use_host = true;
  bool gpus_add = false;          // whether their devices can add C to a product (StreamDevice::adds)
  std::vector<int> gpus;          // positions in the model's list that may be used
  std::int64_t memory_bytes = 0;  // of each GPU, at most; 0: what the model says that it has
  // Of all columns (or rows), what the CPU is to compute: 0 to 1. Nothing: as the model says.
  std::optional<double> cpu_share;
};

// One GPU's columns or rows of C, or problems, and how they are streamed through it. Of a batch `tile` and
// `stages` count alone: problems at a time, and how many such pieces are in flight.
struct GpuShare {
  int gpu = 0;                        // position in the model's list
  std::int64_t first = 0, count = 0;  // columns, rows or problems
  std::int64_t tile = 0;  // of them at a time; the last tiles are smaller, so that little is left to wait for
  std::int64_t last_tile = 0;   // that the smaller ones end with
  std::int64_t first_tile = 0;  // of the first tile, which is computed while the resident operand arrives
  std::int64_t slice_k = 0;     // of k that it arrives by at first; later slices are deeper
  // Whether the streamed operand's part of the first tile arrives by the same slices, or before them.
  bool slices_streamed = false;
  // Whether C's part of the first tile arrives last and is added then, so that products begin with the first
  // slices. Else it arrives first.
  bool adds_c = false;
  // panel_k >= k: the whole resident operand stays in device memory. Else it does not fit: blocks of C of
  // panel_other x tile stay while both operands pass by, panel_k of k being in memory at once.
  std::int64_t panel_k = 0;
  std::int64_t panel_other = 0;
  int stages = 0;  // tiles, or slices of panel_k, in flight
};

struct Split {
  SplitSide side = SplitSide::columns;
  std::int64_t host_first = 0, host_count = 0;  // the CPU's columns, rows or problems, behind those of GPUs
  std::vector<GpuShare> gpus;                   // those that take part
  int copy_threads = 1;          // that fill and empty rings of pinned memory; unused where all is pinned
  std::int64_t ring_bytes = 0;   // of each GPU's ring in each direction
  double seconds = 0;            // predicted
  double host_s = 0, gpu_s = 0;  // of the CPU's part and the slowest GPU's
  double transfer_s = 0, compute_s = 0;  // the least that moving and multiplying take by themselves
};

// What the models say of each way, and which is taken. Ways that cannot serve have no value.
struct SplitChoice {
  Split split;
  std::optional<double> host_only_s, one_gpu_s, all_gpus_s, shared_s;
  std::string reason;  // why this one, in words
};

template <>
struct EnumNames<SplitSide> {
  static constexpr std::array value{std::pair{SplitSide::columns, "columns"},
                                    std::pair{SplitSide::rows, "rows"},
                                    std::pair{SplitSide::problems, "problems"}};
};

}  // namespace tilewright
