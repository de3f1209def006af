package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.BulkCopy;
import dev.athanor.engine.ptx.Semantics.CommitBulk;
import dev.athanor.engine.ptx.Semantics.CopyTensorMap;
import dev.athanor.engine.ptx.Semantics.Fence;
import dev.athanor.engine.ptx.Semantics.FenceKind;
import dev.athanor.engine.ptx.Semantics.NoEffect;
import dev.athanor.engine.ptx.Semantics.ReplaceInTensorMap;
import dev.athanor.engine.ptx.Semantics.StoreAsync;
import dev.athanor.engine.ptx.Semantics.TensorCopy;
import dev.athanor.engine.ptx.Semantics.WaitBulk;
import java.util.ArrayList;
import java.util.List;

/**
 * Copies of whole rows and tiles that go on beside the threads, the tensor maps that describe
 * tiles, and the fences between the ways to memory (PTX ISA 9.7.9.25 to 9.7.9.28, 9.7.13).
 */
final class BulkRows {

  private static final String BYTES = "mbarrier::complete_tx::bytes";

  static final List<InstructionForm> ALL = all();

  private BulkRows() {}

  private static List<InstructionForm> all() {
    var all = new ArrayList<InstructionForm>();
    // spotless:off
    copies(all);
    tensors(all);
    maps(all);
    all.add(row("9.7.9.25.6.1", "8.0", 90, "cp.async.bulk.commit_group",                  new CommitBulk()));
    all.add(row("9.7.9.25.6.2", "8.0", 90, "cp.async.bulk.wait_group{.read} n:literal",   new WaitBulk()));
    stores(all);
    all.add(row("9.7.13.4",  "7.5", 70, "fence.proxy.alias",                              new Fence(FenceKind.ALIAS)));
    all.add(row("9.7.13.4",  "8.0", 90, "fence.proxy.async{.<global|shared::cta|shared::cluster>}", new Fence(FenceKind.ASYNC_PROXY)));
    all.add(row("9.7.13.4",  "8.3", 90, "fence.proxy.tensormap::generic.release.scope",   new Fence(FenceKind.TENSOR_MAP)));
    all.add(row("9.7.13.4",  "8.3", 90, "fence.proxy.tensormap::generic.acquire.scope [a]:generic, n:literal(128)", new Fence(FenceKind.TENSOR_MAP)));
    all.add(row("9.7.13.4",  "8.0", 90, "fence.mbarrier_init.release.cluster",            new Fence(FenceKind.MBARRIER_INIT)));
    all.add(row("9.7.13.13", "7.8", 90, "griddepcontrol.<launch_dependents|wait>",        new NoEffect()));
    // spotless:on
    return all;
  }

  private static void copies(List<InstructionForm> all) {
    var section = "9.7.9.25.4.1";
    var load = "cp.async.bulk.shared::cluster.global." + BYTES;
    var to = " [d]:cluster, [a]:global, n:u32, [b]:cluster";
    hinted(all, section, "8.0", 90, load, to);
    hinted(all, section, "8.0", 90, load + ".multicast::cluster", to + ", w:u16");
    hinted(
        all,
        section,
        "8.6",
        90,
        "cp.async.bulk.shared::cta.global." + BYTES,
        " [d]:shared, [a]:global, n:u32, [b]:shared");
    all.add(
        row(
            section,
            "8.0",
            90,
            "cp.async.bulk.shared::cluster.shared::cta."
                + BYTES
                + " [d]:cluster, [a]:shared, n:u32, [b]:cluster",
            new BulkCopy()));
    var store = "cp.async.bulk.global.shared::cta.bulk_group";
    var from = " [d]:global, [a]:shared, n:u32";
    hinted(all, section, "8.0", 90, store, from);
    var masked = row(section, "8.6", 100, store + ".cp_mask" + from + ", k:u16", new BulkCopy());
    all.add(masked);
    all.add(
        row(
            section,
            "8.6",
            100,
            store + ".L2::cache_hint.cp_mask" + from + ", c:b64, k:u16",
            new BulkCopy()));
    for (var kind :
        List.of(
            "<and|or|xor>.<b32|b64>",
            "add.<u32|s32|u64|f32|f64>",
            "add.noftz.<f16|bf16>",
            "<inc|dec>.u32",
            "<min|max>.<u32|s32|u64|s64|f16|bf16>")) {
      hinted(
          all,
          "9.7.9.25.4.2",
          "8.0",
          90,
          "cp.reduce.async.bulk.global.shared::cta.bulk_group",
          "." + kind,
          from);
    }
    for (var kind :
        List.of("<and|or|xor>.b32", "add.<u32|s32|u64>", "<inc|dec>.u32", "<min|max>.<u32|s32>")) {
      all.add(
          row(
              "9.7.9.25.4.2",
              "8.0",
              90,
              "cp.reduce.async.bulk.shared::cluster.shared::cta."
                  + BYTES
                  + "."
                  + kind
                  + " [d]:cluster, [a]:shared, n:u32, [b]:cluster",
              new BulkCopy()));
    }
    all.add(
        row(
            "9.7.9.25.4.3",
            "8.0",
            90,
            "cp.async.bulk.<prefetch>.L2.global [a]:global, n:u32",
            new NoEffect()));
    all.add(
        row(
            "9.7.9.25.4.3",
            "8.0",
            90,
            "cp.async.bulk.<prefetch>.L2.global.L2::cache_hint [a]:global, n:u32, c:b64",
            new NoEffect()));
  }

