// The counterpart is the routine of the same name in the program's other BLAS; calls that are not served here
// go there. The first call of a name searches the loaded libraries and then well-known file names, never the
// order of symbols (which may lead back here); the library found stays loaded.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tilewright::blas {

// The path that calls of a name take.
enum class Route : std::uint8_t {
  pass,     // every call goes to the counterpart
  quick,    // calls that win are served here, without observation
  careful,  // extra work: all calls are served here, there is no counterpart, or calls are observed
};

struct Found {
  void* routine = nullptr;  // null: no other library has the routine
  Route route = Route::careful;
  std::string library{};  // file name of the library that has the routine, without its folder
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
  std::atomic<const Found*> found_{nullptr};  // never freed: calls may come until the process ends
  std::atomic<int> without_memory_{0};        // state of next_: unasked, asking or asked
  Found next_{};
};

// Address and library of the first of these names (up to a null) in a loaded library other than this one. The
// width of its integers is not checked.
struct Symbol {
  void* address = nullptr;
  void* handle = nullptr;  // from dlopen; stays open
  std::string path{};
};
Symbol find_loaded(const char* const* names);

// Returns the number of threads that the program's BLAS uses for a call of this thread, or 0 if unknown.
int threads_of_program();

}  // namespace tilewright::blas
