// Detects other users of a measured GPU and describes them in notes for rows of results. It decides nothing:
// a figure from a shared card stays a figure, with its note.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/gpu/nvml.hpp"

namespace tilewright {

// Call before this process runs kernels. Notes a card on which kernels ran in the last half second, or on
// which other processes compute. Takes that half second.
std::vector<std::string> notes_before(const Nvml& nvml);

// Call between or after launches of this process, when only other processes can be noted.
std::vector<std::string> notes_during(const Nvml& nvml);

// Collects both kinds of notes for one run, each note once; none if NVML is not available.
class OtherUsersNotes {
 public:
  // Construct before this process runs kernels on the device; `uuid` as in GpuLimits. Takes half a second.
  explicit OtherUsersNotes(const std::string& uuid);
  // Returns the notes from the construction and from now.
  std::vector<std::string> notes() const;
  const Nvml* nvml() const { return nvml_ ? &*nvml_ : nullptr; }
  // Returns why NVML is not available.
  const std::string& absence() const { return absence_; }

 private:
  std::optional<Nvml> nvml_;
  std::string absence_;
  std::vector<std::string> before_;
};

}  // namespace tilewright
