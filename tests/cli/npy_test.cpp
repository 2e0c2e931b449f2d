// .npy files: headers of all three versions, every error with its wording, mapped input, and output that
// appears only when committed. The command line's own test checks that NumPy reads the written files.
#include "arrays/npy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

class NpyTest : public ::testing::Test {
 protected:
  std::string write(const std::string& bytes) { return folder_.write("A.npy", bytes); }
  static std::string read(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::size_t file_count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  static std::string file_bytes(const std::string& dictionary, std::size_t data_bytes, char version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += version;
    bytes += '\0';
    const int length_bytes = version == 1 ? 2 : 4;
    for (int i = 0; i < length_bytes; ++i) bytes += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
    return bytes + dictionary + std::string(data_bytes, '\0');
  }

  // Returns the message with which `bytes` are refused as input A.
  std::string refusal(const std::string& bytes) {
    const auto path = write(bytes);
    try {
      NpyInput input(path, "A");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_EQ(error.argument(), "A");
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      return error.what();
    }
    return "accepted";
  }

  TempFolder folder_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(NpyTest, ReadsAllVersionsKeyOrdersAndSpacings) {
  for (const char version : {1, 2, 3}) {
    const NpyInput input(
        write(file_bytes("{'descr': '<c8', 'fortran_order': True, 'shape': (2, 3), }   \n", 48, version)),
        "A");
    EXPECT_EQ(input.header().dtype, DType::c64);
    EXPECT_TRUE(input.header().fortran_order);
    EXPECT_EQ(input.header().shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(input.header().count(), 6);
  }
  const NpyInput input(write(file_bytes("{\"shape\":(4L,),'fortran_order':False,'descr':'<f4'}\n", 16)), "A");
  EXPECT_EQ(input.header().dtype, DType::f32);
  EXPECT_EQ(input.header().shape, (std::vector<std::int64_t>{4}));
  EXPECT_EQ(NpyInput(write(file_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8)), "A")
                .header()
                .count(),
            1);
}

TEST_F(NpyTest, UnalignedDataAreMoved) {
  std::string bytes = file_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", 0);
  ASSERT_NE(bytes.size() % 8, 0u);
  const double values[2] = {1.5, -2.5};
  bytes.append(reinterpret_cast<const char*>(values), sizeof values);
  const NpyInput input(write(bytes), "A");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(input.data()) % 8, 0u);
  EXPECT_EQ(static_cast<const double*>(input.data())[0], 1.5);
  EXPECT_EQ(static_cast<const double*>(input.data())[1], -2.5);
}

TEST_F(NpyTest, HeaderWrittenIsReadBackAndAligned) {
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const bool fortran : {false, true})
      for (const auto& shape : std::vector<std::vector<std::int64_t>>{
               {}, {5}, {3, 4}, {1000000, 8, 8}, {1, 0, 2}, {123456789012, 1, 1}}) {
        const std::string bytes = npy_header_bytes(dtype, fortran, shape);
        EXPECT_EQ(bytes.size() % 64, 0u);
        EXPECT_EQ(bytes.back(), '\n');
        const NpyHeader header = parse_npy_header(bytes, "A", "A");
        EXPECT_EQ(header.dtype, dtype);
        EXPECT_EQ(header.fortran_order, fortran);
        EXPECT_EQ(header.shape, shape);
        EXPECT_EQ(header.data_offset, static_cast<std::int64_t>(bytes.size()));
      }
}

TEST_F(NpyTest, RefusesWhatItCannotUse) {
  const auto with = [](const std::string& descr, const std::string& shape) {
    return file_bytes("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }\n", 64);
  };
  EXPECT_TRUE(contains(refusal(""), "does not begin with the NumPy magic"));
  EXPECT_TRUE(contains(refusal("PK\3\4 something else"), "does not begin with the NumPy magic"));
  EXPECT_TRUE(contains(refusal("\x93NUMPY"), "ends inside its header"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "(2, 2)").substr(0, 30)), "ends inside its header"));
  EXPECT_TRUE(contains(refusal(file_bytes("{}", 0, 9)), "format version is 9"));
  EXPECT_TRUE(contains(refusal(with("'>f8'", "(2, 2)")), "big-endian"));
  EXPECT_TRUE(contains(refusal(with("'<i8'", "(2, 2)")), "dtype '<i8'"));
  EXPECT_TRUE(contains(refusal(with("[('x', '<f8')]", "(2, 2)")), "fields"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "(-2, 2)")), "lacks a number"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "(4000000000, 4000000000)")), "exceeds 2^62 bytes"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "(99999999999999999999,)")), "exceeds 2^63"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "(3, 3)")), "needs 72 bytes of data, but the file contains 64"));
  EXPECT_TRUE(contains(refusal(file_bytes("{'descr': '<f8', 'shape': (1,)}", 8)),
                       "lacks descr, fortran_order or shape"));
  EXPECT_TRUE(contains(refusal(file_bytes("{'descr': '<f8', 'color': 'red'}", 8)), "unknown key 'color'"));
  EXPECT_TRUE(contains(refusal(file_bytes("{'fortran_order': 1}", 8)), "neither True nor False"));
}

TEST_F(NpyTest, EveryTruncationOfAHeaderIsRefused) {
  const std::string whole = npy_header_bytes(DType::f64, false, {1, 1});
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refusal(whole.substr(0, length)), "accepted") << length;
  EXPECT_TRUE(contains(refusal(whole), "is truncated"));
}

TEST_F(NpyTest, RefusesMissingFilesAndFolders) {
  EXPECT_THROW(NpyInput(folder_ / "absent.npy", "B"), Error);
  try {
    NpyInput(folder_.path().string(), "B");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(contains(error.what(), "is a folder"));
  }
}

TEST_F(NpyTest, OutputAppearsOnCommitAndReadsBack) {
  const auto path = folder_ / "C.npy";
  const std::vector<std::int64_t> shape = {1000, 3, 2};
  {
    NpyOutput output(path, DType::f64, false, shape);
    output.populate(2);
    auto* values = static_cast<double*>(output.data());
    for (int i = 0; i < 6000; ++i) values[i] = i;
    EXPECT_FALSE(fs::exists(path));
    output.commit();
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_EQ(file_count(), 1u);
  const NpyInput input(path, "A");
  input.populate(2);
  EXPECT_EQ(input.header().shape, shape);
  for (int i = 0; i < 6000; ++i) ASSERT_EQ(static_cast<const double*>(input.data())[i], i);
}

TEST_F(NpyTest, AbandonedOutputLeavesTheOldFile) {
  const auto path = folder_ / "C.npy";
  std::ofstream(path) << "old";
  { NpyOutput output(path, DType::f32, true, {4, 4}); }
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(file_count(), 1u);
  {
    NpyOutput output(path, DType::f32, true, {4, 4});
    output.commit();
  }
  EXPECT_EQ(read(path), npy_header_bytes(DType::f32, true, {4, 4}) + std::string(64, '\0'));
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(NpyTest, OutputThatCannotBeIsRefused) {
  const auto code = [](const std::string& path) {
    try {
      NpyOutput output(path, DType::f32, false, {1});
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code(folder_ / "absent/C.npy"), ErrorCode::invalid_argument);
  EXPECT_EQ(code(folder_.path().string()), ErrorCode::invalid_argument);
  EXPECT_EQ(code("/dev/null"), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tilewright::cli
