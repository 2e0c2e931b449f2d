// The tilewright command line: registers the verbs, parses, and turns every failure into one sentence on
// stderr and an exit code: 2 for wrong use, 1 for a failed job, 0 otherwise. Each verb is implemented in its
// own file.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/env.hpp"
#include "core/input/failure.hpp"
#include "core/input/printable.hpp"
#include "device/cpu.hpp"
#include "device/team.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/plan.hpp"
#include "operations/operation.hpp"
#include "people/table.hpp"
#include "tilewright/types.hpp"
#include "verbs.hpp"
#include "wisdom/kept.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#endif

namespace {

using namespace tilewright;

// Returns the name of the first GPU that can run kernels, or sets the reason why there is none.
std::string first_gpu(std::string& reason) {
#if TILEWRIGHT_HAS_GPU
  const int count = Gpu::count(reason);
  for (int device = 0; device < count; ++device) {
    const GpuLimits limits = Gpu::limits_of(device);
    if (reason = why_too_old(limits); reason.empty()) return limits.name;
  }
#else
  reason = "this build has no GPU runtime";
#endif
  return "";
}

void suggest(const std::string& command, const std::string& why) {
  fmt::print("  tilewright {:<41} {}\n", command, why);
}

// Returns how well wisdom knows a common problem on this CPU.
WisdomMatch match_of_a_common_problem(Context& context) {
  const auto common =
      parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6:beta=one:residency=cold");
  return make_plan(Access::impl(context), common, {}, !Access::impl(context).no_jit)->known.match;
}

// Returns the index of the documentation: in a build tree that of the sources, otherwise the installed one;
// empty if there is none.
std::string pages(const Environment& environment) {
  const std::filesystem::path share = share_folder(environment, "wisdom");
  for (const char* folder : {"docs", TILEWRIGHT_INSTALLED_DOCS}) {
    const auto page = (share / folder / "README.md").lexically_normal();
    std::error_code none;
    if (std::filesystem::exists(page, none)) return page.string();
  }
  return "";
}

// Prints the output of `tilewright` without a verb: the machine in a line, and the first steps to try on it
// with their reasons, based on the machine and earlier measurements. It measures nothing.
void print_welcome() {
  Context context({.notices = false});
  const CpuInfo& cpu = cpu_info();
  const Environment environment = Environment::read();
  std::string no_gpu;
  const std::string gpu = first_gpu(no_gpu);
  fmt::print("{}\n\nTry first:\n",
             people::wrapped(fmt::format("tilewright {} on {}, {} kernels, {} threads; {}",
                                         TILEWRIGHT_VERSION, cpu.model, to_string(Access::impl(context).isa),
                                         omp_get_max_threads(), gpu.empty() ? "no GPU: " + no_gpu : gpu)));
  suggest("gemm A.npy B.npy -o C.npy --verify", "multiply NumPy files, matrices or batches");
  if (!load_ceilings(kept_path(environment), cpu.device, 1))
    suggest("info --measure", "once: measure the ceilings of this machine");
  if (match_of_a_common_problem(context) != WisdomMatch::exact)
    suggest("tune --budget 3min", "once: this CPU has no records of its own");
  suggest("bench --sizes 4,8,16", "compare with the libraries found here");
  if (gpu.empty()) {
    suggest("explain gemm:f64:nn:m=4096,n=4096,k=4096", "tell what runs large matrices, and why");
  } else {
    suggest("calibrate", "once: fit models of the CPU and GPUs");
    suggest("bench gemm_small --sizes 4,8,16", "compare with cuBLAS in device memory");
    suggest("bench gemm --sizes 1024,4096", "compare large products there");
  }
  const std::string index = pages(environment);
  fmt::print("\nAll verbs: tilewright --help\n");
  if (!index.empty()) fmt::print("Pages by task: {}\n", index);
}

int complain(int code, const std::string& message) {
  std::string sentence = message;
  while (sentence.ends_with('\n') || (sentence.ends_with('.') && !sentence.ends_with("...")))
    sentence.pop_back();
  sentence = printable(people::with_suggestion(sentence));  // arguments and files may hold any bytes
  for (char& c : sentence)
    if (c == '\n') c = ' ';
  std::fflush(stdout);
  sentence = "tilewright: " + sentence + (sentence.ends_with("'?") ? "" : ".");
  if (::isatty(STDERR_FILENO) != 0) sentence = people::wrapped(sentence);  // scripts read one line
  sentence += '\n';
  (void)std::fwrite(sentence.data(), 1, sentence.size(), stderr);  // a failure to write cannot be reported
  return code;
}

constexpr const char* exit_codes =
    "Exit codes: 0: success; 1: the job failed, was stopped, or did not pass a check;\n"
    "            2: wrong use: a verb, flag, value or input is not valid, not there or not supported.\n";

int exit_code(ErrorCode code) {
  return code == ErrorCode::invalid_argument || code == ErrorCode::unsupported ? 2 : 1;
}

void add_verbs(CLI::App& app) {
  const cli::ToolOperations& operations = cli::tool_operations();
  cli::add_gemm(app);
  cli::add_bench(app, operations);
  cli::add_tune(app, operations);
  cli::add_explain(app, operations);
  cli::add_analyze(app);
  cli::add_info(app);
  cli::add_wisdom(app);
  cli::add_calibrate(app);
  cli::add_lu(app);
  cli::add_factor(app);
  cli::add_solve(app);
  cli::add_record(app);
  cli::add_pages(app);
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

// --json without a file means stdout.
void let_json_be_stdout(CLI::App& app) {
  if (CLI::Option* const json = app.get_option_no_throw("--json"); json != nullptr)
    json->expected(0, 1)->default_str("-");
  for (CLI::App* verb : app.get_subcommands({})) let_json_be_stdout(*verb);
}

// True for --json with an empty value: a mistake of the calling script, as with every flag.
bool has_empty_json(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == "--json=" || (words[i] == "--json" && i + 1 < words.size() && words[i + 1].empty()))
      return true;
  return false;
}

// `tilewright help` and `tilewright help tune` are the flag --help.
std::vector<std::string> with_help_flag(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

// The flags of a verb, for suggestions.
void add_flags(const CLI::App& app, std::vector<std::string>& flags) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  for (const CLI::App* verb : app.get_subcommands()) add_flags(*verb, flags);
}

std::string see_help(const std::string& words) { return fmt::format(" (see {} --help)", words); }

// Returns the tool's name and the verbs that were given.
std::string words_of(const CLI::App& app) {
  std::string words = "tilewright";
  for (auto verbs = app.get_subcommands(); !verbs.empty(); verbs = verbs.front()->get_subcommands())
    words += " " + verbs.front()->get_name();
  return words;
}

// Returns a sentence about the first word that should name a verb and does not; "" if all do.
std::string unknown_verb(const CLI::App& app, std::span<const std::string> words) {
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  if (words.empty() || verbs.empty() || words[0].starts_with('-')) return "";
  for (const CLI::App* verb : verbs)
    if (verb->check_name(words[0])) return unknown_verb(*verb, words.subspan(1));
  std::vector<std::string> known;
  for (const CLI::App* verb : verbs) known.push_back(verb->get_name());
  const std::string name = app.get_parent() == nullptr ? "tilewright" : "tilewright " + app.get_name();
  return fmt::format("'{}' is not a verb of {} (expected one of {})", words[0], name,
                     fmt::join(known, ", ")) +
         see_help(name);
}

// Words of the interface that this version does not implement: refused with that reason, not as a misspelt
// word.
struct Unbuilt {
  const char* word;
  const char* what;
};
constexpr Unbuilt unbuilt[] = {{"clients", "the family of many client programs"},
                               {"--math", "products by emulated arithmetic"},
                               {"--error-budget", "products by emulated arithmetic"},
                               {"--part", "tuning shared out among several machines"},
                               {"--bits", "results with the same bits on every machine"}};

// Returns a sentence if a verb, a family or a flag of that list is used; otherwise "".
std::string unbuilt_text(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i].substr(0, words[i].find('='));
    const bool is_flag = word.starts_with("--"), is_family = i == 1 && words[0] == "bench";
    if (!is_flag && !is_family) continue;
    for (const Unbuilt& one : unbuilt)
      if (word == one.word)
        return fmt::format("'{}' ({}) is not implemented in this version", word, one.what);
  }
  return "";
}

