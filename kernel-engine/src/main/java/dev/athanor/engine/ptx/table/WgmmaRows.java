package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.hopper;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics.Warp;
import dev.athanor.engine.ptx.Semantics.WarpKind;
import dev.athanor.engine.ptx.Semantics.Wgmma;
import dev.athanor.engine.ptx.Semantics.WgmmaCommit;
import dev.athanor.engine.ptx.Semantics.WgmmaWait;
import dev.athanor.engine.ptx.WarpFunction;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Asynchronous warpgroup products and their register handover (PTX ISA 9.7.15). */
final class WgmmaRows {

  private static final WarpFunction NOTHING = (_, _, _) -> {};

  static final List<InstructionForm> ALL = Row.forms(all());

  /** Waits for all products. Only the emulator has it. */
  static final InstructionForm WAIT_ALL =
      hopper("9.7.15.7.3", "8.0", "wgmma.wait_all", new WgmmaWait()).forms().getFirst();

  private WgmmaRows() {}

  private static List<Row> all() {
    var all = new ArrayList<Row>();
    // spotless:off
    var scales = "scale_a:literal(1,-1), scale_b:literal(1,-1)";
    products(all, "8.0", "wgmma16", "f32.f16.f16",   "d+:f32*half",   scales, ", trans_a:literal(0,1)", ", trans_b:literal(0,1)");
    products(all, "8.0", "wgmma16", "f16.f16.f16",   "d+:b32*quarter",scales, ", trans_a:literal(0,1)", ", trans_b:literal(0,1)");
    products(all, "8.0", "wgmma16", "f32.bf16.bf16", "d+:f32*half",   scales, ", trans_a:literal(0,1)", ", trans_b:literal(0,1)");
    products(all, "8.0", "wgmma8",  "f32.tf32.tf32", "d+:f32*half",   scales, "", "");
    products(all, "8.0", "wgmma32", "f32.<e4m3|e5m2>.<e4m3|e5m2>", "d+:f32*half",   scales, "", "");
    products(all, "8.0", "wgmma32", "f16.<e4m3|e5m2>.<e4m3|e5m2>", "d+:b32*quarter",scales, "", "");
    products(all, "8.0", "wgmmaint", "s32.s8.s8{.satfinite}",      "d+:s32*half",   "", "", "");
    products(all, "8.0", "wgmmaint", "s32.u8.u8{.satfinite}",      "d+:s32*half",   "", "", "");
    products(all, "8.4", "wgmmaint", "s32.s8.u8{.satfinite}",      "d+:s32*half",   "", "", "");
    products(all, "8.4", "wgmmaint", "s32.u8.s8{.satfinite}",      "d+:s32*half",   "", "", "");
    products(all, "8.0", "wgmmabits", "s32.b1.b1.and.popc",         "d+:s32*half",   "", "", "");
    all.add(hopper("9.7.15.7.1", "8.0", "wgmma.fence.sync.aligned",                new Warp(WarpKind.PRODUCT_FENCE, NOTHING)));
    all.add(hopper("9.7.15.7.2", "8.0", "wgmma.commit_group.sync.aligned",         new WgmmaCommit()));
    all.add(hopper("9.7.15.7.3", "8.0", "wgmma.wait_group.sync.aligned n:literal", new WgmmaWait()));
    // spotless:on
    var counts =
        IntStream.rangeClosed(3, 32)
            .mapToObj(i -> String.valueOf(8 * i))
            .collect(Collectors.joining(","));
    all.add(
        hopper(
            "9.7.19.5",
            "8.0",
            "setmaxnreg.<inc|dec>.sync.aligned.u32 n:literal(" + counts + ")",
            new Warp(WarpKind.REGISTER_COUNT, NOTHING)));
    return all;
  }

  /**
   * Adds a product with A from shared memory and one with A from registers, where it cannot be
   * transposed.
   */
  private static void products(
      List<Row> all,
      String version,
      String shape,
      String types,
      String sums,
      String scales,
      String transposeA,
      String transposeB) {
    var head = "wgmma.mma_async.sync.aligned." + shape + "." + types + " " + sums;
    var tail = ", b:b64, scale_d:pred(0,1)" + (scales.isEmpty() ? "" : ", " + scales);
    all.add(
        hopper(
            "9.7.15.5", version, head + ", a:b64" + tail + transposeA + transposeB, new Wgmma()));
    all.add(hopper("9.7.15.5", version, head + ", a:b32*4" + tail + transposeB, new Wgmma()));
  }
}
