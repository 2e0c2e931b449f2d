// Nodes put together from fitted models: what is found takes the place of round figures one by one, and what
// is wrong is left out and named.
#include "wisdom/node_model.hpp"

#include "wisdom/wisdom_database.hpp"

namespace tilewright {
namespace {

nlohmann::json host_coefficients(const GemmTime& time, int threads) {
  auto coefficients = gemm_device_coefficients(time);
  coefficients["threads"] = threads;
  return coefficients;
}

class NodeModelTest : public WisdomStoreTest {
 protected:
  static FittedModel fitted(const std::string& name, const std::string& device,
                            const nlohmann::json& coefficients, const std::string& dtype = "",
                            const std::string& library = "") {
    FittedModel m;
    m.model = name, m.device = device, m.coefficients = coefficients, m.dtype = dtype, m.library = library;
    m.samples = 10;
    m.time = "2016-11-21T10:00:00Z";
    m.extra = nlohmann::json::object();
    return m;
  }
  NodeModel node(const std::vector<FittedModel>& models, const std::vector<std::string>& gpus = {"GPU"}) {
    std::string text;
    for (const FittedModel& m : models) text += to_json(m).dump() + "\n";
    const Wisdom wisdom({folder_.write("m.jsonl", text)}, "");
    return node_model(&wisdom, "CPU", "blas", 8, gpus);
  }
};

TEST_F(NodeModelTest, RoundFiguresSayThatTheyAre) {
  const NodeModel defaults = node_model(nullptr, "CPU", "blas", 8, {"GPU", "GPU"});
  EXPECT_FALSE(defaults.calibrated);
  EXPECT_NE(defaults.source.find("round figures"), std::string::npos);
  EXPECT_EQ(defaults.gpus.size(), 2u);
  EXPECT_EQ(defaults.host.threads, 8);
  EXPECT_FALSE(defaults.host.copies.empty());
}

TEST_F(NodeModelTest, CoefficientsComeBackAsTheyWent) {
  GpuModel gpu = default_node(4, {"GPU"}).gpus[0], read;
  gpu.from_peer = {1e-6, 2e-12};
  const TogetherTime shared{4, 1.25, 1.5};
  TogetherTime together;
  take_transfer(transfer_coefficients(gpu, shared), read, together);
  EXPECT_EQ(transfer_coefficients(read, together), transfer_coefficients(gpu, shared));
  nlohmann::json older = transfer_coefficients(gpu, shared);
  older.erase("together_one_way"), older.erase("together_gpus");
  together = {2, 1, 1};
  take_transfer(older, read, together);
  EXPECT_EQ(to_json(together), to_json(TogetherTime{2, 1, 1.5}));
  const GemmTime time{1e-6, 2e-12, 3e-12, 4e-12, 5};
  const SustainedRate sustained{1e-12, 2e-12, 3e11};
  GemmTime time_read;
  SustainedRate sustained_read;
  take_gemm_device(gemm_device_coefficients(time, sustained), time_read, sustained_read);
  EXPECT_EQ(to_json(time_read), to_json(time));
  EXPECT_EQ(to_json(sustained_read), to_json(sustained));
  take_gemm_device(gemm_device_coefficients(time), time_read, sustained_read);
  EXPECT_EQ(sustained_read.late_s_per_product, 0) << "as in records of before";
  nlohmann::json of_a_factor = gemm_device_coefficients(time);
  of_a_factor["sustained"] = {{"after_s", 0.1}, {"factor", 1.2}};
  take_gemm_device(of_a_factor, time_read, sustained_read);
  EXPECT_EQ(sustained_read.late_s_per_product, 0) << "as in records of before";
  EXPECT_DOUBLE_EQ(sustained.of(0.1, 2e11), 0.2);
  EXPECT_DOUBLE_EQ(sustained.of(0.1, 4e11), 0.3 + 0.2);
  EXPECT_DOUBLE_EQ(sustained.of(0.7, 4e11), 0.7) << "small ones take longer by the formula";
  EXPECT_EQ(to_json(take_gemm_host(host_coefficients(time, 4), 4)), to_json(time));
  EXPECT_DOUBLE_EQ(take_gemm_host(host_coefficients(time, 4), 8).s_per_product, 1e-12);
  HostModel host = default_node(4, {}).host, other;
  take_host_copy(host_copy_coefficients(host), other);
  take_pipeline(pipeline_coefficients(host), other);
  EXPECT_EQ(host_copy_coefficients(other), host_copy_coefficients(host));
  EXPECT_EQ(other.gamma, host.gamma);
  EXPECT_EQ(other.copies_beside, host.copies_beside);
}

TEST_F(NodeModelTest, WhatIsFoundTakesThePlaceOfRoundFigures) {
  GpuModel gpu = default_node(4, {"GPU"}).gpus[0];
  gpu.to_device.s_per_byte = 1e-9;
  HostModel host = default_node(4, {}).host;
  host.gamma = 0.25, host.memory_bytes_per_s = 5e10;
  const GemmTime time{1e-6, 2e-12, 0, 0, 5};
  std::vector<FittedModel> models = {fitted(transfer_model, "GPU", transfer_coefficients(gpu, {1, 1, 1.1})),
                                     fitted(host_copy_model, "CPU", host_copy_coefficients(host)),
                                     fitted(pipeline_model, "CPU", pipeline_coefficients(host))};
  for (const char* dtype : {"f32", "f64", "c64", "c128"}) {
    models.push_back(fitted(gemm_device_model, "GPU", gemm_device_coefficients(time), dtype));
    models.push_back(fitted(gemm_host_model, "CPU", host_coefficients(time, 8), dtype, "blas"));
  }
  const NodeModel all = node(models);
  EXPECT_TRUE(all.calibrated) << all.source;
  EXPECT_EQ(all.gpus[0].to_device.s_per_byte, 1e-9);
  EXPECT_EQ(all.together.both_ways, 1.1);
  EXPECT_EQ(all.host.gamma, 0.25);
  EXPECT_EQ(all.host.gemm[1].s_per_product, 2e-12);
  EXPECT_EQ(all.gpus[0].gemm[3].waiting_k, 5);
  models.pop_back();
  models.back().library = "another";
  const NodeModel some = node(models, {"GPU", "other GPU"});
  EXPECT_FALSE(some.calibrated);
  EXPECT_NE(some.source.find("gemm_host c128 of CPU"), std::string::npos) << some.source;
  EXPECT_NE(some.source.find("transfer of other GPU"), std::string::npos) << some.source;
  EXPECT_EQ(some.gpus[0].to_device.s_per_byte, 1e-9);
  EXPECT_NE(some.gpus[1].to_device.s_per_byte, 1e-9);
}

TEST_F(NodeModelTest, WrongCoefficientsAreLeftOutOneByOne) {
  GpuModel gpu = default_node(4, {"GPU"}).gpus[0];
  nlohmann::json wrong = transfer_coefficients(gpu, {});
  wrong["duplex"] = 0.5;
  HostModel host = default_node(4, {}).host;
  host.gamma = 0.25;
  const NodeModel read = node(
      {fitted(transfer_model, "GPU", wrong), fitted(pipeline_model, "CPU", pipeline_coefficients(host))});
  EXPECT_EQ(read.host.gamma, 0.25);
  EXPECT_EQ(read.gpus[0].duplex, gpu.duplex);
  EXPECT_NE(read.source.find("'duplex' = 0.5"), std::string::npos) << read.source;
  nlohmann::json copies = host_copy_coefficients(host);
  for (const auto& [key, value] : {std::pair<const char*, nlohmann::json>{"copies", 1},
                                   {"copies", nlohmann::json::array()},
                                   {"memory_bytes_per_s", "fast"},
                                   {"register_s_per_byte", nullptr}}) {
    nlohmann::json bad = copies;
    bad[key] = value;
    EXPECT_THROW(take_host_copy(bad, host), Error) << key << value;
  }
}

TEST(HostModelCopies, AnyNumberOfThreads) {
  HostModel host;
  host.copies = {{2, {0, 1 / 20.0}}, {4, {0, 1 / 30.0}}};
  EXPECT_DOUBLE_EQ(1 / host.copy_by(1).s_per_byte, 10);
  EXPECT_DOUBLE_EQ(1 / host.copy_by(3).s_per_byte, 25);
  EXPECT_DOUBLE_EQ(1 / host.copy_by(64).s_per_byte, 30);
}

}  // namespace
}  // namespace tilewright