  private static void hinted(
      List<InstructionForm> all,
      String section,
      String version,
      int sm,
      String head,
      String operands) {
    hinted(all, section, version, sm, head, "", operands);
  }

  /** With and without a policy for the cache, whose operand is the last. */
  private static void hinted(
      List<InstructionForm> all,
      String section,
      String version,
      int sm,
      String head,
      String tail,
      String operands) {
    Semantics meaning = head.contains(".tensor.") ? new TensorCopy() : new BulkCopy();
    all.add(row(section, version, sm, head + tail + operands, meaning));
    all.add(
        row(section, version, sm, head + ".L2::cache_hint" + tail + operands + ", c:b64", meaning));
  }

  private static void tensors(List<InstructionForm> all) {
    var load = "cp.async.bulk.tensor.<1d|2d|3d|4d|5d>.shared::cluster.global{.tile}." + BYTES;
    var to = " [d]:cluster, t:tile, [b]:cluster";
    hinted(all, "9.7.9.25.5.2", "8.0", 90, load, to);
    hinted(all, "9.7.9.25.5.2", "8.0", 90, load + ".multicast::cluster", to + ", w:u16");
    hinted(
        all,
        "9.7.9.25.5.2",
        "8.6",
        90,
        load.replace("shared::cluster", "shared::cta"),
        to.replace("cluster", "shared"));
    hinted(
        all,
        "9.7.9.25.5.2",
        "8.0",
        90,
        "cp.async.bulk.tensor.<1d|2d|3d|4d|5d>.global.shared::cta{.tile}.bulk_group",
        " t:tile, [a]:shared");
    hinted(
        all,
        "9.7.9.25.5.3",
        "8.0",
        90,
        "cp.reduce.async.bulk.tensor.<1d|2d|3d|4d|5d>.global.shared::cta"
            + ".<add|min|max|inc|dec|and|or|xor>{.tile}.bulk_group",
        " t:tile, [a]:shared");
    var prefetch = "cp.async.bulk.<prefetch>.tensor.<1d|2d|3d|4d|5d>.L2.global{.tile}";
    all.add(row("9.7.9.25.5.4", "8.0", 90, prefetch + " t:tile", new NoEffect()));
    all.add(
        row("9.7.9.25.5.4", "8.0", 90, prefetch + ".L2::cache_hint t:tile, c:b64", new NoEffect()));
  }

  private static void maps(List<InstructionForm> all) {
    all.add(row("9.7.9.15", "8.0", 90, "prefetch{.const}.tensormap [a]", new NoEffect()));
    all.add(row("9.7.9.15", "8.0", 90, "prefetch.param.tensormap [a]", new NoEffect()));
    replace(all, "global_address", "b64", "b:b64");
    replace(all, "rank", "b32", "b:b32");
    replace(all, "box_dim", "b32", "n:literal(0,1,2,3,4), b:b32");
    replace(all, "global_dim", "b32", "n:literal(0,1,2,3,4), b:b32");
    replace(all, "global_stride", "b64", "n:literal(0,1,2,3), b:b64");
    replace(all, "element_stride", "b32", "n:literal(0,1,2,3,4), b:b32");
    replace(all, "elemtype", "b32", "n:literal(0,1,2,3,4,5,6,7,8,9,10,11,12)");
    replace(all, "interleave_layout", "b32", "n:literal(0,1,2)");
    replace(all, "swizzle_mode", "b32", "n:literal(0,1,2,3)");
    replace(all, "fill_mode", "b32", "n:literal(0,1)");
    all.add(
        row(
            "9.7.13.15.18",
            "8.3",
            90,
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope"
                + ".sync.aligned [d]:global, [a]:shared, n:literal(128)",
            new CopyTensorMap()));
  }

  private static void replace(
      List<InstructionForm> all, String field, String type, String operands) {
    all.add(
        Row.hopper(
            "9.7.9.28",
            "8.3",
            "tensormap.replace.tile.%s{.<global|shared::cta>}.b1024.%s [a], %s"
                .formatted(field, type, operands),
            new ReplaceInTensorMap()));
  }

  private static void stores(List<InstructionForm> all) {
    all.add(
        row(
            "9.7.9.12",
            "8.1",
            90,
            "st.async{.weak}{.shared::cluster}."
                + BYTES
                + "{.<v2|v4>}.<b32|b64|u32|u64|s32|s64|f32|f64>"
                + " [d]:cluster, b*vec, [m]:cluster",
            modifiers -> modifiers.vectorLength() * modifiers.type().orElseThrow().bytes() <= 16,
            new StoreAsync(false)));
    for (var kind :
        List.of("<inc|dec>.u32", "<min|max>.<u32|s32>", "add.<u32|s32|u64>", "<and|or|xor>.b32")) {
      all.add(
          row(
              "9.7.13.7",
              "8.1",
              90,
              "red.async.relaxed.cluster{.shared::cluster}."
                  + BYTES
                  + "."
                  + kind
                  + " [d]:cluster, b, [m]:cluster",
              new StoreAsync(true)));
    }
  }
}
