package dev.athanor.engine.ptx.legal;

import static dev.athanor.engine.ptx.RegisterClass.B16;
import static dev.athanor.engine.ptx.RegisterClass.B32;
import static dev.athanor.engine.ptx.RegisterClass.F32;
import static dev.athanor.engine.ptx.RegisterClass.PRED;
import static dev.athanor.engine.ptx.legal.Sequence.literal;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Vector;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** The instructions that have a replacement on older targets. */
final class Replacements {

  /** Writes the instructions that replace the {@linkplain Sequence#given given} one. */
  interface Replacement {
    void write(Sequence out);
  }

  private static final Map<String, Replacement> BY_OPCODE =
      Map.ofEntries(
          Map.entry("cvt.rn.bf16.f32", Replacements::toBf16),
          Map.entry("cvt.rn.bf16x2.f32", out -> pack(out, Replacements::bf16)),
          Map.entry("cvt.rn.f16x2.f32", out -> pack(out, Replacements::f16)),
          Map.entry("fma.rn.bf16x2", Replacements::fmaOfBf16Pairs),
          Map.entry("max.NaN.f32", out -> orNaN(out, "max.f32")),
          Map.entry("min.NaN.f32", out -> orNaN(out, "min.f32")),
          // a copy is complete when it has been issued
          Map.entry("cp.async.commit_group", _ -> {}),
          Map.entry("cp.async.wait_group", _ -> {}),
          Map.entry("cp.async.wait_all", _ -> {}),
          Map.entry(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
              out -> halves(out, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")),
          Map.entry(
              "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
              out -> halves(out, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16")));

  private static final Pattern COPY = Pattern.compile("cp\\.async\\.c[ag]\\.shared.*\\.global.*");

  /** Without {@code satfinite}, which would also saturate the sum of a part of K. */
  private static final Pattern INTEGER_PRODUCT =
      Pattern.compile(
          "mma\\.sync\\.aligned\\.m16n8k\\d+\\.row\\.col\\.s32\\.[su][48]\\.[su][48]\\.s32");

  private Replacements() {}

  /** Returns the replacement of an instruction, if it has one. */
  static Optional<Replacement> of(Instruction given) {
    var opcode = given.opcode();
    if (COPY.matcher(opcode).matches()) {
      return Optional.of(Replacements::copy);
    }
    if (INTEGER_PRODUCT.matcher(opcode).matches()) {
      return Optional.of(Replacements::integerProduct);
    }
    return Optional.ofNullable(BY_OPCODE.get(opcode));
  }

  // -- conversions

  private static void toBf16(Sequence out) {
    out.guarded("cvt.u16.u32", out.operand(0), bf16(out, out.operand(1)));
  }

  /**
   * Rounds the bits of an f32 to the nearest bf16, to even if both are as near: adds half of the
   * last place, less one if the last place is even, and truncates. NaN becomes the canonical NaN.
   */
  private static Register bf16(Sequence out, Operand value) {
    var bits = out.compute(B32, "mov.b32", value);
    var last = out.compute(B32, "bfe.u32", bits, literal(16), literal(1));
    var raised = out.compute(B32, "add.u32", bits, literal(0x7FFF));
    var rounded = out.compute(B32, "add.u32", raised, last);
    var top = out.compute(B32, "shr.u32", rounded, literal(16));
    var isNaN = out.compute(PRED, "setp.nan.f32", value, value);
    return out.compute(B32, "selp.b32", literal(0x7FFF), top, isNaN);
  }

  private static Register f16(Sequence out, Operand value) {
    var half = out.compute(B16, "cvt.rn.f16.f32", value);
    return out.compute(B32, "cvt.u32.u16", half);
  }

  /** Converts one f32 to bits in the lower half of a register. */
  private interface Narrowing {
    Register apply(Sequence out, Operand value);
  }

  /** Converts two f32, the first to the upper half. */
  private static void pack(Sequence out, Narrowing narrowing) {
    var high = narrowing.apply(out, out.operand(1));
    var low = narrowing.apply(out, out.operand(2));
    out.guarded("prmt.b32", out.operand(0), low, high, literal(0x5410));
  }

  // -- arithmetic

  /** Returns NaN if an operand is NaN, where {@code max} would return the other. */
  private static void orNaN(Sequence out, String opcode) {
    var a = out.operand(1);
    var b = out.operand(2);
    var number = out.compute(F32, opcode, a, b);
    var isNaN = out.compute(PRED, "setp.nan.f32", a, b);
    out.guarded("selp.f32", out.operand(0), new Immediate(Type.F32, 0x7FFF_FFFFL), number, isNaN);
  }

  private static void fmaOfBf16Pairs(Sequence out) {
    var low = fmaOfBf16(out, false);
    var high = fmaOfBf16(out, true);
    out.guarded("prmt.b32", out.operand(0), low, high, literal(0x5410));
  }

  /**
   * Computes one half in f32. The sum is rounded to odd, so that the second rounding, to bf16, is
   * that of the exact result (Boldo and Melquiond, Emulation of a FMA and Correctly Rounded Sums).
   */
  private static Register fmaOfBf16(Sequence out, boolean high) {
    var a = half(out, out.operand(1), high);
    var b = half(out, out.operand(2), high);
    var c = half(out, out.operand(3), high);
    var down = out.compute(F32, "fma.rm.f32", a, b, c);
    var up = out.compute(F32, "fma.rp.f32", a, b, c);
    var truncated = out.compute(B32, "mov.b32", out.compute(F32, "fma.rz.f32", a, b, c));
    var isInexact = out.compute(PRED, "setp.ne.f32", down, up);
    var sticky = out.compute(B32, "selp.b32", literal(1), literal(0), isInexact);
    var odd = out.compute(B32, "or.b32", truncated, sticky);
    return bf16(out, out.compute(F32, "mov.b32", odd));
  }

  private static Register half(Sequence out, Operand pair, boolean high) {
    var bits =
        high
            ? out.compute(B32, "and.b32", pair, literal(0xFFFF_0000))
            : out.compute(B32, "shl.b32", pair, literal(16));
    return out.compute(F32, "mov.b32", bits);
  }

  // -- asynchronous copies

  /**
   * Copies at once. An asynchronous copy may complete at any time before the wait for it, so that a
   * program which is correct with it is correct with this.
   */
  private static void copy(Sequence out) {
    var to = (Address) out.operand(0);
    var from = (Address) out.operand(1);
    int bytes = (int) ((Immediate) out.operand(2)).bits();
    if (out.given().operands().size() == 3) {
      var words = registers(out, bytes);
      out.guarded("ld.global" + vector(bytes), operand(words), from);
      out.guarded("st.shared" + vector(bytes), to, operand(words));
      return;
    }
    var given = out.operand(3);
    if (given instanceof Register ignored && ignored.registerClass() == PRED) {
      var reads = out.compute(PRED, "not.pred", ignored);
      store(out, to, bytes, load(out, from, bytes, reads));
      return;
    }
    var count = out.compute(B32, "mov.b32", given);
    var isWhole = out.compute(PRED, "setp.ge.u32", count, literal(bytes));
    var words = load(out, from, bytes, isWhole);
    var isShort = out.compute(PRED, "setp.lt.u32", count, literal(bytes));
    var hasSome = out.compute(PRED, "setp.ne.u32", count, literal(0));
    var isPart = out.where(out.compute(PRED, "and.pred", isShort, hasSome)).predicate();
    out.onlyIf(isPart, () -> loadBytes(out, from, words, count));
    store(out, to, bytes, words);
  }

  /** Loads words where a condition holds; elsewhere, they are 0. */
  private static List<Register> load(Sequence out, Address from, int bytes, Register condition) {
    var words = registers(out, bytes);
    words.forEach(word -> out.add(null, "mov.b32", word, literal(0)));
    out.add(out.where(condition), "ld.global" + vector(bytes), operand(words), from);
    return words;
  }

  /** Loads the first bytes of words that are 0. */
  private static void loadBytes(Sequence out, Address from, List<Register> words, Register count) {
    for (int i = 0; i < 4 * words.size() - 1; i++) {
      var word = words.get(i / 4);
      var isThere = out.compute(PRED, "setp.gt.u32", count, literal(i));
      var value = out.compute(B32, "mov.b32", literal(0));
      out.add(
          new Guard(isThere, false),
          "ld.global.u8",
          value,
          new Address(from.base(), from.offset() + i));
      var placed = out.compute(B32, "shl.b32", value, literal(i % 4 * 8));
      out.add(null, "or.b32", word, word, placed);
    }
  }

  private static void store(Sequence out, Address to, int bytes, List<Register> words) {
    out.guarded("st.shared" + vector(bytes), to, operand(words));
  }

  private static List<Register> registers(Sequence out, int bytes) {
    return IntStream.range(0, bytes / 4).mapToObj(_ -> out.register(B32)).toList();
  }

  private static String vector(int bytes) {
    return bytes == 4 ? ".b32" : ".v" + bytes / 4 + ".b32";
  }

  private static Operand operand(List<? extends Operand> words) {
    return words.size() == 1 ? words.getFirst() : Vector.of(words);
  }

  // -- matrix products

  /**
   * Multiplies the two halves of K one after the other. The first half of the registers of a and of
   * b holds the first half of K (PTX ISA 9.7.15.5.8).
   */
  private static void halves(Sequence out, String opcode) {
    var a = out.elements(1);
    var b = out.elements(2);
    var sum = Vector.of(alike(out, out.elements(0)));
    out.guarded(opcode, sum, Vector.of(a.subList(0, 2)), vectorOf(b.get(0)), out.operand(3));
    out.guarded(opcode, out.operand(0), Vector.of(a.subList(2, 4)), vectorOf(b.get(1)), sum);
  }

  private static Vector vectorOf(Operand register) {
    return Vector.of(List.of(register));
  }

  /** Returns new registers: results must not overwrite factors that are still needed. */
  private static List<Register> alike(Sequence out, List<Operand> results) {
    return results.stream().map(each -> out.register(((Register) each).registerClass())).toList();
  }

  /**
   * Multiplies 8 rows and 128 bits of K at a time. A register of a holds 8 rows: the first of each
   * pair the upper ones; each pair, and each register of b, holds 128 bits of K (PTX ISA
   * 9.7.15.5.10 and 9.7.15.5.12).
   */
  private static void integerProduct(Sequence out) {
    var a = out.elements(1);
    var b = out.elements(2);
    var c = out.elements(3);
    var d = out.elements(0);
    int k = bits(out.given()) == 8 ? 16 : 32;
    var opcode = out.given().opcode().replaceFirst("m16n8k\\d+", "m8n8k" + k);
    var sums = new ArrayList<Operand>(c);
    for (int half = 0; half < 2; half++) {
      var rows = sums.subList(2 * half, 2 * half + 2);
      for (int step = 0; step < b.size(); step++) {
        var added = Vector.of(rows);
        var sum = alike(out, d.subList(0, 2));
        out.guarded(
            opcode, Vector.of(sum), vectorOf(a.get(2 * step + half)), vectorOf(b.get(step)), added);
        rows.set(0, sum.get(0));
        rows.set(1, sum.get(1));
      }
    }
    for (int i = 0; i < d.size(); i++) {
      out.guarded("mov.b32", d.get(i), sums.get(i));
    }
  }

  private static int bits(Instruction product) {
    return product.modifiers().types().stream().mapToInt(Type::bits).min().orElseThrow();
  }
}
