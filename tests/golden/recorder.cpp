// Comparing memory before and after a call, and the lines that say what came of it.
#include <cstring>

#include "golden/messages.hpp"

namespace tilewright::golden {
namespace {

std::string door;
int faults = 0;

const char* name_of(ErrorCode code) {
  constexpr const char* names[] = {"ok", "invalid_argument", "unsupported", "out_of_memory",
                                   "io", "internal",         "device_lost"};
  return names[static_cast<std::size_t>(code)];
}

}  // namespace

Kept::Kept(std::vector<Area> areas) : areas_(std::move(areas)) {
  for (const Area& area : areas_) before_.emplace_back(area.bytes.begin(), area.bytes.end());
}

std::string Kept::complaint(bool refused) const {
  std::string text;
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    const bool may_differ = areas_[i].is_output && !refused;
    if (!may_differ && std::memcmp(areas_[i].bytes.data(), before_[i].data(), before_[i].size()) != 0)
      text += std::string(" [WROTE ") + areas_[i].name + "]";
  }
  return text;
}

Outcome refused_by(const Error& error) {
  std::string text = name_of(error.code());
  if (!error.argument().empty()) text += " " + error.argument();
  if (error.problem_index() >= 0) text += " #" + std::to_string(error.problem_index());
  return {true, text + ": " + error.what()};
}

Outcome refused_by(tilewright_status status, const char* message) {
  return {true, std::string(name_of(static_cast<ErrorCode>(status))) + ": " + message};
}

void begin_door(const std::string& name) { door = name; }
int fault_count() { return faults; }

void tell(const std::string& call, const std::string& what, const Outcome& outcome,
          const std::string& complaint) {
  std::printf("%s %s %s -> %s%s\n", door.c_str(), call.c_str(), what.c_str(), outcome.text.c_str(),
              complaint.c_str());
  std::fflush(stdout);  // a call that ends the process shall be known by the line before it
  if (!complaint.empty()) ++faults;
}

}  // namespace tilewright::golden
