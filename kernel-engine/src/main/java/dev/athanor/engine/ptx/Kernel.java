package dev.athanor.engine.ptx;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * An entry function.
 *
 * @param shared arrays of shared memory, in layout order
 * @param locals variables of each thread: local memory, and parameters of calls; and constants,
 *     which the module declares
 * @param launchBounds launch bounds
 * @param body statements; the end of the body returns
 */
public record Kernel(
    String name,
    List<Parameter> parameters,
    List<SharedArray> shared,
    List<Variable> locals,
    LaunchBounds launchBounds,
    List<Statement> body) {
  public Kernel {
    parameters = List.copyOf(parameters);
    shared = List.copyOf(shared);
    locals = List.copyOf(locals);
    body = List.copyOf(body);
  }

  /**
   * Creates a kernel without local variables.
   *
   * @param maxThreads maximum number of threads per block; 0 = not declared
   * @param minBlocks minimum number of resident blocks per multiprocessor; 0 = not declared
   */
  public Kernel(
      String name,
      List<Parameter> parameters,
      List<SharedArray> shared,
      int maxThreads,
      int minBlocks,
      List<Statement> body) {
    this(
        name,
        parameters,
        shared,
        List.of(),
        LaunchBounds.NONE
            .withMaxBlockShape(maxThreads > 0 ? List.of(maxThreads, 1, 1) : List.of())
            .withMinBlocks(minBlocks),
        body);
  }

  /** Returns the maximum number of threads per block; 0 if not declared. */
  public int maxThreads() {
    return launchBounds.maxThreads();
  }

  /**
   * Returns the minimum number of resident blocks per multiprocessor, which limits registers; 0 if
   * not declared.
   */
  public int minBlocks() {
    return launchBounds.minBlocks();
  }

  /**
   * A parameter. Pointers are {@link Type#U64}.
   *
   * @param alignment alignment in bytes
   * @param count number of array elements; {@link Variable#SCALAR} for a scalar
   * @param inRegister whether it is passed in a register; only device functions have such
   *     parameters
   */
  public record Parameter(String name, Type type, int alignment, int count, boolean inRegister) {
    /** Creates a scalar parameter. */
    public Parameter(String name, Type type) {
      this(name, type, type.bytes(), Variable.SCALAR, false);
    }

    public int bytes() {
      return Math.max(1, count) * type.bytes();
    }

    /** Returns the declaration. */
    @Override
    public String toString() {
      return (inRegister ? ".reg ." + type.registerClass().word() : ".param ")
          + (inRegister
              ? ""
              : (count == Variable.SCALAR && alignment == type.bytes()
                      ? ""
                      : ".align " + alignment + " ")
                  + "."
                  + type.word())
          + " "
          + name
          + (count == Variable.SCALAR ? "" : count == Variable.UNSIZED ? "[]" : "[" + count + "]");
    }
  }

  /**
   * An array in shared memory.
   *
   * @param alignment alignment in bytes, a power of two; at least 16 for a dynamic array
   * @param bytes size in bytes; {@link #DYNAMIC} if the launch determines it
   * @param isModuleScope whether it is declared at module scope and shared by all functions
   */
  public record SharedArray(String name, int alignment, int bytes, boolean isModuleScope) {
    public static final int DYNAMIC = -1;

    /** Minimum alignment of dynamic shared memory in bytes, as in ptxas. */
    public static final int DYNAMIC_ALIGNMENT = 16;

    /** Creates an array. Dynamic arrays are declared at module scope, others in the kernel. */
    public SharedArray(String name, int alignment, int bytes) {
      this(name, alignment, bytes, bytes == DYNAMIC);
    }

    public SharedArray {
      alignment = bytes == DYNAMIC ? Math.max(alignment, DYNAMIC_ALIGNMENT) : alignment;
    }

    public boolean isDynamic() {
      return bytes == DYNAMIC;
    }
  }

  /** Returns the variables that the kernel itself declares. */
  public List<Variable> declaredLocals() {
    return locals.stream().filter(each -> each.space() != Modifier.Space.CONST).toList();
  }

  /** Returns the constants that it needs its module to declare. */
  public List<Variable> constants() {
    return locals.stream().filter(each -> each.space() == Modifier.Space.CONST).toList();
  }

  /** Returns this kernel with the constants of its module. */
  public Kernel withConstants(List<Variable> constants) {
    var all = Stream.concat(declaredLocals().stream(), constants.stream()).toList();
    return new Kernel(name, parameters, shared, all, launchBounds, body);
  }

  /** Returns this kernel with another body. */
  public Kernel withBody(List<Statement> other) {
    return new Kernel(name, parameters, shared, locals, launchBounds, other);
  }

  /** Does not visit the body, so that large modules are found quickly in caches. */
  @Override
  public int hashCode() {
    return Objects.hash(name, parameters, body.size());
  }

  /** Returns the instructions, without labels. */
  public Stream<Statement.Instruction> instructions() {
    return body.stream()
        .filter(Statement.Instruction.class::isInstance)
        .map(Statement.Instruction.class::cast);
  }

  /** Returns whether an instruction computes numbers of a type, which copies and moves do not. */
  public boolean computesIn(Type type) {
    return instructions()
        .anyMatch(i ->
            i.form().semantics() instanceof Semantics.Computation
                && i.modifiers().types().contains(type));
  }

  /** Returns whether an atomic operation has a number of bits. */
  public boolean hasAtomics(int bits) {
    return instructions()
        .filter(i -> i.form().semantics() instanceof Semantics.Atomic)
        .anyMatch(i -> i.modifiers().types().stream().anyMatch(type -> type.bits() == bits));
  }

  /** Returns whether it has {@code wmma} instructions, whose fragments have no known layout. */
  public boolean hasOpaqueProducts() {
    return instructions()
        .map(i -> i.form().semantics())
        .anyMatch(
            each -> each instanceof Semantics.LoadTile || each instanceof Semantics.StoreTile);
  }

  /** Returns the functions of the device runtime that it calls. */
  public Stream<RuntimeFunction> runtimeFunctions() {
    return instructions()
        .filter(i -> i.form().semantics() instanceof Semantics.Call)
        .flatMap(i -> i.operands().stream())
        .filter(Operand.Symbol.class::isInstance)
        .flatMap(callee -> RuntimeFunction.of(((Operand.Symbol) callee).name()).stream())
        .distinct();
  }

  /** Returns all registers of the body, in order of first appearance. */
  public Collection<Operand.Register> registers() {
    var all = new LinkedHashSet<Operand.Register>();
    instructions()
        .forEach(i -> {
          all.addAll(i.writes());
          all.addAll(i.reads());
        });
    return all;
  }

  /** Returns the byte offsets of the shared arrays in the block's shared memory. */
  public Map<String, Integer> sharedOffsets() {
    return offsets(sharedLayout());
  }

  /**
   * Returns the bytes of static shared memory per block, aligned for a dynamic array if there is
   * one.
   */
  public int staticSharedBytes() {
    return end(sharedLayout());
  }

  /** Returns the byte offsets of the parameters in the parameter space, in their order. */
  public Map<String, Integer> parameterOffsets() {
    return offsets(parameterLayout());
  }

  /** Returns the size of the parameter space in bytes. */
  public int parameterBytes() {
    return end(parameterLayout());
  }

  /** Returns the byte offsets of the local variables in a thread's local memory. */
  public Map<String, Integer> localOffsets() {
    return offsets(localLayout());
  }

  /** Returns the bytes of local memory per thread. */
  public int localBytes() {
    return end(localLayout());
  }

  /** An entry of a memory layout; starts at a multiple of its alignment. */
  private record LayoutEntry(String name, int alignment, int bytes) {}

  private List<LayoutEntry> sharedLayout() {
    if (shared.isEmpty()) {
      return List.of(); // launches ask often
    }
    return Stream.concat(
            shared.stream().filter(s -> !s.isDynamic()),
            shared.stream().filter(SharedArray::isDynamic))
        .map(s -> new LayoutEntry(s.name(), s.alignment(), s.isDynamic() ? 0 : s.bytes()))
        .toList();
  }

  private List<LayoutEntry> parameterLayout() {
    return parameters.stream()
        .map(p -> new LayoutEntry(p.name(), p.alignment(), p.bytes()))
        .toList();
  }

  private List<LayoutEntry> localLayout() {
    return locals.stream()
        .map(v -> new LayoutEntry(v.name(), v.alignment(), saturated(v.bytes())))
        .toList();
  }

  private static Map<String, Integer> offsets(List<LayoutEntry> pieces) {
    var offsets = new LinkedHashMap<String, Integer>();
    long at = 0;
    for (var piece : pieces) {
      at = align(at, piece.alignment);
      offsets.put(piece.name, saturated(at));
      at += piece.bytes;
    }
    return offsets;
  }

  private static int end(List<LayoutEntry> pieces) {
    long at = 0;
    for (var piece : pieces) {
      at = align(at, piece.alignment) + piece.bytes;
    }
    return saturated(at);
  }

  private static long align(long at, int alignment) {
    return Math.ceilDiv(at, alignment) * alignment;
  }

  /** Saturates: sizes beyond an int exceed every limit. */
  private static int saturated(long bytes) {
    return (int) Math.min(bytes, Integer.MAX_VALUE);
  }
}
