package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.consumerBlackwell;
import static dev.athanor.engine.ptx.table.Row.row;
import static dev.athanor.engine.ptx.table.Row.warp;

import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.LoadMatrix;
import dev.athanor.engine.ptx.Semantics.LoadTile;
import dev.athanor.engine.ptx.Semantics.StoreMatrix;
import dev.athanor.engine.ptx.Semantics.StoreTile;
import dev.athanor.engine.ptx.Semantics.WarpKind;
import dev.athanor.engine.ptx.WarpFunction;
import dev.athanor.engine.ptx.meaning.MatrixProduct;
import java.util.ArrayList;
import java.util.List;

/** Warp-level matrix instructions (PTX ISA 9.7.14). */
final class MatrixRows {

  private static final String MMA = "9.7.14.5.14";
  private static final String F8F6F4 = "<e4m3|e5m2|e3m2|e2m3|e2m1>";
  private static final String SHAPES = "<m16n16k16|m8n32k16|m32n8k16>";

  // spotless:off
  private static final List<Row> PRODUCTS =
      List.of(
          mma("6.5", 75, "m16n8k8.row.col.f32.f16.f16.f32 d:f32*4, a:b32*2, b:b32*1, c:f32*4"),
          mma("6.5", 75, "m16n8k8.row.col.f16.f16.f16.f16 d:b32*2, a:b32*2, b:b32*1, c:b32*2"),
          mma("7.0", 80, "m16n8k16.row.col.f32.f16.f16.f32 d:f32*4, a:b32*4, b:b32*2, c:f32*4"),
          mma("7.0", 80, "m16n8k16.row.col.f16.f16.f16.f16 d:b32*2, a:b32*4, b:b32*2, c:b32*2"),
          mma("7.0", 80, "m16n8k8.row.col.f32.bf16.bf16.f32 d:f32*4, a:b32*2, b:b32*1, c:f32*4"),
          mma("7.0", 80, "m16n8k16.row.col.f32.bf16.bf16.f32 d:f32*4, a:b32*4, b:b32*2, c:f32*4"),
          mma("7.0", 80, "m16n8k4.row.col.f32.tf32.tf32.f32 d:f32*4, a:b32*2, b:b32*1, c:f32*4"),
          mma("7.0", 80, "m16n8k8.row.col.f32.tf32.tf32.f32 d:f32*4, a:b32*4, b:b32*2, c:f32*4"),
          mma("8.7", 89, "m16n8k16.row.col.f32.<e4m3|e5m2>.<e4m3|e5m2>.f32 d:f32*4, a:b32*2, b:b32*1, c:f32*4"),
          mma("8.7", 89, "m16n8k16.row.col.f16.<e4m3|e5m2>.<e4m3|e5m2>.f16 d:b32*2, a:b32*2, b:b32*1, c:b32*2"),
          mma("8.4", 89, "m16n8k32.row.col.f32.<e4m3|e5m2>.<e4m3|e5m2>.f32 d:f32*4, a:b32*4, b:b32*2, c:f32*4"),
          mma("8.7", 89, "m16n8k32.row.col.f16.<e4m3|e5m2>.<e4m3|e5m2>.f16 d:b32*2, a:b32*4, b:b32*2, c:b32*2"),
          mma("7.0", 80, "m8n8k4.row.col{.<rn|rz|rm|rp>}.f64.f64.f64.f64 d:f64*2, a:f64*1, b:f64*1, c:f64*2"),
          mma("7.8", 90, "m16n8k4.row.col{.<rn|rz|rm|rp>}.f64.f64.f64.f64 d:f64*4, a:f64*2, b:f64*1, c:f64*4"),
          mma("7.8", 90, "m16n8k8.row.col{.<rn|rz|rm|rp>}.f64.f64.f64.f64 d:f64*4, a:f64*4, b:f64*2, c:f64*4"),
          mma("7.8", 90, "m16n8k16.row.col{.<rn|rz|rm|rp>}.f64.f64.f64.f64 d:f64*4, a:f64*8, b:f64*4, c:f64*4"),
          mma("6.5", 75, "m8n8k16.row.col{.satfinite}.s32.<s8|u8>.<s8|u8>.s32 d:s32*2, a:b32*1, b:b32*1, c:s32*2"),
          mma("7.0", 80, "m16n8k16.row.col{.satfinite}.s32.<s8|u8>.<s8|u8>.s32 d:s32*4, a:b32*2, b:b32*1, c:s32*4"),
          mma("7.0", 80, "m16n8k32.row.col{.satfinite}.s32.<s8|u8>.<s8|u8>.s32 d:s32*4, a:b32*4, b:b32*2, c:s32*4"),
          mma("6.5", 75, "m8n8k32.row.col{.satfinite}.s32.<s4|u4>.<s4|u4>.s32 d:s32*2, a:b32*1, b:b32*1, c:s32*2"),
          mma("7.0", 80, "m16n8k32.row.col{.satfinite}.s32.<s4|u4>.<s4|u4>.s32 d:s32*4, a:b32*2, b:b32*1, c:s32*4"),
          mma("7.0", 80, "m16n8k64.row.col{.satfinite}.s32.<s4|u4>.<s4|u4>.s32 d:s32*4, a:b32*4, b:b32*2, c:s32*4"),
          mma("7.0", 75, "m8n8k128.row.col.s32.b1.b1.s32.xor.popc d:s32*2, a:b32*1, b:b32*1, c:s32*2"),
          mma("7.1", 80, "m8n8k128.row.col.s32.b1.b1.s32.and.popc d:s32*2, a:b32*1, b:b32*1, c:s32*2"),
          mma("7.0", 80, "m16n8k128.row.col.s32.b1.b1.s32.xor.popc d:s32*4, a:b32*2, b:b32*1, c:s32*4"),
          mma("7.1", 80, "m16n8k128.row.col.s32.b1.b1.s32.and.popc d:s32*4, a:b32*2, b:b32*1, c:s32*4"),
          mma("7.0", 80, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc d:s32*4, a:b32*4, b:b32*2, c:s32*4"),
          mma("7.1", 80, "m16n8k256.row.col.s32.b1.b1.s32.and.popc d:s32*4, a:b32*4, b:b32*2, c:s32*4"),

          small("m16n8k32.row.col.kind::f8f6f4.f32." + F8F6F4 + "." + F8F6F4 + ".f32 d:f32*4, a:b32*4, b:b32*2, c:f32*4"),
          small("m16n8k32.row.col.kind::f8f6f4.f16." + F8F6F4 + "." + F8F6F4 + ".f16 d:b32*2, a:b32*4, b:b32*2, c:b32*2"),
          small("m16n8k32.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32." + F8F6F4 + "." + F8F6F4 + ".f32.ue8m0 " + scaled("0..3")),
          small("m16n8k64.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 " + scaled("0,2")),
          small("m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 " + scaled("0,2")),
          small("m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 " + scaled("0")),

          wmma("6.1", 70, "sync.aligned.<row|col>.<row|col>." + SHAPES + ".f16.f16 d:b32*4, a:b32*8, b:b32*8, c:b32*4"),
          wmma("6.1", 70, "sync.aligned.<row|col>.<row|col>." + SHAPES + ".f16.f32 d:b32*4, a:b32*8, b:b32*8, c:f32*8"),
          wmma("6.1", 70, "sync.aligned.<row|col>.<row|col>." + SHAPES + ".f32.f16 d:f32*8, a:b32*8, b:b32*8, c:b32*4"),
          wmma("6.1", 70, "sync.aligned.<row|col>.<row|col>." + SHAPES + ".f32.f32 d:f32*8, a:b32*8, b:b32*8, c:f32*8"),
          wmma("7.0", 80, "sync.aligned.<row|col>.<row|col>.m16n16k16.f32.bf16.bf16.f32 d:f32*8, a:b32*4, b:b32*4, c:f32*8"),
          wmma("7.0", 80, "sync.aligned.<row|col>.<row|col>.m8n32k16.f32.bf16.bf16.f32 d:f32*8, a:b32*2, b:b32*8, c:f32*8"),
          wmma("7.0", 80, "sync.aligned.<row|col>.<row|col>.m32n8k16.f32.bf16.bf16.f32 d:f32*8, a:b32*8, b:b32*2, c:f32*8"),
          wmma("7.0", 80, "sync.aligned.<row|col>.<row|col>.m16n16k8.f32.tf32.tf32.f32 d:f32*8, a:b32*4, b:b32*4, c:f32*8"),
          wmma("7.0", 80, "sync.aligned.<row|col>.<row|col>.m8n8k4{.<rn|rz|rm|rp>}.f64.f64.f64.f64 d:f64*2, a:f64*1, b:f64*1, c:f64*2"),
          wmma("6.3", 72, "sync.aligned.<row|col>.<row|col>.m16n16k16.s32.<s8|u8>.<s8|u8>.s32{.satfinite} d:s32*8, a:b32*2, b:b32*2, c:s32*8"),
          wmma("6.3", 72, "sync.aligned.<row|col>.<row|col>.m8n32k16.s32.<s8|u8>.<s8|u8>.s32{.satfinite} d:s32*8, a:b32*1, b:b32*4, c:s32*8"),
          wmma("6.3", 72, "sync.aligned.<row|col>.<row|col>.m32n8k16.s32.<s8|u8>.<s8|u8>.s32{.satfinite} d:s32*8, a:b32*4, b:b32*1, c:s32*8"),
          wmma("6.3", 75, "sync.aligned.row.col.m8n8k32.s32.<s4|u4>.<s4|u4>.s32{.satfinite} d:s32*2, a:b32*1, b:b32*1, c:s32*2"),
          wmma("6.3", 75, "xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d:s32*2, a:b32*1, b:b32*1, c:s32*2"),
          wmma("7.1", 80, "and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d:s32*2, a:b32*1, b:b32*1, c:s32*2"),

          warp(WarpKind.TRANSPOSE, "9.7.14.5.17", "7.8", 75, "movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32", MatrixRows::transpose));

  /** A load or store of a {@code wmma} matrix. The rows add its state space and optional stride. */
  private record TileTransfer(String version, int sm, String head, String type, String registers, boolean load) {}

  private static final List<TileTransfer> TILE_TRANSFERS =
      List.of(
          load("6.1", 70, "<a|b>.sync.aligned.<row|col>." + SHAPES, "f16", "b32*8"),
          load("7.0", 80, "<a|b>.sync.aligned.<row|col>.m16n16k16", "bf16", "b32*4"),
          load("7.0", 80, "a.sync.aligned.<row|col>.m8n32k16", "bf16", "b32*2"),
          load("7.0", 80, "b.sync.aligned.<row|col>.m8n32k16", "bf16", "b32*8"),
          load("7.0", 80, "a.sync.aligned.<row|col>.m32n8k16", "bf16", "b32*8"),
          load("7.0", 80, "b.sync.aligned.<row|col>.m32n8k16", "bf16", "b32*2"),
          load("6.3", 72, "<a|b>.sync.aligned.<row|col>.m16n16k16", "<s8|u8>", "b32*2"),
          load("6.3", 72, "a.sync.aligned.<row|col>.m8n32k16", "<s8|u8>", "b32*1"),
          load("6.3", 72, "b.sync.aligned.<row|col>.m8n32k16", "<s8|u8>", "b32*4"),
          load("6.3", 72, "a.sync.aligned.<row|col>.m32n8k16", "<s8|u8>", "b32*4"),
          load("6.3", 72, "b.sync.aligned.<row|col>.m32n8k16", "<s8|u8>", "b32*1"),
          load("7.0", 80, "<a|b>.sync.aligned.<row|col>.m16n16k8", "tf32", "b32*4"),
          load("7.0", 80, "<a|b>.sync.aligned.<row|col>.m8n8k4", "f64", "f64*1"),
          load("6.3", 75, "a.sync.aligned.row.m8n8k32", "<s4|u4>", "b32*1"),
          load("6.3", 75, "b.sync.aligned.col.m8n8k32", "<s4|u4>", "b32*1"),
          load("6.3", 75, "a.sync.aligned.row.m8n8k128", "b1", "b32*1"),
          load("6.3", 75, "b.sync.aligned.col.m8n8k128", "b1", "b32*1"),
          load("6.1", 70, "c.sync.aligned.<row|col>." + SHAPES, "f16", "b32*4"),
          load("6.1", 70, "c.sync.aligned.<row|col>." + SHAPES, "f32", "f32*8"),
          load("6.3", 72, "c.sync.aligned.<row|col>." + SHAPES, "s32", "s32*8"),
          load("6.3", 75, "c.sync.aligned.<row|col>.<m8n8k32|m8n8k128>", "s32", "s32*2"),
          load("7.0", 80, "c.sync.aligned.<row|col>.m16n16k8", "f32", "f32*8"),
          load("7.0", 80, "c.sync.aligned.<row|col>.m8n8k4", "f64", "f64*2"),
          store("6.1", 70, SHAPES, "f16", "b32*4"),
          store("6.1", 70, SHAPES, "f32", "f32*8"),
          store("6.3", 72, SHAPES, "s32", "s32*8"),
          store("6.3", 75, "<m8n8k32|m8n8k128>", "s32", "s32*2"),
          store("7.0", 80, "m16n16k8", "f32", "f32*8"),
          store("7.0", 80, "m8n8k4", "f64", "f64*2"));
  // spotless:on

  static final List<InstructionForm> ALL = Row.forms(all());

  private MatrixRows() {}

  private static List<Row> all() {
    var rows = new ArrayList<Row>();
    rows.addAll(PRODUCTS);
    for (int count = 1; count <= 4; count *= 2) {
      for (var transposed : List.of("", ".trans")) {
        var fragment =
            transposed.isEmpty() ? Fragments.MATRIX_8X8 : Fragments.MATRIX_8X8_TRANSPOSED;
        var words = "matrix.sync.aligned.m8n8.x%d%s".formatted(count, transposed);
        for (var space : List.of("{.shared}", ".shared::cta")) {
          var version = space.startsWith("{") ? "6.5" : "7.8";
          rows.add(
              row(
                  "9.7.14.5.15",
                  version,
                  75,
                  "ld%s%s.b16 d:b32*%d, [a]".formatted(words, space, count),
                  new LoadMatrix(fragment)));
          rows.add(
              row(
                  "9.7.14.5.16",
                  "7.8",
                  90,
                  "st%s%s.b16 [a], b:b32*%d".formatted(words, space, count),
                  new StoreMatrix(fragment)));
        }
      }
    }
    for (var move : TILE_TRANSFERS) {
      rows.add(transferRow(move, "{.<global|shared>}", move.version()));
      rows.add(transferRow(move, ".shared::cta", "7.8"));
    }
    return rows;
  }

  private static Row mma(String version, int sm, String syntax) {
    return warp(
        WarpKind.MATRIX_PRODUCT, MMA, version, sm, "mma.sync.aligned." + syntax, MatrixProduct.MMA);
  }

  /** Creates a product of 4- to 8-bit floating-point factors. */
  private static Row small(String syntax) {
    return consumerBlackwell(
        WarpKind.MATRIX_PRODUCT, MMA, "8.7", "mma.sync.aligned." + syntax, MatrixProduct.MMA);
  }

  /**
   * Returns the operands of a block-scaled product.
   *
   * @param bytes the permitted byte-ids
   */
  private static String scaled(String bytes) {
    return ("d:f32*4, a:b32*4, b:b32*2, c:f32*4, scale_a_data:word, selector_a:u16(%s;0..1)*2,"
            + " scale_b_data:word, selector_b:u16(%s;0..3)*2")
        .formatted(bytes, bytes);
  }

  private static Row wmma(String version, int sm, String syntax) {
    return row(
        "9.7.14.4.5",
        version,
        sm,
        "wmma.mma." + syntax,
        MatrixRows::sameIntegers,
        new Semantics.Warp(WarpKind.MATRIX_PRODUCT, MatrixProduct.WMMA));
  }

  /** Returns whether both integer factors have one type, which {@code mma} does not require. */
  private static boolean sameIntegers(Modifiers modifiers) {
    var types = modifiers.types();
    return types.size() == 2 || types.get(1) == types.get(2);
  }

  private static TileTransfer load(
      String version, int sm, String head, String type, String registers) {
    return new TileTransfer(version, sm, "wmma.load." + head, type, registers, true);
  }

  private static TileTransfer store(
      String version, int sm, String shape, String type, String registers) {
    return new TileTransfer(
        version, sm, "wmma.store.d.sync.aligned.<row|col>." + shape, type, registers, false);
  }

  private static Row transferRow(TileTransfer move, String space, String version) {
    var word = "%s%s.%s ".formatted(move.head(), space, move.type());
    return move.load()
        ? row(
            "9.7.14.4.3",
            version,
            move.sm(),
            word + "d:" + move.registers() + ", [a]{1, stride:u32}",
            new LoadTile())
        : row(
            "9.7.14.4.4",
            version,
            move.sm(),
            word + "[a], b:" + move.registers() + "{1, stride:u32}",
            new StoreTile());
  }

  /** {@code movmatrix}: transposes a matrix across the lanes. */
  private static void transpose(WarpFunction.Call call, int[][] sources, int[][] results) {
    for (int lane = 0; lane < 32; lane++) {
      int word = 0;
      for (int i = 0; i < 2; i++) {
        var to = Fragments.MATRIX_8X8.at(lane, i);
        int from = 4 * to.column() + to.row() / 2;
        word |= ((sources[0][from] >>> (16 * (to.row() % 2))) & 0xFFFF) << (16 * i);
      }
      results[0][lane] = word;
    }
  }
}
