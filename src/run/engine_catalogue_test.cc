// SPDX-License-Identifier: Apache-2.0
#include "run/engine_catalogue.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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
    make_executable(folder.file("engine-" + id));
  }
  static void make_executable(const std::string& path) {
    ASSERT_TRUE(write_file(path, "").ok());
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
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
  ASSERT_TRUE(write_file(folder.file("other.json"), "{").ok());
  const EngineCatalogue catalogue = read();
  EXPECT_EQ(catalogue.engines().size(), 1u);
  ASSERT_EQ(catalogue.problems().size(), 2u);
  EXPECT_EQ(catalogue.problems()[0],
            folder.file("engine-bad.json") + ": key 'name': expected a string");
}

TEST_F(CatalogueTest, AnEngineThatCannotBeStartedIsAProblem) {
  add("null", "", "test");
  add("torch", "2.9", "framework");
  add("torch", "2.15.0", "framework");
  add("gone", "", "framework");
  ASSERT_EQ(::chmod(folder.file("engine-torch@2.15.0").c_str(), 0644), 0);
  ASSERT_EQ(::unlink(folder.file("engine-gone").c_str()), 0);
  EXPECT_EQ(chosen("torch"), Names{"torch@2.9"});
  EXPECT_EQ(chosen("all"), Names{"torch@2.9"});
  const std::string start = folder.file("engine-gone.json") + ": engine gone cannot be started: '" +
                            folder.file("engine-gone") + "': ";
  EXPECT_EQ(fault("gone"), start + "No such file or directory");
  ASSERT_EQ(::mkdir(folder.file("engine-gone").c_str(), 0755), 0);
  EXPECT_EQ(fault("gone"), start + "not a regular file");
  ASSERT_EQ(read().problems().size(), 2u);
  EXPECT_EQ(read().problems()[1].substr(0, 5 + folder.path().size()), folder.path() + "/engi");
}

TEST_F(CatalogueTest, ANameThatNoReferenceCanSpellIsAProblem) {
  for (const std::string name : {"all", "a,b", "a@b:c", "-e", "a b"}) add(name, "", "framework");
  add("fine", "1:2", "framework");
  add("torch_2.x-cpu+", "2.15.0", "framework");
  EXPECT_EQ(read().engines().size(), 1u);
  ASSERT_EQ(read().problems().size(), 6u);
  EXPECT_EQ(read().problems()[2], folder.file("engine-a,b.json") +
                                      ": no engine can be chosen as 'a,b'; name it by letters, "
                                      "digits, '.', '_', '+' and '-', and not all");
}

TEST_F(CatalogueTest, AManifestThatIsNoFileDoesNotHang) {
  ASSERT_EQ(::mkfifo(folder.file("engine-pipe.json").c_str(), 0600), 0);
  EXPECT_EQ(read().problems().size(), 1u);
}

TEST_F(CatalogueTest, TheFirstFolderWins) {
  add("null", "", "test");
  const TemporaryFolder second = TemporaryFolder::create().value();
  const std::string manifest = read_file(folder.file("engine-null.json")).value();
  ASSERT_TRUE(write_file(second.file("engine-null.json"), manifest).ok());
  make_executable(second.file("engine-null"));
  const EngineCatalogue both = EngineCatalogue::read({"/nowhere", second.path(), folder.path()});
  ASSERT_EQ(both.engines().size(), 1u);
  EXPECT_EQ(both.engines()[0].executable, second.file("engine-null"));
  ASSERT_EQ(both.problems().size(), 1u);
  EXPECT_EQ(both.problems()[0], folder.file("engine-null.json") + ": engine null is named by " +
                                    second.file("engine-null.json") + " already; remove one");
  EXPECT_TRUE(EngineCatalogue::read({second.path(), second.path() + "/."}).problems().empty());
}

}  // namespace
}  // namespace gradstone
