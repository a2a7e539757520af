// Unit tests of native/base.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

namespace kerncap {
namespace {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (fs::temp_directory_path() / "kerncap-base-XXXXXX").native();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  fs::path operator/(const char* name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return "no error";
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Error, ExitCodeFollowsTheFirstWord) {
  EXPECT_EQ(Error("bundle.truncated", "x").exit_code(), ExitCode::bundle);
  EXPECT_EQ(Error("vgpu.page-fault", "x").exit_code(), ExitCode::replay);
  EXPECT_EQ(Error("host.wrong-target", "x").exit_code(), ExitCode::host);
  EXPECT_EQ(Error("bundles", "x").exit_code(), ExitCode::internal);
  EXPECT_EQ(Error("", "x").exit_code(), ExitCode::internal);
}

TEST(Error, DiskFullIsNamed) { EXPECT_EQ(system_error("writing", ENOSPC).code(), "host.disk-full"); }

TEST(Printable, EscapesTerminalControl) {
  EXPECT_EQ(printable("a\x1b[31m\n\xff"), "a\\x1b[31m\\x0a\\xff");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

TEST(Sha256, KnownAnswers) {
  // Source: FIPS 180-4 examples.
  EXPECT_EQ(to_hex(sha256(bytes_of("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, RestartsAfterFinish) {
  Sha256 hash;
  hash.update(bytes_of("junk"));
  hash.finish();
  hash.update(bytes_of("a"));
  hash.update(bytes_of("bc"));
  EXPECT_EQ(hash.finish(), sha256(bytes_of("abc")));
}

TEST(Hex, RefusesWhatIsNotHex) {
  EXPECT_FALSE(from_hex("abc"));
  EXPECT_FALSE(from_hex("zz"));
  EXPECT_EQ(from_hex("00fF")->at(1), std::byte{255});
  EXPECT_FALSE(digest_from_text("sha256:../../../../etc/passwd"));
  EXPECT_FALSE(digest_from_text("sha256:" + std::string(64, 'A')));
  EXPECT_FALSE(digest_from_text("sha512:" + std::string(64, 'a')));
  EXPECT_TRUE(digest_from_text("sha256:" + std::string(64, 'a')));
}

TEST(File, AtomicWriteReplacesAndLeavesNothingBehind) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "x", std::string_view("one"));
  write_file_atomic(directory / "x", std::string_view("two"));
  const auto bytes = read_file(directory / "x", 100);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST(File, FailedAtomicWriteLeavesNothingBehind) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "x");
  fs::create_directory(directory / "x/y");
  EXPECT_EQ(code_of([&] { write_file_atomic(directory / "x", std::string_view("one")); }), "host.io");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST(File, ReadRefusesTooMuchAndWhatIsNoFile) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "x", std::string_view("12345"));
  EXPECT_EQ(code_of([&] { read_file(directory / "x", 4); }), "host.io");
  EXPECT_EQ(code_of([&] { read_file(directory.path(), 4); }), "host.io");
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(code_of([&] { read_file(directory / "fifo", 4); }), "host.io");
}

TEST(File, ReadAtReportsTheEnd) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "x", std::string_view("12345"));
  const UniqueFd fd = open_regular(directory / "x");
  std::array<std::byte, 4> buffer{};
  EXPECT_TRUE(read_at(fd.get(), 1, buffer, "x"));
  EXPECT_EQ(buffer[0], std::byte{'2'});
  EXPECT_FALSE(read_at(fd.get(), 2, buffer, "x"));
}

TEST(UniqueFd, MoveClosesOnce) {
  UniqueFd a = open_file("/dev/null", O_RDONLY);
  const int number = a.get();
  UniqueFd b = std::move(a);
  EXPECT_EQ(b.get(), number);
  b.reset();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(Json, RefusesBadTypesByName) {
  const Json document = parse_json(R"({"a": -1, "b": 1.5, "c": "x", "d": 300, "e": [1,2,3]})", "bundle.malformed", "test");
  const Fields fields(document, "test", "bundle.malformed");
  for (const char* name : {"a", "b", "c", "missing"}) {
    EXPECT_EQ(code_of([&] { fields.u64(name); }), "bundle.malformed") << name;
  }
  EXPECT_EQ(code_of([&] { fields.u64("d", 255); }), "bundle.malformed");
  EXPECT_EQ(fields.u64("d", 300), 300u);
  EXPECT_EQ(code_of([&] { fields.array("e", 2); }), "bundle.malformed");
  EXPECT_EQ(code_of([&] { require_schema(document, "kerncap.index/1", "bundle.malformed"); }), "bundle.malformed");
  const Json newer = {{"schema", "kerncap.index/2"}};
  EXPECT_EQ(code_of([&] { require_schema(newer, "kerncap.index/1", "bundle.malformed"); }), "bundle.unsupported-version");
  EXPECT_EQ(code_of([&] { require_schema(newer, "kerncap.capture/1", "bundle.malformed"); }), "bundle.malformed");
}

TEST(Json, RefusesDeepNestingAndGarbage) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(code_of([&] { parse_json(deep, "bundle.malformed", "test"); }), "bundle.malformed");
  EXPECT_EQ(code_of([&] { parse_json("{\"a\":", "bundle.malformed", "test"); }), "bundle.malformed");
  EXPECT_EQ(code_of([&] { parse_json("", "bundle.malformed", "test"); }), "bundle.malformed");
}

TEST(Json, RefusesAMemberTwice) {
  const auto refused = [](std::string_view text) { return code_of([&] { parse_json(text, "bundle.malformed", "test"); }) == "bundle.malformed"; };
  EXPECT_TRUE(refused(R"({"a": 1, "a": 1})"));
  EXPECT_TRUE(refused(R"({"x": [{"a": 1}, {"b": {"c": 1, "d": [], "c": 2}}]})"));
  EXPECT_TRUE(refused(R"({"a": 1, "\u0061": 2})"));
  EXPECT_FALSE(refused(R"({"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 1}]})"));
}

TEST(Json, KeepsAll64Bits) {
  const Json document = parse_json(R"({"a": 18446744073709551615})", "x", "test");
  EXPECT_EQ(Fields(document, "test", "x").u64("a"), ~std::uint64_t{0});
}

}  // namespace
}  // namespace kerncap
