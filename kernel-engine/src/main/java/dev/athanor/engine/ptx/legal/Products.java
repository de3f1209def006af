package dev.athanor.engine.ptx.legal;

import static dev.athanor.engine.ptx.RegisterClass.B16;
import static dev.athanor.engine.ptx.RegisterClass.B32;
import static dev.athanor.engine.ptx.RegisterClass.F32;
import static dev.athanor.engine.ptx.legal.Sequence.literal;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Operand.Vector;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** The replacements of matrix products. */
final class Products {

  private Products() {}

  /**
   * Multiplies the two halves of K one after the other. The first half of the registers of a and of
   * b holds the first half of K (PTX ISA 9.7.15.5.8).
   */
  static void halves(Sequence out) {
    var opcode = out.given().opcode().replace("m16n8k16", "m16n8k8");
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
  static void quarters(Sequence out) {
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

  /**
   * Multiplies without tensor cores. The lanes of a row of a have the elements of its row; those of
   * a column of b, the elements of its column. Each lane collects those of its results in a loop,
   * since kernels have hundreds of products.
   */
  static void onLanes(Sequence out) {
    var types = out.given().modifiers().types();
    var a = out.elements(1);
    var b = out.elements(2);
    var d = out.elements(0);
    var place = out.lane();
    var sums = alike(out, d);
    for (int i = 0; i < d.size(); i++) {
      out.add(null, "mov.b32", sums.get(i), out.elements(3).get(i));
    }
    int halves = a.size() / b.size();
    out.loop(
        place.count(),
        lane -> {
          var ofRow = shuffled(out, a, out.compute(B32, "add.u32", place.ofRow(), lane));
          var first = out.compute(B32, "add.u32", place.ofColumn(), lane);
          for (int column = 0; column < 2; column++) {
            var from = out.compute(B32, "add.u32", first, literal(Lane.ROW_LANES * column));
            var ofColumn = shuffled(out, b, from);
            for (int step = 0; step < b.size(); step++) {
              for (int half = 0; half < halves; half++) {
                var sum = sums.get(2 * half + column);
                add(out, types, ofRow.get(halves * step + half), ofColumn.get(step), sum);
              }
            }
          }
        });
    for (int i = 0; i < d.size(); i++) {
      out.guarded("mov.b32", d.get(i), sums.get(i));
    }
  }

  private static List<Register> shuffled(Sequence out, List<Operand> registers, Register lane) {
    return registers.stream().map(each -> out.shuffle(each, lane)).toList();
  }

  /** Adds the products of the elements of two registers to a sum. */
  private static void add(Sequence out, List<Type> types, Register a, Register b, Register sum) {
    if (types.getFirst() == Type.S32) {
      var opcode = "dp4a.%s.%s".formatted(whole(types.get(1)), whole(types.get(2)));
      out.add(null, opcode, sum, a, b, sum);
      return;
    }
    var left = floats(out, types.get(1), a);
    var right = floats(out, types.get(2), b);
    for (int i = 0; i < left.size(); i++) {
      out.add(null, "fma.rn.f32", sum, left.get(i), right.get(i), sum);
    }
  }

  private static String whole(Type type) {
    return type == Type.U8 ? "u32" : "s32";
  }

  /** Returns the elements of a register as f32. */
  private static List<Register> floats(Sequence out, Type type, Register register) {
    return switch (type) {
      case F16 -> {
        var low = out.register(B16);
        var high = out.register(B16);
        out.add(null, "mov.b32", Vector.of(List.of(low, high)), register);
        yield List.of(out.compute(F32, "cvt.f32.f16", low), out.compute(F32, "cvt.f32.f16", high));
      }
      case BF16 ->
          List.of(Arithmetic.half(out, register, false), Arithmetic.half(out, register, true));
      default -> List.of(out.compute(F32, "mov.b32", register));
    };
  }
}
