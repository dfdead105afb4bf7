//===- TileDevice.cpp - A device that executes the tile stage -------------===//
#include "codegen/Compiler.h"
#include "codegen/evaluate/Interpreter.h"
#include "refops/core/RecordSymbols.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <mutex>

using namespace tandem;
using namespace tandem::evaluate;

namespace {
/// A kernel's tile stage, parsed once. The module must go before its context.
struct TileKernel final : LoadedKernel {
  TileKernel() : context(mlir::MLIRContext::Threading::DISABLED) {}
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  LaunchRecord record;
  LaunchSymbols symbols;
};

class TileDevice final : public Device {
public:
  std::string_view kind() const override { return "tile"; }
  DeviceInfo info() const override {
    DeviceInfo result;
    result.name = "tile evaluator";
    return result;
  }
  bool supports(std::string_view target) const override {
    return target.size() > 3 && target.starts_with("sm_");
  }

  Result<uint64_t> allocate(uint64_t bytes, std::string_view name) override {
    std::lock_guard lock(mutex);
    return memory.allocate(bytes, name);
  }
  Result<void> release(uint64_t address) override {
    std::lock_guard lock(mutex);
    return memory.release(address);
  }
  Result<void> write(uint64_t address, const void *source,
                     uint64_t bytes) override {
    std::lock_guard lock(mutex);
    Result<std::byte *> to = memory.expect(address, bytes, "write");
    if (!to)
      return to.error();
    if (bytes)
      std::memcpy(*to, source, bytes);
    return {};
  }
  Result<void> read(uint64_t address, void *target, uint64_t bytes) override {
    std::lock_guard lock(mutex);
    Result<std::byte *> from = memory.expect(address, bytes, "read");
    if (!from)
      return from.error();
    if (bytes)
      std::memcpy(target, *from, bytes);
    return {};
  }
  Result<void> fill(uint64_t address, uint8_t byte, uint64_t bytes,
                    bool) override {
    std::lock_guard lock(mutex);
    Result<std::byte *> to = memory.expect(address, bytes, "fill");
    if (!to)
      return to.error();
    if (bytes)
      std::memset(*to, byte, bytes);
    return {};
  }
  Result<std::shared_ptr<LoadedKernel>> load(const Kernel &kernel) override;
  Result<LaunchReport> launch(LoadedKernel &kernel,
                              const std::vector<Operand> &operands,
                              const LaunchOptions &options) override;

private:
  std::mutex mutex;
  Memory memory;
};
} // namespace

Result<std::shared_ptr<LoadedKernel>> TileDevice::load(const Kernel &kernel) {
  const std::string &name = kernel.launch.kernel;
  auto text = kernel.stages.find("tile");
  if (text == kernel.stages.end() || text->second.empty())
    return Error(name + ": the tile stage was not kept, only its PTX");
  auto loaded = std::make_shared<TileKernel>();
  mlir::MLIRContext &context = loaded->context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                      mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, tile::TileDialect>();
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (said.empty())
                                            said = diagnostic.str();
                                          return mlir::success();
                                        });
  loaded->module = mlir::parseSourceString<mlir::ModuleOp>(
      text->second, mlir::ParserConfig(&context), name);
  if (!loaded->module)
    return Error(name + ": the tile stage does not parse: " + said);
  loaded->function = loaded->module->lookupSymbol<mlir::func::FuncOp>(name);
  if (!loaded->function)
    return Error(name + ": the tile stage has no function of that name");
  for (mlir::Type type : loaded->function.getArgumentTypes())
    if (mlir::failed(kindOf(type)) || mlir::isa<mlir::RankedTensorType>(type))
      return Error(name + ": kernel arguments are pointers and scalars");
  loaded->record = kernel.launch;
  Result<LaunchSymbols> symbols = resolveSymbols(loaded->record);
  if (!symbols)
    return symbols.error();
  loaded->symbols = symbols.take();
  if (loaded->function.getNumArguments() != kernel.launch.args.size())
    return Error(name + ": the tile stage has " +
                 std::to_string(loaded->function.getNumArguments()) +
                 " arguments, the launch record gives " +
                 std::to_string(kernel.launch.args.size()));
  return std::shared_ptr<LoadedKernel>(std::move(loaded));
}

Result<LaunchReport> TileDevice::launch(LoadedKernel &loaded,
                                        const std::vector<Operand> &operands,
                                        const LaunchOptions &options) {
  auto &kernel = static_cast<TileKernel &>(loaded);
  BoundLaunch bound;
  if (Result<void> r =
          bindLaunch(kernel.record, kernel.symbols, operands, bound);
      !r)
    return r.error();
  LaunchReport report;
  if (bound.isNoOp())
    return report;

  std::lock_guard lock(mutex);
  uint64_t slot = 0, workspace = 0;
  std::vector<uint64_t> arguments = bound.args;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (kernel.record.args[i].kind == KernelArg::Kind::ErrorSlot) {
      Result<uint64_t> address = memory.allocate(8, "error slot");
      if (!address)
        return address.error();
      slot = arguments[i] = *address;
      std::memset(reinterpret_cast<void *>(slot), 0xff, 8);
    } else if (kernel.record.args[i].kind == KernelArg::Kind::Workspace) {
      const uint64_t bytes = uint64_t(bound.workspaceBytes);
      Result<uint64_t> address = memory.allocate(bytes, "workspace");
      if (!address)
        return address.error();
      workspace = arguments[i] = *address;
      std::memset(reinterpret_cast<void *>(workspace), 0, bytes);
    }
  }

  Interpreter interpreter(memory, report, bound.maps);
  Result<void> ran;
  const auto &grid = bound.grid;
  auto runAll = [&] {
    for (int64_t z = 0; z < grid[2]; ++z)
      for (int64_t y = 0; y < grid[1]; ++y)
        for (int64_t x = 0; x < grid[0]; ++x) {
          ran = interpreter.run(kernel.function, arguments, {x, y, z});
          if (!ran || !report.findings.empty())
            return;
        }
  };
  runAll();
  if (slot) {
    uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<void *>(slot), 8);
    if (~word)
      report.indexErrors.push_back(
          {int(word >> 48), int64_t(word & ((uint64_t(1) << 48) - 1))});
    (void)memory.release(slot);
  }
  if (workspace)
    (void)memory.release(workspace);
  if (!ran)
    return ran.error();
  return report;
}

std::unique_ptr<Device> tandem::makeTileDevice() {
  return std::make_unique<TileDevice>();
}
