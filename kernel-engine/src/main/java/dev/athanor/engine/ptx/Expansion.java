package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Semantics.Call;
import dev.athanor.engine.ptx.Semantics.Exit;
import dev.athanor.engine.ptx.Semantics.IndexedBranch;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One kernel into which functions are being put. */
final class Expansion {

  private static final int MOST_STATEMENTS = 1 << 20;

  /** A body being cloned: the kernel's own, or that of a function for one call. */
  private final class Frame {
    final Kernel code;

    /** Where {@code ret} goes; null in the kernel, where it ends the thread. */
    final @Nullable String end;

    /** What stands behind each name; empty in the kernel. */
    final String suffix;

    final Map<String, String> symbols = new HashMap<>();
    final Map<Register, Register> registers = new HashMap<>();

    Frame(Kernel code, String suffix, @Nullable String end) {
      this.code = code;
      this.end = end;
      this.suffix = suffix;
    }

    /** A name of the function for this clone alone. */
    String rename(String name) {
      return symbols.computeIfAbsent(name, _ -> unique(name + suffix));
    }

    String symbol(String name) {
      return symbols.getOrDefault(name, name);
    }

    Register register(Register given) {
      return end == null
          ? given
          : registers.computeIfAbsent(
              given, r -> new Register(r.registerClass(), unique(r.name() + suffix)));
    }

    Register register(Parameter formal) {
      return register(new Register(formal.type().registerClass(), formal.name()));
    }

    Operand operand(Operand given) {
      return switch (given) {
        case Register r -> register(r);
        case Symbol s -> new Symbol(symbol(s.name()));
        case Operand.Address a -> new Operand.Address(operand(a.base()), a.offset());
        case Operand.Vector v -> Operand.Vector.of(operands(v.elements()));
        case Operand.Pair p -> new Operand.Pair(operand(p.first()), operand(p.second()));
        case Operand.Negation n -> new Operand.Negation(register(n.register()));
        case Operand.Tile t -> new Operand.Tile(operand(t.map()), operands(t.coordinates()));
        case Operand.Arguments a -> new Operand.Arguments(operands(a.list()));
        case Operand.Immediate _, Operand.Sink _, SpecialRegister _ -> given;
      };
    }

    List<Operand> operands(List<Operand> given) {
      return given.stream().map(this::operand).toList();
    }

    @Nullable Guard guard(@Nullable Guard given) {
      return given == null ? null : new Guard(register(given.predicate()), given.negated());
    }

    /** A declaration of prototypes or targets that an instruction names. */
    <D extends Statement> Optional<D> declared(Class<D> kind, Operand name) {
      return code.body().stream()
          .filter(kind::isInstance)
          .map(kind::cast)
          .filter(d -> d.toString().startsWith(name + ":"))
          .findFirst();
    }
  }

  private final Inliner inliner;
  private final Parser.Table table;
  private final Kernel kernel;
  private final Set<String> parameters;
  private final Set<String> taken = new HashSet<>();
  private final List<Statement> body = new ArrayList<>();
  private final List<Variable> locals = new ArrayList<>();
  private final Map<String, SharedArray> shared = new LinkedHashMap<>();
  private final Map<String, Map<String, String>> sharedOf = new HashMap<>();
  private final Deque<String> callers = new ArrayDeque<>();
  private int clones;

  Expansion(Inliner inliner, Parser.Table table, Module module, Kernel kernel) {
    this.inliner = inliner;
    this.table = table;
    this.kernel = kernel;
    this.parameters = kernel.parameters().stream().map(Parameter::name).collect(Collectors.toSet());
    taken.addAll(parameters);
    module.variables().forEach(v -> taken.add(v.name()));
    kernel.registers().forEach(r -> taken.add(r.name()));
    kernel.locals().forEach(v -> taken.add(v.name()));
    kernel
        .shared()
        .forEach(array -> {
          taken.add(array.name());
          shared.put(array.name(), array);
        });
    for (var statement : kernel.body()) {
      if (statement instanceof Label label) {
        taken.add(label.name());
      }
    }
  }

