// The user's own wisdom as the verbs that write it see it: which file that is, opened for writing.
#pragma once

#include <memory>
#include <string>

#include "wisdom/store.hpp"

namespace tilewright::cli {

// The database of that name, or with "" TILEWRIGHT_WISDOM or the one in the user's data folder. Throws
// Error(invalid_argument) naming the flag where the file holds JSON lines, which are only read.
std::unique_ptr<WisdomStore> open_own_wisdom(const std::string& flag, const std::string& asked);

// The same by --wisdom for a search, which shall not be in vain: Error(io) where another process keeps it
// locked.
std::unique_ptr<WisdomStore> open_store_for_search(const std::string& asked);

// What search() returns. Where it fails for the database, the error says that the log has what was measured,
// if there is one.
template <class F>
auto saying_what_is_saved(bool has_log, F&& search) {
  try {
    return search();
  } catch (const Error& error) {
    if (error.argument() != "wisdom" || !has_log) throw;
    throw Error(error.code(), error.argument(),
                std::string(error.what()) + "; what was measured is in the log, and --resume keeps it");
  }
}

}  // namespace tilewright::cli
