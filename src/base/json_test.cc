// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gradstone {
namespace {

TEST(Json, NonFiniteNumbersSurviveTheWire) {
  for (const double value : {std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), 0.1, -0.0}) {
    EXPECT_EQ(decode_number(parse_json(write_json(encode_number(value))).value()).value(), value);
  }
  EXPECT_TRUE(std::isnan(decode_number(encode_number(std::nan(""))).value()));
  EXPECT_TRUE(number_or_null(std::nan("")).is_null());
}

TEST(Json, DepthIsBoundedAndBracketsInStringsDoNotCount) {
  EXPECT_TRUE(parse_json(std::string(200, '[') + std::string(200, ']')).ok());
  EXPECT_EQ(parse_json(std::string(201, '[')).error().message,
            "not JSON for Gradstone: nested deeper than 200");
  EXPECT_TRUE(parse_json("\"\\\"" + std::string(500, '[') + "\"").ok());
}

TEST(Json, KeysOfOneObjectAreBounded) {
  const auto object_of = [](int keys) {
    std::string text = "{\"k\":[{\"a:b\":1},{\"c\":2}]";
    for (int i = 1; i < keys; ++i) text += ",\"k" + std::to_string(i) + "\":0";
    return text + "}";
  };
  EXPECT_TRUE(parse_json(object_of(3), 3).ok());
  EXPECT_EQ(parse_json(object_of(4), 3).error().message,
            "not JSON for Gradstone: an object of more than 3 keys");
  EXPECT_FALSE(parse_json(object_of(kMaxJsonKeys + 1)).ok());
}

TEST(Json, DepthOfAValueIsCounted) {
  EXPECT_FALSE(nests_deeper(Json(3), 0));
  EXPECT_TRUE(nests_deeper(Json::array(), 0));
  const Json two = parse_json(R"({"a": 1, "b": [2]})").value();
  EXPECT_FALSE(nests_deeper(two, 2));
  EXPECT_TRUE(nests_deeper(two, 1));
}

TEST(Json, ANumberOutOfRangeIsAnError) { EXPECT_FALSE(parse_json("1e999").ok()); }

TEST(Json, ErrorsNameThePlace) {
  EXPECT_EQ(parse_json("{\"a\": ]").error().message, "not JSON: byte 7 of 7");
  EXPECT_EQ(parse_json("{\"a\": ").error().message, "not JSON: it ends too early, after byte 6");
  EXPECT_EQ(parse_json("").error().message, "not JSON: it is empty");
  EXPECT_EQ(parse_json("[1e400]").error().message,
            "not JSON: a number is beyond the range of a double");
  const Json object = {{"shape", {1, "x"}}, {"big", 18446744073709551615ull}};
  EXPECT_EQ(integers_member(object, "shape").error().message,
            "key 'shape': expected an array of integers");
  EXPECT_EQ(integer_member(object, "big").error().message, "key 'big': expected an integer");
  EXPECT_EQ(string_member(object, "none").error().message, "key 'none' is missing");
  EXPECT_EQ(member(Json(3), "a").error().message, "expected an object with key 'a'");
}

}  // namespace
}  // namespace gradstone
