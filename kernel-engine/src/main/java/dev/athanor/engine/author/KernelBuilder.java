package dev.athanor.engine.author;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.Kernel.SharedArray;
import dev.athanor.engine.ptx.LaunchBounds;
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
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Builds a kernel. Values are typed ({@link Int}, {@link Real}, {@link Predicate}). Java code, its
 * loops and conditions included, runs while the kernel is built; code in the builder's {@link
 * #loop} and {@link #when} runs on the device.
 *
 * <p>Integer arithmetic is hoisted out of device loops as far as its operands allow, and common
 * subexpressions are computed once. Index expressions can therefore be written where they are used.
 *
 * <p>Every instruction records the line of Java that emitted it; device faults name that line.
 */
public final class KernelBuilder {

  /** Number of threads of a warp. */
  public static final int WARP = Fragment.LANES;

  /** Identifiers that start with a letter (PTX ISA 4.4). */
  private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z][A-Za-z0-9_$]*");

  private static final String DYNAMIC = "the dynamic shared memory";

  private final List<Parameter> parameters = new ArrayList<>();
  private final List<SharedArray> shared = new ArrayList<>();
  private final Map<String, Declaration> declared = new HashMap<>();
  private final BodyEmitter emitter;
  private int labels;

  /**
   * A declared name.
   *
   * @param what the kind of the named object, with its article
   */
  private record Declaration(String what, Source source) {}

  private KernelBuilder(BlockShape block) {
    emitter = new BodyEmitter(block);
  }

  /**
   * Builds a kernel with one-dimensional blocks.
   *
   * @param maxThreads maximum number of threads of a block
   * @param author emits the body
   */
  public static Kernel build(String name, int maxThreads, Consumer<KernelBuilder> author) {
    var k = new KernelBuilder(new BlockShape(maxThreads, 1));
    // with a minimum of one resident block, the assembler does not spill for occupancy
    return k.build(name, new LaunchBounds(List.of(maxThreads, 1, 1), List.of(), 1, 0), author);
  }

  /**
   * Builds a kernel with two-dimensional blocks of exactly this shape.
   *
   * @param width threads along the first dimension, whose indices are consecutive
   * @param height threads along the second dimension
   * @param author emits the body
   */
  public static Kernel build(String name, int width, int height, Consumer<KernelBuilder> author) {
    var k = new KernelBuilder(new BlockShape(width, height));
    return k.build(name, new LaunchBounds(List.of(), List.of(width, height, 1), 1, 0), author);
  }

  /**
   * Builds a kernel whose blocks run in clusters, with one-dimensional blocks of exactly this many
   * threads.
   *
   * @param cluster blocks of a cluster, along the first dimension of the grid; 1 without clusters
   * @param author emits the body
   */
  public static Kernel buildCluster(
      String name, int threads, int cluster, Consumer<KernelBuilder> author) {
    var k = new KernelBuilder(new BlockShape(threads, 1));
    var limits = new LaunchBounds(List.of(), List.of(threads, 1, 1), 1, 0);
    return k.build(
        name,
        cluster == 1
            ? limits
            : limits.withClusterShape(List.of(cluster, 1, 1)).withExplicitCluster(),
        author);
  }

  private Kernel build(String name, LaunchBounds limits, Consumer<KernelBuilder> author) {
    if (!IDENTIFIER.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "`%s` is not a valid kernel name; use a letter followed by letters, digits, _ and $"
              .formatted(name));
    }
    author.accept(this);
    emitter.emit("ret");
    return new Kernel(name, parameters, shared, List.of(), limits, emitter.scope().statements);
  }

  // parameters

  /** Declares a parameter that points to elements of a type in global memory, to read and write. */
  public GlobalPointer pointer(String name, Type element) {
    requireBytes(element);
    return new GlobalPointer(emitter, element, parameter(name, Type.U64), false);
  }

  /**
   * Declares a parameter that points to elements that no thread of the device writes while the
   * kernel runs. Loads go through the read-only cache ({@code ld.global.nc}); stores are refused.
   */
  public GlobalPointer input(String name, Type element) {
    requireBytes(element);
    return new GlobalPointer(emitter, element, parameter(name, Type.U64), true);
  }

  /** Declares an integer parameter. */
  public Int integer(String name) {
    return new Int(emitter, parameter(name, Type.S32), 0);
  }

  /** Declares a 64-bit integer parameter. */
  public Wide wide(String name) {
    return new Wide(emitter, parameter(name, Type.S64));
  }

  /**
   * Declares a floating-point parameter.
   *
   * @param type f32 or f64
   */
  public Real real(String name, Type type) {
    Real.requireReal(type);
    return new Real(emitter, type, parameter(name, type));
  }

  /** Declares a tensor that is copied tile by tile. Its argument is a tensor map. */
  public TensorParameter tensor(String name) {
    declare(name, "a parameter");
    parameters.add(new Parameter(name, Type.B8, 64, TensorParameter.BYTES, false));
    return new TensorParameter(
        emitter, emitter.pure(Type.U64, "cvta.param.u64", new Operand.Symbol(name)));
  }

  private static void requireBytes(Type element) {
    if (element.bytes() == 0) {
      throw new IllegalArgumentException(
          "elements in memory must be at least one byte, got ." + element.word());
    }
  }

  private Register parameter(String name, Type type) {
    declare(name, "a parameter");
    parameters.add(new Parameter(name, type));
    return emitter.result(
        type, "ld.param." + type.word(), new Operand.Address(new Operand.Symbol(name), 0));
  }

  /** Declares a name, which must be unique among parameters and shared arrays. */
  private void declare(String name, String what) {
    if (!IDENTIFIER.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "%s: `%s` is not a valid name for %s; use a letter followed by letters, digits, _ and $"
              .formatted(BodyEmitter.here(), name, what));
    }
    var first = declared.putIfAbsent(name, new Declaration(what, BodyEmitter.here()));
    if (first != null) {
      throw new IllegalArgumentException(
          "%s: the name `%s` is already used for %s declared at %s; choose another name"
              .formatted(BodyEmitter.here(), name, first.what, first.source));
    }
  }

  /** Returns the index of this thread in its block, along the first dimension. */
  public Int thread() {
    return read(SpecialRegister.TID_X);
  }

  /** Returns the index of this thread along the second dimension of its block. */
  public Int threadY() {
    return read(SpecialRegister.TID_Y);
  }

  /** Returns the index of this thread among all threads of its block. */
  Int linearThread() {
    return emitter.block().isOneDimensional()
        ? thread()
        : threadY().times(emitter.block().width()).plus(thread());
  }

  /** Returns the index of this block in its grid, along the first dimension. */
  public Int block() {
    return read(SpecialRegister.CTAID_X);
  }

  /** Returns the index of this block along the second dimension of its grid. */
  public Int blockY() {
    return read(SpecialRegister.CTAID_Y);
  }

  /** Returns the index of this block along the third dimension of its grid. */
  public Int blockZ() {
    return read(SpecialRegister.CTAID_Z);
  }

  /** Returns the lane: the index of this thread in its warp. */
  public Int lane() {
    return linearThread().rem(WARP);
  }

  /** Returns the index of this thread's warp in its block. */
  public Int warp() {
    return linearThread().div(WARP);
  }

  /** Reads a special register. */
  public Int read(SpecialRegister register) {
    return new Int(emitter, emitter.pure(Type.U32, "mov.u32", register), 0);
  }

  /** Returns a constant. */
  public Int integer(int value) {
    return Int.of(emitter, value);
  }

  /** Returns a constant of f32 or f64. */
  public Real real(Type type, double value) {
    return Real.of(emitter, type, value);
  }

  /** Returns a 64-bit constant. */
  public Wide wide(long value) {
    return new Wide(emitter, emitter.pure(Type.S64, "mov.s64", new Immediate(Type.S64, value)));
  }

  // memory

  /**
   * Declares a row-major matrix in shared memory.
   *
   * @param rows at least 1
   * @param columns at least 1
   * @param pitch elements between the starts of consecutive rows; padding avoids bank conflicts
   */
  public SharedTile shared(Type element, int rows, int columns, int pitch) {
    requireBytes(element);
    long bytes = (long) rows * pitch * element.bytes();
    if (rows < 1 || columns < 1 || pitch < columns || bytes > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "a tile in shared memory needs at least 1 row and 1 column, a pitch of at least its columns, and less than 2 GiB; got %d rows of %d columns of .%s with a pitch of %d elements"
              .formatted(rows, columns, element.word(), pitch));
    }
    int number = shared.size();
    while (declared.containsKey("tile" + number)) {
      number++;
    }
    var name = "tile" + number;
    declare(name, "a tile in shared memory");
    shared.add(new SharedArray(name, 16, (int) bytes));
    return new SharedTile(
        emitter, element, rows, columns, pitch, Swizzle.NONE, address(name), integer(0));
  }

  /** Declares the dynamic shared memory, as bytes from which {@link SharedTile#at} cuts tiles. */
  public SharedTile dynamicShared() {
    return dynamicShared(Swizzle.CHUNK);
  }

  /**
   * Declares the dynamic shared memory.
   *
   * @param alignment of its first byte, in bytes, a power of two
   */
  public SharedTile dynamicShared(int alignment) {
    var name = "dynamic";
    var first = declared.get(name);
    if (first != null && first.what.equals(DYNAMIC)) {
      throw new IllegalStateException(
          "%s: the dynamic shared memory was already declared at %s; cut tiles from it with at()"
              .formatted(BodyEmitter.here(), first.source));
    }
    declare(name, DYNAMIC);
    shared.add(new SharedArray(name, alignment, SharedArray.DYNAMIC));
    return new SharedTile(emitter, Type.B8, 1, 1, 1, Swizzle.NONE, address(name), integer(0));
  }

  private Int address(String array) {
    return new Int(emitter, emitter.pure(Type.U32, "mov.u32", new Operand.Symbol(array)), 0);
  }

  /** Waits for all threads of the block; their earlier writes to memory are visible afterwards. */
  public void barrier() {
    emitter.emit("bar.sync", Immediate.of(0));
  }

  /**
   * Waits for some threads of the block; their earlier writes to memory are visible afterwards.
   *
   * @param number of the barrier, 1 to 15; {@link #barrier()} is 0
   * @param threads that wait: whole warps
   */
  public void barrier(Int number, int threads) {
    emitter.emit("bar.sync", number.operand(), Immediate.of(threads));
  }

  /**
   * Arrives at a barrier without waiting; earlier writes to memory are visible to the threads that
   * wait there.
   *
   * @param number of the barrier, 1 to 15
   * @param threads that arrive or wait: whole warps
   */
  public void arrive(Int number, int threads) {
    emitter.emit("bar.arrive", number.operand(), Immediate.of(threads));
  }

  /** Waits for all lanes of the warp; their earlier writes to memory are visible afterwards. */
  public void warpBarrier() {
    emitter.emit("bar.warp.sync", Immediate.of(-1));
  }

  /**
   * Waits until the previous launch of the stream has completed, whose writes are visible
   * afterwards. A kernel of dependent launches executes it before it reads what earlier launches
   * write, and before it writes what they access. Returns at once in other launches, and has no
   * instruction before sm_90 (PTX ISA 9.7.13.13).
   */
  public void awaitPreviousGrid() {
    emitter.emit("griddepcontrol.wait");
  }

  /**
   * Lets a dependent launch that follows begin, once every block has executed it or ended. Makes no
   * writes visible: that launch waits with {@link #awaitPreviousGrid}. Has no effect before sm_90.
   */
  public void launchDependents() {
    emitter.emit("griddepcontrol.launch_dependents");
  }

  /** Commits the asynchronous copies that this thread issued since the last group as a group. */
  public void commitCopies() {
    emitter.emit("cp.async.commit_group");
  }

  /** Waits until at most the {@code newest} most recent groups of the thread are pending. */
  public void awaitCopies(int newest) {
    emitter.emit("cp.async.wait_group", Immediate.of(newest));
  }

  /** Commits the bulk copies from shared memory that this thread issued as a group. */
  public void commitBulkCopies() {
    emitter.emit("cp.async.bulk.commit_group");
  }

  /**
   * Waits until at most the {@code newest} most recent groups of bulk copies of the thread still
   * read shared memory.
   */
  public void awaitBulkReads(int newest) {
    emitter.emit("cp.async.bulk.wait_group.read", Immediate.of(newest));
  }

  // control flow

  /**
   * Runs {@code body} on the device for {@code i = from, from + step, … < to}. The end and the step
   * are read once, before the loop; the counter is available only inside it.
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
   * are read once, before the loop; the counter is available only inside it.
   *
   * @param step positive
   */
  public void loop(Int from, Int to, Int step, Consumer<Int> body) {
    var outer = emitter.scope();
    var inner = new Scope(outer, true);
    var i = emitter.register(Type.S32);
    emitter.moveTo(inner, i);
    var top = new Statement.Label("$loop" + labels, BodyEmitter.here());
    var end = new Statement.Label("$end" + labels++, BodyEmitter.here());
    var first = from.operand();
    var capturedEnd = emitter.capture(to.operand());
    var capturedStep = emitter.capture(step.operand());
    emitter.within(inner, () -> body.accept(new Int(emitter, i, 0)));

    var bound = capturedEnd.get();
    var by = capturedStep.get();
    emitter.within(inner, () -> emitter.emit(outer, null, "mov.s32", List.of(i, first)));
    if (!isLess(first, bound)) {
      var over = emitter.register(Type.PRED);
      emitter.within(
          inner, () -> emitter.emit(outer, null, "setp.ge.s32", List.of(over, i, bound)));
      emitter.branch(new Guard(over, false), end);
    }
    // compares with the end minus a step, so that the counter does not overflow
    boolean wraps = mayWrap(bound, by);
    var last = wraps ? emitter.pure(Type.S32, "sub.sat.s32", bound, by) : bound;
    var again = emitter.register(Type.PRED);
    emitter.within(
        inner,
        () -> {
          if (wraps) {
            emitter.emit("setp.lt.s32", again, i, last);
            emitter.emit("add.s32", i, i, by);
          } else {
            emitter.emit("add.s32", i, i, by);
            emitter.emit("setp.lt.s32", again, i, last);
          }
        });
    outer.statements.add(top);
    outer.statements.addAll(inner.statements);
    emitter.branch(new Guard(again, false), top);
    outer.statements.add(end);
  }

  private static boolean isLess(Operand a, Operand b) {
    return a instanceof Immediate x && b instanceof Immediate y && x.bits() < y.bits();
  }

  /** Returns whether a counter below {@code bound} may overflow an s32 by a step. */
  private static boolean mayWrap(Operand bound, Operand step) {
    if (!(step instanceof Immediate by)) {
      return true;
    }
    long greatest = bound instanceof Immediate b ? b.bits() : Integer.MAX_VALUE;
    return greatest - 1 + by.bits() > Integer.MAX_VALUE;
  }

  /** Runs {@code then} on the device in threads where the condition holds. */
  public void when(Predicate condition, Runnable then) {
    var inner = new Scope(emitter.scope(), false);
    emitter.within(inner, then);
    var end = new Statement.Label("$skip" + labels++, BodyEmitter.here());
    emitter.branch(new Guard(condition.register(), true), end);
    emitter.scope().statements.addAll(inner.statements);
    emitter.scope().statements.add(end);
  }

  /** Runs {@code then} in threads where the condition holds, and {@code otherwise} in the rest. */
  public void when(Predicate condition, Runnable then, Runnable otherwise) {
    var holds = new Scope(emitter.scope(), false);
    var fails = new Scope(emitter.scope(), false);
    emitter.within(holds, then);
    emitter.within(fails, otherwise);
    var other = new Statement.Label("$else" + labels, BodyEmitter.here());
    var end = new Statement.Label("$skip" + labels++, BodyEmitter.here());
    emitter.branch(new Guard(condition.register(), true), other);
    emitter.scope().statements.addAll(holds.statements);
    emitter.branch(null, end);
    emitter.scope().statements.add(other);
    emitter.scope().statements.addAll(fails.statements);
    emitter.scope().statements.add(end);
  }

  /** Repeats an attempt on the device until the condition that it returns holds. */
  void repeatUntil(Supplier<Predicate> attempt) {
    var inner = new Scope(emitter.scope(), true);
    var again = new Statement.Label("$again" + labels++, BodyEmitter.here());
    emitter.within(inner, () -> emitter.branch(new Guard(attempt.get().register(), true), again));
    emitter.scope().statements.add(again);
    emitter.scope().statements.addAll(inner.statements);
  }

  /** Returns whether this thread is the one that the converged lanes of its warp elect. */
  public Predicate elect() {
    var elected = emitter.register(Type.PRED);
    emitter.emit("elect.sync", new Operand.Pair(new Operand.Sink(), elected), Immediate.of(-1));
    return new Predicate(emitter, elected);
  }

  BodyEmitter emitter() {
    return emitter;
  }

  // values

  /** Declares a variable with an initial value. */
  public Real.Variable variable(Real initial) {
    var register = emitter.variable(initial.type());
    emitter.emit("mov." + initial.type().word(), register, initial.operand());
    return new Real.Variable(emitter, initial.type(), register);
  }

  /** Declares an integer variable with an initial value. */
  public Int.Variable variable(Int initial) {
    var register = emitter.variable(Type.S32);
    emitter.emit("mov.s32", register, initial.operand());
    return new Int.Variable(emitter, register);
  }

  /** Declares a variable of any type with an initial value. */
  public Value.Variable variable(Value initial) {
    var register = emitter.variable(initial.type());
    emitter.emit("mov." + initial.type().registerClass().word(), register, initial.operand());
    return new Value.Variable(emitter, initial.type(), register);
  }

  /** Declares variables with the values of a fragment as initial values. */
  public MatrixFragment variable(MatrixFragment initial) {
    return initial.map(value -> value instanceof Real number ? variable(number) : variable(value));
  }

  /** Packs two 16-bit values into one register, the first in the low half. */
  public Value pack(Value low, Value high) {
    return Value.pack(low, high);
  }

  /**
   * Adds the product of two fragments to {@code sum}. All lanes of the warp must participate.
   *
   * @param a registers of {@link Mma}'s first fragment
   * @param b registers of {@link Mma}'s second fragment
   * @param sum variables of {@link Mma}'s accumulator type
   */
  public void mma(
      Mma shape, List<? extends Value> a, List<? extends Value> b, List<? extends Value> sum) {
    for (var each : sum) {
      if (!(each instanceof Real.Variable || each instanceof Value.Accumulator)
          || each.type() != shape.sum()) {
        throw new IllegalArgumentException(
            "%s: mma accumulates into variables of .%s, got a %s of .%s; create them with accumulator()"
                .formatted(
                    BodyEmitter.here(),
                    shape.sum().word(),
                    each instanceof Real.Variable || each instanceof Value.Accumulator
                        ? "variable"
                        : "value",
                    each.type().word()));
      }
    }
    var c = Value.vector(sum);
    requireFragment(a, shape.a());
    requireFragment(b, shape.b());
    emitter.emit(shape.instruction(), c, Value.vector(a), Value.vector(b), c);
  }

  /** Adds the product of two fragments to {@code sum}, as {@link #mma(Mma, List, List, List)}. */
  public void mma(Mma shape, MatrixFragment a, MatrixFragment b, MatrixFragment sum) {
    mma(shape, a.registers(), b.registers(), sum.registers());
  }

  /**
   * Adds the product of two matrices in shared memory to {@code sum} with {@code wgmma}: 64 rows of
   * a, and 8 columns of b per fragment of {@code sum}. All four warps of a warpgroup must
   * participate. The instruction runs asynchronously: {@link #fenceProducts} must come before the
   * first of a group of products, {@link #commitProducts} after the last, and the sums are
   * available after {@link #awaitProducts}.
   *
   * @param shape the types of the factors and sums, and the depth of the product
   * @param a {@linkplain SharedTile#descriptor descriptor} of a
   * @param b descriptor of b
   * @param rowsOfA whether the rows of a in memory run along K, not M
   * @param rowsOfB whether the rows of b in memory run along K, not N
   * @param sum accumulators: of each warp, 16 rows as in {@code Fragments.C_16X8}
   */
  public void multiplyAsync(
      Mma shape, Wide a, Wide b, boolean rowsOfA, boolean rowsOfB, List<MatrixFragment> sum) {
    multiplyAsync(shape, a, b, rowsOfA, rowsOfB, sum, true);
  }

  /**
   * Multiplies like the method above.
   *
   * @param adds whether the products are added to the sums; otherwise they replace them
   */
  public void multiplyAsync(
      Mma shape,
      Wide a,
      Wide b,
      boolean rowsOfA,
      boolean rowsOfB,
      List<MatrixFragment> sum,
      boolean adds) {
    multiplyAsync(shape, a, b, rowsOfA, rowsOfB, sum, Immediate.of(adds ? 1 : 0));
  }

  /**
   * Multiplies like the method above.
   *
   * @param adds the same in all threads of the warpgroup
   */
  public void multiplyAsync(
      Mma shape,
      Wide a,
      Wide b,
      boolean rowsOfA,
      boolean rowsOfB,
      List<MatrixFragment> sum,
      Predicate adds) {
    multiplyAsync(shape, a, b, rowsOfA, rowsOfB, sum, adds.register());
  }

  private void multiplyAsync(
      Mma shape,
      Wide a,
      Wide b,
      boolean rowsOfA,
      boolean rowsOfB,
      List<MatrixFragment> sum,
      Operand adds) {
    var layouts = new ArrayList<Operand>();
    if (shape.a().bits() == 16) {
      layouts.add(Immediate.of(rowsOfA ? 0 : 1));
      layouts.add(Immediate.of(rowsOfB ? 0 : 1));
    } else if (!rowsOfA || !rowsOfB) {
      throw new IllegalArgumentException(
          "%s: wgmma multiplies .%s only if rows run along K"
              .formatted(BodyEmitter.here(), shape.a().word()));
    }
    multiplyAsync(shape, a.register(), b, layouts, sum, adds);
  }

  /**
   * Adds the product of a matrix in registers and one in shared memory to {@code sum}, like {@link
   * #multiplyAsync(Mma, Wide, Wide, boolean, boolean, List)}. Nothing may write the registers of a
   * between {@link #fenceProducts} and {@link #awaitProducts}.
   *
   * @param shape of 16-bit factors
   * @param a of each warp, 16 rows as in {@code Fragments.A_16X16}
   * @param b {@linkplain SharedTile#descriptor descriptor} of b
   * @param rowsOfB whether the rows of b in memory run along K, not N
   */
  public void multiplyAsync(
      Mma shape, MatrixFragment a, Wide b, boolean rowsOfB, List<MatrixFragment> sum) {
    if (shape.a().bits() != 16) {
      throw new IllegalArgumentException(
          "%s: a factor in registers is of .f16 or .bf16, got .%s"
              .formatted(BodyEmitter.here(), shape.a().word()));
    }
    requireFragment(a.registers(), shape.a());
    var layout = List.<Operand>of(Immediate.of(rowsOfB ? 0 : 1));
    multiplyAsync(shape, Value.vector(a.registers()), b, layout, sum, Immediate.of(1));
  }

  /**
   * Emits a product.
   *
   * @param layouts of the factors in shared memory whose layouts can be chosen: 0 if rows run along
   *     K, else 1
   */
  private void multiplyAsync(
      Mma shape, Operand a, Wide b, List<Operand> layouts, List<MatrixFragment> sum, Operand adds) {
    var registers = sum.stream().flatMap(part -> part.registers().stream()).toList();
    var operands = new ArrayList<Operand>(List.of(Value.vector(registers), a, b.register(), adds));
    if (shape.sum() == Type.F32) {
      operands.addAll(List.of(Immediate.of(1), Immediate.of(1))); // the signs of a and b
    }
    operands.addAll(layouts);
    emitter.emit(shape.asyncInstruction(8 * sum.size()), operands.toArray(Operand[]::new));
  }

  /**
   * Orders accesses to accumulators and to shared memory before the products that follow (PTX ISA
   * 9.7.15.7.1).
   */
  public void fenceProducts() {
    emitter.emit("wgmma.fence.sync.aligned");
  }

  /** Commits the products that the warpgroup issued since the last group as a group. */
  public void commitProducts() {
    emitter.emit("wgmma.commit_group.sync.aligned");
  }

  /** Waits until at most the {@code newest} most recent groups of products are pending. */
  public void awaitProducts(int newest) {
    emitter.emit("wgmma.wait_group.sync.aligned", Immediate.of(newest));
  }

  /**
   * Makes this thread's writes to shared memory, among them its completed asynchronous copies,
   * visible to {@link #multiplyAsync} after the next barrier (PTX ISA 8.6).
   */
  public void fenceAsyncProxy() {
    emitter.emit("fence.proxy.async.shared::cta");
  }

  /** A fragment's registers hold elements of its type, or packed elements as bits. */
  private static void requireFragment(List<? extends Value> fragment, Type element) {
    for (var each : fragment) {
      var type = each.type();
      if (type != element && isFloat(type)) {
        throw new IllegalArgumentException(
            "%s: mma multiplies elements of .%s, got a value of .%s; convert it with to(), or reinterpret its bits with as()"
                .formatted(BodyEmitter.here(), element.word(), type.word()));
      }
    }
  }

  /**
   * Declares a variable, initially 0, that {@link #mma} accumulates into.
   *
   * @param type f32, f64 or s32
   */
  public Value accumulator(Type type) {
    if (type != Type.S32) {
      return variable(real(type, 0));
    }
    var register = emitter.variable(type);
    emitter.emit("mov.s32", register, Immediate.of(0));
    return new Value.Accumulator(emitter, register);
  }

  /** Declares the accumulator of an instruction, initially 0. */
  public MatrixFragment accumulator(Mma shape) {
    return new MatrixFragment(
        Stream.generate(() -> accumulator(shape.sum())).limit(shape.registersSum()).toList());
  }

  /** Declares a sum of products of {@link OpaqueMatrix}, initially 0. */
  public OpaqueMatrix.Sum opaqueSum() {
    return OpaqueMatrix.Sum.zero(emitter);
  }

  /**
   * Adds the product of two matrices to {@code sum} with {@code wmma}. All lanes of the warp must
   * participate.
   */
  public void multiply(OpaqueMatrix.Factor a, OpaqueMatrix.Factor b, OpaqueMatrix.Sum sum) {
    if (a.side() != OpaqueMatrix.Side.A || b.side() != OpaqueMatrix.Side.B) {
      throw new IllegalArgumentException(
          "%s: wmma multiplies a matrix A by a matrix B, got %s and %s"
              .formatted(BodyEmitter.here(), a.side(), b.side()));
    }
    emitter.emit(
        "wmma.mma.sync.aligned.%s.%s.%s.f32.f32"
            .formatted(a.layout(), b.layout(), OpaqueMatrix.SHAPE),
        sum.registers(),
        a.registers(),
        b.registers(),
        sum.registers());
  }

  /** Adds outside the tensor cores, as {@link #mmaThenAdd(Mma, List, List, List)}. */
  public void mmaThenAdd(Mma shape, MatrixFragment a, MatrixFragment b, MatrixFragment sum) {
    mmaThenAdd(shape, a.registers(), b.registers(), sum.registers());
  }

  /**
   * Adds the product of two fragments to {@code sum} outside the tensor cores: they multiply with a
   * zero accumulator, and f32 additions, rounded to nearest, update the sums. All lanes of the warp
   * must participate.
   *
   * @param sum variables of f32
   */
  public void mmaThenAdd(
      Mma shape, List<? extends Value> a, List<? extends Value> b, List<? extends Value> sum) {
    var zero = emitter.pure(shape.sum(), "mov." + shape.sum().word(), Immediate.of(0f));
    var product = Stream.generate(() -> emitter.register(shape.sum())).limit(sum.size()).toList();
    emitter.emit(
        shape.instruction(),
        Operand.Vector.of(product),
        Value.vector(a),
        Value.vector(b),
        Operand.Vector.of(Collections.nCopies(sum.size(), zero)));
    for (int i = 0; i < sum.size(); i++) {
      var total = sum.get(i).operand();
      emitter.emit("add.rn.f32", total, total, product.get(i));
    }
  }

  /**
   * Emits any pure instruction of the table, such as {@code dp4a} or {@code prmt}, and returns its
   * result.
   *
   * @param type type of the result
   * @param instruction the full opcode, such as {@code prmt.b32}
   * @throws IllegalArgumentException if the table has no such instruction, or an operand mixes
   *     floating point and integers
   */
  public Value compute(Type type, String instruction, Value... sources) {
    var d = emitter.register(type);
    var operands = Stream.concat(Stream.of(d), Stream.of(sources).map(Value::operand)).toList();
    var written = emitter.emit(emitter.scope(), null, instruction, operands);
    requireNumber(written, 0, type, "the requested result is");
    for (int i = 0; i < sources.length; i++) {
      requireNumber(written, i + 1, sources[i].type(), "got a value of");
    }
    return type == Type.F32 || type == Type.F64
        ? new Real(emitter, type, d)
        : new Value(emitter, type, d);
  }

  /**
   * PTX would reinterpret the bits of any value of the same width.
   *
   * @param role the operand's role, for the message
   */
  private static void requireNumber(
      Statement.Instruction written, int operand, Type given, String role) {
    var slot = written.form().operands().get(operand);
    var taken = slot.type(written.modifiers());
    boolean isValue =
        slot.kind() == OperandSlot.Kind.RESULT || slot.kind() == OperandSlot.Kind.SOURCE;
    if (isValue && given != taken && (isFloat(taken) || isFloat(given)) && !isBits(taken, given)) {
      throw new IllegalArgumentException(
          "%s: operand %s of %s is .%s, %s .%s; convert it, or reinterpret its bits with as()"
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
   * Reduces a value over each group of {@code width} lanes of a warp; all lanes get the result.
   *
   * @param width a power of two up to 32
   */
  public Real reduceLanes(Real value, int width, BinaryOperator<Real> combine) {
    if (Integer.bitCount(width) != 1 || width > WARP) {
      throw new IllegalArgumentException(
          "lanes are reduced in groups of 1, 2, 4, 8, 16 or 32 lanes, got %d".formatted(width));
    }
    emitter.requireFullWarps("values are reduced");
    var all = value;
    for (int distance = width / 2; distance > 0; distance /= 2) {
      all = combine.apply(all, all.fromLaneXor(distance));
    }
    return all;
  }

  /** Returns the sum of the values of this lane and all lower lanes of the warp. */
  public Int prefixSum(Int value) {
    var sum = value;
    for (int distance = 1; distance < WARP; distance *= 2) {
      var other = sum.value().fromLaneBelow(distance).integer();
      sum = sum.plus(integer(0).where(lane().lt(distance), other));
    }
    return sum;
  }

  /**
   * Reduces values over all threads of a block, each separately; all threads get the results. The
   * order of the reduction is deterministic. All threads must participate.
   *
   * @param threads number of threads of the block; full warps are reduced by shuffles, partial
   *     warps through shared memory
   * @param neutral the neutral element of {@code combine}
   */
  public List<Real> reduceBlock(
      List<Real> values, int threads, double neutral, BinaryOperator<Real> combine) {
    var block = emitter.block();
    boolean oneDimensional = block.isOneDimensional();
    if (threads < 1
        || threads > block.threads()
        || (!oneDimensional && threads != block.threads())) {
      throw new IllegalArgumentException(
          "cannot reduce over %d threads: the kernel's blocks have %s%s threads"
              .formatted(threads, oneDimensional ? "1 to " : "", block));
    }
    return new BlockReduction(this, threads, neutral, combine).of(values);
  }
}
