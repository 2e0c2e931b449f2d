// Where the measured ceilings of this machine are kept between runs: one JSON line per device and thread
// count in a file of the cache folder, and one per kind of GPU in another. What is measured, and how, belongs
// to measure/ceilings and tools/bench/gpu/ceilings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/ceilings.hpp"
#include "core/env.hpp"

namespace tilewright {

// $TILEWRIGHT_CACHE/ceilings.jsonl, or tilewright/ceilings.jsonl in $XDG_CACHE_HOME or ~/.cache; "" where
// there is no such folder, and then nothing is kept.
std::string ceilings_path(const Environment& environment);

// The newest ceilings of this device and thread count; empty when there are none. What fewer threads reached,
// more can: each speed is at least theirs, which machines at work while it was measured may hide. A line that
// cannot be read is passed over: this is a cache, and measuring again repairs it.
std::optional<Ceilings> load_ceilings(const std::string& path, const std::string& device,
                                      std::int64_t threads);

// Raises each rate to what fewer threads reached.
void raise_to(Ceilings& ceilings, const Ceilings& fewer);

// The rates that more threads can not have where the machine was theirs: well below those of fewer threads.
// Returns a sentence that names them, or "".
std::string disturbance(const Ceilings& ceilings, const Ceilings& fewer);

// Replaces the line of the same device and thread count, by writing a new file and renaming it over the old
// one, so that readers see either. Makes the folder when needed. Throws Error(io) naming the path.
void save_ceilings(const std::string& path, const Ceilings& ceilings);

// The same of GPUs, in gpu_ceilings.jsonl beside that file.
std::string gpu_ceilings_path(const Environment& environment);
std::optional<GpuCeilings> load_gpu_ceilings(const std::string& path, const std::string& device);
void save_gpu_ceilings(const std::string& path, const GpuCeilings& ceilings);

}  // namespace tilewright
