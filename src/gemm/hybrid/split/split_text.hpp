// A chosen split in words and as JSON, for explain and reports. It decides nothing.
#pragma once

#include <string>

#include "core/json.hpp"
#include "gemm/hybrid/split/split.hpp"

namespace tilewright {

// What the CPU computes of all columns (or rows), 0 to 1.
double cpu_share(const Split& split);

// "CPU only 0.21 s, one GPU 33 ms, together 30 ms": what the models say of each way, in seconds.
std::string ways_text(const SplitChoice& choice);
// Who computes what, a line each, with tiles and slices; each line but the first begins with `indent`.
std::string split_text(const NodeModel& node, const Split& split, const std::string& indent);

// cpu_share, side, predicted_s, transfer_s, compute_s, cpu_only_s, one_gpu_s, all_gpus_s, together_s (null
// where there is no such way), reason, gpus: a list of gpu, first, count, tile, first_tile, last_tile,
// slice_k, panel_k, stages.
nlohmann::json split_json(const NodeModel& node, const SplitChoice& choice);

}  // namespace tilewright
