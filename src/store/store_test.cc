// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/files.h"

namespace gradstone {
namespace {

using testing::HasSubstr;

RunRecord example(const std::string& id, const std::string& plan = "plan-a") {
  RunRecord record;
  record.id = id;
  record.plan = plan;
  record.label = "nightly";
  record.workload = "lenet";
  record.size = "small";
  record.engine = "engine@1";
  record.started_ms = 1000;
  record.finished_ms = 2000;
  record.outcome = Outcome::kOk;
  record.message = std::string("zero\0byte and \xff", 15);
  record.metrics["throughput"] = {1.0 / 3, "samples/s", 0.3, std::nullopt};
  record.metrics["final_loss"] = {std::nan(""), "1", {}, {}};
  record.samples["loss"] = {-0.0, 1e-310, std::numeric_limits<double>::infinity(), std::nan("")};
  record.samples["empty"] = {};
  record.context["machine"] = {{"cores", 2}};
  return record;
}

class StoreTest : public testing::Test {
 protected:
  std::string file(const char* name) const { return folder_.file(name); }
  Store create() { return Store::open(path_, Store::Mode::kWrite).value(); }
  std::string open_error(const std::string& path) {
    const auto opened = Store::open(path, Store::Mode::kRead);
    return opened.ok() ? "" : opened.error().message;
  }

