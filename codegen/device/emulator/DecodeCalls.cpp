//===- DecodeCalls.cpp - Functions, frames and calls ----------------------===//
#include "codegen/device/emulator/Calls.h"
#include "codegen/device/emulator/DecoderState.h"
#include "codegen/device/emulator/ptx/Lexer.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::emulator;

using OperandKind = emulator::Operand::Kind;

/// Stack beyond the frames that can be counted: for recursion, calls through
/// pointers and alloca.
static constexpr uint64_t openStackBytes = 16 << 10;

uint64_t emulator::functionAddress(const Module &module,
                                   const std::string &name) {
  int index = module.functionNamed(name);
  return index < 0 ? 0 : functionWindow | uint64_t(index + 1) << 8;
}

template <typename F>
void Decoder::eachSymbol(const emulator::Operand &operand, F f) {
  if (!operand.name.empty())
    f(operand.name);
  for (const emulator::Operand &part : operand.parts)
    eachSymbol(part, f);
}

void Decoder::visit(int index) {
  auto i = static_cast<size_t>(index);
  const Entry &of = index < 0 ? kernel : module.functions[i];
  if (index >= 0) {
    if (visited[i])
      return;
    visited[i] = 1;
    if (of.isDeclared)
      return; // a call of it says so
  }
  for (const Instruction &instruction : of.body)
    for (const emulator::Operand &operand : instruction.operands)
      eachSymbol(operand, [&](const std::string &name) {
        used[name] = true;
        if (int other = module.functionNamed(name); other >= 0) {
          hasCalls = true;
          if (index >= 0)
            callees[i].push_back(other);
          visit(other);
        }
      });
  if (index >= 0) {
    visited[i] = 2;
    order.push_back(index);
  }
}

void Decoder::findFunctions() {
  size_t n = module.functions.size();
  visited.assign(n, 0);
  callees.resize(n);
  visit(-1);
  auto movesStack = [](const Instruction &one) {
    return one.opcode == "alloca" || one.opcode.starts_with("stack");
  };
  auto isIndirect = [](const Entry &of) {
    return std::any_of(of.body.begin(), of.body.end(), [](const auto &one) {
      return one.opcode == "call" &&
             std::any_of(one.operands.begin(), one.operands.end(),
                         [](const emulator::Operand &operand) {
                           return operand.kind == OperandKind::Register;
                         });
    });
  };
  auto reachesPointer = [&] {
    return isIndirect(kernel) ||
           std::any_of(order.begin(), order.end(), [&](int i) {
             return isIndirect(module.functions[static_cast<size_t>(i)]);
           });
  };
  hasIndirectCalls = reachesPointer();
  // A pointer may come from any table of the module.
  if (hasIndirectCalls)
    for (const Variable &variable : module.variables)
      for (const emulator::Operand &value : variable.init)
        eachSymbol(value, [&](const std::string &name) {
          if (int other = module.functionNamed(name); other >= 0) {
            hasCalls = true;
            visit(other);
          }
        });
  for (const Instruction &instruction : kernel.body)
    hasAlloca |= movesStack(instruction);
  for (int i : order)
    for (const Instruction &instruction :
         module.functions[static_cast<size_t>(i)].body)
      hasAlloca |= movesStack(instruction);
}

/// Local variables and the parameters of calls; a function's own parameters and
/// results first.
void Decoder::layoutFrame(const Entry &of, Function &into) {
  bool isKernel = &of == &kernel;
  auto params = [&](const std::vector<Variable> &variables,
                    std::vector<ParamSlot> &slots) {
    for (const Variable &variable : variables) {
      line = variable.line;
      if (variable.space != ".param") {
        fail("parameters in registers are not supported");
        return;
      }
      place(variable, cat(of.name, " 0 ", variable.name), Space::Local,
            into.frameBytes);
      const SymbolInfo &symbol = symbols[cat(of.name, " 0 ", variable.name)];
      slots.push_back({variable.name, symbol.value, symbol.bytes});
    }
  };
  if (!isKernel) {
    params(of.results, into.results);
    params(of.params, into.params);
  }
  auto locals = [&](const std::vector<Variable> &variables, bool isModule) {
    for (const Variable &variable : variables) {
      line = variable.line;
      std::string key =
          isModule ? variable.name
                   : cat(of.name, " ", variable.scope, " ", variable.name);
      if (variable.space == ".local" || variable.space == ".param") {
        if (!isModule || used.contains(variable.name))
          place(variable, key, Space::Local, into.frameBytes);
      } else if (!isModule && variable.space != ".shared") {
        fail(cat("a ", variable.space,
                 " variable inside a function is not supported"));
      }
    }
  };
  if (isKernel)
    locals(module.variables, true);
  locals(of.variables, false);
  into.frameBytes = (into.frameBytes + 15) & ~uint64_t(15);
}

