// Who else uses a GPU that is measured, in words that rows of results carry. It looks and decides nothing: a
// figure from a card that is shared stays a figure, with its note.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/gpu/nvml.hpp"

namespace tilewright {

// Before anything of ours runs: a card that kernels ran on in the last half second, or that other processes
// compute on. Takes that half second.
std::vector<std::string> notes_before(const Nvml& nvml);

// Between or after launches of ours, when only other processes tell.
std::vector<std::string> notes_during(const Nvml& nvml);

// Both for one run, each note once; none where NVML does not answer.
class OtherUsersNotes {
 public:
  // Before anything of ours runs on the device, `uuid` as in GpuLimits. Takes half a second.
  explicit OtherUsersNotes(const std::string& uuid);
  // Of before and of now.
  std::vector<std::string> notes() const;
  const Nvml* nvml() const { return nvml_ ? &*nvml_ : nullptr; }
  // Why it does not answer.
  const std::string& absence() const { return absence_; }

 private:
  std::optional<Nvml> nvml_;
  std::string absence_;
  std::vector<std::string> before_;
};

}  // namespace tilewright
