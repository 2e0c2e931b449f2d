// Collects the failures of a test of thousands of cases and reports the first few in full and the number of
// all.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright::testing {

class Failures {
 public:
  ~Failures() {
    if (count_ == 0) return;
    std::string text;
    for (const std::string& line : shown_) text += line + "\n";
    ADD_FAILURE() << count_ << " of " << case_count_ << " cases failed; the first " << shown_.size() << ":\n"
                  << text;
  }

  void passed() { ++case_count_; }
  void failed(const std::string& what) {
    ++case_count_;
    ++count_;
    if (shown_.size() < shown_limit) shown_.push_back(what);
  }
  // An empty text means a pass.
  void note(const std::string& what, const std::string& wrong) {
    if (wrong.empty())
      passed();
    else
      failed(what + "\n    " + wrong);
  }
  // Counts each part of a case quietly; the caller then shows one text for all.
  void note_quietly(bool right) {
    ++case_count_;
    if (!right) ++count_;
  }
  void show(const std::string& what) {
    if (shown_.size() < shown_limit) shown_.push_back(what);
  }
  bool too_many() const { return count_ >= stop_at; }
  std::size_t case_count() const { return case_count_; }

 private:
  static constexpr std::size_t shown_limit = 8;
  static constexpr std::size_t stop_at = 400;
  std::size_t case_count_ = 0;
  std::size_t count_ = 0;
  std::vector<std::string> shown_;
};

}  // namespace tilewright::testing
