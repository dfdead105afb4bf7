//===- Corpus.cpp - A folder of cases -------------------------------------===//
#include "harness/corpus/Corpus.h"

#include "harness/case/Hash.h"
#include "harness/io/Files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
namespace fs = std::filesystem;

Result<std::vector<CorpusEntry>>
tandem::harness::readCorpus(const std::string &folder) {
  std::error_code code;
  std::vector<std::string> paths;
  for (fs::directory_iterator it(folder, code), end; !code && it != end;
       it.increment(code))
    if (it->path().extension() == ".json")
      paths.push_back(it->path().string());
  if (code)
    return Error(folder + ": cannot be read: " + code.message());
  std::sort(paths.begin(), paths.end());
  std::vector<CorpusEntry> entries;
  for (const std::string &path : paths) {
    Result<std::string> text = readFile(path);
    if (!text)
      return text.error();
    Result<CaseFile> file = readCaseFile(*text, path);
    if (!file)
      return file.error();
    entries.push_back({path, file.take()});
  }
  return entries;
}

Result<std::string> tandem::harness::addToCorpus(const std::string &folder,
                                                 const CaseFile &file) {
  const nlohmann::json spec = file.spec;
  const std::string path =
      (fs::path(folder) / (opsOf(file.spec.recipe) + "-" +
                           contentHash(spec.dump()).substr(0, 12) + ".json"))
          .string();
  if (Result<void> ok = writeFile(path, writeCaseFile(file)); !ok)
    return ok.error();
  return path;
}
