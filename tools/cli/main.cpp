// The tilewright command line: registers the verbs, parses, and turns every failure into one sentence on
// stderr and an exit code: 2 for wrong use, 1 for a failed job, 0 otherwise. Each verb is implemented in its
// own file.
#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>

#include "core/input/failure.hpp"
#include "core/input/printable.hpp"
#include "device/team.hpp"
#include "tilewright/types.hpp"
#include "verbs.hpp"

namespace {

using namespace tilewright;

int complain(int code, const std::string& told) {
  std::string sentence = printable(told);  // arguments and files may contain any bytes
  while (sentence.ends_with('\n') || (sentence.ends_with('.') && !sentence.ends_with("...")))
    sentence.pop_back();
  for (char& c : sentence)
    if (c == '\n') c = ' ';
  std::fflush(stdout);
  sentence = "tilewright: " + sentence + ".\n";
  (void)std::fwrite(sentence.data(), 1, sentence.size(), stderr);  // a failure to write cannot be reported
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
  cli::add_analyze(app);
  cli::add_info(app);
  cli::add_wisdom(app);
  cli::add_calibrate(app);
  cli::add_lu(app);
  cli::add_record(app);
}

// An option with an empty value is a mistake of the calling script, and never means the same as no option.
void refuse_empty_values(CLI::App& app) {
  const auto non_empty = [](const std::string& value) {
    return std::string(value.empty() ? "is empty" : "");
  };
  for (CLI::Option* option : app.get_options({}))
    if (option->get_items_expected_max() > 0) option->check(CLI::Validator(non_empty, ""));
  for (CLI::App* verb : app.get_subcommands({})) refuse_empty_values(*verb);
}

// Returns the first word that should name a verb and does not, with the verbs before it; "" if all do.
std::string unknown_verb(const CLI::App& app, int argc, char** argv) {
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  if (argc < 2 || verbs.empty() || argv[1][0] == '-') return "";
  for (const CLI::App* verb : verbs)
    if (verb->check_name(argv[1])) return unknown_verb(*verb, argc - 1, argv + 1);
  return fmt::format("'{}' is no verb of {}", argv[1],
                     app.get_parent() == nullptr ? "tilewright" : "tilewright " + app.get_name());
}

// Words of the interface that this version does not implement: refused with that reason, not as a misspelt
// word.
struct Unbuilt {
  const char* word;
  const char* what;
};
constexpr Unbuilt unbuilt[] = {{"factor", "batched factorizations, as verb and as family"},
                               {"clients", "the family of many client programs"},
                               {"--math", "products by emulated arithmetic"},
                               {"--error-budget", "products by emulated arithmetic"},
                               {"--part", "tuning shared out among several machines"},
                               {"solve", "the verb, of one or many systems; 'lu --solve' solves one"},
                               {"--bits", "results with the same bits on every machine"},
                               {"--arrival", "calls that come after a pause"},
                               {"--learn", "plans that learn from a program's calls"}};

// Returns a sentence if a verb, a family or a flag of that list is used; otherwise "".
std::string unbuilt_text(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    const bool is_flag = word.starts_with("--"), is_family = i == 2 && std::strcmp(argv[1], "bench") == 0;
    if (!is_flag && i != 1 && !is_family) continue;
    for (const Unbuilt& one : unbuilt)
      if (word == one.word) return fmt::format("'{}' is not built in this version: {}", word, one.what);
  }
  return "";
}

int run(int argc, char** argv) {
  CLI::App app(
      "Multiplies matrices: millions of small ones or one large one, as fast as this machine allows.",
      "tilewright");
  app.set_version_flag("--version", std::string("tilewright ") + TILEWRIGHT_VERSION);
  app.footer("Example: tilewright gemm A.npy B.npy -o C.npy --verify");
  add_verbs(app);
  if (argc == 1) {
    cli::print_welcome();
    return 0;
  }
  app.require_subcommand(1);
  refuse_empty_values(app);
  if (const auto text = unbuilt_text(argc, argv); !text.empty()) return complain(2, text);
  // Checked before --help, which cannot describe a verb that does not exist.
  if (const auto unknown = unknown_verb(app, argc, argv); !unknown.empty())
    return complain(2, unknown + " (see tilewright --help)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return complain(2, fmt::format("{} (see tilewright --help)", error.what()));
  }
  return 0;
}

// If a standard file were closed, the next opened file would take its number and receive text meant for
// people. Text written to a closed one is lost, as its caller intended. Returns true if stdout was closed.
bool secure_standard_files() {
  bool stdout_was_closed = false;
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) != -1 || errno != EBADF) continue;
    if (file == STDOUT_FILENO) stdout_was_closed = true;
    // stdout's replacement is read-only, which tells --json - that there is none. open() takes the
    // lowest free number.
    (void)!::open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
  return stdout_was_closed;
}

// A report that could not be written is a failed job.
int flush_stdout(int code) {
  const bool failed = std::ferror(stdout) != 0;
  // An earlier failure was reported already.
  if ((std::fflush(stdout) == 0 && !failed) || code != 0) return code;
  return complain(1, fmt::format("stdout cannot be written: {}", system_error_text(errno)));
}

int run_guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const cli::JobFailed& error) {
    return complain(1, error.what());
  } catch (const std::exception& error) {
    if (const auto* system = dynamic_cast<const std::system_error*>(&error);
        system != nullptr && std::ferror(stdout) != 0)
      return complain(1, "stdout cannot be written: " + system_error_text(system->code().value()));
    const Failure failure = current_failure();
    return complain(exit_code(failure.code), failure.message);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool stdout_was_closed = secure_standard_files();
  // A file that reaches a limit of the shell (ulimit -f) is then an error like a full disk.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  // Limits all parallel regions; if one cannot have its threads, OpenMP ends the process.
  omp_set_num_threads(usable_threads(omp_get_max_threads()));
  const int code = run_guarded(argc, argv);
  return stdout_was_closed ? code : flush_stdout(code);
}
