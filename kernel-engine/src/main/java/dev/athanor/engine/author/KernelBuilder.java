package dev.athanor.engine.author;

import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.Limits;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.OperandSlot;
import dev.athanor.engine.ptx.Source;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;

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
public final class KernelBuilder extends BodyWriter {

  /** The threads of a warp. */
  public static final int WARP = 32;

  private static final int MOST_THREADS = 1024;

  /** The names that begin with a letter (PTX ISA 4.4). */
  private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z][A-Za-z0-9_$]*");

  private static final String DYNAMIC = "the dynamic shared memory";

  private final List<Parameter> parameters = new ArrayList<>();
  private final List<SharedArray> shared = new ArrayList<>();
  private final Map<String, Declaration> declared = new HashMap<>();
  private final int width;
  private final int height;
  private int labels;

  /**
   * A name that is taken.
   *
   * @param what it names, with its article
   */
  private record Declaration(String what, Source source) {}

  private KernelBuilder(int width, int height) {
    if (width < 1 || height < 1 || (long) width * height > MOST_THREADS) {
      throw new IllegalArgumentException(
          "a block has 1 to %d threads, got %s".formatted(MOST_THREADS, shape(width, height)));
    }
    this.width = width;
    this.height = height;
  }

  /**
   * Builds a kernel whose blocks have one dimension.
   *
   * @param maxThreads the greatest number of threads that a block will have
   * @param author writes the body
   */
  public static Kernel build(String name, int maxThreads, Consumer<KernelBuilder> author) {
    var k = new KernelBuilder(maxThreads, 1);
    // asking for one block only, the assembler spills nothing to make room for more
    return k.build(name, new Limits(List.of(maxThreads, 1, 1), List.of(), 1, 0), author);
  }

  /**
   * Builds a kernel whose blocks have two dimensions, always these.
   *
   * @param width threads along the first, whose numbers follow one another
   * @param author writes the body
   */
  public static Kernel build(String name, int width, int height, Consumer<KernelBuilder> author) {
    var k = new KernelBuilder(width, height);
    return k.build(name, new Limits(List.of(), List.of(width, height, 1), 1, 0), author);
  }

  private Kernel build(String name, Limits limits, Consumer<KernelBuilder> author) {
    if (!IDENTIFIER.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "`%s` is no name for a kernel; begin with a letter and go on with letters, digits, _ and $"
              .formatted(name));
    }
    author.accept(this);
    emit("ret");
    return new Kernel(name, parameters, shared, List.of(), limits, scope().statements);
  }

  private static String shape(int width, int height) {
    return height == 1 ? String.valueOf(width) : width + "x" + height;
  }

  // what a kernel is given

  /** A parameter that points to elements of a type in global memory. */
  public GlobalPointer pointer(String name, Type element) {
    requireBytes(element);
    return new GlobalPointer(this, element, parameter(name, Type.U64));
  }

  /** An integer parameter. */
  public Int integer(String name) {
    return new Int(this, parameter(name, Type.S32), 0);
  }

  /** A 64-bit integer parameter. */
  public Wide wide(String name) {
    return new Wide(this, parameter(name, Type.S64));
  }

  /**
   * A floating-point parameter.
   *
   * @param type f32 or f64
   */
  public Real real(String name, Type type) {
    requireReal(type);
    return new Real(this, type, parameter(name, type));
  }

  static void requireReal(Type type) {
    if (type != Type.F32 && type != Type.F64) {
      throw new IllegalArgumentException(
          "a real number is .f32 or .f64, got .%s; smaller ones are loaded and widened"
              .formatted(type.word()));
    }
  }

  private static void requireBytes(Type element) {
    if (element.bytes() == 0) {
      throw new IllegalArgumentException(
          "elements in memory have whole bytes, got ." + element.word());
    }
  }

  private Register parameter(String name, Type type) {
    declare(name, "a parameter");
    parameters.add(new Parameter(name, type));
    return result(
        type, "ld.param." + type.word(), new Operand.Address(new Operand.Symbol(name), 0));
  }

  /** Takes a name, which no other parameter or shared array of the kernel may have. */
  private void declare(String name, String what) {
    if (!IDENTIFIER.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "%s: `%s` is no name for %s; begin with a letter and go on with letters, digits, _ and $"
              .formatted(here(), name, what));
    }
    var first = declared.putIfAbsent(name, new Declaration(what, here()));
    if (first != null) {
      throw new IllegalArgumentException(
          "%s: the name `%s` is already taken by %s declared at %s; choose another name"
              .formatted(here(), name, first.what, first.source));
    }
  }

  /** The number of this thread in its block, along the first dimension where it has two. */
  public Int thread() {
    return read(SpecialRegister.TID_X);
  }

  /** The number of this thread along the second dimension of its block. */
  public Int threadY() {
    return read(SpecialRegister.TID_Y);
  }

  /** The number of this thread among all of its block, of one dimension or two. */
  Int threadOfAll() {
    return height == 1 ? thread() : threadY().times(width).plus(thread());
  }

  /** The number of this block in its grid. */
  public Int block() {
    return read(SpecialRegister.CTAID_X);
  }

  /** The number of this block along the second dimension of its grid. */
  public Int blockY() {
    return read(SpecialRegister.CTAID_Y);
  }

  /** The number of this block along the third dimension of its grid. */
  public Int blockZ() {
    return read(SpecialRegister.CTAID_Z);
  }

  /** The number of this thread in its warp. */
  public Int lane() {
    return threadOfAll().rem(WARP);
  }

  /** The number of this thread's warp in its block. */
  public Int warp() {
    return threadOfAll().div(WARP);
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
    requireReal(type);
    return new Real(
        this, type, type == Type.F32 ? Immediate.of((float) value) : Immediate.of(value));
  }

  /** A 64-bit constant. */
  public Wide wide(long value) {
    return new Wide(this, pure(Type.S64, "mov.s64", new Immediate(Type.S64, value)));
  }

  // memory

  /**
   * A matrix in shared memory, row-major.
   *
   * @param rows at least 1
   * @param columns at least 1
   * @param pitch elements from the start of one row to that of the next; more than the columns
   *     keeps rows out of each other's banks
   */
  public SharedTile shared(Type element, int rows, int columns, int pitch) {
    requireBytes(element);
    long bytes = (long) rows * pitch * element.bytes();
    if (rows < 1 || columns < 1 || pitch < columns || bytes > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "a tile in shared memory has at least 1 row and 1 column, as many columns as its pitch or fewer, and less than 2 GiB; got %d rows of %d columns of .%s, %d elements apart"
              .formatted(rows, columns, element.word(), pitch));
    }
    int number = shared.size();
    while (declared.containsKey("tile" + number)) {
      number++;
    }
    var name = "tile" + number;
    declare(name, "a tile in shared memory");
    shared.add(new SharedArray(name, 16, (int) bytes));
    return new SharedTile(this, element, rows, columns, pitch, Swizzle.NONE, address(name));
  }

  /**
   * The one array whose size the launch says, as bytes from which {@link SharedTile#at} cuts tiles.
   */
  public SharedTile dynamicShared() {
    var name = "dynamic";
    var first = declared.get(name);
    if (first != null && first.what.equals(DYNAMIC)) {
      throw new IllegalStateException(
          "%s: the dynamic shared memory was already declared at %s; cut tiles from it with at()"
              .formatted(here(), first.source));
    }
    declare(name, DYNAMIC);
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

  /** Waits for all lanes of the warp; what they wrote to memory before is seen after. */
  public void warpBarrier() {
    emit("bar.warp.sync", Immediate.of(-1));
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
   * Runs {@code body} on the device for {@code i = from, from + step, … < to}. The end and the step
   * are read once, before the loop; the counter is known within it only.
   *
   * @param step positive
   */
  public void loop(Int from, Int to, int step, Consumer<Int> body) {
    if (step <= 0) {
      throw new IllegalArgumentException("a loop's step must be positive, got " + step);
    }
    loop(from, to, integer(step), body);
  }

  /**
   * Runs {@code body} on the device for {@code i = from, from + step, … < to}. The end and the step
   * are read once, before the loop; the counter is known within it only.
   *
   * @param step positive
   */
  public void loop(Int from, Int to, Int step, Consumer<Int> body) {
    var outer = scope();
    var inner = new Scope(outer, true);
    var i = register(Type.S32);
    moveTo(inner, i);
    var top = new Statement.Label("$loop" + labels, here());
    var end = new Statement.Label("$end" + labels++, here());
    var first = from.operand();
    var held = held(to.operand());
    var heldStep = held(step.operand());
    within(inner, () -> body.accept(new Int(this, i, 0)));

    var bound = held.get();
    var by = heldStep.get();
    within(inner, () -> emit(outer, null, "mov.s32", List.of(i, first)));
    if (!isLess(first, bound)) {
      var over = register(Type.PRED);
      within(inner, () -> emit(outer, null, "setp.ge.s32", List.of(over, i, bound)));
      branch(new Guard(over, false), end);
    }
    // compared with the end less a step, so that the counter may come near the greatest number
    boolean wraps = mayWrap(bound, by);
    var last = wraps ? pure(Type.S32, "sub.sat.s32", bound, by) : bound;
    var again = register(Type.PRED);
    within(
        inner,
        () -> {
          if (wraps) {
            emit("setp.lt.s32", again, i, last);
            emit("add.s32", i, i, by);
          } else {
            emit("add.s32", i, i, by);
            emit("setp.lt.s32", again, i, last);
          }
        });
    outer.statements.add(top);
    outer.statements.addAll(inner.statements);
    branch(new Guard(again, false), top);
    outer.statements.add(end);
  }

  private static boolean isLess(Operand a, Operand b) {
    return a instanceof Immediate x && b instanceof Immediate y && x.bits() < y.bits();
  }

  /** Whether a counter below {@code bound} may become greater than an s32 by a step. */
  private static boolean mayWrap(Operand bound, Operand step) {
    if (!(step instanceof Immediate by)) {
      return true;
    }
    long greatest = bound instanceof Immediate b ? b.bits() : Integer.MAX_VALUE;
    return greatest - 1 + by.bits() > Integer.MAX_VALUE;
  }

  /** Runs {@code then} on the device in the threads where the condition holds. */
  public void when(Predicate condition, Runnable then) {
    var inner = new Scope(scope(), false);
    within(inner, then);
    var end = new Statement.Label("$skip" + labels++, here());
    branch(new Guard(condition.register, true), end);
    scope().statements.addAll(inner.statements);
    scope().statements.add(end);
  }

  /**
   * Runs {@code then} in the threads where the condition holds and {@code otherwise} in the others.
   */
  public void when(Predicate condition, Runnable then, Runnable otherwise) {
    var holds = new Scope(scope(), false);
    var fails = new Scope(scope(), false);
    within(holds, then);
    within(fails, otherwise);
    var other = new Statement.Label("$else" + labels, here());
    var end = new Statement.Label("$skip" + labels++, here());
    branch(new Guard(condition.register, true), other);
    scope().statements.addAll(holds.statements);
    branch(null, end);
    scope().statements.add(other);
    scope().statements.addAll(fails.statements);
    scope().statements.add(end);
  }

  // values

  /** A variable that starts as a value. */
  public Real.Variable variable(Real initial) {
    var register = variable(initial.type());
    emit("mov." + initial.type().word(), register, initial.operand());
    return new Real.Variable(this, initial.type(), register);
  }

  /** An integer variable that starts as a value. */
  public Int.Variable variable(Int initial) {
    var register = variable(Type.S32);
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
   * Adds the product of two fragments to {@code sum}. Every lane of the warp takes part.
   *
   * @param a registers as {@link Mma} says
   * @param b registers as {@link Mma} says
   * @param sum variables, f32 or s32 or f64 as {@link Mma} says
   */
  public void mma(
      Mma shape, List<? extends Value> a, List<? extends Value> b, List<? extends Value> sum) {
    for (var each : sum) {
      if (!(each instanceof Real.Variable || each instanceof Value.Accumulator)
          || each.type() != shape.sum()) {
        throw new IllegalArgumentException(
            "%s: mma adds to variables of .%s, got a %s of .%s; make the sums with accumulator()"
                .formatted(
                    here(),
                    shape.sum().word(),
                    each instanceof Real.Variable || each instanceof Value.Accumulator
                        ? "variable"
                        : "value",
                    each.type().word()));
      }
    }
    var c = vector(sum);
    requireFragment(a, shape.a());
    requireFragment(b, shape.b());
    emit(shape.instruction(), c, vector(a), vector(b), c);
  }

  /** A fragment's registers hold elements of its type, or bits that are packed elements. */
  private static void requireFragment(List<? extends Value> fragment, Type element) {
    for (var each : fragment) {
      var type = each.type();
      if (type != element && isFloat(type)) {
        throw new IllegalArgumentException(
            "%s: mma multiplies elements of .%s, got a value of .%s; convert it with to(), or say with as() that its bits are meant"
                .formatted(here(), element.word(), type.word()));
      }
    }
  }

  /**
   * A variable that starts as 0 and to which {@link #mma} adds.
   *
   * @param type f32, f64 or s32
   */
  public Value accumulator(Type type) {
    if (type != Type.S32) {
      return variable(real(type, 0));
    }
    var register = variable(type);
    emit("mov.s32", register, Immediate.of(0));
    return new Value.Accumulator(this, register);
  }

  /**
   * Adds the product of two fragments to {@code sum} outside the tensor cores: they add it to zero,
   * and additions of f32, rounded to nearest, do the rest. Every lane of the warp takes part.
   *
   * @param sum variables of f32
   */
  public void mmaThenAdd(
      Mma shape, List<? extends Value> a, List<? extends Value> b, List<? extends Value> sum) {
    var zero = pure(shape.sum(), "mov." + shape.sum().word(), Immediate.of(0f));
    var product = Stream.generate(() -> register(shape.sum())).limit(sum.size()).toList();
    emit(
        shape.instruction(),
        Operand.Vector.of(product),
        vector(a),
        vector(b),
        Operand.Vector.of(Collections.nCopies(sum.size(), zero)));
    for (int i = 0; i < sum.size(); i++) {
      var total = sum.get(i).operand();
      emit("add.rn.f32", total, total, product.get(i));
    }
  }

  /**
   * The result of any instruction of the table whose result depends on its operands alone, such as
   * {@code dp4a} or {@code prmt}; it is written where it stands.
   *
   * @param type of the result
   * @param instruction its full name, {@code prmt.b32}
   * @throws IllegalArgumentException when the table has no such instruction, or it takes floating
   *     point where an integer is given
   */
  public Value compute(Type type, String instruction, Value... sources) {
    var d = register(type);
    var operands = Stream.concat(Stream.of(d), Stream.of(sources).map(Value::operand)).toList();
    var written = emit(scope(), null, instruction, operands);
    requireNumber(written, 0, type, "the result was asked for as");
    for (int i = 0; i < sources.length; i++) {
      requireNumber(written, i + 1, sources[i].type(), "got a value of");
    }
    return type == Type.F32 || type == Type.F64
        ? new Real(this, type, d)
        : new Value(this, type, d);
  }

  /**
   * PTX itself takes the bits of any value of the width for a number.
   *
   * @param role of the operand, for the message
   */
  private static void requireNumber(
      Statement.Instruction written, int operand, Type given, String role) {
    var slot = written.form().operands().get(operand);
    var taken = slot.type(written.modifiers());
    boolean isValue =
        slot.kind() == OperandSlot.Kind.RESULT || slot.kind() == OperandSlot.Kind.SOURCE;
    if (isValue && given != taken && (isFloat(taken) || isFloat(given)) && !isBits(taken, given)) {
      throw new IllegalArgumentException(
          "%s: operand %s of %s is .%s, %s .%s; convert it, or say with as() that its bits are meant"
              .formatted(
                  written.source(),
                  slot.name(),
                  written.opcode(),
                  taken.word(),
                  role,
                  given.word()));
    }
  }

  private static boolean isFloat(Type type) {
    return type.kind() == Type.Kind.FLOAT || type.kind() == Type.Kind.PACKED;
  }

  private static boolean isBits(Type taken, Type given) {
    return taken.kind() == Type.Kind.BITS || given.kind() == Type.Kind.BITS;
  }

  /**
   * Combines a value of all lanes of each group of {@code width} in a warp; all receive it.
   *
   * @param width a power of two up to 32
   */
  public Real reduceLanes(Real value, int width, BinaryOperator<Real> combine) {
    if (Integer.bitCount(width) != 1 || width > WARP) {
      throw new IllegalArgumentException(
          "lanes are reduced in groups of 1, 2, 4, 8, 16 or 32, got %d".formatted(width));
    }
    requireWholeWarps("values are combined");
    var all = value;
    for (int distance = width / 2; distance > 0; distance /= 2) {
      all = combine.apply(all, all.fromLaneXor(distance));
    }
    return all;
  }

  /**
   * Combines values of all threads of a block, each by itself; all threads receive the results. The
   * order of combination is always the same. All threads must come here.
   *
   * @param threads of the block; whole warps are combined by exchange, others thread by thread
   * @param neutral what combines with a value to that value
   */
  public List<Real> reduceBlock(
      List<Real> values, int threads, double neutral, BinaryOperator<Real> combine) {
    if (threads < 1 || threads > width * height || (height > 1 && threads != width * height)) {
      throw new IllegalArgumentException(
          "a block of %d threads is reduced, but the kernel's blocks have %s%s"
              .formatted(threads, height == 1 ? "1 to " : "", shape(width, height)));
    }
    return new BlockReduction(this, threads, neutral, combine).of(values);
  }

  /** Refuses an exchange between lanes where the last warp of a block is not full. */
  void requireWholeWarps(String what) {
    if (width * height % WARP != 0) {
      throw new IllegalStateException(
          "%s: %s among the %d lanes of whole warps, but blocks have %s threads; make them a multiple of %d, or use reduceBlock"
              .formatted(here(), what, WARP, shape(width, height), WARP));
    }
  }

  static Operand.Vector vector(List<? extends Value> values) {
    return Operand.Vector.of(values.stream().map(Value::operand).toList());
  }
}
