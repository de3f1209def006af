package dev.athanor.engine.ptx.check;

import dev.athanor.engine.ptx.Function;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Literals;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.RuntimeFunction;
import dev.athanor.engine.ptx.Semantics.Call;
import dev.athanor.engine.ptx.Semantics.Exit;
import dev.athanor.engine.ptx.Semantics.IndexedBranch;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Statement.Label;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.table.FunctionRows;
import dev.athanor.engine.ptx.text.Parser;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
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

    /** Where parameters and results in memory lie, where each call has them elsewhere. */
    final Map<String, Register> addresses = new HashMap<>();

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
        case Symbol s when addresses.containsKey(s.name()) && s.offset() == 0 ->
            Objects.requireNonNull(addresses.get(s.name()));
        case Symbol s -> new Symbol(symbol(s.name()), s.offset());
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
  }

  /** A function whose body all calls share. */
  private final class Shared {
    final Function function;
    final Frame frame;

    /** Where the body begins. */
    final String entry;

    /** Which of the calls is to be returned to. */
    final Register caller;

    /** Where each call goes on. */
    final List<String> returns = new ArrayList<>();

    Shared(Function function) {
      var name = function.name();
      this.function = function;
      this.entry = unique(name + "$entry");
      this.caller = new Register(RegisterClass.B32, unique("%caller_of_" + name));
      this.frame = new Frame(function.code(), "$" + ++clones, unique(name + "$end"));
      Stream.concat(function.code().parameters().stream(), function.results().stream())
          .filter(formal -> !formal.inRegister())
          .forEach(formal -> {
            var address = new Register(RegisterClass.B64, unique("%address_of_" + formal.name()));
            frame.addresses.put(formal.name(), address);
            addresses.add(address);
          });
    }
  }

  private final Inliner inliner;
  private final Parser.Table table;
  private final Kernel kernel;
  private final Set<String> parameters;
  private final Set<String> taken = new HashSet<>();
  private List<Statement> body = new ArrayList<>();
  private int statements;
  private final List<Variable> locals = new ArrayList<>();
  private final Map<String, SharedArray> shared = new LinkedHashMap<>();
  private final Map<String, Map<String, String>> sharedOf = new HashMap<>();
  private final Map<String, Shared> sharedFunctions = new HashMap<>();
  private final Map<String, Integer> repeated = new HashMap<>();

  /** The registers that hold addresses of parameters and results of shared functions. */
  private final Set<Register> addresses = new HashSet<>();

  private final CallPlan plan;
  private int clones;

  Expansion(Inliner inliner, Parser.Table table, Module module, Kernel kernel) {
    this.inliner = inliner;
    this.table = table;
    this.kernel = kernel;
    this.plan = new CallPlan(inliner, kernel);
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
    var own = body;
    var functions = new ArrayList<List<Statement>>();
    for (var name : plan.shared()) {
      var function = sharedFunctions.get(name);
      if (function != null) {
        body = new ArrayList<>();
        share(function);
        functions.add(body);
      }
    }
    body = new ArrayList<>();
    if (!functions.isEmpty()) {
      // functions lie before their callers, so that threads that called meet those that did not
      var start = unique("$start");
      jump(start, null, Source.UNKNOWN);
      functions.reversed().forEach(body::addAll);
      body.add(new Label(start, Source.UNKNOWN));
    }
    body.addAll(own);
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
    while (!taken.add(free)) {
      free = name + "$" + repeated.merge(name, 1, Integer::sum);
    }
    return free;
  }

  private void add(Statement statement) {
    if (++statements > MOST_STATEMENTS) {
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
      case Exit exit when frame.end != null && exit.returns() -> {
        if (!last || guard != null) {
          jump(frame.end, guard, given.source());
        }
      }
      default -> {
        var operands = new ArrayList<>(frame.operands(given.operands()));
        var opcode =
            IntStream.range(0, operands.size())
                    .anyMatch(i -> isHandedOver(given.operands().get(i), operands.get(i)))
                ? given.opcode().replaceFirst("\\.param\\b", ".local")
                : given.opcode();
        operands.replaceAll(o ->
            o instanceof Symbol s && inliner.function(s.name()).isPresent()
                ? new Operand.Immediate(Type.U64, inliner.address(s.name()) + s.offset())
                : o);
        add(opcode, operands, guard, given.source());
      }
    }
  }

  /** Whether an operand is an address in what was {@code .param} memory of a function. */
  private boolean isHandedOver(Operand given, Operand operand) {
    return given instanceof Operand.Address named
        && named.base() instanceof Symbol
        && operand instanceof Operand.Address a
        && !(a.base() instanceof Symbol s && parameters.contains(s.name()));
  }

  private void indexedBranch(Frame frame, Instruction given, @Nullable Guard guard) {
    var source = given.source();
    var index = frame.operand(given.operands().getFirst());
    var hit = new Register(RegisterClass.PRED, unique("%case"));
    var end = unique("$cases");
    jumpUnless(guard, end, source);
    var labels = Inliner.targets(frame.code, given, false);
    for (int i = 0; i < labels.size(); i++) {
      add("setp.eq.u32", List.of(hit, index, Operand.Immediate.of(i)), null, source);
      jump(frame.symbol(labels.get(i)), new Guard(hit, false), source);
    }
    add("trap", List.of(), null, source);
    add(new Label(end, source));
  }

  private void call(Frame frame, Instruction given, @Nullable Guard guard) {
    List<Operand> results = List.of();
    List<Operand> arguments = List.of();
    for (int i = 0; i < given.operands().size(); i++) {
      var slot = given.form().operands().get(i);
      if (given.operands().get(i) instanceof Operand.Arguments list) {
        var handed = frame.operands(list.list());
        results = slot.isResult() ? handed : results;
        arguments = slot.isResult() ? arguments : handed;
      }
    }
    var source = given.source();
    var end = unique("$called");
    jumpUnless(guard, end, source);
    if (Inliner.callee(given) instanceof Symbol name) {
      enter(given, name.name(), results, arguments);
    } else {
      var pointer = frame.operand(Inliner.callee(given));
      var other = new Register(RegisterClass.PRED, unique("%other"));
      for (var candidate : inliner.callees(frame.code, given)) {
        var next = unique("$not_" + candidate);
        var address = new Operand.Immediate(Type.U64, inliner.address(candidate));
        add("setp.ne.u64", List.of(other, pointer, address), null, source);
        jump(next, new Guard(other, false), source);
        enter(given, candidate, results, arguments);
        jump(end, null, source);
        add(new Label(next, source));
      }
      add("trap", List.of(), null, source);
    }
    add(new Label(end, source));
  }

  /** Executes a function: by a jump to its body, or by its body in this place. */
  private void enter(
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
                Inliner.refused(
                    call,
                    "calls %s, which has no body in the module; besides the module's own functions there are %s"
                        .formatted(name, RuntimeFunction.symbols())));
    checkCounts(call, function, results, arguments);
    if (plan.isShared(name)) {
      jumpInto(
          sharedFunctions.computeIfAbsent(name, _ -> new Shared(function)),
          results,
          arguments,
          call.source());
    } else {
      clone(function, results, arguments, call.source());
    }
  }

  private void clone(
      Function function, List<Operand> results, List<Operand> arguments, Source source) {
    var code = function.code();
    var name = function.name();
    var frame = new Frame(code, "$" + ++clones, unique(name + "$end"));
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
    prepare(frame);
    statements(frame);
    add(new Label(Objects.requireNonNull(frame.end), source));
    for (int i = 0; i < results.size(); i++) {
      var formal = function.results().get(i);
      if (isCopied(formal, results.get(i)) && !(results.get(i) instanceof Operand.Sink)) {
        move(results.get(i), inside(frame, formal), formal.type(), source);
      }
    }
  }

  /** Hands over registers, and addresses of what lies in memory, and goes to a shared body. */
  private void jumpInto(
      Shared callee, List<Operand> results, List<Operand> arguments, Source source) {
    var parameters = callee.function.code().parameters();
    for (int i = 0; i < arguments.size(); i++) {
      var formal = parameters.get(i);
      if (formal.inRegister()) {
        move(callee.frame.register(formal), arguments.get(i), formal.type(), source);
      } else {
        handOver(callee, formal, place(formal, arguments.get(i), true, source), source);
      }
    }
    var places = new ArrayList<Operand>();
    for (int i = 0; i < results.size(); i++) {
      var formal = callee.function.results().get(i);
      if (formal.inRegister()) {
        places.add(callee.frame.register(formal));
      } else {
        places.add(place(formal, results.get(i), false, source));
        handOver(callee, formal, places.getLast(), source);
      }
    }
    var back = unique("$returned");
    var number = Operand.Immediate.of(callee.returns.size());
    callee.returns.add(back);
    add("mov.u32", List.of(callee.caller, number), null, source);
    jump(callee.entry, null, source);
    add(new Label(back, source));
    for (int i = 0; i < results.size(); i++) {
      var formal = callee.function.results().get(i);
      if (isCopied(formal, results.get(i))
          && !results.get(i).equals(places.get(i))
          && !(results.get(i) instanceof Operand.Sink)) {
        move(results.get(i), places.get(i), formal.type(), source);
      }
    }
  }

  private void handOver(Shared callee, Parameter formal, Operand place, Source source) {
    var address = Objects.requireNonNull(callee.frame.addresses.get(formal.name()));
    add(place instanceof Symbol ? "mov.u64" : "mov.b64", List.of(address, place), null, source);
  }

  /**
   * Where in local memory a parameter or result of a call lies: the caller's variable, or a new one
   * for what the caller has elsewhere.
   */
  private Operand place(Parameter formal, Operand actual, boolean filled, Source source) {
    boolean isParameter = actual instanceof Symbol s && parameters.contains(s.name());
    if (isAddress(actual) || (actual instanceof Symbol && !isParameter)) {
      return actual;
    }
    var name = unique(formal.name() + "$given");
    locals.add(local(name, formal.alignment(), formal.type(), formal.count()));
    var place = new Symbol(name);
    if (filled && isParameter) {
      copy(formal, (Symbol) actual, place, source);
    } else if (filled) {
      move(place, actual, formal.type(), source);
    }
    return place;
  }

  /** Copies a parameter of the kernel to local memory. */
  private void copy(Parameter formal, Symbol from, Symbol to, Source source) {
    int unit = Math.min(8, formal.alignment());
    var word = "b" + 8 * unit;
    var value =
        new Register(
            unit == 8 ? RegisterClass.B64 : unit == 4 ? RegisterClass.B32 : RegisterClass.B16,
            unique("%copied"));
    for (int at = 0; at < formal.bytes(); at += unit) {
      add("ld.param." + word, List.of(value, new Operand.Address(from, at)), null, source);
      add("st.local." + word, List.of(new Operand.Address(to, at), value), null, source);
    }
  }

  /** Writes the one body of a function, whose calls are all there by now. */
  private void share(Shared shared) {
    var source = Source.UNKNOWN;
    var frame = shared.frame;
    prepare(frame);
    add(new Label(shared.entry, source));
    statements(frame);
    add(new Label(Objects.requireNonNull(frame.end), source));
    comeBack(shared, 0, shared.returns.size(), source);
  }

  /** Goes on behind the call that was made last: a search by halves among some of the calls. */
  private void comeBack(Shared shared, int first, int end, Source source) {
    if (end - first == 1) {
      jump(shared.returns.get(first), null, source);
      return;
    }
    int middle = (first + end) >>> 1;
    var lower = new Register(RegisterClass.PRED, unique("%lower"));
    var label = unique("$lower");
    add("setp.lt.u32", List.of(lower, shared.caller, Operand.Immediate.of(middle)), null, source);
    jump(label, new Guard(lower, false), source);
    comeBack(shared, middle, end, source);
    add(new Label(label, source));
    comeBack(shared, first, middle, source);
  }

  /** Gives a clone of a function its own names. */
  private void prepare(Frame frame) {
    var code = frame.code;
    frame.symbols.putAll(sharedOf.computeIfAbsent(code.name(), _ -> share(code)));
    for (var v : code.locals()) {
      locals.add(local(frame.rename(v.name()), v.alignment(), v.type(), v.count()));
    }
    for (var statement : code.body()) {
      if (statement instanceof Label label) {
        frame.rename(label.name());
      }
    }
  }

  private static void checkCounts(
      Instruction call, Function function, List<Operand> results, List<Operand> arguments) {
    var parameters = function.code().parameters();
    if (arguments.size() != parameters.size() || results.size() != function.results().size()) {
      throw Inliner.refused(
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

  private static List<Integer> bytes(List<Parameter> parameters) {
    return parameters.stream().map(Parameter::bytes).toList();
  }

  /** Calls a function of the device runtime, with arguments and results in local variables. */
  private void runtimeCall(
      Instruction call, RuntimeFunction callee, List<Operand> results, List<Operand> arguments) {
    var declared = inliner.function(callee.symbol()).orElseThrow();
    if (!callee.fits(bytes(declared.results()), bytes(declared.code().parameters()))) {
      throw Inliner.refused(call, "declares it wrongly: " + callee.signature());
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
    add(FunctionRows.call(callee, call, returned, taken));
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
  private boolean isCopied(Parameter formal, Operand actual) {
    return formal.inRegister() || !(actual instanceof Symbol || isAddress(actual));
  }

  /** Whether an operand stands for a variable in local memory whose address it holds. */
  private boolean isAddress(Operand operand) {
    return operand instanceof Register register && addresses.contains(register);
  }

  /** Gives a parameter or result in memory the caller's variable, or one of its own. */
  private void bind(Frame frame, Parameter formal, Operand actual) {
    if (!isCopied(formal, actual) && actual instanceof Register address) {
      frame.addresses.put(formal.name(), address);
    } else if (!isCopied(formal, actual)) {
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
    if (to instanceof Symbol || isAddress(to)) {
      add("st.local." + word, List.of(new Operand.Address(to, 0), value), null, source);
    } else if (from instanceof Symbol || isAddress(from)) {
      boolean isParameter = from instanceof Symbol s && parameters.contains(s.name());
      add(
          (isParameter ? "ld.param." : "ld.local.") + word,
          List.of(to, new Operand.Address(from, 0)),
          null,
          source);
    } else {
      add("mov." + word, List.of(to, value), null, source);
    }
  }
}