  TemporaryFolder folder_ = TemporaryFolder::create().value();
  std::string path_ = folder_.file("deep/records.db");
};

TEST_F(StoreTest, EveryBitComesBack) {
  const RunRecord record = example("20261130-093512-3fa9c1");
  ASSERT_TRUE(create().put(record).ok());
  const std::vector<RunRecord> found = create().find(record.id).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_json(found[0]), to_json(record));
  EXPECT_EQ(found[0].message, record.message);
  const std::vector<double>& loss = found[0].samples.at("loss");
  EXPECT_TRUE(std::signbit(loss[0]));
  EXPECT_EQ(loss[1], 1e-310);
  EXPECT_EQ(loss[2], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(loss[3]));
  EXPECT_FALSE(found[0].metrics.at("throughput").high.has_value());
}

TEST_F(StoreTest, NamesAreTriedInOrder) {
  Store store = create();
  RunRecord late = example("20261201-000000-aaaaaa", "plan-b");
  late.started_ms = 5000;
  late.label = "tuned";
  ASSERT_TRUE(store.put(late).ok());
  ASSERT_TRUE(store.put(example("20261130-000000-aaaaaa")).ok());
  ASSERT_TRUE(store.put(example("20261130-000000-bbbbbb")).ok());
  EXPECT_EQ(store.find("@last").value()[0].id, late.id);
  EXPECT_EQ(store.find("nightly").value().size(), 2u);
  EXPECT_EQ(store.find("plan-a").value().size(), 2u);
  EXPECT_EQ(store.find("20261130-000000-b").value()[0].id, "20261130-000000-bbbbbb");
  EXPECT_EQ(store.all().value().back().id, late.id);
  EXPECT_EQ(store.find("20261130").error().message,
            "'20261130' begins 2 ids (20261130-000000-aaaaaa, 20261130-000000-bbbbbb); give more "
            "of it");
  EXPECT_EQ(store.find("tunde").error().message,
            "no run, label or plan is called 'tunde' in " + path_ + "; did you mean 'tuned'?");
  EXPECT_EQ(store.find("%").error().kind, ErrorKind::kUsage);
}

TEST_F(StoreTest, FilesOfRecordsAreNamesToo) {
  const std::string path = file("ci.json");
  ASSERT_TRUE(write_file(path, write_json(records_to_json({example("r1"), example("r2")}))).ok());
  EXPECT_EQ(find_records(path, "/nowhere").value().size(), 2u);
  ASSERT_TRUE(write_file(path, "{\"schema\": \"other\"}").ok());
  EXPECT_EQ(find_records(path, path_).error().message,
            path + ": schema 'other': this Gradstone reads 'gradstone/1'");
  EXPECT_EQ(find_records(file("none.json"), path_).error().kind, ErrorKind::kUnreadable);
}

TEST(CheckLabel, RefusesWhatReadsAsSomethingElse) {
  for (const char* label : {"before", "2026", "20261130-093512-3fa9c", "20261130-093512-3fa9cg",
                            "v1.2 @home", "a.jsonl"}) {
    EXPECT_TRUE(check_label(label).ok()) << label;
  }
  for (const char* label :
       {"", "@last", "-x", "[a]", "a/b", "x.json", "w.safetensors", "20261130-093512-3fa9c1"}) {
    ASSERT_FALSE(check_label(label).ok()) << label;
    EXPECT_EQ(check_label(label).error().kind, ErrorKind::kUsage) << label;
  }
}

TEST_F(StoreTest, ImportSkipsWhatIsThereAndIsAllOrNothing) {
  Store store = create();
  ASSERT_TRUE(store.put(example("r1")).ok());
  EXPECT_EQ(store.import({example("r1"), example("r2")}).value(), 1u);
  RunRecord other = example("r1");
  other.message = "not the same";
  EXPECT_EQ(
      store.import({example("r3"), other}).error().message,
      "run r1: another record of this id is in " + path_ + "; import into another with --store");
  EXPECT_EQ(store.all().value().size(), 2u);
  EXPECT_FALSE(store.put(example("r2")).ok());
}

TEST_F(StoreTest, TwoProgramsWriteAtOnce) {
  constexpr int kPrograms = 4, kRuns = 25;
  std::vector<pid_t> children;
  for (int program = 0; program < kPrograms; ++program) {
    const pid_t child = fork();
    if (child == 0) {
      bool right = true;
      for (int run = 0; run < kRuns && right; ++run) {
        // Opened anew each time: making the tables is part of the race.
        Result<Store> store = Store::open(path_, Store::Mode::kWrite);
        right = store.ok() && store->put(example("r" + std::to_string(program * 100 + run))).ok();
      }
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(create().all().value().size(), std::size_t{kPrograms * kRuns});
}

TEST_F(StoreTest, WhatWasAcceptedSurvivesKill) {
  const pid_t child = fork();
  if (child == 0) {
    Store store = create();
    if (!store.put(example("r1")).ok()) _exit(1);
    auto half = Database::open(path_, false, 1000).value();
    auto transaction = Transaction::begin(half, Transaction::Kind::kWrite).value();
    (void)half.execute("DELETE FROM runs");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  Store store = create();
  EXPECT_EQ(store.find("r1").value().size(), 1u);
  EXPECT_TRUE(store.put(example("r2")).ok());
}

TEST_F(StoreTest, LockedForTooLongSaysSo) {
  create();
  auto other = Database::open(path_, false, 1000).value();
  auto transaction = Transaction::begin(other, Transaction::Kind::kWrite).value();
  Store store = Store::open(path_, Store::Mode::kRead, 1).value();
  EXPECT_EQ(
      store.put(example("r1")).error().message,
      "store " + path_ + ": another program has kept it locked; try again when that has ended");
}

TEST_F(StoreTest, MissingOrForeignFilesAreRefused) {
  EXPECT_EQ(open_error(path_), "store " + path_ +
                                   ": there is none yet; `gradstone run` makes it, or name one "
                                   "with --store");
  const std::string foreign = file("foreign.db");
  ASSERT_TRUE(Database::open(foreign, true, 0).value().execute("CREATE TABLE t (a)").ok());
  EXPECT_THAT(open_error(foreign), HasSubstr("an SQLite database, but not of Gradstone"));
  create();
  ASSERT_TRUE(Database::open(path_, false, 0).value().execute("DROP TABLE metrics").ok());
  EXPECT_THAT(open_error(path_), HasSubstr("damaged: a table is missing"));
  EXPECT_EQ(Store::open(path_, Store::Mode::kWrite).error().kind, ErrorKind::kUnreadable);
  ASSERT_TRUE(write_file(path_, "").ok());
  create();
  ASSERT_TRUE(Database::open(path_, false, 0).value().execute("PRAGMA user_version = 7").ok());
  EXPECT_THAT(open_error(path_), HasSubstr("newer Gradstone (schema 7, this one knows 1)"));
  ASSERT_TRUE(Database::open(path_, false, 0).value().execute("PRAGMA user_version = -1").ok());
  EXPECT_THAT(open_error(path_), HasSubstr("damaged: schema -1"));
  EXPECT_THAT(Store::open("/proc/none/records.db", Store::Mode::kWrite).error().message,
              HasSubstr("name another place with --store"));
  EXPECT_THAT(open_error(folder_.path()), HasSubstr("check the permissions of file and folder"));
}

// Runs `act` as somebody who may not do everything; answers whether it said yes.
template <class Act>
bool as_nobody(Act act) {
  const pid_t child = fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) _exit(2);
    _exit(act() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

class ReadOnlyStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(create().put(example("r1")).ok());
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  }
  void TearDown() override { ::chmod(file("deep").c_str(), 0755); }
  bool can_be_read() {
    return as_nobody([this] {
      auto store = Store::open(path_, Store::Mode::kRead);
      return store.ok() && store->find("r1").ok() && store->all_figures().value().size() == 1;
    });
  }
  // Found out at once, and not when the first run is to be stored.
  bool is_refused_to_writers() {
    return as_nobody([this] {
      const auto store = Store::open(path_, Store::Mode::kWrite, 0);
      return !store.ok() &&
             store.error().message.find("check the permissions") != std::string::npos;
    });
  }
};

TEST_F(ReadOnlyStoreTest, AFileCanBeRead) {
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(file("deep").c_str(), 0777), 0);
  EXPECT_TRUE(can_be_read());
  EXPECT_TRUE(is_refused_to_writers());
}

TEST_F(ReadOnlyStoreTest, AFolderCanBeRead) {
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(file("deep").c_str(), 0555), 0);
  EXPECT_TRUE(can_be_read());
  EXPECT_TRUE(is_refused_to_writers());
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  EXPECT_TRUE(can_be_read());
}

TEST_F(StoreTest, ReadingChangesNothing) {
  ASSERT_TRUE(create().put(example("r1")).ok());
  const std::string before = read_file(path_).value();
  EXPECT_EQ(Store::open(path_, Store::Mode::kRead)->all().value().size(), 1u);
  EXPECT_EQ(read_file(path_).value(), before);
  ASSERT_TRUE(write_file(file("empty.db"), "").ok());
  EXPECT_THAT(open_error(file("empty.db")), HasSubstr("there is none yet"));
  EXPECT_EQ(read_file(file("empty.db")).value(), "");
}

TEST_F(StoreTest, AMissingColumnIsFoundBeforeAnythingIsWritten) {
  create();
  ASSERT_TRUE(
      Database::open(path_, false, 0)->execute("ALTER TABLE runs DROP COLUMN command").ok());
  const auto store = Store::open(path_, Store::Mode::kWrite);
  EXPECT_EQ(store.error().kind, ErrorKind::kUnreadable);
  EXPECT_THAT(store.error().message, HasSubstr("no column named command"));
}

TEST_F(StoreTest, NamesOfFilesAreNothingElse) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  for (const char* name : {":memory:", "file:x.db?mode=memory", "file:/tmp/y.db"}) {
    const bool nested = std::string(name).find('/') != std::string::npos;
    EXPECT_TRUE(Store::open(name, Store::Mode::kWrite)->put(example("r1")).ok()) << name;
    EXPECT_TRUE(std::filesystem::exists(nested ? "./file:/tmp/y.db" : file(name))) << name;
    EXPECT_TRUE(Store::open(name, Store::Mode::kRead)->find("r1").ok()) << name;
  }
  std::filesystem::current_path(before);
}

