package dev.athanor.engine.ptx;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.stream.Stream;

/**
 * An entry function.
 *
 * @param shared the arrays of shared memory, in the order in which they are laid out
 * @param locals what each thread has for itself: local memory, and what it hands over in calls
 * @param limits its launch bounds
 * @param body the statements; falling off the end returns
 */
public record Kernel(
    String name,
    List<Parameter> parameters,
    List<SharedArray> shared,
    List<Variable> locals,
    Limits limits,
    List<Statement> body) {

  public Kernel {
    parameters = List.copyOf(parameters);
    shared = List.copyOf(shared);
    locals = List.copyOf(locals);
    body = List.copyOf(body);
  }

  /**
   * A kernel without local variables.
   *
   * @param maxThreads the greatest number of threads a block may have; 0 = not said
   * @param minBlocks how many blocks should at least fit on a multiprocessor; 0 = not said
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
        Limits.NONE
            .withMostThreads(maxThreads > 0 ? List.of(maxThreads, 1, 1) : List.of())
            .withMinBlocks(minBlocks),
        body);
  }

  /** The greatest number of threads a block may have; 0 = not said. */
  public int maxThreads() {
    return limits.maxThreads();
  }

  /**
   * How many blocks should at least fit on a multiprocessor, which bounds the registers; 0 = not
   * said.
   */
  public int minBlocks() {
    return limits.minBlocks();
  }

  /**
   * A parameter; pointers are {@link Type#U64}.
   *
   * @param alignment in bytes
   * @param count the elements of an array; {@link Variable#SCALAR} when it is none
   * @param inRegister whether it is handed over in a register, as only functions have it
   */
  public record Parameter(String name, Type type, int alignment, int count, boolean inRegister) {

    /** A scalar. */
    public Parameter(String name, Type type) {
      this(name, type, type.bytes(), Variable.SCALAR, false);
    }

    public int bytes() {
      return Math.max(1, count) * type.bytes();
    }

    /** The declaration. */
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
          + (count == Variable.SCALAR ? "" : count == Variable.OPEN ? "[]" : "[" + count + "]");
    }
  }

  /**
   * An array in shared memory.
   *
   * @param alignment in bytes, a power of two; at least 16 for a dynamic one
   * @param bytes its size; {@link #DYNAMIC} when the launch says it
   * @param ofModule whether it is declared outside of functions, so that all mean the same one
   */
  public record SharedArray(String name, int alignment, int bytes, boolean ofModule) {
    public static final int DYNAMIC = -1;

    /** The least alignment of dynamic shared memory, in bytes, which ptxas gives it. */
    public static final int DYNAMIC_ALIGNMENT = 16;

    /** An array of one kernel; a dynamic one is always declared outside. */
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

  /** The instructions, without the labels. */
  public Stream<Statement.Instruction> instructions() {
    return body.stream()
        .filter(Statement.Instruction.class::isInstance)
        .map(Statement.Instruction.class::cast);
  }

  /** Every register of the body, in order of first appearance. */
  public Collection<Operand.Register> registers() {
    var all = new LinkedHashSet<Operand.Register>();
    instructions()
        .forEach(i -> {
          all.addAll(i.writes());
          all.addAll(i.reads());
        });
    return all;
  }

  /** The byte offset of a shared array from the start of the block's shared memory. */
  public OptionalInt sharedOffset(String array) {
    return offset(sharedPieces(), array);
  }

  /**
   * The bytes of shared memory of a block, without the dynamic part; which starts here, aligned,
   * where there is one.
   */
  public int staticSharedBytes() {
    return end(sharedPieces());
  }

  /** The byte offset of a parameter from the start of all parameters. */
  public OptionalInt parameterOffset(String parameter) {
    return offset(parameterPieces(), parameter);
  }

  /** The bytes that the parameters take. */
  public int parameterBytes() {
    return end(parameterPieces());
  }

  /** The byte offsets of the local variables from the start of a thread's local memory. */
  public Map<String, Integer> localOffsets() {
    var offsets = new HashMap<String, Integer>();
    long at = 0;
    for (var piece : localPieces()) {
      at = align(at, piece.alignment);
      offsets.put(piece.name, saturated(at));
      at += piece.bytes;
    }
    return offsets;
  }

  /** The bytes of local memory of a thread. */
  public int localBytes() {
    return end(localPieces());
  }

  /** What is laid out one after the other, each at a multiple of its alignment. */
  private record Piece(String name, int alignment, int bytes) {}

  private List<Piece> sharedPieces() {
    return Stream.concat(
            shared.stream().filter(s -> !s.isDynamic()),
            shared.stream().filter(SharedArray::isDynamic))
        .map(s -> new Piece(s.name(), s.alignment(), s.isDynamic() ? 0 : s.bytes()))
        .toList();
  }

  private List<Piece> parameterPieces() {
    return parameters.stream().map(p -> new Piece(p.name(), p.alignment(), p.bytes())).toList();
  }

  private List<Piece> localPieces() {
    return locals.stream()
        .map(v -> new Piece(v.name(), v.alignment(), saturated(v.bytes())))
        .toList();
  }

  private static OptionalInt offset(List<Piece> pieces, String name) {
    long at = 0;
    for (var piece : pieces) {
      at = align(at, piece.alignment);
      if (piece.name.equals(name)) {
        return OptionalInt.of(saturated(at));
      }
      at += piece.bytes;
    }
    return OptionalInt.empty();
  }

  private static int end(List<Piece> pieces) {
    long at = 0;
    for (var piece : pieces) {
      at = align(at, piece.alignment) + piece.bytes;
    }
    return saturated(at);
  }

  private static long align(long at, int alignment) {
    return Math.ceilDiv(at, alignment) * alignment;
  }

  /** What is beyond an int is beyond every limit. */
  private static int saturated(long bytes) {
    return (int) Math.min(bytes, Integer.MAX_VALUE);
  }
}
