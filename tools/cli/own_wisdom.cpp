// Finds and opens the user's database.
#include "own_wisdom.hpp"

#include <fmt/format.h>

#include "wisdom/wisdom.hpp"

namespace tilewright::cli {

std::unique_ptr<WisdomStore> open_own_wisdom(const std::string& flag, const std::string& asked) {
  const Environment environment = Environment::read();
  const std::string path = asked.empty() ? user_wisdom_path(environment) : asked;
  const std::string argument = !asked.empty() ? "--" + flag : "TILEWRIGHT_WISDOM";
  if (path.empty())
    throw Error(
        ErrorCode::invalid_argument, argument,
        fmt::format("{} is empty, and neither HOME nor XDG_DATA_HOME is an absolute path: name a file",
                    argument));
  if (is_lines_file(path))
    throw Error(ErrorCode::invalid_argument, argument,
                fmt::format("{} = '{}' holds JSON lines, which are only read: name a database to write to",
                            argument, path));
  return std::make_unique<WisdomStore>(path, sqlite::Mode::write);
}

std::unique_ptr<WisdomStore> open_store_for_search(const std::string& asked) {
  auto store = open_own_wisdom("wisdom", asked);
  store->at_once([] {});  // reading works beside a writer; this tests whether writing does
  return store;
}

}  // namespace tilewright::cli
