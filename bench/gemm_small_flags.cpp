// Flags are pairs of a name and a value.
#include "gemm_small_flags.hpp"

#include <cstdlib>
#include <functional>
#include <map>

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

}  // namespace

Flags parse(int argc, char** argv) {
  Flags flags;
  flags.cases.dtypes = {DType::f64, DType::f32};
  flags.cases.betas = {1, 0};
  flags.cases.bytes = std::size_t(1) << 30;
  using Set = std::function<void(const std::string&)>;
  const std::map<std::string, Set> known = {
      {"--cases", [&](const std::string& v) { flags.groups = split(v); }},
      {"--dtype",
       [&](const std::string& v) {
         flags.cases.dtypes.clear();
         for (const auto& one : split(v)) flags.cases.dtypes.push_back(enum_from_string<DType>(one, "dtype"));
       }},
      {"--sizes",
       [&](const std::string& v) { std::tie(flags.cases.first, flags.cases.last) = range(v, ':'); }},
      {"--beta",
       [&](const std::string& v) {
         flags.cases.betas.clear();
         for (const auto& one : split(v)) flags.cases.betas.push_back(std::atoi(one.c_str()));
       }},
      {"--configs", [&](const std::string& v) { flags.configs = std::strtoul(v.c_str(), nullptr, 10); }},
      {"--megabytes",
       [&](const std::string& v) { flags.cases.bytes = std::strtoul(v.c_str(), nullptr, 10) << 20; }},
      {"--repetitions", [&](const std::string& v) { flags.repetitions = std::atoi(v.c_str()); }},
      {"--variety", [&](const std::string& v) { flags.variety = std::atoi(v.c_str()); }},
      {"--deadline", [&](const std::string& v) { flags.deadline_s = std::atof(v.c_str()); }},
      {"--shard",
       [&](const std::string& v) {
         const auto [shard, shards] = range(v, '/');
         if (shards < 1 || shard < 0 || shard >= shards)
           throw Error(ErrorCode::invalid_argument, "--shard", "--shard " + v + " is not of the form 0/4");
         flags.shard = static_cast<std::size_t>(shard);
         flags.shards = static_cast<std::size_t>(shards);
       }},
      {"--check-only", [&](const std::string& v) { flags.check_only = v == "1"; }},
      {"--seeds", [&](const std::string& v) { flags.seeds = v; }},
      {"--share", [&](const std::string& v) { flags.share = v; }},
      {"--cache", [&](const std::string& v) { flags.cache = v; }},
      {"--json", [&](const std::string& v) { flags.json = v; }}};
  flags.command = "bench_gemm_small";
  for (int i = 1; i < argc; ++i) flags.command += std::string(" ") + argv[i];
  for (int i = 1; i < argc; i += 2) {
    const auto flag = known.find(argv[i]);
    if (flag == known.end())
      throw Error(ErrorCode::invalid_argument, argv[i], std::string(argv[i]) + " is not a flag");
    if (i + 1 == argc)
      throw Error(ErrorCode::invalid_argument, argv[i], std::string(argv[i]) + " needs a value");
    flag->second(argv[i + 1]);
  }
  if (flags.groups.empty() && flags.variety == 0) flags.groups = {"strided"};
  return flags;
}

}  // namespace tilewright::bench
