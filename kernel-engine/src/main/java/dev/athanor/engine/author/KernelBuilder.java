package dev.athanor.engine.author;

import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Opcodes;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.RegisterClass;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Writes a kernel. Values are typed ({@link Int}, {@link Real}, {@link Predicate}); what Java
 * computes, its loops and conditions among it, happens while the kernel is built, and what the
 * builder's {@link #loop} and {@link #when} hold happens on the device.
 *
 * <p>Integer arithmetic is computed once and as far outside of the device's loops as its operands
 * allow, so index expressions can be written where they are used.
 *
 * <p>Every instruction remembers the line of Java that wrote it; faults on a device name that line.
 */
public final class KernelBuilder {

  private static final StackWalker WALKER = StackWalker.getInstance();
  private static final String OWN_PACKAGE = KernelBuilder.class.getPackageName() + ".";

  private final List<Parameter> parameters = new ArrayList<>();
  private final List<SharedArray> shared = new ArrayList<>();
  private final Map<RegisterClass, Integer> counts = new EnumMap<>(RegisterClass.class);
  private final Map<Register, Scope> homes = new HashMap<>();
  private final Set<Register> variables = new HashSet<>();
  private int labels;
  private Scope scope = new Scope(null);

  private KernelBuilder() {}

  /**
   * Builds a kernel.
   *
   * @param maxThreads the greatest number of threads that a block will have
   * @param author writes the body
   */
  public static Kernel build(String name, int maxThreads, Consumer<KernelBuilder> author) {
    var k = new KernelBuilder();
    author.accept(k);
    k.emit("ret");
    // asking for one block only, the assembler spills nothing to make room for more
    return new Kernel(name, k.parameters, k.shared, maxThreads, 1, k.scope.statements);
  }

  // what a kernel is given

  /** A parameter that points to elements of a type in global memory. */
  public GlobalPointer pointer(String name, Type element) {
    return new GlobalPointer(this, element, parameter(name, Type.U64));
  }

  /** An integer parameter. */
  public Int integer(String name) {
    return new Int(this, parameter(name, Type.S32), 0);
  }

  /** A 64-bit integer parameter: how many elements lie between two rows or matrices. */
  public Stride stride(String name) {
    return new Stride(this, parameter(name, Type.S64));
  }

  /** A floating-point parameter. */
  public Real real(String name, Type type) {
    return new Real(this, type, parameter(name, type));
  }

  private Register parameter(String name, Type type) {
    parameters.add(new Parameter(name, type));
    return result(
        type, "ld.param." + type.word(), new Operand.Address(new Operand.Symbol(name), 0));
  }

  /** The number of this thread in its block. */
  public Int thread() {
    return read(SpecialRegister.TID_X);
  }

  /** The number of this block in its grid. */
  public Int block() {
    return read(SpecialRegister.CTAID_X);
  }

  /** A register that the hardware sets. */
  public Int read(SpecialRegister register) {
    return new Int(this, pure(Type.U32, "mov.u32", register), 0);
  }

  /** A constant. */
  public Int integer(int value) {
    return new Int(this, null, value);
  }

  /** A constant of f32 or f64. */
  public Real real(Type type, double value) {
    return new Real(
        this, type, type == Type.F32 ? Immediate.of((float) value) : Immediate.of(value));
  }

  // memory

  /**
   * A matrix in shared memory, row-major.
   *
   * @param pitch elements from the start of one row to that of the next; more than the columns
   *     keeps rows out of each other's banks
   */
  public SharedTile shared(Type element, int rows, int columns, int pitch) {
    var name = "tile" + shared.size();
    shared.add(new SharedArray(name, 16, rows * pitch * element.bytes()));
    return new SharedTile(this, element, rows, columns, pitch, Swizzle.NONE, address(name));
  }

  /**
   * The one array whose size the launch says, as bytes from which {@link SharedTile#at} cuts tiles.
   */
  public SharedTile dynamicShared() {
    var name = "dynamic";
    shared.add(new SharedArray(name, 16, SharedArray.DYNAMIC));
    return new SharedTile(this, Type.B8, 1, 1, 1, Swizzle.NONE, address(name));
  }

  private Int address(String array) {
    return new Int(this, pure(Type.U32, "mov.u32", new Operand.Symbol(array)), 0);
  }

  /** Waits for all threads of the block; what they wrote to memory before is seen after. */
  public void barrier() {
    emit("bar.sync", Immediate.of(0));
  }

  /** Makes a group of the asynchronous copies that this thread has issued since the last group. */
  public void commitCopies() {
    emit("cp.async.commit_group");
  }

  /** Waits until at most {@code newest} of the thread's newest groups of copies are unfinished. */
  public void awaitCopies(int newest) {
    emit("cp.async.wait_group", Immediate.of(newest));
  }

  // control

  /**
   * Runs {@code body} on the device for {@code i = from, from + step, … < to}.
   *
   * @param step positive
   */
  public void loop(Int from, Int to, int step, Consumer<Int> body) {
    var i = register(Type.S32);
    var inner = new Scope(scope);
    homes.put(i, inner);
    var top = new Statement.Label("$loop" + labels, here());
    var end = new Statement.Label("$end" + labels++, here());
    var first = from.operand();
    var bound = to.operand();
    boolean runs =
        first instanceof Immediate f && bound instanceof Immediate b && f.bits() < b.bits();
    within(inner, () -> body.accept(new Int(this, i, 0)));
    homes.put(i, scope);

    emit("mov.s32", i, first);
    if (!runs) {
      var over = result(Type.PRED, "setp.ge.s32", i, bound);
      branch(new Guard(over, false), end);
    }
    scope.statements.add(top);
    scope.statements.addAll(inner.statements);
    emit("add.s32", i, i, Immediate.of(step));
    var again = result(Type.PRED, "setp.lt.s32", i, bound);
    branch(new Guard(again, false), top);
    scope.statements.add(end);
  }

