// Options of the C interface say how long they are: those of an older or newer header are taken as far as
// this library knows them, and what it would have to ignore is refused.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

class SizedOptions : public ::testing::Test {
 protected:
  void SetUp() override {
    tilewright_context_options options = TILEWRIGHT_CONTEXT_OPTIONS_INIT;
    options.no_notices = 1;
    ASSERT_EQ(tilewright_create_with(&options, &context_), TILEWRIGHT_OK);
  }
  void TearDown() override { tilewright_destroy(context_); }

  // c = a b by rows of 2 x 2 matrices, whose ab by columns would be another.
  tilewright_status multiply(const tilewright_options* options) {
    const double a[] = {1, 2, 3, 4}, b[] = {1, 1, 0, 1}, one = 1, zero = 0;
    return tilewright_gemm(context_, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, 2, 2, 2, &one, a, 2, b,
                           2, &zero, c_, 2, options);
  }
  std::string message() const { return tilewright_last_error(context_); }

  tilewright_context* context_ = nullptr;
  double c_[4] = {9, 9, 9, 9};
};

TEST_F(SizedOptions, ThisReleasesAreTakenAsTheyAre) {
  tilewright_options options = TILEWRIGHT_OPTIONS_INIT;
  EXPECT_EQ(options.struct_size, sizeof(options));
  options.row_major = 1;
  EXPECT_EQ(multiply(&options), TILEWRIGHT_OK) << message();
  EXPECT_EQ(c_[1], 3);  // 1 * 1 + 2 * 1
  EXPECT_EQ(multiply(nullptr), TILEWRIGHT_OK);
  EXPECT_EQ(c_[1], 6);  // 2 * 1 + 4 * 1
}

TEST_F(SizedOptions, AnOlderHeadersHaveTheDefaultsOfWhatTheyLack) {
  struct {
    tilewright_options options = TILEWRIGHT_OPTIONS_INIT;
    unsigned char behind[64];
  } caller;
  std::fill(std::begin(caller.behind), std::end(caller.behind), 0xff);
  caller.options.struct_size = offsetof(tilewright_options, row_major);
  caller.options.row_major = 1;  // not the caller's: its struct ends before
  EXPECT_EQ(multiply(&caller.options), TILEWRIGHT_OK) << message();
  EXPECT_EQ(c_[1], 6);
}

TEST_F(SizedOptions, ANewerHeadersMembersMustBeUnset) {
  struct {
    tilewright_options options = TILEWRIGHT_OPTIONS_INIT;
    int newer = 0;
    int padding = 0;
  } caller;
  caller.options.struct_size = sizeof(caller);
  EXPECT_EQ(multiply(&caller.options), TILEWRIGHT_OK) << message();
  caller.newer = 1;
  c_[0] = 9;
  EXPECT_EQ(multiply(&caller.options), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_NE(message().find("members after them are set"), std::string::npos) << message();
  EXPECT_EQ(c_[0], 9);
}

TEST_F(SizedOptions, AnUnsetSizeIsRefusedByEveryKind) {
  tilewright_options options = TILEWRIGHT_OPTIONS_INIT;
  options.struct_size = 0;
  EXPECT_EQ(multiply(&options), TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(message(),
            "options.struct_size = 0 is not the size of the struct: initialise it by its _INIT macro");
  tilewright_lu_options lu = TILEWRIGHT_LU_OPTIONS_INIT;
  lu.struct_size = 0;
  double a = 2;
  int64_t pivot = 0, info = 0;
  EXPECT_EQ(tilewright_lu_factor(context_, TILEWRIGHT_F64, 1, 1, &a, 1, &pivot, &info, &lu),
            TILEWRIGHT_INVALID_ARGUMENT);
  tilewright_context_options unsized = TILEWRIGHT_CONTEXT_OPTIONS_INIT;
  unsized.struct_size = 4;
  tilewright_context* other = nullptr;
  EXPECT_EQ(tilewright_create_with(&unsized, &other), TILEWRIGHT_INVALID_ARGUMENT);
  tilewright_destroy(other);
}

}  // namespace
}  // namespace tilewright::testing