// Returns the sentence of wrong flags in the words of the other errors.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::size_t colon = text.find(": ");
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 2);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> left = app.remaining(true);  // in their order, which the text reverses
    const std::string first = left.empty() ? "" : left.front().substr(0, left.front().find('='));
    std::vector<std::string> flags;
    if (first.starts_with("--")) add_flags(app, flags);
    return fmt::format("unexpected argument: {}{}",
                       left.empty() ? rest : fmt::format("{}", fmt::join(left, " ")),
                       people::did_you_mean(first, flags));
  }
  if (text == "A subcommand is required") return "a verb is required";
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && rest.starts_with("1 required "))
    return text.substr(0, colon) + " needs a value";
  // Validators' messages continue the name of their option: "--threads" and "= '0' is not ...".
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr && !rest.empty())
    return text.substr(0, colon) + " " + rest;
  return text;
}

// Returns true if the argument is a flag that the command line uses.
bool is_flag_in_use(const CLI::App& app, std::string argument) {
  std::replace(argument.begin(), argument.end(), '_', '-');
  const CLI::Option* const option = app.get_option_no_throw("--" + argument);
  if (option != nullptr && option->count() > 0) return true;
  for (const CLI::App* verb : app.get_subcommands())
    if (is_flag_in_use(*verb, argument)) return true;
  return false;
}

