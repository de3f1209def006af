package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Semantics.Call;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Variable;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The functions of a module, their addresses, and the functions that each call may reach. */
final class CallTargets {

  static final long FIRST_ADDRESS = 0x0F00_0000_0000_0000L;
  static final long ADDRESS_STEP = 16;

  private final Module module;
  private final Map<String, Function> functions = new LinkedHashMap<>();

  /** The symbols whose addresses are taken; empty until the first call through a prototype. */
  private final Set<String> addressTaken = new HashSet<>();

  CallTargets(Module module) {
    this.module = module;
    module.functions().forEach(f -> functions.put(f.name(), f));
  }

  boolean isFunction(String name) {
    return functions.containsKey(name);
  }

  Optional<Function> function(String name) {
    return Optional.ofNullable(functions.get(name));
  }

  /**
   * Returns the address of a function.
   *
   * @throws IllegalArgumentException when the module does not declare it
   */
  long address(String function) {
    int index = List.copyOf(functions.keySet()).indexOf(function);
    if (index < 0) {
      throw new IllegalArgumentException(
          "the module has no function %s; it has %s".formatted(function, functions.keySet()));
    }
    return FIRST_ADDRESS + ADDRESS_STEP * index;
  }

  /**
   * Returns the functions that a call may reach: the named function, those of its target list, or
   * those whose address is taken and whose signature fits the prototype, in the module's order.
   *
   * @param code the kernel or the function that contains the call
   */
  List<String> callees(Kernel code, Instruction call) {
    if (callee(call) instanceof Symbol function) {
      return List.of(function.name());
    }
    var name = call.operands().getLast();
    return code.body().stream()
        .filter(s -> s instanceof Statement.Prototype p && isNamed(name, p.name()))
        .map(Statement.Prototype.class::cast)
        .findFirst()
        .map(this::matching)
        .orElseGet(() -> targets(code, call, true));
  }

  /** Returns the callee operand: a function's name, or a register that holds its address. */
  static Operand callee(Instruction call) {
    return call.operands().get(call.form().operands().getFirst().isResult() ? 1 : 0);
  }

  /** Returns the target list of an indirect call or of an indexed branch. */
  static List<String> targets(Kernel code, Instruction given, boolean functions) {
    var name = given.operands().getLast();
    return code.body().stream()
        .filter(s -> s instanceof Statement.TargetList t && isNamed(name, t.name()))
        .map(Statement.TargetList.class::cast)
        .findFirst()
        .filter(t -> t.functions() == functions)
        .orElseThrow(() ->
            refused(
                given,
                "names %s, which is not a %s"
                    .formatted(
                        name, functions ? ".calltargets or .callprototype" : ".branchtargets")))
        .names();
  }

  private static boolean isNamed(Operand operand, String name) {
    return operand instanceof Symbol symbol && symbol.name().equals(name);
  }

  static IllegalArgumentException refused(Instruction instruction, String problem) {
    return new IllegalArgumentException(
        "%s: %s %s".formatted(instruction.source(), instruction, problem));
  }

  private List<String> matching(Statement.Prototype prototype) {
    if (addressTaken.isEmpty()) {
      findAddressTaken();
    }
    return functions.values().stream()
        .filter(f -> addressTaken.contains(f.name()))
        .filter(f -> agree(f.results(), prototype.results()))
        .filter(f -> agree(f.code().parameters(), prototype.parameters()))
        .map(Function::name)
        .toList();
  }

  private void findAddressTaken() {
    module
        .variables()
        .forEach(v -> v.initializers().forEach(value -> addressTaken.add(value.symbol())));
    Stream.concat(module.functions().stream().map(Function::code), module.kernels().stream())
        .flatMap(Kernel::instructions)
        .filter(i -> !(i.form().semantics() instanceof Call))
        .flatMap(i -> i.operands().stream())
        .filter(Symbol.class::isInstance)
        .forEach(o -> addressTaken.add(((Symbol) o).name()));
  }

  private static boolean agree(List<Parameter> given, List<Parameter> wanted) {
    return given.size() == wanted.size()
        && IntStream.range(0, given.size())
            .allMatch(i ->
                (wanted.get(i).count() == Variable.UNSIZED
                        || given.get(i).bytes() == wanted.get(i).bytes())
                    && given.get(i).inRegister() == wanted.get(i).inRegister());
  }
}
