package dev.athanor.engine.ptx.table;

import static dev.athanor.engine.ptx.Semantics.LaneOperation.ADDRESS;
import static dev.athanor.engine.ptx.table.Row.pure;
import static dev.athanor.engine.ptx.table.Row.row;

import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifier;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics.AsyncCopy;
import dev.athanor.engine.ptx.Semantics.Atomic;
import dev.athanor.engine.ptx.Semantics.AtomicFunction;
import dev.athanor.engine.ptx.Semantics.ClusterRank;
import dev.athanor.engine.ptx.Semantics.CommitGroup;
import dev.athanor.engine.ptx.Semantics.Fence;
import dev.athanor.engine.ptx.Semantics.FenceKind;
import dev.athanor.engine.ptx.Semantics.Load;
import dev.athanor.engine.ptx.Semantics.NoEffect;
import dev.athanor.engine.ptx.Semantics.Store;
import dev.athanor.engine.ptx.Semantics.WaitGroup;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.ReductionOperation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Loads, stores, atomics, fences and address conversions (PTX ISA 9.7.9, 9.7.13). */
final class MemoryRows {

  /**
   * Primary eviction priority of a cache policy; {@link #SECONDARY_PRIORITY} is the secondary one.
   */
  private static final String PRIMARY_PRIORITY =
      "<L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged>";

  private static final String SECONDARY_PRIORITY = "{.<L2::evict_first|L2::evict_unchanged>}";

  // spotless:off
  private static final List<Row> ACCESSES =
      List.of(
          row("9.7.9.8",  "1.0", 20, "ld.param{.<v2|v4>}.mem d*vec, [a]",                                           MemoryRows::fits, new Load()),
          row("9.7.9.8",  "1.0", 20, "ld{.weak}{.space}{.loadcache}{.evict}{.prefetch}{.<v2|v4>}.mem d*vec, [a]",   MemoryRows::fits, new Load()),
          row("9.7.9.8",  "1.0", 20, "ld{.weak}{.global}{.loadcache}{.evict}.L2::cache_hint{.prefetch}{.<v2|v4>}.mem d*vec, [a], cache_policy:b64", MemoryRows::fits, new Load()),
          row("9.7.9.8",  "1.1", 20, "ld.volatile{.common}{.<v2|v4>}.mem d*vec, [a]",                                MemoryRows::fits, new Load()),
          row("9.7.9.8",  "5.1", 70, "ld.<relaxed|acquire>.scope{.common}{.evict}{.prefetch}{.<v2|v4>}.mem d*vec, [a]", MemoryRows::fits, new Load()),
          row("9.7.9.8",  "8.2", 70, "ld.mmio.relaxed.sys{.global}.mem d, [a]",                                    new Load()),
          row("9.7.9.9",  "3.1", 32, "ld.global{.readcache}.nc{.evict}{.prefetch}{.<v2|v4>}.mem d*vec, [a]",        MemoryRows::fits, new Load()),
          row("9.7.9.9",  "3.1", 32, "ld.global{.readcache}.nc{.evict}.L2::cache_hint{.prefetch}{.<v2|v4>}.mem d*vec, [a], cache_policy:b64", MemoryRows::fits, new Load()),
          row("9.7.9.10", "2.0", 20, "ldu{.global}{.<v2|v4>}.mem d*vec, [a]",                                       MemoryRows::fits, new Load()),
          row("9.7.9.11", "1.0", 20, "st{.weak}{.space}{.storecache}{.evict}{.<v2|v4>}.mem [a], b*vec",             MemoryRows::fitsStore, new Store()),
          row("9.7.9.11", "1.0", 20, "st{.weak}{.global}{.storecache}{.evict}.L2::cache_hint{.<v2|v4>}.mem [a], b*vec, cache_policy:b64", MemoryRows::fits, new Store()),
          row("9.7.9.11", "1.1", 20, "st.volatile{.common}{.<v2|v4>}.mem [a], b*vec",                                MemoryRows::fitsStore, new Store()),
          row("9.7.9.11", "5.1", 70, "st.<relaxed|release>.scope{.common}{.evict}{.<v2|v4>}.mem [a], b*vec",        MemoryRows::fits, new Store()),
          row("9.7.9.11", "8.2", 70, "st.mmio.relaxed.sys{.global}.mem [a], b",                                    new Store()),

          row("9.7.9.8",  "8.8", 100, "ld{.weak}{.global}{.loadcache}{.evict}{.L2evict}{.prefetch}.v4.<b64|u64|s64|f64> d*vec, [a]", new Load()),
          row("9.7.9.8",  "8.8", 100, "ld{.weak}{.global}{.loadcache}{.evict}{.L2evict}{.prefetch}.v8.<b32|u32|s32|f32> d*vec, [a]", new Load()),
          row("9.7.9.8",  "8.8", 100, "ld.volatile{.global}.v4.<b64|u64|s64|f64> d*vec, [a]", new Load()),
          row("9.7.9.8",  "8.8", 100, "ld.volatile{.global}.v8.<b32|u32|s32|f32> d*vec, [a]", new Load()),
          row("9.7.9.8",  "8.8", 100, "ld.<relaxed|acquire>.scope{.global}.v4.<b64|u64|s64|f64> d*vec, [a]", new Load()),
          row("9.7.9.8",  "8.8", 100, "ld.<relaxed|acquire>.scope{.global}.v8.<b32|u32|s32|f32> d*vec, [a]", new Load()),
          row("9.7.9.9",  "8.8", 100, "ld.global{.readcache}.nc{.evict}{.L2evict}{.prefetch}.v4.<b64|u64|s64|f64> d*vec, [a]", new Load()),
          row("9.7.9.9",  "8.8", 100, "ld.global{.readcache}.nc{.evict}{.L2evict}{.prefetch}.v8.<b32|u32|s32|f32> d*vec, [a]", new Load()),
          row("9.7.9.11", "8.8", 100, "st{.weak}{.global}{.storecache}{.evict}{.L2evict}.v4.<b64|u64|s64|f64> [a], b*vec", new Store()),
          row("9.7.9.11", "8.8", 100, "st{.weak}{.global}{.storecache}{.evict}{.L2evict}.v8.<b32|u32|s32|f32> [a], b*vec", new Store()),
          row("9.7.9.11", "8.8", 100, "st.volatile{.global}.v4.<b64|u64|s64|f64> [a], b*vec", new Store()),
          row("9.7.9.11", "8.8", 100, "st.volatile{.global}.v8.<b32|u32|s32|f32> [a], b*vec", new Store()),
          row("9.7.9.11", "8.8", 100, "st.<relaxed|release>.scope{.global}.v4.<b64|u64|s64|f64> [a], b*vec", new Store()),
          row("9.7.9.11", "8.8", 100, "st.<relaxed|release>.scope{.global}.v8.<b32|u32|s32|f32> [a], b*vec", new Store()),

          row("9.7.9.25", "7.0", 80, "cp.async.commit_group",                                                       new CommitGroup()),
          row("9.7.9.25", "7.0", 80, "cp.async.wait_group n:literal",                                               new WaitGroup()),
          row("9.7.9.25", "7.0", 80, "cp.async.wait_all",                                                           new WaitGroup()));