// Address space without memory: SQLite refuses the length before it reads a byte.
TEST_F(StoreTest, ASeriesThatIsTooLongIsAnError) {
  constexpr std::size_t kBytes = 1'100'000'000;
  void* bytes =
      ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(bytes, MAP_FAILED);
  create();
  Database database = Database::open(path_, false, 0).value();
  Statement query = database.prepare("SELECT ?1").value();
  query.bind(1, std::span(static_cast<const std::byte*>(bytes), kBytes));
  EXPECT_THAT(query.run().error().message, HasSubstr("bytes that SQLite holds"));
  ::munmap(bytes, kBytes);
}

TEST_F(StoreTest, ImportRefusesWhatCouldNotBeNamedAgain) {
  Store store = create();
  const auto refused = [&](const std::string& id, const std::string& label,
                           const std::string& plan) {
    RunRecord record = example(id, plan);
    record.label = label;
    const auto imported = store.import({example("fine"), record});
    return !imported.ok() && imported.error().kind == ErrorKind::kUnreadable;
  };
  EXPECT_TRUE(refused("a.json", "", ""));
  EXPECT_TRUE(refused("-a", "", ""));
  EXPECT_TRUE(refused("a.safetensors", "", ""));
  EXPECT_TRUE(refused("a", "@last", ""));
  EXPECT_TRUE(refused("a", "x/y", ""));
  EXPECT_TRUE(refused("a", "20261130-093512-3fa9c1", ""));
  EXPECT_TRUE(refused("a", "line\nbreak", ""));
  EXPECT_TRUE(refused("a", "", "p.json"));
  EXPECT_EQ(store.all().value().size(), 0u);
  EXPECT_FALSE(refused("a", "nightly", "20261130-093512-3fa9c1"));
}

