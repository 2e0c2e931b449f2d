// Records are few and short, so one lock each is enough.
#include "recorder.hpp"

#include <algorithm>

namespace tilewright::python {

void Record::add(const std::string& problem, double seconds) {
  const std::lock_guard lock(mutex_);
  Runs& runs = runs_[problem];
  ++runs.count;
  runs.seconds += seconds;
}

std::map<std::string, Runs> Record::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

void Recorder::begin(const std::shared_ptr<Record>& record) {
  const std::lock_guard lock(mutex_);
  open_.push_back(record);
  active_ = true;
}

void Recorder::end(const std::shared_ptr<Record>& record) {
  const std::lock_guard lock(mutex_);
  open_.erase(std::remove(open_.begin(), open_.end(), record), open_.end());
  active_ = !open_.empty();
}

void Recorder::add(const GemmProblem& problem, double seconds) {
  const std::string text = to_string(problem);
  const std::lock_guard lock(mutex_);
  for (const auto& record : open_) record->add(text, seconds);
}

}  // namespace tilewright::python
