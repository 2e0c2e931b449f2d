// Counts instructions in a disassembler's text: kinds, loops, partly unrolled ones, and kernels in which one
// path checks edges and another does not.
#include "sass.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

// Formats lines like nvdisasm -c; "@label:" begins a label.
std::string sass(const std::vector<std::string>& lines) {
  std::string text = "\t.section\t.text.kernel,\"ax\",@progbits\n";
  int address = 0;
  for (const std::string& line : lines) {
    if (line.front() == '@' && line.back() == ':') {
      text += "." + line.substr(1) + "\n";
      continue;
    }
    text += fmt::format("        /*{:04x}*/                   {} ;\n", address, line);
    address += 16;
  }
  return text;
}

std::vector<std::string> repeated(std::size_t count, const std::string& line) {
  return std::vector<std::string>(count, line);
}

void append(std::vector<std::string>& to, const std::vector<std::string>& lines) {
  to.insert(to.end(), lines.begin(), lines.end());
}

TEST(Sass, KindsOfInstructions) {
  EXPECT_EQ(sass_kind("DMMA.16x8x4"), SassKind::product);
  EXPECT_EQ(sass_kind("DFMA"), SassKind::product);
  EXPECT_EQ(sass_kind("LDS.128"), SassKind::shared_load);
  EXPECT_EQ(sass_kind("LDGSTS.E.BYPASS.128"), SassKind::async_copy);
  EXPECT_EQ(sass_kind("LDG.E.128.CONSTANT"), SassKind::global_load);
  EXPECT_EQ(sass_kind("UTMALDG.2D"), SassKind::bulk_copy);
  EXPECT_EQ(sass_kind("SYNCS.PHASECHK.TRANS64.TRYWAIT"), SassKind::barrier);
  EXPECT_EQ(sass_kind("IMAD.WIDE"), SassKind::other);
}

TEST(Sass, TheInnermostMultiplyingLoopCounts) {
  std::vector<std::string> lines = {"LDC R1, c[0x0][0x28]", "@L_x_0:"};
  append(lines, repeated(4, "LDS.128 R4, [R2]"));
  append(lines, repeated(8, "DMMA.16x8x4 R8, R4, R6, R8"));
  append(lines, {"NOP", "@!P0 BRA `(.L_x_0)", "STG.E.64 desc[UR4][R2.64], R8", "EXIT"});
  const auto code = parse_sass(sass(lines));
  ASSERT_EQ(code.size(), 17u);
  const SassCounts counts = sass_main_loop(code, 8);
  EXPECT_EQ(counts.at(SassKind::product), 8);
  EXPECT_EQ(counts.at(SassKind::shared_load), 4);
  EXPECT_EQ(counts.at(SassKind::idle), 1);
  EXPECT_EQ(counts.count(SassKind::global_store), 0u);
  EXPECT_EQ(total_of(counts), 14);
  // A loop over two k tiles per iteration counts half for each.
  EXPECT_EQ(sass_main_loop(code, 4).at(SassKind::shared_load), 2);
}

TEST(Sass, WhatSurroundsAPartlyUnrolledLoopCountsOnce) {
  const auto code = parse_sass(
      sass({"@L_x_0:", "LDG.E R1, [R2]", "STS R1, [R3]", "BAR.SYNC 0x0", "@L_x_1:", "LDS R4, [R5]",
            "DFMA R8, R4, R6, R8", "@P1 BRA `(.L_x_1)", "BAR.SYNC 0x0", "@P0 BRA `(.L_x_0)", "EXIT"}));
  const SassCounts counts = sass_main_loop(code, 16);
  EXPECT_EQ(counts.at(SassKind::product), 16);
  EXPECT_EQ(counts.at(SassKind::shared_load), 16);
  EXPECT_EQ(counts.at(SassKind::global_load), 1);
  EXPECT_EQ(counts.at(SassKind::shared_store), 1);
  EXPECT_EQ(counts.at(SassKind::barrier), 2);
  EXPECT_EQ(counts.at(SassKind::control), 16 + 1);
}