  Kernel result() {
    kernel.locals().forEach(v -> locals.add(local(v.name(), v.alignment(), v.type(), v.count())));
    statements(new Frame(kernel, "", null));
    return new Kernel(
        kernel.name(),
        kernel.parameters(),
        List.copyOf(shared.values()),
        locals,
        kernel.limits(),
        body);
  }

  private static Variable local(String name, int alignment, Type type, int count) {
    return new Variable("", Space.LOCAL, alignment, type, name, count, List.of());
  }

  private String unique(String name) {
    var free = name;
    for (int i = 1; !taken.add(free); i++) {
      free = name + "$" + i;
    }
    return free;
  }

  private void add(Statement statement) {
    if (body.size() == MOST_STATEMENTS) {
      throw new IllegalArgumentException(
          "kernel %s has more than %d statements with its functions in it"
              .formatted(kernel.name(), MOST_STATEMENTS));
    }
    body.add(statement);
  }

  private void add(String opcode, List<Operand> operands, @Nullable Guard guard, Source source) {
    add(table.instruction(opcode, operands, guard, source));
  }

  private void jump(String label, @Nullable Guard guard, Source source) {
    add("bra", List.of(new Symbol(label)), guard, source);
  }

  /** Jumps where a guard does not hold. */
  private void jumpUnless(@Nullable Guard guard, String label, Source source) {
    if (guard != null) {
      jump(label, new Guard(guard.predicate(), !guard.negated()), source);
    }
  }

  private void statements(Frame frame) {
    var statements = frame.code.body();
    for (int i = 0; i < statements.size(); i++) {
      switch (statements.get(i)) {
        case Label label -> add(new Label(frame.symbol(label.name()), label.source()));
        case Instruction given -> instruction(frame, given, i == statements.size() - 1);
        case Statement.Prototype _, Statement.Targets _ -> {}
      }
    }
  }

  private void instruction(Frame frame, Instruction given, boolean last) {
    var guard = frame.guard(given.guard());
    switch (given.form().semantics()) {
      case Call _ -> call(frame, given, guard);
      case IndexedBranch _ -> indexedBranch(frame, given, guard);
      case Exit _ when frame.end != null && given.form().mnemonic().equals("ret") -> {
        if (!last || guard != null) {
          jump(frame.end, guard, given.source());
        }
      }
      default -> {
        var operands = new ArrayList<>(frame.operands(given.operands()));
        var opcode =
            operands.stream().anyMatch(this::isHandedOver)
                ? given.opcode().replaceFirst("\\.param\\b", ".local")
                : given.opcode();
        operands.replaceAll(o ->
            o instanceof Symbol s && inliner.function(s.name()).isPresent()
                ? new Operand.Immediate(Type.U64, inliner.address(s.name()))
                : o);
        add(opcode, operands, guard, given.source());
      }
    }
  }

  /** Whether an operand is an address in what was {@code .param} memory of a function. */
  private boolean isHandedOver(Operand operand) {
    return operand instanceof Operand.Address a
        && a.base() instanceof Symbol s
        && !parameters.contains(s.name());
  }

  private void indexedBranch(Frame frame, Instruction given, @Nullable Guard guard) {
    var source = given.source();
    var index = frame.operand(given.operands().getFirst());
    var hit = new Register(RegisterClass.PRED, unique("%case"));
    var end = unique("$cases");
    jumpUnless(guard, end, source);
    var labels = targets(frame, given, false);
    for (int i = 0; i < labels.size(); i++) {
      add("setp.eq.u32", List.of(hit, index, Operand.Immediate.of(i)), null, source);
      jump(frame.symbol(labels.get(i)), new Guard(hit, false), source);
    }
    add("trap", List.of(), null, source);
    add(new Label(end, source));
  }

  private static List<String> targets(Frame frame, Instruction given, boolean functions) {
    var name = given.operands().getLast();
    return frame
        .declared(Statement.Targets.class, name)
        .filter(t -> t.functions() == functions)
        .orElseThrow(() ->
            refused(
                given,
                "names %s, which is no %s"
                    .formatted(
                        name, functions ? ".calltargets or .callprototype" : ".branchtargets")))
        .names();
  }

