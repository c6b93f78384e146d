// SPDX-License-Identifier: Apache-2.0
// Files that are damaged, or made to hurt: always an error, never a crash or a huge allocation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/random.h"
#include "onnx/test_models.h"

namespace gradstone::onnx_io {
namespace {

using testing::HasSubstr;

TestModel small_model() {
  TestModel model;
  model.input("x", {2, 2}).output("y");
  model.initializer("w", floats({2, 2}, {1, 2, 3, 4}));
  model.node("MatMul", {"x", "w"}, {"y"});
  return model;
}

Result<ImportedModel> import_bytes(std::string_view bytes) { return import_onnx(bytes, "", {}); }

TEST(Hostile, EveryPrefixOfAFileIsAnError) {
  const std::string bytes = small_model().bytes();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Result<ImportedModel> model = import_bytes(std::string_view(bytes).substr(0, length));
    EXPECT_TRUE(!model.ok() || model->graph.outputs.size() == 1) << length;
  }
  EXPECT_EQ(error_of(import_bytes("")), "the file is empty");
  EXPECT_EQ(error_of(import_bytes("PK\3\4 a zip file")), "not an ONNX file, or a damaged one");
}

// A little of everything that reading does.
TestModel rich_model() {
  TestModel model(13);
  model.input("x", {2, 1, 4, 4}).output("y");
  model.initializer("w", floats({2, 1, 3, 3}, std::vector<float>(18, 0.5F)));
  onnx::NodeProto& conv = model.node("Conv", {"x", "w"}, {"conv"});
  set(conv, "pads", {1, 1, 1, 1});
  set(conv, "kernel_shape", {3, 3});
  for (const char* name : {"s", "b", "m", "v"}) model.initializer(name, floats({2}, {1, 1}));
  set(model.node("BatchNormalization", {"conv", "s", "b", "m", "v"}, {"norm"}), "epsilon", 1e-5F);
  model.node("Dropout", {"norm"}, {"drop"});
  model.node("Shape", {"drop"}, {"shape"});
  model.initializer("zero", integers({0}));
  model.node("Gather", {"shape", "zero"}, {"batch"});
  model.initializer("rest", integers({-1}));
  set(model.node("Concat", {"batch", "rest"}, {"target"}), "axis", 0);
  model.node("Reshape", {"drop", "target"}, {"flat"});
  model.initializer("trips", Tensor::scalar(std::int64_t{3}));
  onnx::GraphProto* body = set_graph(model.node("Loop", {"trips", "", "flat"}, {"y"}), "body");
  for (const char* name : {"i", "go", "a"}) body->add_input()->set_name(name);
  TestModel::add_node(*body->mutable_node(), "Relu", {"a"}, {"c"});
  for (const char* name : {"go", "c"}) body->add_output()->set_name(name);
  return model;
}

// What tests/fuzz does for longer: bytes changed, taken out, and doubled.
TEST(Hostile, MutatedModels) {
  const std::string bytes = rich_model().bytes();
  const CounterRandom random(1, stream_of("mutations"));
  ImportOptions options;
  options.training = true;
  EXPECT_EQ(error_of(import_onnx(bytes, "", options)), "");
  std::uint64_t at = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string mutated = bytes;
    for (std::uint64_t change = random.below(at++, 4) + 1; change > 0; --change) {
      const std::size_t place = random.below(at++, mutated.size());
      const std::uint64_t kind = random.below(at++, 3);
      if (kind == 0) mutated[place] = static_cast<char>(random.below(at++, 256));
      if (kind == 1) mutated.erase(place, 1 + random.below(at++, 8));
      if (kind == 2) mutated.insert(place, mutated.substr(place, 1 + random.below(at++, 8)));
    }
    const Result<ImportedModel> model = import_onnx(mutated, "", options);
    EXPECT_TRUE(!model.ok() || check_graph(model->graph).ok());
  }
}

TEST(Hostile, FilesThatAreNone) {
  EXPECT_EQ(error_of(import_onnx("/nowhere/net.onnx", {})),
            "cannot read '/nowhere/net.onnx': No such file or directory");
  EXPECT_THAT(error_of(import_onnx(std::filesystem::temp_directory_path().string(), {})),
              HasSubstr("not a file"));
}

TEST(Hostile, OpsetsThatAreNotKnown) {
  TestModel model = small_model();
  model.proto().mutable_opset_import(0)->set_version(99);
  EXPECT_EQ(error_of(read(model)),
            "opset 99; opsets 1 to 23 are read: export the model with one of these");
  model.proto().mutable_opset_import(0)->set_version(-1);
  EXPECT_THAT(error_of(read(model)), HasSubstr("opset -1"));
}

