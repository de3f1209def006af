package dev.athanor.engine.ptx;

import static dev.athanor.engine.ptx.Modifier.Comparison.*;
import static dev.athanor.engine.ptx.Type.*;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The words that stand for a class of modifiers in the syntax of a {@link Form}. */
final class Vocabulary {

  private static final List<Modifier> SIGNED = List.of(S16, S32, S64);
  private static final List<Modifier> UNSIGNED = List.of(U16, U32, U64);
  private static final List<Modifier> BITS = List.of(B16, B32, B64);
  private static final List<Modifier> ORDERED = List.of(EQ, NE, LT, LE, GT, GE);

  private static final Map<String, List<Modifier>> CLASSES =
      Map.of(
          "sint", SIGNED,
          "uint", UNSIGNED,
          "int", join(UNSIGNED, SIGNED),
          "bits", BITS,
          "any", join(BITS, UNSIGNED, SIGNED, List.of(F32, F64)),
          "mem", join(List.of(B8, U8, S8), BITS, UNSIGNED, SIGNED, List.of(F32, F64)),
          "cmp", ORDERED,
          "ucmp", join(ORDERED, List.of(LO, LS, HI, HS)),
          "fcmp", join(ORDERED, List.of(EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN)));

  static List<Modifier> choices(String word) {
    return CLASSES.getOrDefault(word, List.of(Modifier.of(word)));
  }

  @SafeVarargs
  private static List<Modifier> join(List<Modifier>... lists) {
    var all = new ArrayList<Modifier>();
    for (var list : lists) {
      all.addAll(list);
    }
    return List.copyOf(all);
  }

  private Vocabulary() {}
}