  private void call(Frame frame, Instruction given, @Nullable Guard guard) {
    List<Operand> results = List.of();
    List<Operand> arguments = List.of();
    Operand callee = null;
    for (int i = 0; i < given.operands().size(); i++) {
      var slot = given.form().operands().get(i);
      if (given.operands().get(i) instanceof Operand.Arguments list) {
        var handed = frame.operands(list.list());
        results = slot.isResult() ? handed : results;
        arguments = slot.isResult() ? arguments : handed;
      } else if (callee == null) {
        callee = given.operands().get(i);
      }
    }
    var source = given.source();
    var end = unique("$called");
    jumpUnless(guard, end, source);
    if (callee instanceof Symbol name) {
      clone(given, name.name(), results, arguments);
    } else {
      var pointer = frame.operand(java.util.Objects.requireNonNull(callee));
      var other = new Register(RegisterClass.PRED, unique("%other"));
      for (var candidate : candidates(frame, given)) {
        var next = unique("$not_" + candidate);
        var address = new Operand.Immediate(Type.U64, inliner.address(candidate));
        add("setp.ne.u64", List.of(other, pointer, address), null, source);
        jump(next, new Guard(other, false), source);
        clone(given, candidate, results, arguments);
        jump(end, null, source);
        add(new Label(next, source));
      }
      add("trap", List.of(), null, source);
    }
    add(new Label(end, source));
  }

  private List<String> candidates(Frame frame, Instruction given) {
    return frame
        .declared(Statement.Prototype.class, given.operands().getLast())
        .map(inliner::pointedTo)
        .orElseGet(() -> targets(frame, given, true));
  }

  private void clone(
      Instruction call, String name, List<Operand> results, List<Operand> arguments) {
    var runtime =
        inliner.function(name).filter(f -> !f.isDefined()).flatMap(_ -> RuntimeFunction.of(name));
    if (runtime.isPresent()) {
      runtimeCall(call, runtime.get(), results, arguments);
      return;
    }
    var function =
        inliner
            .function(name)
            .filter(Function::isDefined)
            .orElseThrow(() ->
                refused(
                    call,
                    "calls %s, which has no body in the module; besides the module's own functions there are %s"
                        .formatted(name, RuntimeFunction.symbols())));
    if (callers.contains(name)) {
      var cycle =
          new ArrayList<>(
              callers.reversed().stream().dropWhile(caller -> !caller.equals(name)).toList());
      cycle.add(name);
      throw refused(call, "recurs, which is not supported: " + String.join(" calls ", cycle));
    }
    var code = function.code();
    checkCounts(call, function, results, arguments);
    var source = call.source();
    callers.push(name);
    var frame = new Frame(code, "$" + ++clones, unique(name + "$end"));
    frame.symbols.putAll(sharedOf.computeIfAbsent(name, _ -> share(code)));
    for (int i = 0; i < arguments.size(); i++) {
      var formal = code.parameters().get(i);
      bind(frame, formal, arguments.get(i));
      if (isCopied(formal, arguments.get(i))) {
        move(inside(frame, formal), arguments.get(i), formal.type(), source);
      }
    }
    for (int i = 0; i < results.size(); i++) {
      bind(frame, function.results().get(i), results.get(i));
    }
    for (var v : code.locals()) {
      locals.add(local(frame.rename(v.name()), v.alignment(), v.type(), v.count()));
    }
    for (var statement : code.body()) {
      if (statement instanceof Label label) {
        frame.rename(label.name());
      }
    }
    statements(frame);
    add(new Label(java.util.Objects.requireNonNull(frame.end), source));
    for (int i = 0; i < results.size(); i++) {
      var formal = function.results().get(i);
      if (isCopied(formal, results.get(i)) && !(results.get(i) instanceof Operand.Sink)) {
        move(results.get(i), inside(frame, formal), formal.type(), source);
      }
    }
    callers.pop();
  }

  private static void checkCounts(
      Instruction call, Function function, List<Operand> results, List<Operand> arguments) {
    var parameters = function.code().parameters();
    if (arguments.size() != parameters.size() || results.size() != function.results().size()) {
      throw refused(
          call,
          "hands over %d arguments and takes %d results, but %s has %d parameters and %d results"
              .formatted(
                  arguments.size(),
                  results.size(),
                  function.name(),
                  parameters.size(),
                  function.results().size()));
    }
  }

