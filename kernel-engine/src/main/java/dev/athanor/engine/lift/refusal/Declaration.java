package dev.athanor.engine.lift.refusal;

import dev.athanor.engine.lift.ir.PtxNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The declaration of a kernel, as a compiler or reflection sees it, and what is wrong with it.
 *
 * @param modifiers keywords such as {@code static}
 * @param returnType the erased return type, such as {@code void} or {@code java.lang.String}
 * @param blockSize the extents of the annotation; empty if each launch gives them
 */
public record Declaration(
    String name,
    Set<String> modifiers,
    boolean hasTypeParameters,
    boolean isVarArgs,
    boolean hasThrowsClause,
    String returnType,
    List<Parameter> parameters,
    List<Integer> blockSize) {
  private static final int MAX_THREADS = 1024;
  private static final int MAX_DEPTH = 64;

  /** Blocks and threads that a multiprocessor holds at most (CUDA programming guide 16.2). */
  private static final int MAX_RESIDENT_BLOCKS = 32;

  private static final int MAX_RESIDENT_THREADS = 2048;

  /**
   * A parameter.
   *
   * @param type the erased type, such as {@code float[]} or {@code java.lang.String}
   * @param isPassed whether launches pass values of the type
   */
  public record Parameter(String name, String type, boolean isPassed) {}

  /** The part of a declaration that a problem is about. */
  public enum Part {
    METHOD,
    PARAMETER,
    NAME,
    BLOCK_SIZE,
    MIN_BLOCKS
  }

  /**
   * A reason to refuse the declaration.
   *
   * @param index of the parameter; 0 for other parts
   */
  public record Problem(Refusal refusal, Part part, int index, List<Object> names) {
    static Problem of(Refusal refusal, Object... names) {
      return new Problem(refusal, Part.METHOD, 0, List.of(names));
    }

    /** Returns the sentence. */
    public String message() {
      return refusal.sentence(names.toArray());
    }
  }

  /** Returns all that is wrong with the declaration; empty if nothing is. */
  public List<Problem> problems() {
    var found = new ArrayList<Problem>();
    if (modifiers.contains("native") || modifiers.contains("abstract")) {
      found.add(Problem.of(Refusal.NATIVE_METHOD, name));
    } else if (!modifiers.contains("static")) {
      found.add(Problem.of(Refusal.INSTANCE_METHOD, name));
    }
    if (modifiers.contains("synchronized")) {
      found.add(Problem.of(Refusal.SYNCHRONIZED));
    }
    if (hasTypeParameters) {
      found.add(Problem.of(Refusal.GENERIC));
    }
    if (hasThrowsClause) {
      found.add(Problem.of(Refusal.THROWS));
    }
    if (!returnType.equals("void")) {
      found.add(Problem.of(Refusal.RETURN_TYPE, simple(returnType)));
    }
    for (int i = 0; i < parameters.size(); i++) {
      addParameter(i, found);
    }
    found.addAll(blockProblems(blockSize));
    return found;
  }

  private void addParameter(int index, List<Problem> found) {
    var parameter = parameters.get(index);
    var type = parameter.type;
    List<Object> names = List.of(parameter.name, simple(type));
    if (isVarArgs && index == parameters.size() - 1) {
      found.add(new Problem(Refusal.VARARGS, Part.PARAMETER, index, names));
    } else if (!parameter.isPassed) {
      var refusal = type.endsWith("[]") ? Refusal.OBJECT_ARRAY : Refusal.PARAMETER_TYPE;
      found.add(new Problem(refusal, Part.PARAMETER, index, names));
    }
  }

  /** Returns what is wrong with the name that an annotation gives a kernel; it may be empty. */
  public static List<Problem> nameProblems(String name) {
    return name.isEmpty() || PtxNames.isDeclarable(name)
        ? List.of()
        : List.of(new Problem(Refusal.KERNEL_NAME, Part.NAME, 0, List.of(name)));
  }

  /** Returns what is wrong with the extents of a block. */
  public static List<Problem> blockProblems(List<Integer> extents) {
    if (extents.size() > 3) {
      return List.of(block(Refusal.BLOCK_RANK, extents.size()));
    }
    long threads = 1;
    for (int extent : extents) {
      if (extent < 1) {
        return List.of(block(Refusal.BLOCK_EXTENT, extent));
      }
      threads *= extent;
    }
    if (threads > MAX_THREADS) {
      return List.of(block(Refusal.BLOCK_THREADS, threads));
    }
    if (extents.size() == 3 && extents.get(2) > MAX_DEPTH) {
      return List.of(block(Refusal.BLOCK_DEPTH, extents.get(2)));
    }
    return List.of();
  }

  /**
   * Returns what is wrong with the minimum number of resident blocks.
   *
   * @param value 0 if it is not declared
   * @param extents of a block, which have no problems
   */
  public static List<Problem> minBlocksProblems(int value, List<Integer> extents) {
    int threads = extents.isEmpty() ? 0 : extents.stream().reduce(1, Math::multiplyExact);
    boolean fits =
        value > 0
            && value <= MAX_RESIDENT_BLOCKS
            && threads > 0
            && value * threads <= MAX_RESIDENT_THREADS;
    return value == 0 || fits
        ? List.of()
        : List.of(new Problem(Refusal.MIN_BLOCKS, Part.MIN_BLOCKS, 0, List.of(value, threads)));
  }

  private static Problem block(Refusal refusal, Object number) {
    return new Problem(refusal, Part.BLOCK_SIZE, 0, List.of(number));
  }

  private static String simple(String type) {
    return type.substring(type.lastIndexOf('.') + 1);
  }
}
