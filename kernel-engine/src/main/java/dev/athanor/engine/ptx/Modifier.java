package dev.athanor.engine.ptx;

import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One dotted word of an instruction, such as {@code .f32}, {@code .rn} or {@code .shared}. */
public sealed interface Modifier
    permits Type,
        Modifier.Rounding,
        Modifier.Comparison,
        Modifier.Logic,
        Modifier.Layout,
        Modifier.Space,
        Modifier.Word {

  /** The word without its dot. */
  String word();

  /** How a floating-point result is rounded (PTX ISA 6.4.1). */
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

    /** Whether digits are rounded, and not to an integer. */
    public boolean isOfDigits() {
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
   * A comparison (PTX ISA 9.3.1): {@code lo ls hi hs} are unsigned, a {@code u} at the end makes a
   * comparison true when an operand is NaN.
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

  /** How a comparison is combined with a predicate. */
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

  /**
   * Whether the elements of a row or of a column of a matrix are neighbours (PTX ISA 9.7.14.4.2).
   */
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
    /** The shared memory of the thread's own block, which is what {@link #SHARED} means too. */
    SHARED_CTA,
    /** The shared memory of all blocks of the thread's cluster. */
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

  /** A word that only selects a row and has no alternatives that a meaning asks for. */
  record Word(String word) implements Modifier {
    @Override
    public String toString() {
      return word;
    }
  }

  /** The modifier that a word names; words that no enum lists are {@link Word}s. */
  static Modifier of(String word) {
    var known = Known.BY_WORD.get(word);
    return known == null ? new Word(word) : known;
  }

  /** The enum constants by their words. */
  final class Known {
    private static final Map<String, Modifier> BY_WORD =
        Stream.<Modifier[]>of(
                Type.values(),
                Rounding.values(),
                Comparison.values(),
                Logic.values(),
                Layout.values(),
                Space.values())
            .flatMap(Stream::of)
            .collect(Collectors.toUnmodifiableMap(Modifier::word, m -> m));

    private Known() {}
  }
}