TEST(Hostile, CyclesAndMissingValues) {
  TestModel model;
  model.input("x", {2}).output("y");
  model.node("Add", {"x", "y"}, {"z"});
  model.node("Relu", {"z"}, {"y"});
  EXPECT_EQ(error_of(read(model)),
            "node node_z (Add): reads 'y', which nothing before it makes (no such value, a cycle, "
            "or nodes out of order)");
  model = TestModel();
  model.input("x", {2}).output("nothing");
  model.node("Relu", {"x"}, {"y"});
  EXPECT_EQ(error_of(read(model)), "output nothing: nothing makes it");
  model = TestModel();
  model.input("x", {2}).output("y");
  model.node("Relu", {"x"}, {"y"});
  model.node("Tanh", {"x"}, {"y"});
  EXPECT_THAT(error_of(read(model)), HasSubstr("the name 'y' is taken by another value"));
  model = TestModel();
  model.input("x", {2});
  EXPECT_EQ(error_of(read(model)), "the graph has no outputs");
}

TEST(Hostile, MissingInputsOfEveryOperator) {
  TestModel model;
  model.input("x", {2, 2}).output("y");
  for (const char* op : {"Add",
                         "Conv",
                         "Gemm",
                         "Reshape",
                         "Slice",
                         "Pow",
                         "CastLike",
                         "Shape",
                         "Clip",
                         "Softmax",
                         "BatchNormalization",
                         "Upsample",
                         "ConstantOfShape",
                         "Loop",
                         "Scan",
                         "If",
                         "Concat",
                         "Constant",
                         "EyeLike",
                         "Identity",
                         "TopK"}) {
    for (const std::int64_t opset : {6, 9, 13, 17, 20}) {
      model.graph()->clear_node();
      model.proto().mutable_opset_import(0)->set_version(opset);
      model.node(op, {}, {"y"});
      EXPECT_FALSE(read(model).ok()) << op << opset;
    }
  }
}

TEST(Hostile, ExtentsThatMakeNoSense) {
  const auto with_dims = [](const std::vector<std::int64_t>& dims) {
    TestModel model = small_model();
    onnx::TensorProto* w = model.graph()->mutable_initializer(0);
    w->clear_dims();
    for (const std::int64_t dim : dims) w->add_dims(dim);
    return error_of(read(model));
  };
  EXPECT_EQ(with_dims({-2, -2}), "initializer w: shape [-2, -2] has a negative extent");
  EXPECT_THAT(with_dims({INT64_MAX, INT64_MAX}), HasSubstr("initializer w: "));
  EXPECT_EQ(with_dims({1 << 20, 1 << 10}),
            "initializer w: float32 [1048576, 1024] takes 4294967296 bytes, the file has 16");
  TestModel model;
  model.input("x", {INT64_MAX, INT64_MAX}).output("y");
  model.node("Relu", {"x"}, {"y"});
  EXPECT_THAT(error_of(read(model)), HasSubstr("input x: "));
}

TEST(Hostile, ShapesThatNodesAskFor) {
  for (const char* op : {"ConstantOfShape", "Expand", "Reshape"}) {
    TestModel model;
    model.input("x", {1}).output("y");
    model.initializer("shape", integers({1 << 20, 1 << 20, 1 << 20}));
    if (std::string(op) == "ConstantOfShape") {
      model.node(op, {"shape"}, {"y"});
    } else {
      model.node(op, {"x", "shape"}, {"y"});
    }
    EXPECT_THAT(error_of(read(model)), HasSubstr("node node_y (")) << op;
  }
  // Legal, but nothing to be computed while reading.
  TestModel model;
  model.output("y");
  model.initializer("shape", integers({1 << 20, 1 << 15}));
  model.node("ConstantOfShape", {"shape"}, {"y"});
  EXPECT_EQ(error_of(read(model)), "");
}

TEST(Hostile, WrongKindsOfAttributes) {
  TestModel model;
  model.input("x", {1, 1, 4, 4}).output("y");
  set(model.node("MaxPool", {"x"}, {"y"}), "kernel_shape", "two");
  EXPECT_EQ(error_of(read(model)),
            "node node_y (MaxPool): attribute 'kernel_shape' is of the wrong kind");
  model.graph()->clear_node();
  onnx::NodeProto& twice = model.node("Softmax", {"x"}, {"y"});
  set(twice, "axis", 1);
  set(twice, "axis", 2);
  EXPECT_THAT(error_of(read(model)), HasSubstr("attribute 'axis' is given twice"));
}

// What a bomb of functions or loops would become.
TEST(Hostile, FilesThatGrow) {
  TestModel bomb;
  bomb.input("x", {2}).output("y");
  for (int level = 0; level < 40; ++level) {
    onnx::FunctionProto* function = bomb.proto().add_functions();
    function->set_domain("mine");
    function->set_name("f" + std::to_string(level));
    function->add_input("a");
    function->add_output("c");
    const std::string next = level == 39 ? "Relu" : "f" + std::to_string(level + 1);
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
      onnx::NodeProto& node = TestModel::add_node(*function->mutable_node(), next, {from}, {to});
      if (level < 39) node.set_domain("mine");
    }
  }
  bomb.node("f0", {"x"}, {"y"}).set_domain("mine");
  EXPECT_THAT(error_of(read(bomb)),
              HasSubstr("nodes when its functions and loops are written out"));

  TestModel endless;
  endless.input("x", {2}).output("y");
  onnx::GraphProto* body = set_graph(endless.node("Loop", {"", "", "x"}, {"y"}), "body");
  for (const char* name : {"i", "go", "v"}) body->add_input()->set_name(name);
  for (const char* name : {"go", "v"}) body->add_output()->set_name(name);
  EXPECT_THAT(error_of(read(endless)), HasSubstr("it makes too many trips"));
}

