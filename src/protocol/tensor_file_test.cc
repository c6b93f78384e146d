// SPDX-License-Identifier: Apache-2.0
#include "protocol/tensor_file.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"

namespace gradstone {
namespace {

const std::vector<float> kFloats = {1, -2.5f, 3, 4, 5, 6};
const std::vector<double> kDoubles = {0.1, -0.0};
const std::vector<std::uint8_t> kBytes = {7, 8, 9};

class TensorFileTest : public testing::Test {
 protected:
  // The length and the header, which is filled with spaces to whole words.
  static std::string start_of(std::string header) {
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header;
  }
  // A file with this header and this many zero bytes behind it.
  Result<TensorFile> open_made(const std::string& header, std::size_t data_bytes) {
    return open_bytes(start_of(header) + std::string(data_bytes, '\0'));
  }
  Result<TensorFile> open_bytes(const std::string& bytes) {
    EXPECT_TRUE(write_file(path, bytes).ok());
    return TensorFile::open(path);
  }
  std::string fault_of(const std::string& header, std::size_t data_bytes) {
    const Result<TensorFile> file = open_made(header, data_bytes);
    EXPECT_FALSE(file.ok()) << header;
    if (file.ok()) return "";
    EXPECT_EQ(file.error().kind, ErrorKind::kUnreadable);
    const std::string place = "tensor file '" + path + "': ";
    EXPECT_EQ(file.error().message.substr(0, place.size()), place);
    return file.error().message.substr(place.size());
  }
  TemporaryFolder folder = TemporaryFolder::create().value();
  std::string path = folder.file("weights");
};

TEST_F(TensorFileTest, WhatIsWrittenIsMapped) {
  const Tensor floats = Tensor::of<float>({2, 3}, kFloats);
  const Tensor doubles = Tensor::of<double>({2}, kDoubles);
  const Tensor bytes = Tensor::of<std::uint8_t>({3}, kBytes);
  const Tensor scalar = Tensor::scalar<std::int64_t>(-5);
  const Tensor empty({DType::kFloat32, {0, 4}});
  ASSERT_TRUE(write_tensor_file(path, {{"bytes", bytes.ref()},
                                       {"floats", floats.ref()},
                                       {"a \"name\"", doubles.ref()},
                                       {"", empty.ref()},
                                       {"scalar", scalar.ref()}})
                  .ok());
  const TensorFile file = TensorFile::open(path).value();
  // Wide elements come first, so that all are aligned; otherwise the order is kept.
  EXPECT_EQ(file.names(),
            (std::vector<std::string>{"a \"name\"", "scalar", "floats", "", "bytes"}));
  EXPECT_EQ(file.find("floats")->type, floats.type());
  const auto read = file.find("floats")->as<float>();
  EXPECT_EQ(std::vector<float>(read.begin(), read.end()), kFloats);
  EXPECT_EQ(file.find("scalar")->as<std::int64_t>()[0], -5);
  EXPECT_TRUE(std::signbit(file.find("a \"name\"")->as<double>()[1]));
  EXPECT_EQ(file.find("bytes")->as<std::uint8_t>()[2], 9);
  EXPECT_EQ(file.find("")->type, empty.type());
  EXPECT_EQ(file.find("none"), nullptr);
}

// The layout as its specification has it, so that other tools open our files.
TEST_F(TensorFileTest, TheLayoutIsSafetensors) {
  const Tensor floats = Tensor::of<float>({2, 3}, kFloats);
  const Tensor bytes = Tensor::of<std::uint8_t>({3}, kBytes);
  ASSERT_TRUE(write_tensor_file(path, {{"b", bytes.ref()}, {"f", floats.ref()}}).ok());
  const std::string content = read_file(path).value();
  std::uint64_t length = 0;
  std::memcpy(&length, content.data(), 8);
  EXPECT_EQ((8 + length) % 64, 0u);
  EXPECT_EQ(parse_json(content.substr(8, length)).value(),
            parse_json(R"({"f": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                           "b": {"dtype": "U8", "shape": [3], "data_offsets": [24, 27]}})")
                .value());
  EXPECT_EQ(content.size(), 8 + length + 27);
  EXPECT_EQ(content.substr(8 + length + 24), "\x07\x08\x09");
}

TEST_F(TensorFileTest, FilesOfOtherToolsOpen) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  const TensorFile file = open_made(header, 16).value();
  EXPECT_EQ(file.names(), std::vector<std::string>{"w"});
  EXPECT_EQ(file.find("w")->as<double>()[1], 0.0);
}

TEST_F(TensorFileTest, HostileFilesAreRefusedWithThePlace) {
  EXPECT_EQ(open_bytes("short").error().message,
            "tensor file '" + path + "': truncated: no header");
  EXPECT_EQ(open_bytes(std::string(8, '\xff')).error().message,
            "tensor file '" + path +
                "': truncated: a header of 18446744073709551615 bytes in a file of 8");
  EXPECT_EQ(fault_of("[1]     ", 0), "expected an object of tensors");
  EXPECT_EQ(fault_of("not json", 0), "not JSON: byte 2 of 8");
  const auto one = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string(R"({"w":{"dtype":")") + dtype + R"(","shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}}";
  };
  EXPECT_EQ(fault_of(one("F32", "[2]", "[0,8]"), 7),
            "truncated or too long: the tensors take 8 bytes, the file has 7");
  EXPECT_EQ(fault_of(one("F32", "[2]", "[0,8]"), 9),
            "truncated or too long: the tensors take 8 bytes, the file has 9");
  EXPECT_EQ(fault_of(one("F32", "[3]", "[0,8]"), 8),
            "tensor 'w': float32 [3] does not fill the bytes from 0 to 8");
  EXPECT_EQ(fault_of(one("F32", "[-2]", "[0,8]"), 8),
            "tensor 'w': float32 [-2] does not fill the bytes from 0 to 8");
  // 2^62 * 4 bytes wraps to 0.
  EXPECT_EQ(fault_of(one("F32", "[4611686018427387904]", "[0,0]"), 0),
            "tensor 'w': float32 [4611686018427387904] does not fill the bytes from 0 to 0");
  EXPECT_EQ(fault_of(one("F32", "[1]", "[2,6]"), 6),
            "tensor 'w': byte 2 is misaligned for float32");
  EXPECT_EQ(fault_of(one("F32", "[1]", "[4,8]"), 8),
            "tensor 'w' begins at byte 4, the one before ends at 0");
  EXPECT_EQ(fault_of(one("F16", "[1]", "[0,2]"), 2),
            "tensor 'w': dtype 'F16' is not one that Gradstone knows");
  EXPECT_EQ(fault_of(one("U8", "[1]", "[1]"), 1),
            "tensor 'w': key 'data_offsets': expected two growing numbers");
  EXPECT_EQ(fault_of(one("U8", "[1]", "[1,0]"), 1),
            "tensor 'w': key 'data_offsets': expected two growing numbers");
  EXPECT_EQ(fault_of(one("U8", "[0]", "[9,9]"), 0),
            "tensor 'w' begins at byte 9, the one before ends at 0");
  EXPECT_EQ(fault_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                     R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                     3),
            "tensor 'b' begins at byte 1, the one before ends at 2");
}

