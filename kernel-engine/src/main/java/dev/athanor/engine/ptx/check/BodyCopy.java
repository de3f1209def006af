package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Label;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The names of one copy of a body. The kernel's own body keeps its names; each copy of a function's
 * body has registers, labels and local variables of its own.
 */
final class BodyCopy {

  private final ExpandedKernel out;
  private final Kernel code;
  private final String suffix;
  private final @Nullable String end;
  private final Map<String, String> symbols = new HashMap<>();
  private final Map<Register, Register> registers = new HashMap<>();
  private final Map<String, Register> addresses = new HashMap<>();

  private BodyCopy(ExpandedKernel out, Kernel code, String suffix, @Nullable String end) {
    this.out = out;
    this.code = code;
    this.suffix = suffix;
    this.end = end;
  }

  /** Returns the copy of the kernel's own body. */
  static BodyCopy ofKernel(ExpandedKernel out, Kernel kernel) {
    return new BodyCopy(out, kernel, "", null);
  }

  /**
   * Returns a copy of a function's body.
   *
   * @param number of the copy, from which its names are made
   */
  static BodyCopy ofFunction(ExpandedKernel out, Kernel function, int number) {
    return new BodyCopy(out, function, "$" + number, out.uniqueName(function.name() + "$end"));
  }

  Kernel code() {
    return code;
  }

  /** Returns the label to which {@code ret} jumps; null in the kernel, where it ends the thread. */
  @Nullable String end() {
    return end;
  }

  /** Uses the given names for symbols of the function. */
  void rename(Map<String, String> names) {
    symbols.putAll(names);
  }

  /** Uses the caller's variable for a parameter or result. */
  void bind(Parameter formal, Symbol actual) {
    symbols.put(formal.name(), actual.toString());
  }

  /** Uses the variable whose address a register holds for a parameter or result. */
  void bind(Parameter formal, Register address) {
    addresses.put(formal.name(), address);
  }

  /** Returns the register that holds the address of a parameter or result; null = none. */
  @Nullable Register address(Parameter formal) {
    return addresses.get(formal.name());
  }

  /** Gives a symbol of the function a name of its own. */
  String rename(String name) {
    return symbols.computeIfAbsent(name, _ -> out.uniqueName(name + suffix));
  }

  /** Gives the local variables and labels names of their own. */
  void declareVariablesAndLabels() {
    for (var variable : code.locals()) {
      out.addLocal(rename(variable.name()), variable);
    }
    for (var statement : code.body()) {
      if (statement instanceof Label label) {
        rename(label.name());
      }
    }
  }

  String symbol(String name) {
    return symbols.getOrDefault(name, name);
  }

  private Register register(Register given) {
    return end == null
        ? given
        : registers.computeIfAbsent(
            given, r -> out.uniqueRegister(r.registerClass(), r.name() + suffix));
  }

  /** Returns the register that holds a parameter or result. */
  Register register(Parameter formal) {
    return register(new Register(formal.type().registerClass(), formal.name()));
  }

  /** Returns the register or the variable that holds a parameter or result. */
  Operand variable(Parameter formal) {
    return formal.inRegister() ? register(formal) : new Symbol(symbol(formal.name()));
  }

  Operand operand(Operand given) {
    return switch (given) {
      case Register r -> register(r);
      case Symbol s -> {
        var address = s.offset() == 0 ? addresses.get(s.name()) : null;
        yield address != null ? address : new Symbol(symbol(s.name()), s.offset());
      }
      case Operand.Address a -> new Operand.Address(operand(a.base()), a.offset());
      case Operand.Vector v -> Operand.Vector.of(operands(v.elements()));
      case Operand.Pair p -> new Operand.Pair(operand(p.first()), operand(p.second()));
      case Operand.Negation n -> new Operand.Negation(register(n.register()));
      case Operand.Tile t -> new Operand.Tile(operand(t.map()), operands(t.coordinates()));
      case Operand.Arguments a -> new Operand.Arguments(operands(a.list()));
      case Operand.Immediate _, Operand.Element _, Operand.Sink _, SpecialRegister _ -> given;
    };
  }

  List<Operand> operands(List<Operand> given) {
    return given.stream().map(this::operand).toList();
  }

  @Nullable Guard guard(@Nullable Guard given) {
    return given == null ? null : new Guard(register(given.predicate()), given.negated());
  }
}
