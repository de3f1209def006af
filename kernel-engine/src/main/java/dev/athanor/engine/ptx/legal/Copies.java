package dev.athanor.engine.ptx.legal;

import static dev.athanor.engine.ptx.RegisterClass.B32;
import static dev.athanor.engine.ptx.RegisterClass.PRED;
import static dev.athanor.engine.ptx.legal.Sequence.literal;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Vector;
import dev.athanor.engine.ptx.Statement.Guard;
import java.util.List;
import java.util.stream.IntStream;

/** The replacements of copies to and loads from shared memory. */
final class Copies {

  private Copies() {}

  /**
   * Copies at once. An asynchronous copy may complete at any time before the wait for it, so that a
   * program which is correct with it is correct with this.
   */
  static void copy(Sequence out) {
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

  /**
   * Loads matrices of 8 rows of 8 elements. Lane {@code 8·i + r} has the address of row r of matrix
   * i, of which lane L receives elements {@code 2·(L mod 4)} and the next of row {@code L / 4} (PTX
   * ISA 9.7.15.5.15).
   */
  static void loadMatrices(Sequence out) {
    var address = out.address(1);
    var results = out.elements(0);
    var row = out.lane().row();
    var column = out.compute(B32, "shl.b32", out.lane().column(), literal(2));
    for (int i = 0; i < results.size(); i++) {
      var from = out.compute(B32, "add.u32", row, literal(8 * i));
      var start = out.compute(B32, "add.u32", out.shuffle(address, from), column);
      out.guarded("ld.shared.b32", results.get(i), new Address(start, 0));
    }
  }

  /** Loads transposed matrices: lane L receives elements of column {@code L / 4}. */
  static void loadTransposed(Sequence out) {
    var address = out.address(1);
    var results = out.elements(0);
    var column = out.compute(B32, "shl.b32", out.lane().row(), literal(1));
    var row = out.compute(B32, "shl.b32", out.lane().column(), literal(1));
    for (int i = 0; i < results.size(); i++) {
      var halves = new Register[2];
      for (int half = 0; half < 2; half++) {
        var from = out.compute(B32, "add.u32", row, literal(8 * i + half));
        var start = out.compute(B32, "add.u32", out.shuffle(address, from), column);
        halves[half] = out.register(B32);
        out.guarded("ld.shared.u16", halves[half], new Address(start, 0));
      }
      out.guarded("prmt.b32", results.get(i), halves[0], halves[1], literal(0x5410));
    }
  }
}