  /** Copies with an optional source size or a predicate to ignore the source. */
  private static final List<Row> COPIES =
      List.of(
          row("9.7.9.25", "7.0", 80, "cp.async.ca.own.global{1.L2::cache_hint}{.prefetch} [d]:shared, [a]:global, size:literal(4,8,16){2, src_size:u32}{1, cache_policy:b64}", new AsyncCopy()),
          row("9.7.9.25", "7.5", 80, "cp.async.ca.own.global{1.L2::cache_hint}{.prefetch} [d]:shared, [a]:global, size:literal(4,8,16), ignore_src:predreg{1, cache_policy:b64}", new AsyncCopy()),
          row("9.7.9.25", "7.0", 80, "cp.async.cg.own.global{1.L2::cache_hint}{.prefetch} [d]:shared, [a]:global, size:literal(16){2, src_size:u32}{1, cache_policy:b64}", new AsyncCopy()),
          row("9.7.9.25", "7.5", 80, "cp.async.cg.own.global{1.L2::cache_hint}{.prefetch} [d]:shared, [a]:global, size:literal(16), ignore_src:predreg{1, cache_policy:b64}", new AsyncCopy()));

  private static final List<Row> ADDRESSES =
      List.of(
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.global.u64 d, a",                          "identity").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.global.u64 d, a:symbol",                   "identity").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.to.global.u64 d, a",                       "identity").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "3.1", 20, "cvta.const.u64 d, a",                           "genericOfConstant").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "3.1", 20, "cvta.const.u64 d, a:symbol",                    "genericOfConstant").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "3.1", 20, "cvta.to.const.u64 d, a",                        "constantOfGeneric").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.own.u64 d, a",                       "genericOfShared").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.own.u64 d, a:symbol",                "genericOfShared").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.to.own.u64 d, a",                    "sharedOfGeneric").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "7.8", 90, "cvta.shared::cluster.u64 d, a",                 "genericOfShared").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "7.8", 90, "cvta.to.shared::cluster.u64 d, a",              "sharedOfGeneric").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.local.u64 d, a",                           "genericOfLocal").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.local.u64 d, a:symbol",                    "genericOfLocal").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "2.0", 20, "cvta.to.local.u64 d, a",                        "localOfGeneric").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "7.7", 70, "cvta.param.u64 d, a",                           "genericOfParameter").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "7.7", 70, "cvta.param.u64 d, a:symbol",                    "genericOfParameter").deviceSpecific(),
          pure(ADDRESS, "9.7.9.20", "7.7", 70, "cvta.to.param.u64 d, a",                        "parameterOfGeneric").deviceSpecific(),
          pure("9.7.9.19", "2.0", 20, "isspacep.global p:pred, a:u64",                 "isGlobal").deviceSpecific(),
          pure("9.7.9.19", "2.0", 20, "isspacep.local p:pred, a:u64",                  "isLocal").deviceSpecific(),
          pure("9.7.9.19", "3.1", 20, "isspacep.const p:pred, a:u64",                  "isConstant").deviceSpecific(),
          pure("9.7.9.19", "7.7", 70, "isspacep.param p:pred, a:u64",                  "isParameter").deviceSpecific(),
          pure("9.7.9.19", "8.3", 70, "isspacep.param::entry p:pred, a:u64",           "isParameter").deviceSpecific(),
          pure("9.7.9.19", "2.0", 20, "isspacep.own p:pred, a:u64",   "isOwnShared").deviceSpecific(),
          pure("9.7.9.19", "7.8", 90, "isspacep.shared::cluster p:pred, a:u64",        "isShared").deviceSpecific(),
          pure("9.7.9.22", "7.8", 90, "mapa.shared::cluster.<u32|u64> d, a, b:u32",    "map").deviceSpecific(),
          pure("9.7.9.22", "7.8", 90, "mapa.shared::cluster.<u32|u64> d, a:symbol, b:u32", "map").deviceSpecific(),
          pure("9.7.9.22", "7.8", 90, "mapa.u64 d, a, b:u32",                          "map").deviceSpecific(),
          row( "9.7.9.23", "7.8", 90, "getctarank.shared::cluster.<u32|u64> d:u32, a", new ClusterRank()),
          row( "9.7.9.23", "7.8", 90, "getctarank.shared::cluster.<u32|u64> d:u32, a:symbol", new ClusterRank()),
          row( "9.7.9.23", "7.8", 90, "getctarank.u64 d:u32, a",                       new ClusterRank()),
          row( "9.7.9.15", "2.0", 20, "prefetch{.<global|local>}.<L1|L2> [a]",         new NoEffect()),
          row( "9.7.9.15", "7.4", 80, "prefetch{.global}.<L2::evict_last|L2::evict_normal> [a]", new NoEffect()),
          row( "9.7.9.15", "2.0", 20, "prefetchu.L1 [a]",                              new NoEffect()),
          row( "9.7.9.16", "7.4", 80, "applypriority{.global}.L2::evict_normal [a], n:literal(128)", new NoEffect()),
          row( "9.7.9.17", "7.4", 80, "discard{.global}.L2 [a], n:literal(128)",       new NoEffect()),
          pure("9.7.9.18", "7.4", 80, "createpolicy.fractional." + PRIMARY_PRIORITY + SECONDARY_PRIORITY + ".b64 d",        "policy").deviceSpecific(),
          pure("9.7.9.18", "7.4", 80, "createpolicy.fractional." + PRIMARY_PRIORITY + SECONDARY_PRIORITY + ".b64 d, a:f32", "policy").deviceSpecific(),
          pure("9.7.9.18", "7.4", 80, "createpolicy.cvt.L2.b64 d, a",                  "policy").deviceSpecific());

  private static final List<Row> ORDER =
      List.of(
          row("9.7.13.5", "1.4", 20, "membar.<cta|gl|sys>",                            new Fence(FenceKind.MEMORY)).asOldAsRow("cta", "sys"),
          row("9.7.13.5", "5.1", 70, "fence{.<sc|acq_rel>}.scope",                     new Fence(FenceKind.MEMORY)),
          row("9.7.13.5", "8.6", 70, "fence.<acquire|release>.scope",                  new Fence(FenceKind.MEMORY)));
  // spotless:on

  static final List<InstructionForm> ALL =
      Stream.of(ACCESSES, COPIES, ADDRESSES, ORDER, atomics())
          .flatMap(rows -> Row.forms(rows).stream())
          .toList();

  private static List<Row> atomics() {
    var all = new ArrayList<Row>();
    // spotless:off
    update(all, "1.1", 20, "add.<u32|s32|u64>");
    update(all, "2.0", 20, "add.f32");
    update(all, "8.1", 90, "add.<v2|v4>.f32");
    update(all, "5.0", 60, "add.f64");
    update(all, "6.2", 60, "add.noftz.f16x2");
    update(all, "6.3", 70, "add.noftz.f16");
    update(all, "7.8", 90, "add.noftz.bf16x2");
    update(all, "7.8", 90, "add.noftz.bf16");
    update(all, "1.2", 20, "and.b32");
    update(all, "3.1", 32, "and.b64");
    update(all, "1.2", 20, "or.b32");
    update(all, "3.1", 32, "or.b64");
    update(all, "1.2", 20, "xor.b32");
    update(all, "3.1", 32, "xor.b64");
    update(all, "1.1", 20, "min.s32");
    update(all, "1.1", 20, "max.s32");
    update(all, "3.1", 32, "min.s64");
    update(all, "3.1", 32, "max.s64");
    update(all, "1.1", 20, "min.u32");
    update(all, "3.1", 32, "min.u64");
    update(all, "1.1", 20, "max.u32");
    update(all, "3.1", 32, "max.u64");
    update(all, "1.1", 20, "inc.u32");
    update(all, "1.1", 20, "dec.u32");
    for (var operation : List.of("add", "min", "max")) {
      update(all, "8.1", 90, operation + ".noftz.<v2|v4|v8>.f16");
      update(all, "8.1", 90, operation + ".noftz.<v2|v4|v8>.bf16");
      update(all, "8.1", 90, operation + ".noftz.<v2|v4>.f16x2");
      update(all, "8.1", 90, operation + ".noftz.<v2|v4>.bf16x2");
    }
    exchange(all, "1.1", 20, "exch.<b32|b64>", "b",   (_, b, _, _) -> b);
    exchange(all, "1.1", 20, "cas.<b32|b64>", "b, c", (old, b, c, _) -> old == b ? c : old);
    exchange(all, "6.3", 70, "cas.b16", "b, c",       (old, b, c, _) -> old == b ? c : old);
    // spotless:on
    return all;
  }

  /** Adds a reduction, once with the old value as its result and once without. */
  private static void update(List<Row> all, String version, int sm, String operation) {
    var words = operation.split("[.<|>]+");
    var type = Arrays.stream(words).map(Modifier::of).filter(Type.class::isInstance).findFirst();
    var function =
        ReductionOperation.valueOf(words[0].toUpperCase(Locale.ROOT))
            .inMemory((Type) type.orElseThrow());
    exchange(all, version, sm, operation, "b", function);
    rows(
        all,
        "9.7.13.8",
        version,
        sm,
        "red{.resultless}",
        operation,
        "[a], b",
        new Atomic(function, false));
  }

  private static void exchange(
      List<Row> all,
      String version,
      int sm,
      String operation,
      String sources,
      AtomicFunction function) {
    rows(
        all,
        "9.7.13.7",
        version,
        sm,
        "atom{.order}",
        operation,
        "d?, [a], " + sources,
        new Atomic(function, true));
  }

  private static void rows(
      List<Row> all,
      String section,
      String version,
      int sm,
      String head,
      String operation,
      String operands,
      Atomic semantics) {
    boolean vector = operation.contains("v2");
    var space = vector ? "{.global}" : "{.common}";
    var text = vector ? operands.replaceFirst("^d\\?", "d*vec").replace(" b", " b*vec") : operands;
    all.add(
        row(
            section,
            version,
            sm,
            "%s{.scope}%s.%s %s".formatted(head, space, operation, text),
            semantics));
    if (!operation.startsWith("cas")) {
      var parts = operation.split("(?=[.{])", 3);
      var name = operation.contains(".noftz") ? parts[0] + parts[1] : parts[0];
      all.add(
          row(
              section,
              version,
              sm,
              "%s{.scope}{.global}.%s.L2::cache_hint%s %s, cache_policy:b64"
                  .formatted(head, name, operation.substring(name.length()), text),
              semantics));
    }
  }

  /**
   * Returns whether modifiers of an access are compatible: vectors have at most 16 bytes (wider
   * ones have their own rows), and only cached state spaces accept cache hints.
   */
  static boolean fits(Modifiers modifiers) {
    boolean cached = modifiers.find(Space.class).filter(space -> space != Space.GLOBAL).isEmpty();
    int length = modifiers.vectorLength();
    int bytes = modifiers.type().orElseThrow().bytes();
    return length * bytes <= 16
        && (cached || modifiers.list().stream().noneMatch(MemoryRows::isHint));
  }

  private static boolean isHint(Modifier modifier) {
    return modifier.word().startsWith("L1::") || modifier.word().startsWith("L2::");
  }

  /** Returns whether modifiers of a store are compatible; constant memory is read-only. */
  private static boolean fitsStore(Modifiers modifiers) {
    return fits(modifiers) && modifiers.find(Space.class).orElse(Space.GLOBAL) != Space.CONST;
  }

  private MemoryRows() {}
}
