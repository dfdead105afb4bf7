//===- Ast.h - A PTX module as parsed ---------------------------*- C++ -*-===//
//
// Plain data, close to the text: the decoder gives it meaning. Every node has
// the line it came from, because every message names one.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_AST_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_AST_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::emulator {

/// An operand of an instruction.
struct Operand {
  enum class Kind : uint8_t {
    Register, // `%r1`, `%tid.x`; name
    Integer,  // bits, sign already applied
    Float32,  // `0f3F800000`; bits
    Float64,  // `0d3FF0...` or decimal; bits
    Symbol,   // variable, parameter or label, plus offset
    Address,  // `[base + offset]`; base is parts[0] (register, symbol, integer)
    Vector,   // `{a, b}`; parts
    Sink,     // `_`
  };
  Kind kind = Kind::Sink;
  /// `!%p` of predicates.
  bool negated = false;
  std::string name;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::vector<Operand> parts;
};

/// One instruction with its guard.
struct Instruction {
  int line = 0;
  std::string guard; // predicate register, or empty
  bool guardNegated = false;
  std::string opcode;                 // `ld`
  std::vector<std::string> modifiers; // `.global`, `.v4`, `.b32`
  std::vector<Operand> operands;      // `p|q` gives two operands
  /// Index of the second register of a `p|q` pair, or -1.
  int pairAt = -1;
  /// Scope that the registers are looked up in.
  int scope = 0;
  /// Source position of the last `.loc`: file index and line, 0 if none.
  int sourceFile = 0;
  int sourceLine = 0;
  /// `ld.global.v4.b32`.
  std::string text() const;
};

/// A variable in any state space but `.reg`, or a kernel parameter.
struct Variable {
  int line = 0;
  std::string name;
  std::string space; // `.shared`, `.global`, `.const`, `.local`, `.param`
  std::string type;  // `.b8`
  uint64_t align = 0;
  uint64_t count = 1; // elements
  bool isArray = false;
  bool isExtern = false; // extern shared: size is the launch's
  /// Of the braces it is declared in, inside a function.
  int scope = 0;
  /// Initial bytes, in elements of the type; shorter than `count` means zeros.
  std::vector<Operand> init;
};

/// `.reg .b32 %r<7>` has count 7; `.reg .pred p` has count -1.
struct RegisterDecl {
  int line = 0;
  std::string type;
  std::string name;
  int count = -1;
};

/// Registers declared between a pair of braces.
struct RegisterScope {
  int parent = -1;
  std::vector<RegisterDecl> registers;
};

/// What a pointer of a call points to.
struct Prototype {
  std::vector<Variable> results, params;
};

/// A kernel or a device function.
struct Entry {
  int line = 0;
  std::string name;
  std::vector<Variable> params;
  std::vector<Variable> results; // of a function
  /// `.extern .func`, or declared before its body.
  bool isDeclared = false;
  std::vector<Variable> variables;   // function scope
  std::vector<RegisterScope> scopes; // [0] is the body
  std::vector<Instruction> body;
  /// Scope and label to index into `body`; several scopes may have a label of
  /// the same name.
  std::map<std::pair<int, std::string>, size_t> labels;
  /// `.branchtargets` lists by label.
  std::map<std::string, std::vector<std::string>> branchTables;
  std::map<std::string, Prototype> prototypes;
  std::vector<int> reqntid, maxntid, reqCluster;
  int maxRegisters = 0, minCtas = 1;
};

struct Module {
  std::string version;
  std::string target;
  int addressSize = 64;
  std::vector<Variable> variables;
  std::vector<Entry> entries;
  std::vector<Entry> functions;
  std::map<std::string, std::string> aliases;

  /// The function's index, its body before its declaration; -1 if none.
  int functionNamed(const std::string &name) const;
  std::map<int, std::string> files;
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_PTX_AST_H
