// The routine of the same name in the BLAS that the program has anyway: where calls go that are not served
// here. It is looked for when a name is first called, among the libraries that are loaded and then by name,
// never by the order of symbols (which may lead back here), and stays loaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tilewright::blas {

// What happens with the calls of a name.
enum class Way : std::uint8_t {
  pass,     // all of them are the counterpart's
  quick,    // those that win are served here; nobody looks on
  careful,  // there is more to do: all are served here, there is no counterpart, or calls are observed
};

struct Found {
  void* routine = nullptr;  // null: no other library has it
  Way way = Way::careful;
  std::string library{};  // that has it, without its folder
};

class Counterpart {
 public:
  // `spellings` ends with a null; `plain` is the LP64 name, which libraries of 64-bit integers may have too.
  constexpr Counterpart(const char* symbol, const char* const* spellings, const char* plain, bool wide)
      : symbol_(symbol), spellings_(spellings), plain_(plain), wide_(wide) {}

  const Found& found() {
    const Found* found = found_.load(std::memory_order_acquire);
    return found != nullptr ? *found : find();
  }
  const char* symbol() const { return symbol_; }
  const char* plain() const { return plain_; }
  bool wide() const { return wide_; }

 private:
  const Found& find() noexcept;
  const Found& find_or_throw();
  const Found& found_without_memory() noexcept;

  const char* symbol_;
  const char* const* spellings_;
  const char* plain_;
  bool wide_;
  std::atomic<const Found*> found_{nullptr};  // never freed: calls may come until the process has gone
  std::atomic<int> without_memory_{0};        // whether the next line was decided
  Found next_{};
};

// Address and library of the first of these names (up to a null) that a loaded library has, ours left out.
// Its integers are not looked at.
struct Symbol {
  void* address = nullptr;
  void* handle = nullptr;  // of dlopen; stays open
  std::string path{};
};
Symbol find_loaded(const char* const* names);

// How many threads the BLAS of the program uses for a call of this thread; 0 where it does not tell.
int threads_of_program();

}  // namespace tilewright::blas
