// Shares a product or batch of operands in host memory out among the CPU and the GPUs: the request,
// the columns (or rows) of C that each computes, cut into tiles, and who decides it (Bernabe 2014, sections 3
// and 5). All of it is a pure function of the node's models: no device is asked, nothing is moved.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/problem.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {

// The parts of C that are shared out: columns, as in the paper, or rows, if more; whole problems of a batch.
enum class SplitSide : std::uint8_t { columns, rows, problems };

enum class ProductMatrix : std::uint8_t { a, b, c };
inline constexpr std::array product_matrices{ProductMatrix::a, ProductMatrix::b, ProductMatrix::c};
using ForMatrices = std::array<bool, 3>;  // an answer for each of them
inline constexpr ForMatrices all_matrices{true, true, true};

struct SplitRequest {
  GemmProblem problem;  // in host memory
  ForMatrices pinned{};
  bool may_use_host = true;
  bool gpus_add = false;          // the devices can add C to a product (StreamDevice::adds)
  std::vector<int> gpus;          // positions in the model's list that may be used
  std::int64_t memory_bytes = 0;  // of each GPU, at most; 0: as much as the model says
  // The CPU's part of all columns (or rows), 0 to 1. Nothing: the models decide.
  std::optional<double> cpu_share;
};

// One GPU's columns or rows of C, or problems, and how they are streamed through it. A batch uses only `tile`
// and `stages`: problems at a time, and the number of such pieces in flight.
struct GpuShare {
  int gpu = 0;                        // position in the model's list
  std::int64_t first = 0, count = 0;  // columns, rows or problems
  std::int64_t tile = 0;  // of them at a time; the last tiles are smaller, so that little is left to wait for
  std::int64_t last_tile = 0;    // the smallest of the last tiles
  std::int64_t first_tile = 0;   // computed while the resident operand arrives
  std::int64_t slice_k = 0;      // the resident operand arrives by slices of k: the first; later are deeper
  bool slices_streamed = false;  // the streamed operand's part of the first tile arrives by the same slices
  // The first tile of C arrives last and is added then, so that products begin early. Else it is first.
  bool adds_c = false;
  // panel_k >= k: the whole resident operand stays in device memory. Else it does not fit: blocks of C of
  // panel_other x tile stay while both operands pass by, panel_k of k being in memory at once.
  std::int64_t panel_k = 0;
  std::int64_t panel_other = 0;
  int stages = 0;  // tiles, or slices of panel_k, in flight
};
TILEWRIGHT_FIELDS(GpuShare, gpu, first, count, tile, first_tile, last_tile, slice_k, panel_k, stages);

struct SplitPrediction {
  double seconds = 0, host_s = 0;
  double gpu_s = 0;         // of the slowest GPU
  double transfer_s = 0;    // of the busiest direction of a link, at its own rate
  double compute_s = 0;     // of the products of one GPU
  double copied_bytes = 0;  // between the host's memory and GPUs
};

struct Split : SplitPrediction {
  SplitSide side = SplitSide::columns;
  std::int64_t host_first = 0, host_count = 0;  // the CPU's columns, rows or problems, behind those of GPUs
  std::vector<GpuShare> gpus;                   // those that take part
  int copy_threads = 1;         // that fill and empty rings of pinned memory; unused if all is pinned
  std::int64_t ring_bytes = 0;  // of each GPU's ring in each direction
};

// The split that is taken and the predicted seconds of each alternative; no value: it is not possible.
struct SplitChoice {
  Split split;
  std::optional<double> host_only_s, one_gpu_s, all_gpus_s, shared_s;
  std::string reason;  // why this one, in words
};

// Throws Error(out_of_memory) naming the cap if not even one tile fits and the host may not be used, and
// Error(invalid_argument) if there is no GPU for the rest of the CPU's share. options.hpp checks the share.
SplitChoice choose_split(const NodeModel& node, const SplitRequest& request);

// The bytes that may be used of a GPU's memory.
std::int64_t gpu_memory(const NodeModel& node, const SplitRequest& request, int gpu);
// Fills in tiles, slices, panels and stages of all shares so that they fit the GPUs' memory and take the
// least time by the models; false if a GPU holds not even one tile.
bool cut_into_tiles(const NodeModel& node, const SplitRequest& request, Split& split);
// Cuts `share` as `other` is cut, whose columns (or rows) were more.
void take_tiles_of(const GpuShare& other, GpuShare& share);

// The CPU's part of all columns (or rows), 0 to 1.
double cpu_share(const Split& split);
// "CPU only 0.21 s, one GPU 33 ms, together 30 ms": the predicted seconds of each alternative.
std::string splits_text(const SplitChoice& choice);
// The shares, one line each, with tiles and slices; each line but the first begins with `indent`.
std::string split_text(const NodeModel& node, const Split& split, const std::string& indent);
// Keys: cpu_share, side, predicted_s, transfer_s, compute_s, cpu_only_s, one_gpu_s, all_gpus_s, together_s
// (null: not possible), copy_threads, reason, gpus: a list of the fields of GpuShare and the name.
nlohmann::json split_json(const NodeModel& node, const SplitChoice& choice);

TILEWRIGHT_NAMES(SplitSide, "columns", "rows", "problems");

}  // namespace tilewright