TEST_F(StoreTest, LinesOfRecordsAreRead) {
  std::string lines;
  for (const char* id : {"r1", "r2"}) {
    Json line = {{"schema", "gradstone/1"}};
    line.update(to_json(example(id)));
    lines += write_json(line) + "\n";
    ASSERT_TRUE(write_file(file("a.jsonl"), lines).ok());
    EXPECT_EQ(read_records(file("a.jsonl")).value().back().id, id);
  }
  EXPECT_EQ(read_records(file("a.jsonl")).value().size(), 2u);
  ASSERT_TRUE(write_file(file("a.jsonl"), lines + "\n{\"schema\": \"other\"}").ok());
  EXPECT_THAT(read_records(file("a.jsonl")).error().message, HasSubstr("a.jsonl: line 4: schema"));
}

TEST_F(StoreTest, EachRunIsReportedOnce) {
  std::vector<RunRecord> records = {example("b"), example("a"), example("b"), example("c")};
  remove_repetitions(records);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].id + records[1].id + records[2].id, "bac");
}

TEST(ContentHash, HasItsForm) {
  EXPECT_TRUE(is_content_hash("0123456789abcdef0123456789abcdef"));
  for (const char* text : {"", "../../x", "0123456789abcdef0123456789abcdeg", "0123"}) {
    EXPECT_FALSE(is_content_hash(text)) << text;
  }
}

// A store that is no longer in use lies in one file, so that damage hits what is read.
TEST_F(StoreTest, DamageIsAnErrorNotACrash) {
  {
    Store store = create();
    for (int i = 0; i < 50; ++i) {
      RunRecord record = example("r" + std::to_string(i));
      record.samples["loss"].assign(1000, 1.5);
      ASSERT_TRUE(store.put(record).ok());
    }
  }
  const std::string whole = read_file(path_).value();
  const std::string damaged = file("damaged.db");
  int refused = 0;
  for (std::size_t place = 0; place < whole.size(); place += 4096 * 3 + 100) {
    std::string bytes = whole;
    bytes.replace(place, std::min<std::size_t>(300, bytes.size() - place), 300, '\xa5');
    ASSERT_TRUE(write_file(damaged, bytes).ok());
    auto store = Store::open(damaged, Store::Mode::kRead);
    const auto all = store.ok() ? store->all() : Result<std::vector<RunRecord>>(store.error());
    if (all.ok()) continue;  // an index, or free space
    ++refused;
    EXPECT_EQ(all.error().kind, ErrorKind::kUnreadable) << all.error().message;
    EXPECT_THAT(all.error().message, HasSubstr(damaged));
  }
  EXPECT_GT(refused, 20);
  ASSERT_TRUE(write_file(damaged, "this is no store, only a text of some length").ok());
  EXPECT_EQ(Store::open(damaged, Store::Mode::kWrite).error().kind, ErrorKind::kUnreadable);
  EXPECT_EQ(read_file(damaged).value(), "this is no store, only a text of some length");
  ASSERT_TRUE(write_file(damaged, whole.substr(0, whole.size() / 2)).ok());
  auto half = Store::open(damaged, Store::Mode::kRead);
  EXPECT_TRUE(!half.ok() || !half->all().ok());
}

