package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Semantics.AwaitPreviousGrid;
import dev.athanor.engine.ptx.Semantics.BulkCopy;
import dev.athanor.engine.ptx.Semantics.CommitBulk;
import dev.athanor.engine.ptx.Semantics.CopyTensorMap;
import dev.athanor.engine.ptx.Semantics.Fence;
import dev.athanor.engine.ptx.Semantics.FenceKind;
import dev.athanor.engine.ptx.Semantics.LaunchDependents;
import dev.athanor.engine.ptx.Semantics.NoEffect;
import dev.athanor.engine.ptx.Semantics.ReplaceInTensorMap;
import dev.athanor.engine.ptx.Semantics.StoreAsync;
import dev.athanor.engine.ptx.Semantics.TensorCopy;
import dev.athanor.engine.ptx.Semantics.WaitBulk;
import java.util.ArrayList;
import java.util.List;

/**
 * Asynchronous bulk and tensor copies, tensor maps, and proxy fences (PTX ISA 9.7.9.25 to 9.7.9.28,
 * 9.7.13).
 */
final class BulkRows {

  private static final String BYTES = "mbarrier::complete_tx::bytes";

  static final List<InstructionForm> ALL = Row.forms(all());

  private BulkRows() {}

  private static List<Row> all() {
    var all = new ArrayList<Row>();
    // spotless:off
    bulkCopies(all);
    tensorCopies(all);
    tensorMaps(all);
    all.add(row("9.7.9.25.6.1", "8.0", 90, "cp.async.bulk.commit_group",                  new CommitBulk()));
    all.add(row("9.7.9.25.6.2", "8.0", 90, "cp.async.bulk.wait_group{.read} n:literal",   new WaitBulk()));
    asyncStores(all);
    all.add(row("9.7.13.5",  "7.5", 60, "membar.proxy.alias",                             new Fence(FenceKind.ALIAS)));
    all.add(row("9.7.13.4",  "7.5", 70, "fence.proxy.alias",                              new Fence(FenceKind.ALIAS)));
    all.add(row("9.7.13.4",  "8.0", 90, "fence.proxy.async{.<global|shared::cta|shared::cluster>}", new Fence(FenceKind.ASYNC_PROXY)));
    all.add(row("9.7.13.4",  "8.3", 90, "fence.proxy.tensormap::generic.release.scope",   new Fence(FenceKind.TENSOR_MAP)));
    all.add(row("9.7.13.4",  "8.3", 90, "fence.proxy.tensormap::generic.acquire.scope [a]:generic, n:literal(128)", new Fence(FenceKind.TENSOR_MAP)));
    all.add(row("9.7.13.4",  "8.0", 90, "fence.mbarrier_init.release.cluster",            new Fence(FenceKind.MBARRIER_INIT)));
    all.add(row("9.7.13.13", "7.8", 90, "griddepcontrol.launch_dependents",               new LaunchDependents()));
    all.add(row("9.7.13.13", "7.8", 90, "griddepcontrol.wait",                            new AwaitPreviousGrid()));
    // spotless:on
    return all;
  }