  /** Calls a function of the device runtime, with arguments and results in local variables. */
  private void runtimeCall(
      Instruction call, RuntimeFunction callee, List<Operand> results, List<Operand> arguments) {
    var declared = inliner.function(callee.symbol()).orElseThrow();
    if (!callee.fits(declared)) {
      throw refused(call, "declares it wrongly: " + callee.signature());
    }
    checkCounts(call, declared, results, arguments);
    var source = call.source();
    var frame = new Frame(declared.code(), "$" + ++clones, unique(callee.symbol() + "$end"));
    var taken = new ArrayList<Operand>();
    for (int i = 0; i < arguments.size(); i++) {
      var formal = declared.code().parameters().get(i);
      taken.add(variable(frame, formal, arguments.get(i)));
      if (!isVariable(arguments.get(i))) {
        move(taken.getLast(), arguments.get(i), formal.type(), source);
      }
    }
    var returned = new ArrayList<Operand>();
    for (int i = 0; i < results.size(); i++) {
      returned.add(variable(frame, declared.results().get(i), results.get(i)));
    }
    add(callee.call(call, returned, taken));
    for (int i = 0; i < results.size(); i++) {
      if (!isVariable(results.get(i)) && !(results.get(i) instanceof Operand.Sink)) {
        move(results.get(i), returned.get(i), declared.results().get(i).type(), source);
      }
    }
  }

  /** Whether an operand is a variable of the caller in what is now local memory. */
  private boolean isVariable(Operand operand) {
    return operand instanceof Symbol s && !parameters.contains(s.name());
  }

  /** The caller's variable, or a new one for what is not in memory yet. */
  private Operand variable(Frame frame, Parameter formal, Operand actual) {
    if (isVariable(actual)) {
      return actual;
    }
    var name = frame.rename(formal.name());
    locals.add(local(name, formal.alignment(), formal.type(), formal.count()));
    return new Symbol(name);
  }

  /** The names of the shared arrays of a function, of which all its clones use the same. */
  private Map<String, String> share(Kernel code) {
    var names = new HashMap<String, String>();
    for (var array : code.shared()) {
      var name = array.ofModule() ? array.name() : unique(array.name());
      names.put(array.name(), name);
      shared.putIfAbsent(
          name, new SharedArray(name, array.alignment(), array.bytes(), array.ofModule()));
    }
    return names;
  }

  /** Whether formal and actual are not one and the same variable. */
  private static boolean isCopied(Parameter formal, Operand actual) {
    return formal.inRegister() || !(actual instanceof Symbol);
  }

  /** Gives a parameter or result in memory the caller's variable, or one of its own. */
  private void bind(Frame frame, Parameter formal, Operand actual) {
    if (!isCopied(formal, actual)) {
      frame.symbols.put(formal.name(), actual.toString());
    } else if (!formal.inRegister()) {
      locals.add(
          local(frame.rename(formal.name()), formal.alignment(), formal.type(), formal.count()));
    }
  }

  private static Operand inside(Frame frame, Parameter formal) {
    return formal.inRegister() ? frame.register(formal) : new Symbol(frame.symbol(formal.name()));
  }

  /** Copies a value of a type between registers and variables. */
  private void move(Operand to, Operand from, Type type, Source source) {
    var bits = type == Type.PRED ? type : (Type) Modifier.of("b" + type.bits());
    var word = bits.word();
    var value =
        from instanceof Operand.Immediate literal
            ? Literals.as(bits, Literals.as(type, literal))
            : from;
    if (to instanceof Symbol) {
      add("st.local." + word, List.of(new Operand.Address(to, 0), value), null, source);
    } else if (from instanceof Symbol s) {
      add(
          (parameters.contains(s.name()) ? "ld.param." : "ld.local.") + word,
          List.of(to, new Operand.Address(from, 0)),
          null,
          source);
    } else {
      add("mov." + word, List.of(to, value), null, source);
    }
  }

  private static IllegalArgumentException refused(Instruction instruction, String problem) {
    return new IllegalArgumentException(
        "%s: %s %s".formatted(instruction.source(), instruction, problem));
  }
}