TEST_F(StoreTest, BrokenRowsNameTheRun) {
  Store store = create();
  ASSERT_TRUE(store.put(example("r1")).ok());
  auto database = Database::open(path_, false, 0).value();
  ASSERT_TRUE(database.execute("UPDATE series SET data = x'00'").ok());
  EXPECT_THAT(store.find("r1").error().message, HasSubstr("run r1: series 'empty' has changed"));
  ASSERT_TRUE(database.execute("UPDATE runs SET context = '{'").ok());
  EXPECT_THAT(store.find("r1").error().message, HasSubstr("run r1: context: not JSON"));
  // A list is made of what is whole.
  EXPECT_EQ(store.all_figures().value().at(0).metrics.size(), example("r1").metrics.size());
  ASSERT_TRUE(database.execute("UPDATE runs SET outcome = 'fine'").ok());
  EXPECT_THAT(store.find("r1").error().message, HasSubstr("outcome 'fine' is not known"));
}

TEST_F(StoreTest, FullDiskLosesNothingThatWasAccepted) {
  Store store = create();
  ASSERT_TRUE(store.put(example("r1")).ok());
  // A limit on the pages of the file stands in for a full disk: SQLite reports the same error.
  const pid_t child = fork();
  if (child == 0) {
    Store own = create();
    auto limited = Database::open(path_, false, 0).value();
    (void)limited.execute("PRAGMA max_page_count = 20");
    Result<Statement> fill =
        limited.prepare("INSERT INTO series VALUES (1, 0, 'x', zeroblob(9000000), '')");
    const Status status = fill->run();
    _exit(!status.ok() && status.error().message.find("the disk is full") != std::string::npos ? 0
                                                                                               : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(create().all().value().size(), 1u);
}

TEST_F(StoreTest, WeightsLieBesideTheStoreByContent) {
  create();
  ASSERT_TRUE(write_file(file("w1"), "weights").ok());
  ASSERT_TRUE(write_file(file("w2"), "weights").ok());
  ASSERT_TRUE(keep_weights(path_, file("w1"), "abc").ok());
  ASSERT_TRUE(keep_weights(path_, file("w2"), "abc").ok());
  EXPECT_EQ(weights_path(path_, "abc"), file("deep/weights/abc.safetensors"));
  EXPECT_EQ(read_file(weights_path(path_, "abc")).value(), "weights");
  EXPECT_FALSE(std::filesystem::exists(file("w1")));
  EXPECT_FALSE(std::filesystem::exists(file("w2")));
  EXPECT_FALSE(keep_weights(path_, file("none"), "def").ok());
}

TEST(StorePath, FollowsOptionVariableAndXdg) {
  std::map<std::string, std::string> set;
  const auto variable = [&](const char* name) { return set[name]; };
  EXPECT_EQ(store_path("", variable).error().kind, ErrorKind::kUsage);
  set["HOME"] = "/home/a";
  EXPECT_EQ(store_path("", variable).value(), "/home/a/.local/share/gradstone/records.db");
  set["XDG_DATA_HOME"] = "relative";
  EXPECT_EQ(store_path("", variable).value(), "/home/a/.local/share/gradstone/records.db");
  set["XDG_DATA_HOME"] = "/data";
  EXPECT_EQ(store_path("", variable).value(), "/data/gradstone/records.db");
  set["GRADSTONE_STORE"] = "here.db";
  EXPECT_EQ(store_path("", variable).value(), "here.db");
  EXPECT_EQ(store_path("there.db", variable).value(), "there.db");
}

}  // namespace
}  // namespace gradstone
