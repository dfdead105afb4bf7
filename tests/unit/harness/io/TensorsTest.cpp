//===- TensorsTest.cpp - Array files are read, written and refused --------===//
#include "harness/io/Tensors.h"

#include "harness/io/Files.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <random>

using namespace tandem;
using namespace tandem::harness;

static HostTensor ramp(DType type, Dims shape) {
  HostTensor tensor;
  tensor.desc = contiguous(type, std::move(shape));
  tensor.bytes.resize(static_cast<size_t>(tensor.desc.numElements()) *
                      dtypeSize(type));
  for (int64_t i = 0; i < tensor.desc.numElements(); ++i)
    storeDouble(type, static_cast<double>(i),
                tensor.bytes.data() + i * int64_t(dtypeSize(type)));
  return tensor;
}

static constexpr DType types[] = {
    DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2,
    DType::F64, DType::I32, DType::I64,  DType::I8,     DType::U8};

static std::string npyError(const std::string &bytes) {
  Result<HostTensor> read = readNpy(bytes, "x.npy");
  return read ? "" : read.error().text();
}

TEST_SUITE("harness tensors") {
  TEST_CASE("npy round-trips every type") {
    for (DType type : types)
      for (const Dims &shape : {Dims{2, 3}, Dims{5}, Dims{}, Dims{0, 4}}) {
        const HostTensor tensor = ramp(type, shape);
        Result<HostTensor> read = readNpy(writeNpy(tensor), "x.npy", type);
        REQUIRE_MESSAGE(read, read.error().text());
        CHECK(read->desc == tensor.desc);
        CHECK(read->bytes == tensor.bytes);
      }
  }

  TEST_CASE("a Fortran-order array keeps its elements where they are") {
    std::string bytes = writeNpy(ramp(DType::F32, {2, 3}));
    bytes.replace(bytes.find("False"), 5, "True ");
    Result<HostTensor> read = readNpy(bytes, "x.npy");
    REQUIRE(read);
    CHECK(read->desc.strides == Dims{1, 2});
    CHECK(loadDouble(DType::F32, read->view().at({1, 2})) == 5);
  }

  TEST_CASE("npy errors name the file and the member") {
    CHECK(npyError("hello, this is no array") == "x.npy: not an npy file");
    const std::string good = writeNpy(ramp(DType::F32, {2, 3}));
    CHECK(npyError(good.substr(0, good.size() - 1)) ==
          "x.npy: expected 24 bytes of elements, got 23");
    CHECK(npyError(good.substr(0, 30)) == "x.npy: the header is cut off");
    std::string bad = good;
    bad.replace(bad.find("<f4"), 3, "<c8");
    CHECK(npyError(bad).starts_with(
        "x.npy: descr: '<c8' is no type that tandem knows, expected one of"));
    bad = good;
    bad.replace(bad.find("(2,"), 3, "(-,");
    CHECK(npyError(bad) == "x.npy: shape: expected sizes, got '-'");
    bad = good;
    bad.replace(bad.find("<f4"), 3, ">f4");
    CHECK(npyError(bad).starts_with("x.npy: descr: '>f4' is big-endian"));
    // Every cut is seen, and none is read beyond.
    for (size_t size = 0; size < good.size(); ++size)
      CHECK(npyError(good.substr(0, size)) != "");
  }

  TEST_CASE("mutated array files are read or refused, never worse") {
    const std::string npy = writeNpy(ramp(DType::F32, {2, 3}));
    const std::string tensors = writeSafetensors(
        {{"x", ramp(DType::F32, {2, 3})}, {"y", ramp(DType::I8, {4})}});
    std::mt19937_64 random(5);
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
      std::string bytes = i % 2 ? npy : tensors;
      for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
        const size_t at = random() % bytes.size();
        const char pieces[] = "09-,()[]{}'\": \xff\x00";
        switch (random() % 3) {
        case 0:
          bytes[at] = pieces[random() % (sizeof pieces - 1)];
          break;
        case 1:
          bytes.erase(at, 1);
          break;
        case 2:
          bytes.insert(at, 1, pieces[random() % (sizeof pieces - 1)]);
          break;
        }
      }
      Result<HostTensor> array = Error();
      if (i % 2) {
        array = readNpy(bytes, "x");
      } else if (auto all = readSafetensors(bytes, "x"); all && !all->empty()) {
        array = all->begin()->second;
      }
      if (!array) {
        ++refused;
        continue;
      }
      REQUIRE(array->bytes.size() ==
              static_cast<size_t>(array->desc.numElements()) *
                  dtypeSize(array->desc.dtype));
    }
    CHECK(refused > 5000);
  }

  TEST_CASE("safetensors round-trips, and refuses offsets outside the file") {
    std::map<std::string, HostTensor> tensors;
    for (DType type : types)
      tensors[std::string(dtypeName(type))] = ramp(type, {3, 2});
    const std::string bytes = writeSafetensors(tensors);
    auto read = readSafetensors(bytes, "f");
    REQUIRE_MESSAGE(read, read.error().text());
    CHECK(read->size() == tensors.size());
    for (const auto &[name, tensor] : tensors)
      CHECK(read->at(name).bytes == tensor.bytes);
    CHECK_FALSE(readSafetensors(bytes.substr(0, bytes.size() - 1), "f"));
    CHECK(readSafetensors("abc", "f").error().text() ==
          "f: the header is cut off");
  }

  TEST_CASE("a file is replaced whole, and a failure leaves nothing") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / "tandem-files-test";
    fs::remove_all(folder);
    REQUIRE(writeFile((folder / "a" / "b.txt").string(), "one"));
    REQUIRE(writeFile((folder / "a" / "b.txt").string(), "two"));
    CHECK(*readFile((folder / "a" / "b.txt").string()) == "two");
    CHECK_FALSE(writeFile((folder / "a" / "b.txt" / "c").string(), "x"));
    int files = 0;
    for (const auto &entry : fs::recursive_directory_iterator(folder))
      files += entry.is_regular_file();
    CHECK(files == 1);
    CHECK(readFile((folder / "none").string()).error().text() ==
          (folder / "none").string() +
              ": cannot be read: No such file or directory");
    CHECK(readFile(folder.string()).error().text() ==
          folder.string() + ": cannot be read: it is a folder");
    fs::remove_all(folder);
  }

  TEST_CASE("files are written together or not at all") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / "tandem-files-together";
    fs::remove_all(folder);
    const std::string a = (folder / "a").string(), b = (folder / "b").string();
    REQUIRE(writeFile(a, "old"));
    CHECK_FALSE(writeFiles({{a, "new"}, {a + "/c", "x"}}));
    CHECK(*readFile(a) == "old");
    CHECK(writeFiles({{a, "1"}, {a, "2"}}).error().text() ==
          a + ": is given for two outputs");
    CHECK(*readFile(a) == "old");
    REQUIRE(writeFiles({{a, "1"}, {b, "2"}}));
    CHECK(*readFile(a) + *readFile(b) == "12");
    // A link stays one, and a name may be as long as names can be.
    fs::create_symlink(a, folder / "link");
    const std::string longest = (folder / std::string(255, 'n')).string();
    REQUIRE(writeFiles({{(folder / "link").string(), "3"}, {longest, "4"}}));
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(*readFile(a) + *readFile(longest) == "34");
    CHECK(readFile(a, 0).error().text() ==
          a + ": expected at most 0 bytes, got 1");
    fs::remove_all(folder);
  }

  TEST_CASE("a device that never ends is not read for ever") {
    CHECK(readFile("/dev/zero", 100).error().text() ==
          "/dev/zero: expected at most 100 bytes, got more");
    CHECK_FALSE(writeFile("/dev/full", "x"));
    CHECK_FALSE(std::filesystem::is_regular_file("/dev/full"));
  }
}
