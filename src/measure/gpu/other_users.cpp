// Takes several readings, because utilisation covers a fraction of a second.
#include "measure/gpu/other_users.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace tilewright {
namespace {

constexpr int busy_percent = 5;  // other processes use the GPU if none of this process's kernels has run
constexpr int looks = 5;

std::vector<std::string> notes_of_others(int processes) {
  if (processes == 0) return {};
  return {fmt::format("{} other processes compute on the card", processes)};
}

}  // namespace

std::vector<std::string> notes_before(const Nvml& nvml) {
  int busy = 0, others = 0;
  for (int look = 0; look < looks; ++look) {
    const GpuUse use = nvml.use();
    busy = std::max(busy, use.utilisation.value_or(0));
    others = std::max(others, use.other_processes.value_or(0));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::vector<std::string> notes = notes_of_others(others);
  if (busy > busy_percent) notes.push_back(fmt::format("the card was {} % busy before the run began", busy));
  return notes;
}

std::vector<std::string> notes_during(const Nvml& nvml) {
  return notes_of_others(nvml.use().other_processes.value_or(0));
}

OtherUsersNotes::OtherUsersNotes(const std::string& uuid) {
  try {
    nvml_.emplace(uuid);
    before_ = notes_before(*nvml_);
  } catch (const Error& error) {
    absence_ = error.what();
  }
}

std::vector<std::string> OtherUsersNotes::notes() const {
  std::vector<std::string> all = before_;
  if (!nvml_) return all;
  for (std::string& note : notes_during(*nvml_))
    if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(std::move(note));
  return all;
}

}  // namespace tilewright
