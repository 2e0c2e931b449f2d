// One clause per kind of exception, from the most to the least specific.
#include "core/input/failure.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <locale.h>

#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "core/fields.hpp"
#include "core/input/printable.hpp"
#include "core/json.hpp"

namespace tilewright {
namespace {

// Sets the "C" locale for the calling thread alone while it lives.
class PlainLocale {
 public:
  PlainLocale() : plain_(::newlocale(LC_ALL_MASK, "C", nullptr)) {
    if (plain_ != nullptr) before_ = ::uselocale(plain_);
  }
  ~PlainLocale() {
    if (plain_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(plain_);
  }
  locale_t get() const { return plain_; }
  PlainLocale& operator=(PlainLocale&&) = delete;

 private:
  locale_t plain_, before_ = nullptr;
};

bool is_lack_of_memory(const std::error_code& code) {
  return code == std::errc::not_enough_memory || code == std::errc::resource_unavailable_try_again;
}

std::string text_of(const std::error_code& code) {
  const bool of_system =
      code.category() == std::system_category() || code.category() == std::generic_category();
  return of_system ? system_error_text(code.value()) : code.message();
}

Failure failure_of(const std::filesystem::filesystem_error& error) {
  return {ErrorCode::io,
          fmt::format("'{}' cannot be used: {}", error.path1().string(), text_of(error.code()))};
}

Failure failure_of(const std::system_error& error) {
  return {is_lack_of_memory(error.code()) ? ErrorCode::out_of_memory : ErrorCode::io,
          fmt::format("system error: {}", text_of(error.code()))};
}

Failure described() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::out_of_memory, "out of memory"};
  } catch (const std::filesystem::filesystem_error& error) {
    return failure_of(error);
  } catch (const std::system_error& error) {
    return failure_of(error);
  } catch (const std::length_error&) {
    return {ErrorCode::out_of_memory, "out of memory: a size is too large"};
  } catch (const nlohmann::json::exception& error) {
    return {ErrorCode::internal, "internal error: " + json_fault(error)};
  } catch (const std::exception& error) {
    return {ErrorCode::internal, fmt::format("internal error: {}", error.what())};
  }
}

}  // namespace

Failure current_failure() {
  Failure failure = described();
  failure.message = printable(failure.message);
  return failure;
}

std::string system_error_text(int error_number) {
  const PlainLocale plain;
  return plain.get() != nullptr ? ::strerror_l(error_number, plain.get())
                                : fmt::format("system error {}", error_number);
}

std::string loader_error() {
  const PlainLocale plain;
  const char* text = ::dlerror();
  return text == nullptr ? "" : printable(text);
}

}  // namespace tilewright