void Decoder::layoutStack() {
  result.functions.resize(order.size() + 1);
  uint64_t stack = 0;
  bool isOpen = hasAlloca || hasIndirectCalls;
  for (size_t k = 0; k < order.size(); ++k) {
    auto i = static_cast<size_t>(order[k]);
    layoutFrame(module.functions[i], result.functions[k]);
    stack += result.functions[k].frameBytes;
    // Reachable from itself, by name or through some pointer?
    std::vector<int> work = callees[i];
    std::vector<bool> seen(module.functions.size(), false);
    while (!work.empty() && !result.functions[k].isRecursive) {
      auto at = static_cast<size_t>(work.back());
      work.pop_back();
      result.functions[k].isRecursive = at == i;
      if (!seen[at])
        work.insert(work.end(), callees[at].begin(), callees[at].end());
      seen[at] = true;
    }
    result.functions[k].isRecursive |= hasIndirectCalls;
    isOpen |= result.functions[k].isRecursive;
  }
  layoutFrame(kernel, result.functions.back());
  result.localBytes = result.functions.back().frameBytes;
  if (!hasCalls && !hasAlloca)
    return;
  result.localBytes += stack + (isOpen ? openStackBytes : 0);
  result.frame = allocate(8);
  result.frameEnd = allocate(8);
}

Slot Decoder::frameAddress(uint64_t offset, unsigned size) {
  // An instruction of its own before the one being built.
  Inst add;
  add.line = line;
  add.a = result.frame;
  add.imm = static_cast<int64_t>(offset);
  add.d = allocate(size);
  add.run = [](Exec &x, const Inst &i) {
    const uint64_t *frame = x.lanes<uint64_t>(i.a);
    auto offset = static_cast<uint64_t>(i.imm);
    if (i.size == 8)
      setLanes<uint64_t>(x, i.d, [=](int l) { return frame[l] + offset; });
    else
      setLanes<uint32_t>(x, i.d, [=](int l) {
        return static_cast<uint32_t>(frame[l] + offset);
      });
  };
  add.size = static_cast<uint8_t>(size);
  insertBefore(add);
  return add.d;
}

std::vector<ParamSlot> Decoder::callList(const emulator::Operand &operand) {
  std::vector<ParamSlot> slots;
  for (const emulator::Operand &part : operand.parts) {
    const SymbolInfo *symbol = findSymbol(part.name);
    if (!symbol || symbol->space != Space::Local) {
      fail(cat("'", part.name, "' is no parameter that this call can give"));
      break;
    }
    slots.push_back({part.name, symbol->value, symbol->bytes});
  }
  return slots;
}

bool Decoder::builtinCall(const std::string &name) {
  CallSite &site = result.calls[inst->target];
  size_t args = name == "vprintf" ? 2 : name == "__assertfail" ? 5 : 0;
  if (!args)
    return false;
  if (site.args.size() != args) {
    fail(cat("'", name, "' takes ", args, " parameters, the call gives ",
             site.args.size()));
    return true;
  }
  inst->run = args == 2 ? callPrintf : callAssertFail;
  return true;
}

void Decoder::call() {
  // [results,] target [, arguments [, prototype]]
  size_t at = 0, n = ast->operands.size();
  CallSite site;
  if (at < n && operand(at).kind == OperandKind::Vector)
    site.results = callList(operand(at++));
  if (at >= n) {
    fail("'call' needs a function");
    return;
  }
  const emulator::Operand &target = operand(at++);
  if (at < n && operand(at).kind == OperandKind::Vector)
    site.args = callList(operand(at++));
  inst->target = static_cast<uint32_t>(result.calls.size());
  result.calls.push_back(site);
  int callee = module.functionNamed(target.name);
  if (callee < 0) {
    if (registerSize(target) != 8) {
      fail(cat("'", target.name,
               "' is neither a function nor a 64-bit "
               "register"));
      return;
    }
    if (at >= n) {
      fail("a call through a register needs a prototype");
      return;
    }
    inst->flow = Flow::Call;
    inst->a = readOperand(target, Type::B64, nullptr);
    critical(inst->a);
    return;
  }
  const Entry &of = module.functions[static_cast<size_t>(callee)];
  if (of.isDeclared) {
    if (!builtinCall(of.name))
      fail(cat("function '", of.name,
               "' has no body here; of the system's functions only vprintf and "
               "__assertfail are supported"));
    return;
  }
  if (site.args.size() != of.params.size() ||
      site.results.size() != of.results.size()) {
    fail(cat("'", of.name, "' has ", of.params.size(), " parameters and ",
             of.results.size(), " results, the call gives ", site.args.size(),
             " and ", site.results.size()));
    return;
  }
  inst->flow = Flow::Call;
  auto place = std::find(order.begin(), order.end(), callee);
  result.calls[inst->target].callee = static_cast<int>(place - order.begin());
}
