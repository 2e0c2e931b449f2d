// Opens the user's own wisdom for the verbs that write it.
#pragma once

#include <memory>
#include <string>

#include "wisdom/store.hpp"

namespace tilewright::cli {

// Opens the database of that name or, for "", that of TILEWRIGHT_WISDOM or of the user's data folder. Throws
// Error(invalid_argument) naming the flag if the file holds JSON lines, which are read-only.
std::unique_ptr<WisdomStore> open_own_wisdom(const std::string& flag, const std::string& asked);

// Opens the database of --wisdom for a search, whose result must be storable: throws Error(io) if another
// process keeps it locked.
std::unique_ptr<WisdomStore> open_store_for_search(const std::string& asked);

// Returns search(). If it fails because of the database, the error says that the log has the measurements, if
// there is one.
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
