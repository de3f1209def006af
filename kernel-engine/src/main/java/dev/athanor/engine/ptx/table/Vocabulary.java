package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.Modifier.Comparison.*;
import static dev.athanor.engine.ptx.Type.*;

import dev.athanor.engine.ptx.InstructionForm.Since;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Version;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Words that denote a class of modifiers in {@link RowNotation}. */
final class Vocabulary {

  private static final List<Modifier> SIGNED = List.of(S16, S32, S64);
  private static final List<Modifier> UNSIGNED = List.of(U16, U32, U64);
  private static final List<Modifier> BITS = List.of(B16, B32, B64);
  private static final List<Modifier> ORDERED = List.of(EQ, NE, LT, LE, GT, GE);

  private static final Map<String, List<Modifier>> CLASSES =
      Map.ofEntries(
          Map.entry("sint", SIGNED),
          Map.entry("uint", UNSIGNED),
          Map.entry("int", join(UNSIGNED, SIGNED)),
          Map.entry("bits", BITS),
          Map.entry("any", join(BITS, UNSIGNED, SIGNED, List.of(F32, F64))),
          Map.entry("mem", join(List.of(B8, U8, S8), BITS, UNSIGNED, SIGNED, List.of(F32, F64))),
          Map.entry("cmp", ORDERED),
          Map.entry("ucmp", join(ORDERED, List.of(LO, LS, HI, HS))),
          Map.entry("fcmp", join(ORDERED, List.of(EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN))),
          Map.entry("space", words("global shared shared::cta shared::cluster local const")),
          Map.entry("wgmma8", shapes(8, 8)),
          Map.entry("wgmma16", shapes(8, 16)),
          Map.entry("wgmma32", shapes(8, 32)),
          Map.entry("wgmmaint", shapes(16, 32)),
          Map.entry("wgmmabits", shapes(16, 256)),
          Map.entry("common", words("global shared shared::cta shared::cluster")),
          Map.entry("own", words("shared shared::cta")),
          Map.entry("scope", words("cta cluster gpu sys")),
          Map.entry("order", words("relaxed acquire release acq_rel")),
          Map.entry("resultless", words("relaxed release")),
          Map.entry("loadcache", words("ca cg cs lu cv")),
          Map.entry("readcache", words("ca cg cs")),
          Map.entry("storecache", words("wb cg cs wt")),
          Map.entry(
              "evict",
              words(
                  "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last"
                      + " L1::no_allocate")),
          Map.entry("L2evict", words("L2::evict_first L2::evict_normal L2::evict_last")),
          Map.entry("prefetch", words("L2::64B L2::128B L2::256B")),
          Map.entry("sign", List.of(U32, S32)),
          Map.entry("asel", parts("a", Modifier.Part.ELEMENTS)),
          Map.entry("bsel", parts("b", Modifier.Part.ELEMENTS)),
          Map.entry("dsel", parts("d", Modifier.Part.ELEMENTS)),
          Map.entry("halfmask", parts("d", Modifier.Part.HALF_MASKS)),
          Map.entry("bytemask", parts("d", Modifier.Part.BYTE_MASKS)));

  /** Classes whose choices do not affect which other modifiers are legal. */
  private static final Set<String> INDEPENDENT =
      Set.of(
          "weak",
          "wgmma8",
          "wgmma16",
          "wgmma32",
          "wgmmaint",
          "wgmmabits",
          "order",
          "resultless",
          "scope",
          "loadcache",
          "readcache",
          "storecache",
          "evict",
          "L2evict",
          "prefetch",
          "sign",
          "asel",
          "bsel",
          "dsel",
          "halfmask",
          "bytemask");

  private static final Map<String, Since> SINCE =
      Stream.of(
              since("7.8", 90, "shared::cluster cluster"),
              since("7.8", 20, "shared::cta"),
              since("5.1", 70, "weak relaxed acquire release acq_rel"),
              since("5.0", 60, "cta gpu sys"),
              since(
                  "7.4",
                  70,
                  "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last"
                      + " L1::no_allocate"),
              since("7.4", 75, "L2::64B L2::128B"),
              since("7.4", 80, "L2::256B L2::cache_hint"))
          .flatMap(map -> map.entrySet().stream())
          .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));

  private static Map<String, Since> since(String version, int sm, String words) {
    var since = new Since(Version.of(version), new Target(sm, false));
    return Arrays.stream(words.split(" ")).collect(Collectors.toMap(w -> w, _ -> since));
  }

  static List<Modifier> choices(String word) {
    return CLASSES.getOrDefault(word, List.of(Modifier.of(word)));
  }

  /** Returns whether enumerating spellings need not combine each choice with all others. */
  static boolean isIndependent(String word) {
    return INDEPENDENT.contains(word);
  }

  /** Returns the first version and target of a modifier; null if it is as old as its row. */
  static @Nullable Since since(Modifier modifier) {
    return SINCE.get(modifier.word());
  }

  /**
   * Returns the {@code wgmma} shapes of a depth. The number of columns grows by 8, from 32 on by
   * {@code step}.
   */
  private static List<Modifier> shapes(int step, int depth) {
    return Stream.iterate(8, columns -> columns + (columns < 32 ? 8 : step))
        .takeWhile(columns -> columns <= 256)
        .map(columns -> Modifier.of("m64n" + columns + "k" + depth))
        .toList();
  }

  private static List<Modifier> parts(String operand, List<String> parts) {
    return parts.stream().<Modifier>map(part -> new Modifier.Part(operand, part)).toList();
  }

  private static List<Modifier> words(String all) {
    return Arrays.stream(all.split(" ")).map(Modifier::of).toList();
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
