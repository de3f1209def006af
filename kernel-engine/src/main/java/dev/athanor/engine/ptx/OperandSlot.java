package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Modifier.Space;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A slot for an operand in a row of the table.
 *
 * @param name name in the PTX manual
 * @param kind kind of operand
 * @param typeRule type: a PTX type, {@code type} for the operation type, {@code wide} for twice the
 *     operation type, a digit for the n-th type of the instruction where wider registers are legal,
 *     {@code first} for the first type, {@code predreg} for a predicate register, {@code word} for
 *     a 32-bit register; for an address, the state space if the instruction accesses several:
 *     {@code shared}, {@code cluster}, {@code global}, {@code generic} or {@code tensor}
 * @param length number of registers of a vector operand; {@link #SCALAR} = no vector, {@link
 *     #BY_MODIFIER} = from {@code .v2} or {@code .v4}, {@link #HALF_ROW} and {@link #QUARTER_ROW} =
 *     from the columns of the matrix
 * @param updated whether a result is also read, like an accumulator
 * @param discardable whether {@code _} may replace a result
 * @param allowed permitted literals; empty = any of the type; one set for all elements of a vector
 *     or one for each
 * @param second the second half of a pair {@code d|p}
 */
public record OperandSlot(
    Name name,
    Kind kind,
    String typeRule,
    int length,
    boolean updated,
    boolean discardable,
    List<Set<Long>> allowed,
    @Nullable OperandSlot second) {
  public OperandSlot {
    allowed =
        allowed.stream()
            .map(set -> Collections.unmodifiableSet(new TreeSet<>(set))) // in ascending order
            .toList();
  }

  /** Length of an operand that is not a vector. */
  public static final int SCALAR = -1;

  /** Length of a vector determined by {@code .v2} or {@code .v4}. */
  public static final int BY_MODIFIER = 0;

  /** Length of a vector with one register per two columns of the matrix. */
  public static final int HALF_ROW = -2;

  /** Length of a vector with one register per four columns of the matrix. */
  public static final int QUARTER_ROW = -3;

  /** The name of an operand in the PTX manual. */
  public enum Name {
    D("d"),
    P("p"),
    Q("q"),
    A("a"),
    B("b"),
    C("c"),
    E("e"),
    F("f"),
    N("n"),
    T("t"),
    /** {@code _}, in place of a discarded result. */
    SINK("_"),
    /** The participating lanes. */
    MEMBER_MASK("membermask"),
    CACHE_POLICY("cache_policy"),
    /** Size of a transfer in bytes. */
    SIZE("size"),
    /** Number of source bytes that a copy reads; it fills the rest with zeros. */
    SOURCE_SIZE("src_size"),
    /** Whether a copy ignores its source and writes zeros. */
    IGNORE_SOURCE("ignore_src"),
    /** The blocks of a cluster that receive a copy. */
    CTA_MASK("cta_mask"),
    /** The bytes of each 16-byte chunk that a copy writes. */
    BYTE_MASK("byte_mask"),
    /** A tensor map and the coordinates of a tile. */
    TENSOR("tensor"),
    MBARRIER("mbar"),
    /** Expected or performed arrivals of an mbarrier. */
    COUNT("count"),
    /** Transaction bytes of an mbarrier. */
    TRANSACTION_COUNT("tx_count"),
    /** A phase of an mbarrier: its state or its parity. */
    STATE("state"),
    /** Time limit of a wait in nanoseconds. */
    TIME_HINT("time_hint"),
    /** Number of elements between consecutive rows of a matrix. */
    STRIDE("stride"),
    /** Scale factors of blocks of A, several per register. */
    SCALE_A_DATA("scale_a_data"),
    /** Byte and thread of the scale factors of A. */
    SELECTOR_A("selector_a"),
    SCALE_B_DATA("scale_b_data"),
    SELECTOR_B("selector_b"),
    /** Describes the shapes and types of a product. */
    INSTRUCTION_DESCRIPTOR("idesc"),
    /** Whether a product is added to the matrix in tensor memory. */
    ENABLE_INPUT_D("enable_input_d"),
    /** Whether a product is added to the accumulator. */
    SCALE_D("scale_d"),
    SCALE_A("scale_a"),
    SCALE_B("scale_b"),
    TRANSPOSE_A("trans_a"),
    TRANSPOSE_B("trans_b"),
    /** Index into a field of a tensor map. */
    ORDINAL("ord"),
    /** The new value of a field of a tensor map. */
    NEW_VALUE("new_val");

    private final String word;

    Name(String word) {
      this.word = word;
    }

    /** Returns the name as in the manual. */
    public String word() {
      return word;
    }

    @Override
    public String toString() {
      return word;
    }

    /** Returns whether the instruction writes the operand. */
    public boolean isResult() {
      return this == D || this == P || this == Q;
    }

    /**
     * Returns the name of a word.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static Name of(String word) {
      return Arrays.stream(values())
          .filter(name -> name.word.equals(word))
          .findFirst()
          .orElseThrow(() -> new IllegalArgumentException("no operand is named " + word));
    }
  }

  /** The kind of an operand. */
  public enum Kind {
    /** A register that is written. */
    RESULT,
    /** A register or a literal. */
    SOURCE,
    /** {@code [register+offset]} or {@code [symbol+offset]}. */
    MEMORY,
    /** {@code [map, {x, y}]}: the start of a tile of a tensor. */
    TILE,
    /** Only {@code _}. */
    SINK,
    LITERAL,
    LABEL,
    SPECIAL,
    /** The name of a variable or function, as its address. */
    SYMBOL,
    /** The name of the called function. */
    FUNCTION,
    /** {@code (a, b)}: the arguments or results of a call. */
    ARGUMENTS,
    /** The name of a prototype or target list. */
    TARGETS
  }

  private static final Pattern COLUMNS = Pattern.compile("m\\d+n(\\d+)k\\d+");

  public boolean isResult() {
    return kind == Kind.RESULT || (kind == Kind.ARGUMENTS && name.isResult());
  }

  /** Returns whether the type is one of several types of the instruction, as in a conversion. */
  public boolean isConverted() {
    return typeRule.equals("0") || typeRule.equals("1");
  }

  /** Returns whether this is a predicate for which ptxas rejects literals. */
  boolean isPredicateRegister() {
    return typeRule.equals("predreg");
  }

  /**
   * Returns whether a scalar is written in braces: ptxas accepts {@code ld.global.b32 {%r1},
   * [%rd1]}, and Triton emits it.
   */
  public boolean isBracedScalar(Operand given, Modifiers modifiers) {
    return length == BY_MODIFIER
        && !isVector(modifiers)
        && given instanceof Operand.Vector vector
        && vector.elements().size() == 1;
  }

  /**
   * Returns the permitted literals; empty = any of the type.
   *
   * @param element index of the element of a vector, else 0
   */
  public Set<Long> allowed(int element) {
    return allowed.isEmpty() ? Set.of() : allowed.get(Math.min(element, allowed.size() - 1));
  }

  /** Returns whether the registers are written in braces. */
  public boolean isVector(Modifiers modifiers) {
    return length == BY_MODIFIER ? modifiers.vectorLength() > 1 : length != SCALAR;
  }

  /** Returns the number of registers for these modifiers. */
  public int length(Modifiers modifiers) {
    return switch (length) {
      case SCALAR -> 1;
      case BY_MODIFIER -> modifiers.vectorLength();
      case HALF_ROW -> columns(modifiers) / 2;
      case QUARTER_ROW -> columns(modifiers) / 4;
      default -> length;
    };
  }

  private static int columns(Modifiers modifiers) {
    return modifiers.list().stream()
        .map(modifier -> COLUMNS.matcher(modifier.word()))
        .filter(java.util.regex.Matcher::matches)
        .mapToInt(shape -> Integer.parseInt(shape.group(1)))
        .findFirst()
        .orElseThrow();
  }

  /** Returns the state space of an address; null = generic. */
  public @Nullable Space space(Modifiers modifiers) {
    return switch (typeRule) {
      case "shared", "tensor" -> Space.SHARED;
      case "cluster" -> Space.SHARED_CLUSTER;
      case "global" -> Space.GLOBAL;
      case "local" -> Space.LOCAL;
      case "generic" -> null;
      default -> modifiers.find(Space.class).orElse(null);
    };
  }

  /** Returns whether this is an address in tensor memory, which is not a state space. */
  public boolean isInTensorMemory() {
    return typeRule.equals("tensor");
  }

  /** Returns the type of each register. */
  public Type type(Modifiers modifiers) {
    if (kind == Kind.MEMORY) {
      return Type.U64;
    }
    return switch (typeRule) {
      case "word" -> Type.U32;
      case "type" -> operation(modifiers);
      case "predreg" -> Type.PRED;
      case "wide" -> operation(modifiers).wide();
      case "0", "first" -> modifiers.types().get(0);
      case "1" -> modifiers.types().get(1);
      default -> (Type) Modifier.of(typeRule);
    };
  }

  private static Type operation(Modifiers modifiers) {
    return modifiers.type().orElseThrow(() -> new IllegalStateException("no type in " + modifiers));
  }

  /** Describes the accepted operands, for error messages. */
  public String describe(Modifiers modifiers) {
    var type = "." + type(modifiers).word();
    return switch (kind) {
      case RESULT, SOURCE -> {
        int length = length(modifiers);
        var one =
            length > 1 ? "{%d registers of %s}".formatted(length, type) : "a " + type + " register";
        if (isVector(modifiers) && !allowed.isEmpty()) {
          yield one
              + IntStream.range(0, length)
                  .mapToObj(this::literals)
                  .collect(Collectors.joining(", ", " or {", "}"));
        }
        yield second != null
            ? one + "|" + second.describe(modifiers)
            : kind == Kind.SOURCE && !isVector(modifiers) && takesLiteral(modifiers)
                ? one + " or " + (allowed.isEmpty() ? "literal" : literals(0))
                : one;
      }
      case MEMORY -> "an address [register+offset]";
      case TILE -> "a tile [map, {%d coordinates}]".formatted(modifiers.dimensions());
      case SINK -> "_";
      case LITERAL -> allowed.isEmpty() ? "a literal" : literals(0);
      case LABEL -> "a label";
      case SPECIAL -> "a special register such as %tid.x";
      case SYMBOL -> "the name of a variable or function";
      case FUNCTION -> "the name of a function";
      case ARGUMENTS -> name == Name.D ? "(results)" : "(arguments)";
      case TARGETS -> "the name of a prototype or target list";
    };
  }

  private String literals(int element) {
    var sorted = new TreeSet<>(allowed(element));
    long first = sorted.first();
    long last = sorted.last();
    return sorted.size() > 1 && last - first == sorted.size() - 1
        ? "a literal from " + first + " to " + last
        : "one of the literals " + sorted;
  }

  /**
   * Converts a literal to an operand of this slot.
   *
   * @param element index of the element of a vector, else 0
   * @throws IllegalArgumentException if the slot does not accept it
   */
  public Operand.Immediate literal(Operand.Immediate given, int element, Modifiers modifiers) {
    var permitted = allowed(element);
    if ((!permitted.isEmpty() && !permitted.contains(given.bits()))
        || (kind != Kind.LITERAL && !takesLiteral(modifiers))) {
      throw new IllegalArgumentException(
          "operand %s must be %s, got %s".formatted(name.word(), describe(modifiers), given));
    }
    return Literals.convert(type(modifiers), given);
  }

  public boolean takesLiteral(Modifiers modifiers) {
    if (typeRule.equals("word") || !modifiers.parts(name.word()).isEmpty()) {
      return false;
    }
    return switch (type(modifiers).kind()) {
      case PREDICATE -> !isPredicateRegister();
      case BITS, UNSIGNED, SIGNED -> true;
      case FLOAT -> type(modifiers) == Type.F32 || type(modifiers) == Type.F64;
      case PACKED -> false;
    };
  }
}
