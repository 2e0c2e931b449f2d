// Measures the time of each part of this process's factorizations, including waits for other processes:
// printed on stderr when the process ends, if TILEWRIGHT_VERBOSE asks for a summary.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace tilewright::scalapack {

enum class Part : std::size_t { on_gpus, panels, swaps, triangles, products };
constexpr std::array<const char*, 5> part_names{"on GPUs", "panels", "swaps", "triangles", "products"};

class Account {
 public:
  // Measures its own lifetime.
  class Span {
   public:
    explicit Span(Part part) : part_(part), begin_(std::chrono::steady_clock::now()) {}
    ~Span() {
      account().seconds_[std::size_t(part_)] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }
    Span& operator=(Span&&) = delete;

   private:
    Part part_;
    std::chrono::steady_clock::time_point begin_;
  };

  void begin_factorization() { ++factorizations_; }
  // Returns "2 factorizations: panels 3.21 s, swaps ..."; empty if there was none.
  std::string text() const;

  static Account& account();

 private:
  Account() = default;
  void say() const;

  std::array<double, part_names.size()> seconds_{};
  long factorizations_ = 0;
};

}  // namespace tilewright::scalapack
