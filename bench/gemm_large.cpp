// Measures large GEMM on the GPU beside cuBLAS as the bars of this family are worded: kernels alone, without
// plans and wisdom, which `tilewright bench gemm` measures. Phases: random problems (checked only), races,
// the cases of the bars (screened, then interleaved with cuBLAS), the ladder of techniques, and energy. The
// sweep of Anzt 2015 is a program of its own (gemm_large_sweep.cpp). This file is the command line.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "gemm_large_run.hpp"
#include "range_flag.hpp"

namespace tilewright::bench {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::int64_t parse_size(const std::string& text, const std::string& shape) {
  const bool is_number =
      !text.empty() && text.size() < 18 && text.find_first_not_of("0123456789") == std::string::npos;
  const std::int64_t size = is_number ? std::stoll(text) : 0;
  if (size < 1)
    throw Error(ErrorCode::invalid_argument, "--sizes", fmt::format("--sizes = '{}' is no size", shape));
  return size;
}

// "4096" or "4096x64x4096".
GemmProblem parse_shape(const std::string& text) {
  const auto parts = split(text, 'x');
  if (parts.size() != 1 && parts.size() != 3) parse_size("", text);
  GemmProblem p;
  p.m = parse_size(parts.front(), text);
  p.n = parse_size(parts[parts.size() / 2], text);
  p.k = parse_size(parts.back(), text);
  return p;
}

// Shapes by name: LU updates, long and flat products, odd sizes and primes; and sizes between, which fill the
// device by halves.
const std::map<std::string, const char*> named_shapes = {
    {"skinny",
     "8192x8192x64,8192x8192x128,8192x8192x256,8192x8192x512,4096x4096x64,4096x4096x128,"
     "4096x4096x256,4096x4096x512,16384x16384x64,16384x16384x128,2048x2048x64,2048x2048x128,"
     "12000x12000x96,6000x6000x192,10007x10007x61,64x64x65536,128x128x65536,256x256x65536,"
     "512x512x65536,64x64x1048576,100x100x100000,128x128x1000000,37x41x500009,1048576x16x16,"
     "1048576x32x32,1048576x64x64,1048576x16x64,1048576x64x16,1000003x17x23,262144x32x256,"
     "262144x64x512,16x1048576x16,32x1048576x32,64x1048576x64,1009x1013x1019,2003x2011x2017,"
     "4001x4003x4007,997x8191x127,3001x3001x3001,509x521x4093,1500x1500x37,7x8000x8000,"
     "8000x7x8000,257x257x257"},
    {"middling",
     "400x400x3000,512x512x512,512x512x8192,640x640x640,640x640x5000,700x900x1100,768x768x768,"
     "768x768x4096,900x700x2000,1024x1024x8192,1152x1152x1152,1280x1280x1280,1280x1280x512,"
     "1500x500x3000,2000x200x500,3000x300x3000,256x256x16384"}};

void add_flags(CLI::App& app, LargeFlags& f) {
  app.add_option("--phase", f.phases, "variety, repeat, compare, ladder, energy")
      ->delimiter(',')
      ->check(CLI::IsMember({"variety", "repeat", "compare", "ladder", "energy"}))
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
         "--dtype",
         [&f](const std::vector<std::string>& all) {
           f.dtypes.clear();
           for (const auto& one : all) f.dtypes.push_back(enum_from_string<DType>(one, "--dtype"));
         },
         "f64, f32, c128, c64")
      ->delimiter(',')
      ->default_str("f64,f32");
  app.add_option_function<std::string>(
      "--sizes",
      [&f](const std::string& text) {
        f.shapes.clear();
        const auto named = named_shapes.find(text);
        for (const auto& one : split(named == named_shapes.end() ? text : named->second, ','))
          f.shapes.push_back(parse_shape(one));
      },
      "n, MxNxK, skinny or middling (default: those of the phase's bar)");
  app.add_option("--op", f.ops, "pairs (default: of compare and repeat nn,nt,tn,tt; ladder nt; energy nn)")
      ->delimiter(',')
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt", "nc", "cn", "cc", "tc", "ct"}));
  app.add_option_function<std::vector<std::string>>(
         "--beta",
         [&f](const std::vector<std::string>& all) {
           f.betas.clear();
           for (const auto& one : all) f.betas.push_back(one == "0" ? Scalar::zero : Scalar::one);
         },
         "0, 1: whether C is added to")
      ->delimiter(',')
      ->check(CLI::IsMember({"0", "1"}))
      ->default_str("0");
  app.add_option("--configs", f.configs, "screened for each case")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app.add_option("--finalists", f.finalists, "of ours beside cuBLAS")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--rounds", f.rounds,
                 "of compare, half as many to choose the best before, and of repeat (default 11); launches "
                 "of the ladder (100)")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--problems", f.problems, "of variety, for each type")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--config", f.own, "JSON: compare, repeat and energy take it besides the promising ones")
      ->allow_extra_args(false);
  app.add_option("--seeds", f.seeds,
                 "files of earlier runs or of wisdom: compare and energy take what won there as well")
      ->check(CLI::ExistingFile);
}

void add_run_flags(CLI::App& app, LargeFlags& f) {
  app.add_option("--seconds", f.seconds, "after which nothing new is begun")
      ->check(from_to(0, 1e6))
      ->capture_default_str();
  app.add_option("--energy-seconds", f.energy_seconds, "of each window of energy")
      ->check(from_to(1e-3, 1e6))
      ->capture_default_str();
  app.add_option("--screen-seconds", f.screen_seconds, "of the windows that the most frugal is chosen by")
      ->check(from_to(1e-3, 1e6))
      ->capture_default_str();
  app.add_option("--frugal", f.frugal, "configs that the most frugal is chosen among")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--edges", f.least_edges, "moves of the energy counter that a window needs")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--nvdisasm", f.nvdisasm, "the disassembler that the ladder's instructions are counted with")
      ->capture_default_str();
  app.add_option("--share", f.share, "the folder that holds kernel/ (src in a checkout)")
      ->capture_default_str();
  app.add_option("--cache", f.cache, "a folder for compiled kernels (default: none)");
  app.add_option("--json", f.json, "measurements, a line each")->capture_default_str();
  app.add_flag("--resume", f.resume, "measures nothing again that the file has; another card is refused");
}

int run(int argc, char** argv) {
  LargeFlags flags;
  flags.command = "bench_gemm_large";
  for (int i = 1; i < argc; ++i) flags.command += fmt::format(" {}", argv[i]);
  CLI::App app(
      "Large GEMM on the GPU beside cuBLAS. Ends with 1 where a result was wrong or something failed, with 2 "
      "for wrong use, with 3 where cases were left for another run with --resume.");
  app.footer(
      "Example: bench_gemm_large --phase compare --dtype f64 --sizes 1024,4096 --op nn,nt --json FILE");
  add_flags(app, flags);
  add_run_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const auto& text : flags.own) (void)parse_config(text, {});  // before the log is opened
  return LargeBench(flags).run();
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  try {
    return tilewright::bench::run(argc, argv);
  } catch (const tilewright::Error& error) {
    std::fprintf(stderr, "bench_gemm_large: %s\n", error.what());
    return error.code() == tilewright::ErrorCode::invalid_argument ? 2 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gemm_large: %s\n", error.what());
    return 1;
  }
}
