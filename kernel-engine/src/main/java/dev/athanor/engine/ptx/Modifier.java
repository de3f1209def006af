package dev.athanor.engine.ptx;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A dotted word of an instruction, such as {@code .f32}, {@code .rn} or {@code .shared}. */
public sealed interface Modifier
    permits Type,
        Modifier.Rounding,
        Modifier.Comparison,
        Modifier.Logic,
        Modifier.Layout,
        Modifier.Space,
        Modifier.Part,
        Modifier.Word {
  /** Returns the word without its dot. */
  String word();

  /** A rounding mode of floating-point results (PTX ISA 6.4.1). */
  enum Rounding implements Modifier {
    RN,
    RZ,
    RM,
    RP,
    RNI,
    RZI,
    RMI,
    RPI,
    /** To nearest, ties away from zero. */
    RNA;

    private final String word = name().toLowerCase(Locale.ROOT);

    /** Returns whether the mode rounds the significand, not to an integer. */
    public boolean roundsSignificand() {
      return switch (this) {
        case RN, RZ, RM, RP, RNA -> true;
        case RNI, RZI, RMI, RPI -> false;
      };
    }

    @Override
    public String word() {
      return word;
    }
  }

  /**
   * A comparison (PTX ISA 9.3.1). {@code lo ls hi hs} are unsigned; with suffix {@code u}, the
   * result is true if an operand is NaN.
   */
  enum Comparison implements Modifier {
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    LO,
    LS,
    HI,
    HS,
    EQU,
    NEU,
    LTU,
    LEU,
    GTU,
    GEU,
    NUM,
    NAN;

    private final String word = name().toLowerCase(Locale.ROOT);

    @Override
    public String word() {
      return word;
    }
  }

  /** The combination of a comparison with a predicate. */
  enum Logic implements Modifier {
    AND,
    OR,
    XOR;

    private final String word = name().toLowerCase(Locale.ROOT);

    @Override
    public String word() {
      return word;
    }
  }

  /** Row-major or column-major order of a matrix (PTX ISA 9.7.14.4.2). */
  enum Layout implements Modifier {
    ROW,
    COL;

    private final String word = name().toLowerCase(Locale.ROOT);

    @Override
    public String word() {
      return word;
    }
  }

  /** A state space (PTX ISA 5.1). */
  enum Space implements Modifier {
    PARAM,
    GLOBAL,
    SHARED,
    /** Shared memory of the executing block, like {@link #SHARED}. */
    SHARED_CTA,
    /** Shared memory of all blocks of the cluster. */
    SHARED_CLUSTER,
    LOCAL,
    CONST;

    private final String word = name().toLowerCase(Locale.ROOT).replace("_", "::");

    @Override
    public String word() {
      return word;
    }

    public boolean isShared() {
      return this == SHARED || this == SHARED_CTA || this == SHARED_CLUSTER;
    }
  }

  /**
   * The part of an operand that a video instruction accesses, or its negation (PTX ISA 9.7.18):
   * {@code %r1.h0}, {@code -%r1}. PTX text attaches it to the operand; as a modifier it is {@code
   * a:h0}.
   *
   * @param operand letter of the operand's slot
   * @param part {@code h0}, {@code b3}, or a mask of elements, {@code b10}
   */
  record Part(String operand, String part) implements Modifier {
    public static final String NEGATED = "negated";

    /** Bytes and halves of a register. */
    public static final List<String> ELEMENTS = List.of("b0", "b1", "b2", "b3", "h0", "h1");

    public static final List<String> HALF_MASKS = List.of("h0", "h1", "h10");

    /** All nonempty sets of bytes, highest byte first. */
    public static final List<String> BYTE_MASKS =
        IntStream.range(1, 16)
            .mapToObj(set ->
                IntStream.of(3, 2, 1, 0)
                    .filter(i -> ((set >> i) & 1) != 0)
                    .mapToObj(String::valueOf)
                    .collect(Collectors.joining("", "b", "")))
            .toList();

    private static Stream<Modifier> all() {
      var sources = Stream.concat(ELEMENTS.stream(), Stream.of(NEGATED)).toList();
      return Stream.of(
              Stream.of("a", "b", "c")
                  .flatMap(operand -> sources.stream().map(part -> new Part(operand, part))),
              Stream.of(ELEMENTS, HALF_MASKS, BYTE_MASKS)
                  .flatMap(List::stream)
                  .distinct()
                  .map(part -> new Part("d", part)))
          .flatMap(parts -> parts);
    }

    @Override
    public String word() {
      return operand + ":" + part;
    }

    /** Returns the text of the operand with its part. */
    String of(String given) {
      return part.equals(NEGATED) ? "-" + given : given + "." + part;
    }
  }

  /** A word that only distinguishes rows; instruction semantics do not query it. */
  record Word(String word) implements Modifier {
    @Override
    public String toString() {
      return word;
    }
  }

  /** Returns the modifier of a word; a {@link Word} if no enum has it. */
  static Modifier of(String word) {
    var known = Lookup.BY_WORD.get(word);
    return known == null ? new Word(word) : known;
  }

  /** All modifiers except {@link Word}, by word. */
  final class Lookup {
    private static final Map<String, Modifier> BY_WORD =
        Stream.concat(
                Stream.<Modifier[]>of(
                        Type.values(),
                        Rounding.values(),
                        Comparison.values(),
                        Logic.values(),
                        Layout.values(),
                        Space.values())
                    .flatMap(Stream::of),
                Part.all())
            .collect(Collectors.toUnmodifiableMap(Modifier::word, m -> m));

    private Lookup() {}
  }
}