  /** Runs {@code then} on the device in the threads where the condition holds. */
  public void when(Predicate condition, Runnable then) {
    var inner = new Scope(scope);
    within(inner, then);
    var end = new Statement.Label("$skip" + labels++, here());
    branch(new Guard(condition.register, true), end);
    scope.statements.addAll(inner.statements);
    scope.statements.add(end);
  }

  private void within(Scope inner, Runnable author) {
    var outer = scope;
    scope = inner;
    try {
      author.run();
    } finally {
      scope = outer;
    }
  }

  private void branch(Guard guard, Statement.Label target) {
    scope.statements.add(
        Opcodes.instruction("bra", List.of(new Operand.Symbol(target.name())), guard, here()));
  }

  // values

  /** A variable that starts as a value. */
  public Real.Variable variable(Real initial) {
    var register = register(initial.type());
    variables.add(register);
    emit("mov." + initial.type().word(), register, initial.operand());
    return new Real.Variable(this, initial.type(), register);
  }

  /** An integer variable that starts as a value. */
  public Int.Variable variable(Int initial) {
    var register = register(Type.S32);
    variables.add(register);
    emit("mov.s32", register, initial.operand());
    return new Int.Variable(this, register);
  }

  /** Two 16-bit values in one register, the first in the low half. */
  public Value pack(Value low, Value high) {
    return new Value(
        this,
        Type.B32,
        result(Type.B32, "mov.b32", Operand.Vector.of(List.of(low.operand(), high.operand()))));
  }

  /**
   * {@code mma.m16n8k16} with f32 sums: adds the product of the fragments to {@code sum}.
   *
   * @param type of the elements of a and b, f16 or bf16
   * @param a 4 registers, as {@code Fragments.A_16X16} says
   * @param b 2 registers, as {@code Fragments.B_16X8} says
   * @param sum 4 variables, as {@code Fragments.C_16X8} says
   */
  public void mma(Type type, List<Value> a, List<Value> b, List<Real.Variable> sum) {
    var c = vector(sum);
    emit(
        "mma.sync.aligned.m16n8k16.row.col.f32.%1$s.%1$s.f32".formatted(type.word()),
        c,
        vector(a),
        vector(b),
        c);
  }

  static Operand.Vector vector(List<? extends Value> values) {
    return Operand.Vector.of(values.stream().map(Value::operand).toList());
  }

  // what values are made with

  /** A new register of this scope. */
  Register register(Type type) {
    var registerClass = type.registerClass();
    int number = counts.merge(registerClass, 1, Integer::sum) - 1;
    var register = new Register(registerClass, registerClass.prefix() + number);
    homes.put(register, scope);
    return register;
  }

  /** A new register that an instruction writes here. */
  Register result(Type type, String opcode, Operand... sources) {
    var d = register(type);
    emit(opcode, Stream.concat(Stream.of(d), Stream.of(sources)).toArray(Operand[]::new));
    return d;
  }

  /**
   * A register with the result of an integer instruction, which is written in the outermost scope
   * that knows its operands, unless it is known there already.
   */
  Register pure(Type type, String opcode, Operand... sources) {
    var home = scope;
    if (Stream.of(sources).flatMap(Operand::registers).noneMatch(variables::contains)) {
      // a thread has seven predicates at most, so they are not kept over a loop
      while (type != Type.PRED && home.parent != null && knows(home.parent, sources)) {
        home = home.parent;
      }
      var key = new ArrayList<Object>(List.of(opcode));
      key.addAll(List.of(sources));
      for (var s = scope; s != null; s = s.parent) {
        var register = s.known.get(key);
        if (register != null) {
          return register;
        }
      }
      var d = register(type);
      homes.put(d, home);
      home.known.put(key, d);
      emit(home, null, opcode, Stream.concat(Stream.of(d), Stream.of(sources)).toList());
      return d;
    }
    return result(type, opcode, sources);
  }

  private boolean knows(Scope home, Operand[] operands) {
    return Stream.of(operands)
        .flatMap(Operand::registers)
        .allMatch(r -> home.isIn(homes.getOrDefault(r, home)));
  }

  void emit(String opcode, Operand... operands) {
    emit(scope, null, opcode, List.of(operands));
  }

  void emit(Predicate guard, String opcode, Operand... operands) {
    emit(scope, new Guard(guard.register, false), opcode, List.of(operands));
  }

  private void emit(Scope home, @Nullable Guard guard, String opcode, List<Operand> operands) {
    for (var operand : operands) {
      operand
          .registers()
          .filter(r -> !scope.isIn(homes.getOrDefault(r, scope)))
          .findFirst()
          .ifPresent(r -> {
            throw new IllegalStateException(
                "%s: %s was made in a loop or condition that has ended; keep it in a variable"
                    .formatted(here(), r));
          });
    }
    home.statements.add(Opcodes.instruction(opcode, operands, guard, here()));
  }

  /** The line of Java that is being executed outside of this package. */
  private static Source here() {
    return WALKER.walk(frames ->
        frames
            .filter(f ->
                !f.getClassName().startsWith(OWN_PACKAGE) && !f.getClassName().startsWith("java."))
            .findFirst()
            .map(f -> new Source(String.valueOf(f.getFileName()), f.getLineNumber(), 0))
            .orElse(Source.UNKNOWN));
  }
}
