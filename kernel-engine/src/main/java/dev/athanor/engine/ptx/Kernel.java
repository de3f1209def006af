package dev.athanor.engine.ptx;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * An entry function.
 *
 * @param shared the arrays of shared memory, in the order in which they are laid out
 * @param maxThreads the greatest number of threads a block may have ({@code .maxntid}); 0 = not
 *     said
 * @param minBlocks how many blocks should at least fit on a multiprocessor ({@code .minnctapersm}),
 *     which bounds the registers; 0 = not said
 * @param body the statements; falling off the end returns
 */
public record Kernel(
    String name,
    List<Parameter> parameters,
    List<SharedArray> shared,
    int maxThreads,
    int minBlocks,
    List<Statement> body) {

  public Kernel {
    parameters = List.copyOf(parameters);
    shared = List.copyOf(shared);
    body = List.copyOf(body);
  }

  /** A scalar parameter; pointers are {@link Type#U64}. */
  public record Parameter(String name, Type type) {}

  /**
   * An array in shared memory.
   *
   * @param alignment in bytes, a power of two
   * @param bytes its size; {@link #DYNAMIC} when the launch says it
   */
  public record SharedArray(String name, int alignment, int bytes) {
    public static final int DYNAMIC = -1;

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
  public Optional<Integer> sharedOffset(String array) {
    int at = 0;
    for (var each : shared) {
      at = align(at, each.alignment());
      if (each.name().equals(array)) {
        return Optional.of(at);
      }
      at += each.isDynamic() ? 0 : each.bytes();
    }
    return Optional.empty();
  }

  /**
   * The bytes of shared memory of a block, without the dynamic part; which starts here, aligned,
   * where there is one.
   */
  public int staticSharedBytes() {
    int at = 0;
    for (var each : shared) {
      at = align(at, each.alignment()) + (each.isDynamic() ? 0 : each.bytes());
    }
    return at;
  }

  private static int align(int at, int alignment) {
    return Math.ceilDiv(at, alignment) * alignment;
  }
}
