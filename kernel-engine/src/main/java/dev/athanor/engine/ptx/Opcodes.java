package dev.athanor.engine.ptx;

import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Form.Since;
import dev.athanor.engine.ptx.Semantics.*;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The instruction table: the one place where an instruction is defined. Its columns are the section
 * of the PTX manual, the first version and target, the manual's line (in the notation of {@link
 * Form} and {@link OperandSlot}), and the meaning. A new instruction is a row here, its lane
 * function where it has one, and a file under {@code src/test/filetests}; whatever walks the table
 * tests the rest.
 */
public final class Opcodes {

  // spotless:off
  private static final List<Form> TABLE =
      List.of(
          // data movement
          pure("9.7.9.2",     "1.0", 20, "mov.any d, a",                                                      "identity"),
          pure("9.7.9.2",     "1.0", 20, "mov.pred d, a",                                                     "identity"),
          pure("9.7.9.2",     "1.0", 20, "mov.<u32|b32|s32> d, a:special",                                    "identity"),
          pure("9.7.9.2",     "1.0", 20, "mov.<u32|b32|u64|b64> d, a:symbol",                                 "identity"),
          pure("9.7.9.2",     "1.0", 20, "mov.b32 d, a:b16*2",                                                "pack"),
          pure("9.7.9.2",     "1.0", 20, "mov.b64 d, a:b32*2",                                                "pack64"),
          pure("9.7.9.2",     "1.0", 20, "mov.b32 d:b16*2, a",                                                "low16", "high16"),
          pure("9.7.9.2",     "1.0", 20, "mov.b64 d:b32*2, a",                                                "low32", "high32"),
          pure("9.7.9.20",    "2.0", 20, "cvta.to.<global|shared>.u64 d, a",                                  "identity"),
          row( "9.7.9.8",     "1.0", 20, "ld.param.mem d, [a]",                                               new Load()),
          row( "9.7.9.8",     "1.0", 20, "ld.<global|shared>{.<v2|v4>}.mem d*vec, [a]",                       Opcodes::atMost16Bytes, new Load()),
          row( "9.7.9.9",     "3.1", 32, "ld.global.nc{.<v2|v4>}.mem d*vec, [a]",                             Opcodes::atMost16Bytes, new Load()),
          row( "9.7.9.11",    "1.0", 20, "st.<global|shared>{.<v2|v4>}.mem [a], b*vec",                       Opcodes::atMost16Bytes, new Store()),
          row( "9.7.9.25",    "7.0", 80, "cp.async.ca.shared.global [d], [a], n:literal(4,8,16)",             new AsyncCopy()),
          row( "9.7.9.25",    "7.0", 80, "cp.async.ca.shared.global [d], [a], n:literal(4,8,16), s:u32",      new AsyncCopy()),
          row( "9.7.9.25",    "7.0", 80, "cp.async.cg.shared.global [d], [a], n:literal(16)",                 new AsyncCopy()),
          row( "9.7.9.25",    "7.0", 80, "cp.async.cg.shared.global [d], [a], n:literal(16), s:u32",          new AsyncCopy()),
          row( "9.7.9.25",    "7.0", 80, "cp.async.commit_group",                                             new CommitGroup()),
          row( "9.7.9.25",    "7.0", 80, "cp.async.wait_group n:literal",                                     new WaitGroup()),
          row( "9.7.9.25",    "7.0", 80, "cp.async.wait_all",                                                 new WaitGroup()),

          // integers
          pure("9.7.1.1",     "1.0", 20, "add.int d, a, b",                                                   "add"),
          pure("9.7.1.2",     "1.0", 20, "sub.int d, a, b",                                                   "sub"),
          pure("9.7.1.3",     "1.0", 20, "mul.lo.int d, a, b",                                                "mul"),
          pure("9.7.1.3",     "1.0", 20, "mul.hi.<s32|s64> d, a, b",                                          "mulHigh"),
          pure("9.7.1.3",     "1.0", 20, "mul.hi.<u32|u64> d, a, b",                                          "mulHighUnsigned"),
          pure("9.7.1.3",     "1.0", 20, "mul.wide.<s16|s32> d:wide, a, b",                                   "mulWide"),
          pure("9.7.1.3",     "1.0", 20, "mul.wide.<u16|u32> d:wide, a, b",                                   "mulWideUnsigned"),
          pure("9.7.1.4",     "1.0", 20, "mad.lo.int d, a, b, c",                                             "mad"),
          pure("9.7.1.4",     "1.0", 20, "mad.wide.s32 d:wide, a, b, c:wide",                                 "madWide"),
          pure("9.7.1.4",     "1.0", 20, "mad.wide.u32 d:wide, a, b, c:wide",                                 "madWideUnsigned"),
          pure("9.7.1.7",     "1.0", 20, "div.sint d, a, b",                                                  "div"),
          pure("9.7.1.7",     "1.0", 20, "div.uint d, a, b",                                                  "divUnsigned"),
          pure("9.7.1.8",     "1.0", 20, "rem.sint d, a, b",                                                  "rem"),
          pure("9.7.1.8",     "1.0", 20, "rem.uint d, a, b",                                                  "remUnsigned"),
          pure("9.7.1.9",     "1.0", 20, "abs.sint d, a",                                                     "abs"),
          pure("9.7.1.10",    "1.0", 20, "neg.sint d, a",                                                     "neg"),
          pure("9.7.1.11",    "1.0", 20, "min.sint d, a, b",                                                  "min"),
          pure("9.7.1.11",    "1.0", 20, "min.uint d, a, b",                                                  "minUnsigned"),
          pure("9.7.1.12",    "1.0", 20, "max.sint d, a, b",                                                  "max"),
          pure("9.7.1.12",    "1.0", 20, "max.uint d, a, b",                                                  "maxUnsigned"),

          // logic and shifts
          pure("9.7.8.1",     "1.0", 20, "and.<pred|b16|b32|b64> d, a, b",                                    "and"),
          pure("9.7.8.2",     "1.0", 20, "or.<pred|b16|b32|b64> d, a, b",                                     "or"),
          pure("9.7.8.3",     "1.0", 20, "xor.<pred|b16|b32|b64> d, a, b",                                    "xor"),
          pure("9.7.8.4",     "1.0", 20, "not.<pred|b16|b32|b64> d, a",                                       "not"),
          pure("9.7.8.8",     "1.0", 20, "shl.bits d, a, b:u32",                                              "shl"),
          pure("9.7.8.9",     "1.0", 20, "shr.sint d, a, b:u32",                                              "shr"),
          pure("9.7.8.9",     "1.0", 20, "shr.<b16|b32|b64|u16|u32|u64> d, a, b:u32",                         "shrUnsigned"),

          // floating point
          pure("9.7.3.3",     "1.0", 20, "add{.rn}{.ftz}{.sat}.f32 d, a, b",                                  "add"),
          pure("9.7.3.3",     "1.0", 20, "add{.rn}.f64 d, a, b",                                              "add"),
          pure("9.7.3.4",     "1.0", 20, "sub{.rn}{.ftz}{.sat}.f32 d, a, b",                                  "sub"),
          pure("9.7.3.4",     "1.0", 20, "sub{.rn}.f64 d, a, b",                                              "sub"),
          pure("9.7.3.5",     "1.0", 20, "mul{.rn}{.ftz}{.sat}.f32 d, a, b",                                  "mul"),
          pure("9.7.3.5",     "1.0", 20, "mul{.rn}.f64 d, a, b",                                              "mul"),
          pure("9.7.3.6",     "2.0", 20, "fma.rn{.ftz}{.sat}.f32 d, a, b, c",                                 "fma"),
          pure("9.7.3.6",     "2.0", 20, "fma.rn.f64 d, a, b, c",                                             "fma"),
          pure("9.7.3.8",     "1.4", 20, "div.rn{.ftz}.f32 d, a, b",                                          "div"),
          pure("9.7.3.8",     "1.4", 20, "div.rn.f64 d, a, b",                                                "div"),
          pure("9.7.3.9",     "1.0", 20, "abs{.ftz}.f32 d, a",                                                "abs"),
          pure("9.7.3.9",     "1.0", 20, "abs.f64 d, a",                                                      "abs"),
          pure("9.7.3.10",    "1.0", 20, "neg{.ftz}.f32 d, a",                                                "neg"),
          pure("9.7.3.10",    "1.0", 20, "neg.f64 d, a",                                                      "neg"),
          pure("9.7.3.11",    "1.0", 20, "min{.ftz}.f32 d, a, b",                                             "min"),
          pure("9.7.3.11",    "1.0", 20, "min.f64 d, a, b",                                                   "min"),
          pure("9.7.3.12",    "1.0", 20, "max{.ftz}.f32 d, a, b",                                             "max"),
          pure("9.7.3.12",    "1.0", 20, "max.f64 d, a, b",                                                   "max"),
          pure("9.7.3.13",    "1.4", 20, "rcp.<approx|rn>{.ftz}.f32 d, a",                                    "reciprocal"),
          pure("9.7.3.16",    "1.4", 20, "sqrt.<approx|rn>{.ftz}.f32 d, a",                                   "sqrt"),
          pure("9.7.3.16",    "1.4", 20, "sqrt.rn.f64 d, a",                                                  "sqrt"),
          pure("9.7.3.17",    "1.4", 20, "rsqrt.approx{.ftz}.f32 d, a",                                       "reciprocalSqrt"),
          pure("9.7.3.21",    "1.4", 20, "lg2.approx{.ftz}.f32 d, a",                                         "log2"),
          pure("9.7.3.22",    "1.4", 20, "ex2.approx{.ftz}.f32 d, a",                                         "exp2"),
          pure("9.7.3.23",    "7.0", 75, "tanh.approx.f32 d, a",                                              "tanh"),

          // comparison and selection
          pure("9.7.6.2",     "1.0", 20, "setp.cmp.sint p:pred, a, b",                                        "compare"),
          pure("9.7.6.2",     "1.0", 20, "setp.ucmp.uint p:pred, a, b",                                       "compareUnsigned"),
          pure("9.7.6.2",     "1.0", 20, "setp.<eq|ne>.bits p:pred, a, b",                                    "compare"),
          pure("9.7.6.2",     "1.0", 20, "setp.fcmp{.ftz}.f32 p:pred, a, b",                                  "compare"),
          pure("9.7.6.2",     "1.0", 20, "setp.fcmp.f64 p:pred, a, b",                                        "compare"),
          pure("9.7.6.3",     "1.0", 20, "selp.any d, a, b, c:pred",                                          "select"),

          // conversion
          pure("9.7.9.21",    "1.0", 20, "cvt.int.sint d:0, a:1",                                             "identity"),
          pure("9.7.9.21",    "1.0", 20, "cvt.int.uint d:0, a:1",                                             "zeroExtend"),
          pure("9.7.9.21",    "1.0", 20, "cvt.rn.f32.<s32|s64> d:0, a:1",                                     "toFloat"),
          pure("9.7.9.21",    "1.0", 20, "cvt.rn.f32.<u32|u64> d:0, a:1",                                     "toFloatUnsigned"),
          pure("9.7.9.21",    "1.0", 20, "cvt.rn.f64.<s32|s64> d:0, a:1",                                           "toDouble"),
          pure("9.7.9.21",    "1.0", 20, "cvt.rn.f64.<u32|u64> d:0, a:1",                                           "toDoubleUnsigned"),
          pure("9.7.9.21",    "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.ftz}.s32.f32 d:0, a:1",                      "toInt"),
          pure("9.7.9.21",    "1.0", 20, "cvt.<rni|rzi|rmi|rpi>{.ftz}.s64.f32 d:0, a:1",                      "toLong"),
          pure("9.7.9.21",    "1.0", 20, "cvt.<rni|rzi|rmi|rpi>.s32.f64 d:0, a:1",                            "toInt"),
          pure("9.7.9.21",    "1.0", 20, "cvt.<rni|rzi|rmi|rpi>.s64.f64 d:0, a:1",                            "toLong"),
          pure("9.7.9.21",    "1.0", 20, "cvt.f64.f32 d:0, a:1",                                              "widen"),
          pure("9.7.9.21",    "1.0", 20, "cvt.rn.f32.f64 d:0, a:1",                                           "narrow"),
          pure("9.7.9.21",    "1.0", 20, "cvt.f32.f16 d:0, a:1",                                              "halfToFloat"),
          pure("9.7.9.21",    "1.0", 20, "cvt.rn.f16.f32 d:0, a:1",                                           "floatToHalf"),
          pure("9.7.9.21",    "7.0", 80, "cvt.rn.f16x2.f32 d:0, a:1, b:1",                                    "floatsToHalves"),
          pure("9.7.9.21",    "7.8", 90, "cvt.f32.bf16 d:0, a:1",                                             "bfloatToFloat"),
          pure("9.7.9.21",    "7.0", 80, "cvt.rn.bf16.f32 d:0, a:1",                                          "floatToBfloat"),
          pure("9.7.9.21",    "7.0", 80, "cvt.rn.bf16x2.f32 d:0, a:1, b:1",                                   "floatsToBfloats"),

          // control
          row( "9.7.12.3",    "1.0", 20, "bra{.uni} a:label",                                                 new Branch()),
          row( "9.7.12.6",    "1.0", 20, "ret",                                                               new Exit()),
          row( "9.7.12.7",    "1.0", 20, "exit",                                                              new Exit()),

          // warp and block
          row( "9.7.13.1",    "1.0", 20, "bar.sync a:u32",                                                    new Barrier()),
          row( "9.7.13.1",    "2.0", 20, "bar.sync a:u32, b:u32",                                             new Barrier()),
          warp("9.7.9.6",     "6.0", 70, "shfl.sync.<up|down|bfly|idx>.b32 d, a, b:u32, c:u32, m:u32",        Collectives::shuffle),
          warp("9.7.9.6",     "6.0", 70, "shfl.sync.<up|down|bfly|idx>.b32 d|p:pred, a, b:u32, c:u32, m:u32", Collectives::shuffle),

          // matrices
          row( "9.7.14.5.15", "6.5", 75, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 d:b32*1, [a]",             new LoadMatrix(Fragments.MATRIX_8X8)),
          row( "9.7.14.5.15", "6.5", 75, "ldmatrix.sync.aligned.m8n8.x2.shared.b16 d:b32*2, [a]",             new LoadMatrix(Fragments.MATRIX_8X8)),
          row( "9.7.14.5.15", "6.5", 75, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 d:b32*4, [a]",             new LoadMatrix(Fragments.MATRIX_8X8)),
          row( "9.7.14.5.15", "6.5", 75, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 d:b32*1, [a]",       new LoadMatrix(Fragments.MATRIX_8X8_TRANSPOSED)),
          row( "9.7.14.5.15", "6.5", 75, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 d:b32*2, [a]",       new LoadMatrix(Fragments.MATRIX_8X8_TRANSPOSED)),
          row( "9.7.14.5.15", "6.5", 75, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 d:b32*4, [a]",       new LoadMatrix(Fragments.MATRIX_8X8_TRANSPOSED)),
          warp("9.7.14.5.14", "7.0", 80, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d:f32*4, a:b32*4, b:b32*2, c:f32*4", TensorCore.F16::m16n8k16),
          warp("9.7.14.5.14", "7.0", 80, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d:f32*4, a:b32*4, b:b32*2, c:f32*4", TensorCore.BF16::m16n8k16));
  // spotless:on

  private static final Pattern UNSUPPORTED =
      Pattern.compile(
          "tex|tld4|txq|istypep|suld|sust|sured|suq|tcgen05"
              + "|v(add|sub|absdiff|min|max|avrg|set)[24]?|vmad|vshl|vshr");

  private static final Map<String, List<Form>> BY_MNEMONIC =
      TABLE.stream().collect(Collectors.groupingBy(Form::mnemonic));

  private Opcodes() {}

  /** Every row. */
  public static List<Form> all() {
    return TABLE;
  }

  /** A row with its modifiers chosen. */
  public record Match(Form form, Modifiers modifiers) {}

  /**
   * The row that a spelling such as {@code fma.rn.f32} with these operands means.
   *
   * @throws IllegalArgumentException when there is none, saying how the instruction is written
   */
  public static Match find(String opcode, List<Operand> operands) {
    var words = opcode.split("\\.");
    var rows = BY_MNEMONIC.get(words[0]);
    if (UNSUPPORTED.matcher(words[0]).matches()) {
      throw new IllegalArgumentException(
          words[0]
              + " is not supported: textures, surfaces, video instructions and tcgen05 are not");
    }
    if (rows == null) {
      throw new IllegalArgumentException(
          "no instruction \"%s\"; the table has %s"
              .formatted(
                  words[0],
                  BY_MNEMONIC.keySet().stream().sorted().collect(Collectors.joining(", "))));
    }
    var modifiers = Arrays.stream(words).skip(1).map(Modifier::of).toList();
    var fitting = new ArrayList<Match>();
    for (var row : rows) {
      row.fit(modifiers).ifPresent(chosen -> fitting.add(new Match(row, chosen)));
    }
    return fitting.stream()
        .filter(match -> match.form().takes(operands, match.modifiers()))
        .findFirst()
        .orElseThrow(
            () -> new IllegalArgumentException(complaint(opcode, operands, rows, fitting)));
  }

  /**
   * An instruction, its literals brought to the types of its row.
   *
   * @param opcode as written, {@code fma.rn.f32}
   * @throws IllegalArgumentException when there is no such instruction or a literal does not fit
   */
  public static Statement.Instruction instruction(
      String opcode, List<Operand> operands, Statement.@Nullable Guard guard, Source source) {
    var match = find(opcode, operands);
    var typed = new ArrayList<Operand>();
    for (int i = 0; i < operands.size(); i++) {
      typed.add(
          operands.get(i) instanceof Operand.Immediate literal
              ? match.form().operands().get(i).literal(literal, match.modifiers())
              : operands.get(i));
    }
    return new Statement.Instruction(match.form(), match.modifiers(), typed, guard, source);
  }

  private static String complaint(
      String opcode, List<Operand> operands, List<Form> rows, List<Match> fitting) {
    if (fitting.isEmpty()) {
      return "no instruction \"%s\"; %s is written %s"
          .formatted(
              opcode,
              rows.getFirst().mnemonic(),
              rows.stream().map(Form::syntax).collect(Collectors.joining(" or ")));
    }
    return "%s takes %s, not (%s)"
        .formatted(
            opcode,
            fitting.stream().map(Opcodes::operandsOf).collect(Collectors.joining(" or ")),
            operands.stream().map(Operand::toString).collect(Collectors.joining(", ")));
  }

  private static String operandsOf(Match match) {
    return match.form().operands().stream()
        .map(slot -> slot.name() + " = " + slot.describe(match.modifiers()))
        .collect(Collectors.joining(", ", "(", ")"));
  }

  private static Form pure(
      String section, String version, int sm, String syntax, String... functions) {
    return row(section, version, sm, syntax, new Pure(List.of(functions)));
  }

  private static Form warp(
      String section, String version, int sm, String syntax, WarpFunction function) {
    return row(section, version, sm, syntax, new Warp(function));
  }

  private static Form row(
      String section, String version, int sm, String syntax, Semantics semantics) {
    return row(section, version, sm, syntax, _ -> true, semantics);
  }

  private static Form row(
      String section,
      String version,
      int sm,
      String syntax,
      Predicate<Modifiers> legal,
      Semantics semantics) {
    return Form.of(
        section, new Since(Version.of(version), new Target(sm, false)), syntax, legal, semantics);
  }

  /** A vector access moves at most 16 bytes. */
  private static boolean atMost16Bytes(Modifiers modifiers) {
    return modifiers.vectorLength() * modifiers.type().orElseThrow().bytes() <= 16;
  }
}