TEST_F(TensorFileTest, ElementsMustBeginAtAWholeWord) {
  const std::string header = R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::string bytes = start_of(header) + " x";
  ++bytes[0];
  const std::string place = std::to_string(bytes.size() - 1);
  EXPECT_EQ(open_bytes(bytes).error().message,
            "tensor file '" + path + "': misaligned: the elements begin at byte " + place);
}

TEST_F(TensorFileTest, ABooleanMustBeOne) {
  const std::string header = R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_TRUE(open_made(header, 2).ok());
  const std::string start = start_of(header);
  EXPECT_TRUE(open_bytes(start + "\x01" + std::string(1, '\0')).ok());
  EXPECT_EQ(open_bytes(start + "\x01\x02").error().message,
            "tensor file '" + path + "': tensor 'w': element 1 is neither true nor false");
}

TEST_F(TensorFileTest, TheContentHashNamesContentNotOrder) {
  const Tensor a = Tensor::of<float>({2, 3}, kFloats);
  const Tensor b = Tensor::of<float>({3, 2}, kFloats);
  const auto hash = [&](std::vector<std::pair<std::string, TensorRef>> tensors) {
    EXPECT_TRUE(write_tensor_file(path, tensors).ok());
    return TensorFile::open(path).value().content_hash();
  };
  const std::string both = hash({{"a", a.ref()}, {"b", b.ref()}});
  EXPECT_EQ(hash({{"b", b.ref()}, {"a", a.ref()}}), both);
  EXPECT_NE(hash({{"a", b.ref()}, {"b", a.ref()}}), both);
  EXPECT_NE(hash({{"a", a.ref()}, {"c", b.ref()}}), both);
  EXPECT_NE(hash({{"a", a.ref()}}), both);
  Tensor changed = b;
  changed.as<float>()[5] = 6.0000005f;
  EXPECT_NE(hash({{"a", a.ref()}, {"b", changed.ref()}}), both);
}

TEST_F(TensorFileTest, NamesThatCannotBeKeptAreErrors) {
  const Tensor a = Tensor::of<float>({2, 3}, kFloats);
  EXPECT_EQ(write_tensor_file(path, {{"a", a.ref()}, {"a", a.ref()}}).error().message,
            "tensor file '" + path + "': two tensors are called 'a'");
  EXPECT_FALSE(write_tensor_file(path, {{"__metadata__", a.ref()}}).ok());
  EXPECT_EQ(TensorFile::open(folder.file("none")).error().message,
            "cannot read '" + folder.file("none") + "': No such file or directory");
}

}  // namespace
}  // namespace gradstone
