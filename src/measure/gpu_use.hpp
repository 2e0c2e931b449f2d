// Who else uses a GPU that is measured, in words that rows of results carry. It looks and decides nothing: a
// figure from a card that is shared stays a figure, with its note.
#pragma once

#include <string>
#include <vector>

#include "device/nvml.hpp"

namespace tilewright {

// Before anything of ours runs: a card that kernels ran on in the last half second, or that other processes
// compute on. Takes that half second.
std::vector<std::string> notes_before(const Nvml& nvml);

// Between or after launches of ours, when only other processes tell.
std::vector<std::string> notes_during(const Nvml& nvml);

}  // namespace tilewright
