// SPDX-License-Identifier: Apache-2.0
#include "conformance/prepared_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "conformance/case_filter.h"

namespace gradstone {
namespace {

using Binding = std::vector<std::size_t>;

TEST(BindingOrder, BindsFewAndIntegersBeforeFloatsAndLaterInputsFirst) {
  EXPECT_EQ(binding_order({}), (std::vector<Binding>{{}}));
  EXPECT_EQ(binding_order({true, false}), (std::vector<Binding>{{}, {1}, {0}, {0, 1}}));
  EXPECT_EQ(binding_order({false, true, false}),
            (std::vector<Binding>{{}, {2}, {0}, {0, 2}, {1}, {1, 2}, {0, 1}, {0, 1, 2}}));
}

TEST(BindingOrder, IsNeverLong) {
  const std::vector<Binding> order = binding_order(std::vector<bool>(20, true));
  EXPECT_EQ(order.size(), 256u);
  EXPECT_EQ(order.front(), Binding{});
}

TEST(DataSets, AreFoundByFolder) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const std::string model = folder.file("suite/test_b");
  for (const char* set : {"/test_data_set_0", "/test_data_set_1"}) {
    ASSERT_TRUE(make_folders(model + set).ok());
  }
  ASSERT_TRUE(make_folders(folder.file("suite/test_a")).ok());  // without a model
  ASSERT_TRUE(write_file(model + "/model.onnx", "").ok());
  for (const char* file : {"input_0.pb", "input_1.pb", "output_0.pb", "input_3.pb"}) {
    ASSERT_TRUE(write_file(model + "/test_data_set_1/" + file, "").ok());
  }
  const std::vector<DataSetFiles> sets = find_data_sets({folder.file("suite/")}).value();
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].name, "suite/test_b");
  EXPECT_EQ(sets[1].name, "suite/test_b/1");
  EXPECT_EQ(sets[1].inputs.size(), 2u) << "as far as the numbers go";
  EXPECT_EQ(sets[1].outputs.size(), 1u);
  EXPECT_THAT(find_data_sets({folder.file("suite/test_a")}).error().message,
              testing::HasSubstr("no data sets in it; ONNX's own come with"));
  EXPECT_THAT(find_data_sets({"/nowhere"}).error().message, testing::HasSubstr("no such folder"));
}

TEST(CaseFilter, TakesPatternsByComma) {
  EXPECT_TRUE(CaseFilter("").matches("anything"));
  const CaseFilter filter("node/test_re*,optimizer/adam");
  EXPECT_TRUE(filter.matches("node/test_relu"));
  EXPECT_TRUE(filter.matches("node/test_relu/gradient"));
  EXPECT_TRUE(filter.matches("optimizer/adam"));
  EXPECT_FALSE(filter.matches("optimizer/adamw"));
  EXPECT_FALSE(filter.matches("node/test_add"));
}

}  // namespace
}  // namespace gradstone