// The library names its arguments; messages name them as flags where they are.
Error with_flag(const CLI::App& app, const Error& error) {
  const std::string& argument = error.argument();
  const std::string message = error.what();
  const bool names_it = !argument.empty() && message.starts_with(argument + " ");
  return names_it && is_flag_in_use(app, argument) ? Error(error.code(), argument, "--" + message) : error;
}

// Wraps the help below the column in which descriptions begin.
std::string wrapped_help(const CLI::App& app) {
  constexpr std::size_t column = 30;
  std::string text;
  std::istringstream help(app.help());
  for (std::string line; std::getline(help, line);)
    text += people::wrapped(line, line.starts_with("  ") ? column : 2) + '\n';
  return text;
}

int run(int argc, char** argv) {
  CLI::App app("Multiply matrices: millions of small ones or one large one, as fast as this machine allows.",
               "tilewright");
  app.set_version_flag("--version", std::string("tilewright ") + TILEWRIGHT_VERSION);
  app.footer("Example: tilewright gemm A.npy B.npy -o C.npy --verify");
  add_verbs(app);
  if (argc == 1) {
    print_welcome();
    return 0;
  }
  app.require_subcommand(1);
  let_json_be_stdout(app);
  refuse_empty_values(app);
  std::vector<std::string> words = with_help_flag(argc, argv);
  if (has_empty_json(words)) return complain(2, "--json is empty (see tilewright --help)");
  if (const auto text = unbuilt_text(words); !text.empty()) return complain(2, text);
  // Checked before --help, which cannot describe a verb that does not exist.
  if (const auto unknown = unknown_verb(app, words); !unknown.empty()) return complain(2, unknown);
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}{}", wrapped_help(app), app.get_subcommands().empty() ? exit_codes : "");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --version
    return complain(2, parse_error_text(app, error) + see_help(words_of(app)));
  } catch (const Error& error) {
    throw with_flag(app, error);
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
  // The library is silent unless it is asked to speak; the tool passes its warnings on.
  (void)::setenv("TILEWRIGHT_LOG", "warn", 0);
  (void)::setenv("TILEWRIGHT_NOTICES", "off", 0);
  const bool stdout_was_closed = secure_standard_files();
  // A file that reaches a limit of the shell (ulimit -f) is then an error like a full disk.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  // Limits all parallel regions; if one cannot have its threads, OpenMP ends the process.
  omp_set_num_threads(usable_threads(omp_get_max_threads()));
  const int code = run_guarded(argc, argv);
  return stdout_was_closed ? code : flush_stdout(code);
}