TEST(Hostile, GraphsInGraphsInGraphs) {
  TestModel model;
  model.input("x", {2}).output("y");
  model.initializer("yes", Tensor::scalar(true));
  onnx::GraphProto* graph = model.graph();
  for (int depth = 0; depth < 500; ++depth) {
    onnx::NodeProto& node = TestModel::add_node(*graph->mutable_node(), "If", {"yes"}, {"y"});
    graph = set_graph(node, "then_branch");
    graph->add_output()->set_name("y");
  }
  EXPECT_FALSE(read(model).ok());
}

// A model whose weight `w` lies in a file.
class ExternalWeights : public testing::Test {
 protected:
  std::string error_with(const std::string& location, const std::string& offset = "0",
                         const std::string& length = "16",
                         const std::vector<std::int64_t>& dims = {2, 2}) {
    TestModel model = small_model();
    onnx::TensorProto* w = model.graph()->mutable_initializer(0);
    w->clear_raw_data();
    w->clear_dims();
    for (const std::int64_t dim : dims) w->add_dims(dim);
    w->set_data_location(onnx::TensorProto_DataLocation_EXTERNAL);
    for (const auto& [key, value] : std::map<std::string, std::string>{
             {"location", location}, {"offset", offset}, {"length", length}}) {
      onnx::StringStringEntryProto* entry = w->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return error_of(import_onnx(model.bytes(), inside_, {}));
  }

  TemporaryFolder folder_ = TemporaryFolder::create().value();
  std::string inside_ = folder_.file("model");

  void SetUp() override {
    std::filesystem::create_directory(inside_);
    const std::string bytes(64, '\0');
    ASSERT_TRUE(write_file(inside_ + "/w.bin", bytes).ok());
    ASSERT_TRUE(write_file(folder_.file("secret"), bytes).ok());
  }
};

TEST_F(ExternalWeights, AreReadFromTheModelsFolder) {
  EXPECT_EQ(error_with("w.bin"), "");
  EXPECT_EQ(error_with("w.bin", "48"), "");
  EXPECT_EQ(error_with("./w.bin"), "");
}

TEST_F(ExternalWeights, AreNotReadFromElsewhere) {
  EXPECT_THAT(error_with("../secret"), HasSubstr("'../secret' lies outside the model's folder"));
  EXPECT_THAT(error_with("x/../../secret"), HasSubstr("external data: 'x/../../secret'"));
  EXPECT_THAT(error_with("/etc/passwd"), HasSubstr("is no path inside the model's folder"));
  EXPECT_THAT(error_with(""), HasSubstr("is no path inside the model's folder"));
  EXPECT_THAT(error_with("."), HasSubstr("lies outside the model's folder"));
  ASSERT_EQ(::symlink("../secret", (inside_ + "/link").c_str()), 0);
  EXPECT_THAT(error_with("link"), HasSubstr("'link' lies outside the model's folder"));
  ASSERT_EQ(::mkfifo((inside_ + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_with("pipe"), HasSubstr("is no file"));
}

TEST_F(ExternalWeights, HaveThePlaceThatIsStated) {
  EXPECT_EQ(error_with("w.bin", "56"),
            "initializer w: external data: 'w.bin' has 64 bytes; there are no 16 at offset 56");
  EXPECT_THAT(error_with("w.bin", "18446744073709551615"), HasSubstr("there are no 16 at offset"));
  EXPECT_THAT(error_with("w.bin", "-4"), HasSubstr("offset '-4'"));
  EXPECT_THAT(error_with("w.bin", "0", "12"),
              HasSubstr("length is 12, but float32 [2, 2] takes 16"));
}

// Two GiB by reference: nothing is allocated for them.
TEST_F(ExternalWeights, AreNotBelievedWhenTheyAreHuge) {
  EXPECT_THAT(error_with("w.bin", "0", "2147483648", {1 << 19, 1 << 10}),
              HasSubstr("'w.bin' has 64 bytes"));
  ASSERT_EQ(::truncate((inside_ + "/w.bin").c_str(), std::int64_t{1} << 42), 0);
  EXPECT_THAT(error_with("w.bin", "0", "4398046511104", {1 << 20, 1 << 20}),
              HasSubstr("is larger than the memory of this machine"));
}

}  // namespace
}  // namespace gradstone::onnx_io
