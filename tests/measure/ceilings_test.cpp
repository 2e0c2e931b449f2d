// Measured ceilings: what the loops report must be possible, and the file that keeps them must survive damage
// and replace only its own line.
#include "wisdom/ceilings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "measure/buffers.hpp"
#include "measure/compute_peak.hpp"
#include "measure/streaming.hpp"
#include "support/temp_folder.hpp"
#include "wisdom/kept_lines.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class CeilingsFile : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::string path_ = folder_ / "deep/ceilings.jsonl";
};

Ceilings sample(const std::string& device, std::int64_t threads, double update) {
  Ceilings ceilings;
  ceilings.device = device;
  ceilings.threads = threads;
  ceilings.memory_update = update;
  return ceilings;
}

TEST_F(CeilingsFile, KeepsOneLinePerDeviceAndThreads) {
  EXPECT_FALSE(load_ceilings(path_, "x", 1));
  save_ceilings(path_, sample("x", 1, 10));
  save_ceilings(path_, sample("x", 2, 20));
  save_ceilings(path_, sample("y", 1, 30));
  save_ceilings(path_, sample("x", 1, 11));
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 11);
  EXPECT_EQ(load_ceilings(path_, "x", 2)->memory_update, 20);
  EXPECT_EQ(load_ceilings(path_, "y", 1)->memory_update, 30);
  EXPECT_FALSE(load_ceilings(path_, "y", 2));
  std::ifstream file(path_);
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 3);
}

TEST_F(CeilingsFile, DamagedLinesAreDropped) {
  save_ceilings(path_, sample("x", 1, 10));
  std::ofstream(path_, std::ios::app) << "{\"device\": \"x\", \"thre\n[]\n{\"unknown\": 1}\n";
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 10);
  save_ceilings(path_, sample("x", 1, 12));
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 12);
}

TEST_F(CeilingsFile, WritersThatMeetLoseNothing) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 20; ++i) save_ceilings(path_, sample(std::to_string(writer), 1 + i, i));
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(read_kept_lines(path_).size(), 80u);
}

TEST_F(CeilingsFile, AnImpossibleFolderIsAnError) {
  folder_.write("deep", "a file where the folder should be");
  EXPECT_THROW(save_ceilings(path_, sample("x", 1, 10)), Error);
}

TEST(CeilingsPath, FollowsTheEnvironment) {
  Environment environment;
  environment.cache = "/some/where";
  EXPECT_EQ(ceilings_path(environment), "/some/where/ceilings.jsonl");
}

TEST(Streaming, KeepsOrZeroesC) {
  constexpr std::int64_t words = 3 * 8 * 37;
  AlignedBuffer inputs(16 * words);
  AlignedBuffer output(8 * words);
  fill(inputs.data(), 2 * words, DType::f64, Data::uniform, 1);
  fill(output.data(), words, DType::f64, Data::uniform, 2);
  const std::vector<char> before(reinterpret_cast<char*>(output.data()),
                                 reinterpret_cast<char*>(output.data()) + 8 * words);
  for (const int threads : {1, 2})
    for (const Stream kind : stream_kinds(true)) {
      stream({inputs.data(), 8 * words, inputs.data() + 8 * words, 8 * words, output.data(), 8 * words, true},
             kind, threads);
      EXPECT_EQ(std::memcmp(output.data(), before.data(), before.size()), 0) << to_string(kind);
    }
  const std::vector<char> zero(8 * words, 0);
  for (const int threads : {1, 2})
    for (const Stream kind : stream_kinds(false)) {
      std::memcpy(output.data(), before.data(), before.size());
      stream({inputs.data(), 8 * words, inputs.data() + 8 * words, 64, output.data(), 8 * words, false}, kind,
             threads);
      EXPECT_EQ(std::memcmp(output.data(), zero.data(), zero.size()), 0) << to_string(kind);
    }
}

TEST(ComputePeak, CountsItsWork) {
  EXPECT_DOUBLE_EQ(run_multiply_adds(DType::f64, 128, 10), 2.0 * 16 * 10 * 2);
  EXPECT_DOUBLE_EQ(run_multiply_adds(DType::c64, 128, 10), 2.0 * 16 * 10 * 4);
  EXPECT_THROW(run_multiply_adds(DType::f64, 100, 10), Error);
  EXPECT_THROW(run_multiply_adds(DType::f64, 1024, 10), Error);
}

TEST(Buffers, DataAreWhatTheirNameSays) {
  AlignedBuffer buffer(8000);
  auto* values = reinterpret_cast<double*>(buffer.data());
  fill(values, 1000, DType::f64, Data::uniform, 3);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_GE(values[i], -0.5);
    EXPECT_LT(values[i], 0.5);
    sum += values[i];
  }
  EXPECT_LT(std::abs(sum), 50);
  fill(values, 1000, DType::f64, Data::pow2, 3);
  for (int i = 0; i < 1000; ++i) {
    int exponent = 0;
    EXPECT_EQ(std::abs(std::frexp(values[i], &exponent)), 0.5);
    EXPECT_LE(std::abs(exponent - 1), 3);
  }
  fill(values, 1000, DType::f64, Data::graded, 3);
  EXPECT_LT(std::abs(values[31]), 1e-9);
  fill(values, 1000, DType::f64, Data::ill_scaled, 3);
  int large = 0, small = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(std::abs(values[i]), 0x1p20);
    large += std::abs(values[i]) > 0x1p10;
    small += std::abs(values[i]) < 0x1p-10;
  }
  EXPECT_GT(large, 100);
  EXPECT_GT(small, 100);
}

}  // namespace
}  // namespace tilewright