  private static void bulkCopies(List<Row> all) {
    var section = "9.7.9.25.4.1";
    var load = "cp.async.bulk.shared::cluster.global." + BYTES;
    var to = " [d]:cluster, [a]:global, size:u32, [mbar]:cluster";
    addWithCachePolicy(all, section, "8.0", 90, load, to);
    addWithCachePolicy(
        all, section, "8.0", 90, load + ".multicast::cluster", to + ", cta_mask:u16");
    addWithCachePolicy(
        all,
        section,
        "8.6",
        90,
        "cp.async.bulk.shared::cta.global." + BYTES,
        " [d]:shared, [a]:global, size:u32, [mbar]:shared");
    all.add(
        row(
            section,
            "8.0",
            90,
            "cp.async.bulk.shared::cluster.shared::cta."
                + BYTES
                + " [d]:cluster, [a]:shared, size:u32, [mbar]:cluster",
            new BulkCopy()));
    var store = "cp.async.bulk.global.shared::cta.bulk_group";
    var from = " [d]:global, [a]:shared, size:u32";
    addWithCachePolicy(all, section, "8.0", 90, store, from);
    all.add(
        row(
            section,
            "8.6",
            100,
            store + "{1.L2::cache_hint}.cp_mask" + from + "{1, cache_policy:b64}, byte_mask:u16",
            new BulkCopy()));
    for (var kind :
        List.of(
            "<and|or|xor>.<b32|b64>",
            "add.<u32|s32|u64|f32|f64>",
            "add.noftz.<f16|bf16>",
            "<inc|dec>.u32",
            "<min|max>.<u32|s32|u64|s64|f16|bf16>")) {
      addWithCachePolicy(
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
                  + " [d]:cluster, [a]:shared, size:u32, [mbar]:cluster",
              new BulkCopy()));
    }
    all.add(
        row(
            "9.7.9.25.4.3",
            "8.0",
            90,
            "cp.async.bulk.<prefetch>.L2.global{1.L2::cache_hint}"
                + " [a]:global, size:u32{1, cache_policy:b64}",
            new NoEffect()));
  }

  private static void addWithCachePolicy(
      List<Row> all, String section, String version, int sm, String head, String operands) {
    addWithCachePolicy(all, section, version, sm, head, "", operands);
  }

  /** Adds a row whose last operand is an optional cache policy. */
  private static void addWithCachePolicy(
      List<Row> all,
      String section,
      String version,
      int sm,
      String head,
      String tail,
      String operands) {
    Semantics semantics = head.contains(".tensor.") ? new TensorCopy() : new BulkCopy();
    all.add(
        row(
            section,
            version,
            sm,
            head + "{1.L2::cache_hint}" + tail + operands + "{1, cache_policy:b64}",
            semantics));
  }

  private static void tensorCopies(List<Row> all) {
    var load = "cp.async.bulk.tensor.<1d|2d|3d|4d|5d>.shared::cluster.global{.tile}." + BYTES;
    var to = " [d]:cluster, tensor:tile, [mbar]:cluster";
    addWithCachePolicy(all, "9.7.9.25.5.2", "8.0", 90, load, to);
    addWithCachePolicy(
        all, "9.7.9.25.5.2", "8.0", 90, load + ".multicast::cluster", to + ", cta_mask:u16");
    addWithCachePolicy(
        all,
        "9.7.9.25.5.2",
        "8.6",
        90,
        load.replace("shared::cluster", "shared::cta"),
        to.replace("cluster", "shared"));
    addWithCachePolicy(
        all,
        "9.7.9.25.5.2",
        "8.0",
        90,
        "cp.async.bulk.tensor.<1d|2d|3d|4d|5d>.global.shared::cta{.tile}.bulk_group",
        " tensor:tile, [a]:shared");
    addWithCachePolicy(
        all,
        "9.7.9.25.5.3",
        "8.0",
        90,
        "cp.reduce.async.bulk.tensor.<1d|2d|3d|4d|5d>.global.shared::cta"
            + ".<add|min|max|inc|dec|and|or|xor>{.tile}.bulk_group",
        " tensor:tile, [a]:shared");
    all.add(
        row(
            "9.7.9.25.5.4",
            "8.0",
            90,
            "cp.async.bulk.<prefetch>.tensor.<1d|2d|3d|4d|5d>.L2.global{.tile}{1.L2::cache_hint}"
                + " tensor:tile{1, cache_policy:b64}",
            new NoEffect()));
  }

  private static void tensorMaps(List<Row> all) {
    all.add(row("9.7.9.15", "8.0", 90, "prefetch{.const}.tensormap [a]", new NoEffect()));
    all.add(row("9.7.9.15", "8.0", 90, "prefetch.param.tensormap [a]", new NoEffect()));
    replace(all, "global_address", "b64", "new_val:b64");
    replace(all, "rank", "b32", "new_val:b32");
    replace(all, "box_dim", "b32", "ord:literal(0,1,2,3,4), new_val:b32");
    replace(all, "global_dim", "b32", "ord:literal(0,1,2,3,4), new_val:b32");
    replace(all, "global_stride", "b64", "ord:literal(0,1,2,3), new_val:b64");
    replace(all, "element_stride", "b32", "ord:literal(0,1,2,3,4), new_val:b32");
    replace(all, "elemtype", "b32", "new_val:literal(0,1,2,3,4,5,6,7,8,9,10,11,12)");
    replace(all, "interleave_layout", "b32", "new_val:literal(0,1,2)");
    replace(all, "swizzle_mode", "b32", "new_val:literal(0,1,2,3)");
    replace(all, "fill_mode", "b32", "new_val:literal(0,1)");
    all.add(
        row(
            "9.7.13.15.18",
            "8.3",
            90,
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope"
                + ".sync.aligned [d]:global, [a]:shared, n:literal(128)",
            new CopyTensorMap()));
  }

  private static void replace(List<Row> all, String field, String type, String operands) {
    all.add(
        Row.hopper(
            "9.7.9.28",
            "8.3",
            "tensormap.replace.tile.%s{.<global|shared::cta>}.b1024.%s [a], %s"
                .formatted(field, type, operands),
            new ReplaceInTensorMap()));
  }

  private static void asyncStores(List<Row> all) {
    all.add(
        row(
            "9.7.9.12",
            "8.1",
            90,
            "st.async{.weak}{.shared::cluster}."
                + BYTES
                + "{.<v2|v4>}.<b32|b64|u32|u64|s32|s64|f32|f64>"
                + " [d]:cluster, b*vec, [mbar]:cluster",
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
                  + " [d]:cluster, b, [mbar]:cluster",
              new StoreAsync(true)));
    }
  }
}
