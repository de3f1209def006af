package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Semantics.Call;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.table.InstructionTable;
import dev.athanor.engine.ptx.text.Parser;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Makes kernels without calls (PTX ISA 7.1, 9.7.12.5): a clone of the function's body stands in the
 * place of each call, or where clones would be many, each call jumps to one body, which jumps back
 * ({@link CallPlan}). Variables that calls hand over become local memory, a call through a pointer
 * a chain of comparisons with the addresses of the functions that it may mean, and an indexed
 * branch a chain of comparisons with numbers; both end in a trap. Cloned instructions keep their
 * sources.
 */
public final class Inliner {

  /**
   * Where functions lie, far from all memory: the n-th function of a module is at {@code
   * FIRST_ADDRESS + n * ADDRESS_STEP}.
   */
  public static final long FIRST_ADDRESS = 0x0F00_0000_0000_0000L;

  public static final long ADDRESS_STEP = 16;

  private final Module module;
  private final Parser.Table table;
  private final Map<String, Function> functions = new LinkedHashMap<>();

  /** What variables and instructions other than calls name, once it is asked for. */
  private final Set<String> named = new HashSet<>();

  public Inliner(Module module) {
    this(module, InstructionTable::instruction);
  }

  /** Makes kernels whose instructions are those of another table. */
  Inliner(Module module, Parser.Table table) {
    this.module = module;
    this.table = table;
    module.functions().forEach(f -> functions.put(f.name(), f));
  }

  /**
   * A kernel of the module without calls; the kernel itself when it has none.
   *
   * @throws IllegalArgumentException when functions call themselves or have no body, naming them,
   *     or when a call and its function disagree
   */
  public Kernel kernel(String name) {
    var kernel =
        module
            .kernel(name)
            .orElseThrow(() -> new IllegalArgumentException("the module has no kernel " + name));
    boolean plain =
        kernel.locals().stream().noneMatch(v -> v.space() == Space.PARAM)
            && kernel.body().stream().noneMatch(this::concernsFunctions);
    return plain ? kernel : new Expansion(this, table, module, kernel).result();
  }

  /** The variables of the module, which hold the addresses of functions as numbers. */
  public List<Variable> variables() {
    return module.variables().stream().map(this::resolved).toList();
  }

  /** The address of a function of the module. */
  public long address(String function) {
    int index = List.copyOf(functions.keySet()).indexOf(function);
    if (index < 0) {
      throw new IllegalArgumentException(
          "the module has no function %s; it has %s".formatted(function, functions.keySet()));
    }
    return FIRST_ADDRESS + ADDRESS_STEP * index;
  }

  Optional<Function> function(String name) {
    return Optional.ofNullable(functions.get(name));
  }

  /**
   * The functions that a call in a kernel or function may mean: the one that it names, those of its
   * list of targets, or those whose addresses are taken and that fit its prototype, in the module's
   * order.
   */
  List<String> callees(Kernel code, Instruction call) {
    if (callee(call) instanceof Symbol function) {
      return List.of(function.name());
    }
    var name = call.operands().getLast();
    return declared(code, Statement.Prototype.class, name)
        .map(this::pointedTo)
        .orElseGet(() -> targets(code, call, true));
  }

  /** What a call names as its function: the name of one, or a register that points to one. */
  static Operand callee(Instruction call) {
    return call.operands().get(call.form().operands().getFirst().isResult() ? 1 : 0);
  }

  /** The names in the list of targets of a call or an indexed branch. */
  static List<String> targets(Kernel code, Instruction given, boolean functions) {
    var name = given.operands().getLast();
    return declared(code, Statement.Targets.class, name)
        .filter(t -> t.functions() == functions)
        .orElseThrow(() ->
            refused(
                given,
                "names %s, which is no %s"
                    .formatted(
                        name, functions ? ".calltargets or .callprototype" : ".branchtargets")))
        .names();
  }

  /** A declaration of prototypes or targets that an instruction names. */
  private static <D extends Statement> Optional<D> declared(
      Kernel code, Class<D> kind, Operand name) {
    return code.body().stream()
        .filter(kind::isInstance)
        .map(kind::cast)
        .filter(d -> d.toString().startsWith(name + ":"))
        .findFirst();
  }

  static IllegalArgumentException refused(Instruction instruction, String problem) {
    return new IllegalArgumentException(
        "%s: %s %s".formatted(instruction.source(), instruction, problem));
  }

  private List<String> pointedTo(Statement.Prototype prototype) {
    if (named.isEmpty()) {
      module.variables().forEach(v -> v.initial().forEach(value -> named.add(value.symbol())));
      Stream.concat(module.functions().stream().map(Function::code), module.kernels().stream())
          .flatMap(Kernel::instructions)
          .filter(i -> !(i.form().semantics() instanceof Call))
          .flatMap(i -> i.operands().stream())
          .filter(Symbol.class::isInstance)
          .forEach(o -> named.add(((Symbol) o).name()));
    }
    return functions.values().stream()
        .filter(f -> named.contains(f.name()))
        .filter(f -> agree(f.results(), prototype.results()))
        .filter(f -> agree(f.code().parameters(), prototype.parameters()))
        .map(Function::name)
        .toList();
  }

  private static boolean agree(List<Parameter> given, List<Parameter> wanted) {
    return given.size() == wanted.size()
        && java.util.stream.IntStream.range(0, given.size())
            .allMatch(i ->
                (wanted.get(i).count() == Variable.OPEN
                        || given.get(i).bytes() == wanted.get(i).bytes())
                    && given.get(i).inRegister() == wanted.get(i).inRegister());
  }

  private boolean concernsFunctions(Statement statement) {
    return switch (statement) {
      case Label _ -> false;
      case Statement.Prototype _, Statement.Targets _ -> true;
      case Instruction i ->
          i.form().semantics() instanceof Call
              || i.operands().stream()
                  .anyMatch(o -> o instanceof Symbol s && functions.containsKey(s.name()));
    };
  }

  private Variable resolved(Variable variable) {
    if (variable.initial().stream().noneMatch(v -> functions.containsKey(v.symbol()))) {
      return variable;
    }
    var values =
        variable.initial().stream()
            .map(v ->
                functions.containsKey(v.symbol())
                    ? new Variable.Value(
                        "",
                        false,
                        new Operand.Immediate(variable.type(), v.bits(address(v.symbol()))))
                    : v)
            .toList();
    return new Variable(
        variable.linkage(),
        variable.space(),
        variable.alignment(),
        variable.type(),
        variable.name(),
        variable.count(),
        values);
  }
}