// A wait that spins behind the loop and branches back into it is not a loop of its own, whatever code lies
// between.
TEST(Sass, WaitsOutOfLineAreNoLoops) {
  const auto code =
      parse_sass(sass({"@L_x_0:", "IMAD R1, R2, R3, R4", "IMAD R1, R2, R3, R4", "IMAD R1, R2, R3, R4",
                       "@P2 BRA `(.L_x_2)", "@L_x_1:", "LDS R4, [R5]", "DFMA R8, R4, R6, R8",
                       "@P0 BRA `(.L_x_0)", "STG.E R1, [R2]", "EXIT", "@L_x_2:", "BRA `(.L_x_1)"}));
  const SassCounts counts = sass_main_loop(code, 1);
  EXPECT_EQ(counts.count(SassKind::global_store), 0u);
  EXPECT_EQ(total_of(counts), 7);
}

TEST(Sass, OfTwoPathsTheOneWithoutChecksCounts) {
  const auto code = parse_sass(sass(
      {"@L_x_0:", "ISETP.GE.AND P1, PT, R1, R2, PT", "ISETP.GE.AND P2, PT, R1, R3, PT", "FFMA R8, R4, R6, R8",
       "@P0 BRA `(.L_x_0)", "@L_x_1:", "FFMA R8, R4, R6, R8", "@P0 BRA `(.L_x_1)", "EXIT"}));
  EXPECT_EQ(total_of(sass_main_loop(code, 1)), 2);
  EXPECT_TRUE(sass_main_loop(parse_sass(sass({"MOV R1, R2", "EXIT"})), 4).empty());
}

TEST(Sass, OfSeveralFunctionsOneIsMeant) {
  const std::string text = "\n.text.first:\n" + sass({"MOV R1, R2", "EXIT"}) + "\n.text.second:\n" +
                           sass({"FFMA R8, R4, R6, R8", "FFMA R8, R4, R6, R8", "EXIT"});
  EXPECT_EQ(parse_sass(text).size(), 2u);
  EXPECT_EQ(parse_sass(text, "second").size(), 3u);
  EXPECT_EQ(parse_sass(text, "second")[0].kind, SassKind::product);
  EXPECT_EQ(parse_sass(text, "third").size(), 2u) << "no label names it";
}

// Includes the second words of encodings of an H200's kernel: reads count in scoreboards 2 and 3, or in none.
TEST(Sass, ArrivalsThatOvertakeReadsAreFound) {
  const auto kernel = [](const char* wait) {
    return std::string("\n.text.kernel:\n") +
           "        /*0010*/                   LDS.128 R4, [R1] ;   /* 0x1 */\n"
           "                                                        /* 0x0004a80000000000 */\n"
           "        /*0020*/                   LDS.128 R8, [R1+0x10] ;   /* 0x1 */\n"
           "                                                        /* 0x0000e80000000000 */\n"
           "        /*0030*/                   LOP3.LUT R2, R4, R8, RZ, 0xfc, !PT ;   /* 0x1 */\n"
           "                                                        /* " +
           wait +
           " */\n"
           "        /*0040*/              @!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R9+URZ], RZ ;   /* 0x1 */\n"
           "                                                        /* 0x000fe20000000000 */\n";
  };
  EXPECT_EQ(sass_early_arrivals(kernel("0x000fe40000000000")), 1) << "nobody waits";
  EXPECT_EQ(sass_early_arrivals(kernel("0x004fe40000000000")), 1) << "the first read is waited for";
  EXPECT_EQ(sass_early_arrivals(kernel("0x008fe40000000000")), 0) << "the last one is";
}

TEST(Sass, AMissingDisassemblerIsSaid) {
  try {
    disassemble("code", "/nonexistent/nvdisasm");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "'/nonexistent/nvdisasm' was not found");
  }
}

}  // namespace
}  // namespace tilewright
