// The tilewright command line: registers the verbs, parses, and turns every failure into one sentence on
// stderr and an exit code: 2 for wrong use, 1 for a failed job, 0 otherwise. What a verb does is in its own
// file.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "tilewright/types.hpp"
#include "verbs.hpp"

namespace {

using namespace tilewright;

int complain(int code, std::string sentence) {
  while (!sentence.empty() && (sentence.back() == '\n' || sentence.back() == '.')) sentence.pop_back();
  for (char& c : sentence)
    if (c == '\n') c = ' ';
  std::fflush(stdout);
  fmt::print(stderr, "tilewright: {}.\n", sentence);
  return code;
}

int exit_code(ErrorCode code) {
  return code == ErrorCode::invalid_argument || code == ErrorCode::unsupported ? 2 : 1;
}

void add_verbs(CLI::App& app) {
  cli::add_gemm(app);
  cli::add_bench(app);
  cli::add_tune(app);
  cli::add_explain(app);
  cli::add_info(app);
  cli::add_wisdom(app);
  cli::add_refused(app);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Multiplies matrices: millions of small ones or one large one, as fast as this machine allows.",
      "tilewright");
  app.set_version_flag("--version", std::string("tilewright ") + TILEWRIGHT_VERSION);
  app.footer("Example: tilewright gemm A.npy B.npy -o C.npy --verify");
  app.require_subcommand(1);
  add_verbs(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    if (argc > 1 && app.get_subcommands().empty())
      return complain(2, fmt::format("'{}' is no verb of tilewright (see tilewright --help)", argv[1]));
    return complain(2, fmt::format("{} (see tilewright --help)", error.what()));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    return complain(exit_code(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return complain(1, "not enough memory");
  } catch (const std::exception& error) {
    return complain(1, error.what());
  }
}
