// Recorded files are read plain and compressed; damaged ones are refused by name.
#include "measure/recorded_file.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include "support/temp_folder.hpp"

namespace tilewright {
namespace {

class RecordedFile : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  void expect_refused(const std::string& file) {
    try {
      read_recorded(file, "SWEEP", ErrorCode::io);
      ADD_FAILURE() << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "SWEEP = '" + file + "' cannot be read");
    }
  }

  TempFolder folder_;
};

TEST_F(RecordedFile, IsReadPlainAndCompressed) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "{\"line\":" + std::to_string(i) + "}\n";
  text += "{\"cut";  // was being written
  folder_.write("plain.jsonl", text);
  const gzFile file = gzopen(path("small.jsonl.gz").c_str(), "wb");
  gzwrite(file, text.data(), unsigned(text.size()));
  gzclose(file);
  folder_.write("empty.jsonl", "");
  EXPECT_EQ(read_recorded(path("plain.jsonl"), "SWEEP", ErrorCode::io).str(), text);
  EXPECT_EQ(read_recorded(path("small.jsonl.gz"), "SWEEP", ErrorCode::io).str(), text);
  EXPECT_EQ(read_recorded(path("empty.jsonl"), "SWEEP", ErrorCode::io).str(), "");

  std::filesystem::resize_file(path("small.jsonl.gz"),
                               std::filesystem::file_size(path("small.jsonl.gz")) / 2);
  expect_refused(path("small.jsonl.gz"));
  expect_refused(path("none.jsonl"));
  expect_refused(folder_.path().string());
}

}  // namespace
}  // namespace tilewright
