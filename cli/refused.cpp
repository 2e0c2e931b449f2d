// Verbs whose names are fixed but which are not built yet. They take any arguments and refuse with the
// reason, so that a script learns what is missing instead of "unknown command".
#include <fmt/format.h>

#include "tilewright/types.hpp"
#include "verbs.hpp"

namespace tilewright::cli {

namespace {

void add_one(CLI::App& app, const std::string& name, const std::string& does, const std::string& example) {
  CLI::App* verb = app.add_subcommand(name, does + " (not built yet)");
  verb->footer("Example: " + example);
  verb->allow_extras();
  verb->callback([name, does] {
    throw Error(ErrorCode::unsupported, name,
                fmt::format("verb '{}' is not built yet in version {}: {}", name, TILEWRIGHT_VERSION, does));
  });
}

}  // namespace

void add_refused(CLI::App& app) {
  add_one(app, "lu", "LU factorisation with partial pivoting",
          "tilewright lu A.npy -o LU.npy --pivots P.npy --verify");
}

}  // namespace tilewright::cli
