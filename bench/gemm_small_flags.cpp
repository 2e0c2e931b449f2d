// Flags are pairs of a name and a value.
#include "gemm_small_flags.hpp"

#include <cstdlib>
#include <functional>
#include <map>

#include "gemm_small_axis.hpp"

namespace tilewright::bench {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// "first:last", or one number for both.
std::pair<int, int> range(const std::string& text, char separator) {
  const auto at = text.find(separator);
  const int first = std::atoi(text.c_str());
  return {first, at == std::string::npos ? first : std::atoi(text.c_str() + at + 1)};
}

// "2:32", "4,8,16", or both: "2:8,16".
std::vector<int> sizes_in(const std::string& text) {
  std::vector<int> sizes;
  for (const std::string& part : split(text)) {
    const auto [first, last] = range(part, ':');
    if (first < 1 || last < first || last > gemm_small_limit)
      throw Error(ErrorCode::invalid_argument, "--sizes",
                  fmt::format("--sizes {}: '{}' is not of the form 8 or 2:32, from 1 to {}", text, part,
                              gemm_small_limit));
    for (int n = first; n <= last; ++n) sizes.push_back(n);
  }
  return sizes;
}

// As a file records it: without this machine's folders.
std::string command_of(int argc, char** argv) {
  std::string command = "bench_gemm_small";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--share" || name == "--cache") continue;
    command += " " + name + " " + (name == "--json" || name == "--sweep" ? "FILE" : argv[i + 1]);
  }
  return command;
}

using Set = std::function<void(const std::string&)>;
using Known = std::map<std::string, Set>;

// What is measured, and how often.
Known case_flags(Flags& flags) {
  return {{"--cases", [&](const std::string& v) { flags.groups = split(v); }},
          {"--dtype",
           [&](const std::string& v) {
             flags.cases.dtypes.clear();
             for (const auto& one : split(v))
               flags.cases.dtypes.push_back(enum_from_string<DType>(one, "dtype"));
           }},
          {"--sizes", [&](const std::string& v) { flags.cases.sizes = sizes_in(v); }},
          {"--beta",
           [&](const std::string& v) {
             flags.cases.betas.clear();
             for (const auto& one : split(v)) flags.cases.betas.push_back(std::atoi(one.c_str()));
           }},
          {"--configs", [&](const std::string& v) { flags.configs = std::strtoul(v.c_str(), nullptr, 10); }},
          {"--neighbours",
           [&](const std::string& v) { flags.neighbours = std::strtoul(v.c_str(), nullptr, 10); }},
          {"--megabytes",
           [&](const std::string& v) { flags.cases.bytes = std::strtoul(v.c_str(), nullptr, 10) << 20; }},
          {"--repetitions", [&](const std::string& v) { flags.repetitions = std::atoi(v.c_str()); }}};
}

// What becomes of it.
Known run_flags(Flags& flags) {
  return {{"--variety", [&](const std::string& v) { flags.variety = std::atoi(v.c_str()); }},
          {"--deadline", [&](const std::string& v) { flags.deadline_s = std::atof(v.c_str()); }},
          {"--shard",
           [&](const std::string& v) {
             const auto [shard, shards] = range(v, '/');
             if (shards < 1 || shard < 0 || shard >= shards)
               throw Error(ErrorCode::invalid_argument, "--shard",
                           "--shard " + v + " is not of the form 0/4");
             flags.shard = static_cast<std::size_t>(shard);
             flags.shards = static_cast<std::size_t>(shards);
           }},
          {"--check-only", [&](const std::string& v) { flags.check_only = v == "1"; }},
          {"--once", [&](const std::string& v) { flags.once = v == "1"; }},
          {"--sweep", [&](const std::string& v) { flags.sweep = v; }},
          {"--vary",
           [&](const std::string& v) {
             refuse_unknown_axis(v);
             flags.axis = v;
           }},
          {"--seeds", [&](const std::string& v) { flags.seeds = v; }},
          {"--share", [&](const std::string& v) { flags.share = v; }},
          {"--cache", [&](const std::string& v) { flags.cache = v; }},
          {"--json", [&](const std::string& v) { flags.json = v; }}};
}

}  // namespace

Flags parse(int argc, char** argv) {
  Flags flags;
  flags.cases.dtypes = {DType::f64, DType::f32};
  flags.cases.betas = {1, 0};
  flags.cases.sizes = sizes_in("2:32");
  flags.cases.bytes = std::size_t(1) << 30;
  Known known = case_flags(flags);
  known.merge(run_flags(flags));
  flags.command = command_of(argc, argv);
  for (int i = 1; i < argc; i += 2) {
    const auto flag = known.find(argv[i]);
    if (flag == known.end())
      throw Error(ErrorCode::invalid_argument, argv[i], std::string(argv[i]) + " is not a flag");
    if (i + 1 == argc)
      throw Error(ErrorCode::invalid_argument, argv[i], std::string(argv[i]) + " needs a value");
    flag->second(argv[i + 1]);
  }
  if (flags.groups.empty() && flags.variety == 0) flags.groups = {"strided"};
  if (flags.json.empty()) throw Error(ErrorCode::invalid_argument, "--json", "--json names no file");
  if (flags.once && !flags.axis.empty())
    throw Error(ErrorCode::invalid_argument, "--once",
                "--once 1 launches one config, and --vary asks for several");
  return flags;
}

}  // namespace tilewright::bench
