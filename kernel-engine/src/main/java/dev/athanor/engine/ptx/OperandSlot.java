package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Modifier.Space;
import java.util.Arrays;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A place for an operand in a row of the table.
 *
 * @param name its name in the PTX manual
 * @param kind the kind of operand
 * @param typeRule the type: a PTX type, {@code wide} for twice the operation type, a digit for the
 *     n-th type written where wider registers may stand, {@code first} for the first, or {@code
 *     type} for the operation type, {@code predreg} for a predicate that must be a register, {@code
 *     word} for a 32-bit value that must be a register; of an address {@code shared}, {@code
 *     cluster}, {@code global} or {@code generic}, its state space where the instruction names
 *     several
 * @param length the registers of a vector operand; {@link #SCALAR} = no vector, {@link
 *     #BY_MODIFIER} = as {@code .v2}, {@code .v4} say, {@link #HALF_ROW} and {@link #QUARTER_ROW}
 *     as the width of the matrix says
 * @param updated whether a result is read, too, as the sums are to which a product is added
 * @param ignorable whether {@code _} may stand for a result
 * @param allowed the literals that may stand there; empty = any that fits the type
 * @param second the other half of a pair {@code d|p}
 */
public record OperandSlot(
    Name name,
    Kind kind,
    String typeRule,
    int length,
    boolean updated,
    boolean ignorable,
    Set<Long> allowed,
    @Nullable OperandSlot second) {

  public OperandSlot {
    allowed = Collections.unmodifiableSet(new TreeSet<>(allowed)); // in order
  }

  /** The length of an operand that is no vector. */
  public static final int SCALAR = -1;

  /** The length of a vector that the instruction's {@code .v2} or {@code .v4} gives. */
  public static final int BY_MODIFIER = 0;

  /** The length of a vector with half as many registers as the matrix has columns. */
  public static final int HALF_ROW = -2;

  /** The length of a vector with a quarter as many registers as the matrix has columns. */
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
    /** {@code _}, which stands for a result that is not wanted. */
    SINK("_"),
    /** The lanes that take part. */
    MEMBER_MASK("membermask"),
    CACHE_POLICY("cache_policy"),
    /** The bytes of a transfer. */
    SIZE("size"),
    /** The bytes of its source that a copy reads; it writes zeros for the others. */
    SOURCE_SIZE("src_size"),
    /** Whether a copy writes zeros only. */
    IGNORE_SOURCE("ignore_src"),
    /** The blocks of a cluster that receive a copy. */
    CTA_MASK("cta_mask"),
    /** The bytes of each 16 that a copy writes. */
    BYTE_MASK("byte_mask"),
    /** A tensor map and where a tile of the tensor begins. */
    TENSOR("tensor"),
    MBARRIER("mbar"),
    /** The arrivals that an mbarrier counts. */
    COUNT("count"),
    /** The bytes that an mbarrier counts. */
    TRANSACTION_COUNT("tx_count"),
    /** The phase of an mbarrier, as a state or a parity. */
    STATE("state"),
    /** How long a wait may take, in nanoseconds. */
    TIME_HINT("time_hint"),
    /** The elements from a row of a matrix to the next. */
    STRIDE("stride"),
    /** Whether a product is added to the old sums. */
    SCALE_D("scale_d"),
    SCALE_A("scale_a"),
    SCALE_B("scale_b"),
    TRANSPOSE_A("trans_a"),
    TRANSPOSE_B("trans_b"),
    /** Which of several values of a tensor map's field is meant. */
    ORDINAL("ord"),
    /** The new value of a tensor map's field. */
    NEW_VALUE("new_val");

    private final String word;

    Name(String word) {
      this.word = word;
    }

    /** As it is written in the manual. */
    public String word() {
      return word;
    }

    @Override
    public String toString() {
      return word;
    }

    /** Whether the instruction writes it. */
    public boolean isResult() {
      return this == D || this == P || this == Q;
    }

    /**
     * The name that is written so.
     *
     * @throws IllegalArgumentException when there is none
     */
    public static Name of(String word) {
      return Arrays.stream(values())
          .filter(name -> name.word.equals(word))
          .findFirst()
          .orElseThrow(() -> new IllegalArgumentException("no operand has the name " + word));
    }
  }

  /** A kind of operand. */
  public enum Kind {
    /** A register that is written. */
    RESULT,
    /** A register or a literal. */
    SOURCE,
    /** {@code [register+offset]} or {@code [symbol+offset]}. */
    MEMORY,
    /** {@code [map, {x, y}]}: where a tile of a tensor begins. */
    TILE,
    /** {@code _} and nothing else. */
    SINK,
    LITERAL,
    LABEL,
    SPECIAL,
    /** The name of a variable or function, standing for its address. */
    SYMBOL,
    /** The name of a function that is called. */
    FUNCTION,
    /** {@code (a, b)}: the arguments or results of a call. */
    ARGUMENTS,
    /** The name of a prototype or of a list of targets. */
    TARGETS
  }

  private static final Pattern COLUMNS = Pattern.compile("m\\d+n(\\d+)k\\d+");

  public boolean isResult() {
    return kind == Kind.RESULT || (kind == Kind.ARGUMENTS && name.isResult());
  }

  /**
   * Whether its type is one of several that the instruction names, as those of a conversion are.
   */
  public boolean isConverted() {
    return typeRule.equals("0") || typeRule.equals("1");
  }

  /** Whether it is a predicate for which ptxas takes no literal. */
  boolean isPredicateRegister() {
    return typeRule.equals("predreg");
  }

  /**
   * Whether braces stand around one element of what may be a vector, but is none with these
   * modifiers: ptxas takes {@code ld.global.b32 {%r1}, [%rd1]}, and Triton writes it.
   */
  public boolean isLoneElement(Operand given, Modifiers modifiers) {
    return length == BY_MODIFIER
        && !isVector(modifiers)
        && given instanceof Operand.Vector vector
        && vector.elements().size() == 1;
  }

  /** Whether the registers that stand here are written in braces. */
  public boolean isVector(Modifiers modifiers) {
    return length == BY_MODIFIER ? modifiers.vectorLength() > 1 : length != SCALAR;
  }

  /** How many registers stand here under these modifiers. */
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

  /** The state space of an address that stands here; null = generic. */
  public @Nullable Space space(Modifiers modifiers) {
    return switch (typeRule) {
      case "shared" -> Space.SHARED;
      case "cluster" -> Space.SHARED_CLUSTER;
      case "global" -> Space.GLOBAL;
      case "generic" -> null;
      default -> modifiers.find(Space.class).orElse(null);
    };
  }

  /** The type of each register that stands here. */
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
    return modifiers
        .type()
        .orElseThrow(() -> new IllegalStateException("no type among " + modifiers));
  }

  /** Describes the operands that fit, for an error message. */
  public String describe(Modifiers modifiers) {
    var type = "." + type(modifiers).word();
    return switch (kind) {
      case RESULT, SOURCE -> {
        int length = length(modifiers);
        var one =
            length > 1 ? "{%d registers of %s}".formatted(length, type) : "a " + type + " register";
        yield second != null
            ? one + "|" + second.describe(modifiers)
            : kind == Kind.SOURCE && !isVector(modifiers) && takesLiteral(modifiers)
                ? one + " or " + (allowed.isEmpty() ? "literal" : literals())
                : one;
      }
      case MEMORY -> "an address [register+offset]";
      case TILE -> "a tile [map, {%d coordinates}]".formatted(modifiers.dimensions());
      case SINK -> "_";
      case LITERAL -> allowed.isEmpty() ? "a literal" : literals();
      case LABEL -> "a label";
      case SPECIAL -> "a special register such as %tid.x";
      case SYMBOL -> "the name of a variable or function";
      case FUNCTION -> "the name of a function";
      case ARGUMENTS -> name == Name.D ? "(results)" : "(arguments)";
      case TARGETS -> "the name of a prototype or of a list of targets";
    };
  }

  private String literals() {
    var sorted = new TreeSet<>(allowed);
    long first = sorted.first();
    long last = sorted.last();
    return sorted.size() > 1 && last - first == sorted.size() - 1
        ? "a literal from " + first + " to " + last
        : "one of the literals " + sorted;
  }

  /**
   * A literal as an operand that stands here.
   *
   * @throws IllegalArgumentException when it may not
   */
  public Operand.Immediate literal(Operand.Immediate given, Modifiers modifiers) {
    if ((!allowed.isEmpty() && !allowed.contains(given.bits()))
        || (kind != Kind.LITERAL && !takesLiteral(modifiers))) {
      throw new IllegalArgumentException(
          "operand %s must be %s, got %s".formatted(name.word(), describe(modifiers), given));
    }
    return Literals.as(type(modifiers), given);
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
