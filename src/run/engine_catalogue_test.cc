// SPDX-License-Identifier: Apache-2.0
#include "run/engine_catalogue.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace gradstone {
namespace {

class CatalogueTest : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& version, const std::string& kind) {
    const std::string id = version.empty() ? name : name + "@" + version;
    const std::string text = R"({"name": ")" + name + R"(", "version": ")" + version +
                             R"(", "kind": ")" + kind + R"(", "executable": "engine-)" + id +
                             R"(", "summary": "s"})";
    ASSERT_TRUE(write_file(folder.file("engine-" + id + ".json"), text).ok());
  }
  EngineCatalogue read() { return EngineCatalogue::read({folder.path()}); }
  std::vector<std::string> chosen(std::string_view reference) {
    const std::vector<EngineChoice> choices = read().choose(reference).value();
    std::vector<std::string> names;
    for (const EngineChoice& choice : choices) names.push_back(to_string(choice));
    return names;
  }
  std::string fault(std::string_view reference) {
    const auto choice = read().choose(reference);
    EXPECT_EQ(choice.error().kind, ErrorKind::kUsage);
    return choice.error().message;
  }
  TemporaryFolder folder = TemporaryFolder::create().value();
};

using Names = std::vector<std::string>;

TEST(EngineReference, Grammar) {
  const EngineReference full = parse_engine_reference("torch@1.13.1:a=b:c@d").value();
  EXPECT_EQ(full.name, "torch");
  EXPECT_EQ(full.version, "1.13.1");
  EXPECT_EQ(full.argument, "a=b:c@d");
  const EngineReference argument = parse_engine_reference("null:mail=a@b").value();
  EXPECT_EQ(argument.name, "null");
  EXPECT_EQ(argument.version, "");
  EXPECT_EQ(argument.argument, "mail=a@b");
  for (const char* text : {"", "@1", "torch@", ":crash", "torch@:x"}) {
    EXPECT_EQ(parse_engine_reference(text).error().kind, ErrorKind::kUsage) << text;
  }
}

TEST(EngineReference, VersionsCompareAsNumbers) {
  const Names ascending = {"", "1.9", "1.13", "1.13.1", "2.2", "2.15.0", "2.15.0a", "10.0"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(version_less(ascending[i], ascending[j]), i < j)
          << ascending[i] << " " << ascending[j];
    }
  }
  EXPECT_FALSE(version_less("1.01", "1.1"));
  EXPECT_FALSE(version_less("1.1", "1.01"));
}

TEST_F(CatalogueTest, ListsByNameAndVersion) {
  add("torch", "2.15.0", "framework");
  add("null", "", "test");
  add("torch", "1.13.1", "framework");
  add("torch", "2.2", "framework");
  const EngineCatalogue catalogue = read();
  Names names;
  for (const EngineManifest& engine : catalogue.engines()) names.push_back(to_string(engine));
  EXPECT_EQ(names, (Names{"null", "torch@1.13.1", "torch@2.2", "torch@2.15.0"}));
  EXPECT_EQ(catalogue.engines()[0].executable, folder.file("engine-null"));
  EXPECT_EQ(catalogue.engines()[0].summary, "s");
}

TEST_F(CatalogueTest, ANameWithoutVersionIsItsHighest) {
  add("torch", "2.9", "framework");
  add("torch", "2.15.0", "framework");
  EXPECT_EQ(chosen("torch"), Names{"torch@2.15.0"});
  EXPECT_EQ(chosen("torch@2.9:x"), Names{"torch@2.9:x"});
}

TEST_F(CatalogueTest, AllIsEveryFrameworkInEveryVersion) {
  add("null", "", "test");
  add("reference", "", "oracle");
  EXPECT_EQ(fault("all"),
            "engine all: no framework engine is installed; installed: null, reference");
  add("torch", "2.9", "framework");
  add("torch", "2.15.0", "framework");
  add("caffe", "", "framework");
  EXPECT_EQ(chosen("all"), (Names{"caffe", "torch@2.9", "torch@2.15.0"}));
}

TEST_F(CatalogueTest, AnUnknownEngineIsAUsageErrorWithHelp) {
  add("torch", "2.9", "framework");
  add("null", "", "test");
  EXPECT_EQ(fault("torhc"),
            "unknown engine 'torhc'; did you mean 'torch'?; installed: null, torch@2.9");
  EXPECT_EQ(fault("torch@3"), "engine 'torch' has no version '3'; installed: null, torch@2.9");
}

TEST_F(CatalogueTest, ABrokenManifestIsAProblemNotTheEnd) {
  add("null", "", "test");
  ASSERT_TRUE(write_file(folder.file("engine-bad.json"), "{\"name\": 3}").ok());
  ASSERT_TRUE(write_file(folder.file("engine-worse.json"), "{").ok());
  ASSERT_TRUE(write_file(folder.file("engine-null"), "").ok());
  ASSERT_TRUE(write_file(folder.file("other.json"), "{").ok());
  const EngineCatalogue catalogue = read();
  EXPECT_EQ(catalogue.engines().size(), 1u);
  ASSERT_EQ(catalogue.problems().size(), 2u);
  EXPECT_EQ(catalogue.problems()[0],
            folder.file("engine-bad.json") + ": key 'name': expected a string");
}

TEST_F(CatalogueTest, TheFirstFolderWins) {
  add("null", "", "test");
  const TemporaryFolder second = TemporaryFolder::create().value();
  const std::string manifest = read_file(folder.file("engine-null.json")).value();
  ASSERT_TRUE(write_file(second.file("engine-null.json"), manifest).ok());
  const EngineCatalogue both = EngineCatalogue::read({"/nowhere", second.path(), folder.path()});
  ASSERT_EQ(both.engines().size(), 1u);
  EXPECT_EQ(both.engines()[0].executable, second.file("engine-null"));
}

}  // namespace
}  // namespace gradstone
