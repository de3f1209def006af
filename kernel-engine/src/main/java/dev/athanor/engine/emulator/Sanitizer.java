package dev.athanor.engine.emulator;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Watches the blocks of one worker for what a GPU would not show: bytes that nobody has written,
 * accesses that nothing orders, copies that nobody waits for. It goes by what happened in this run,
 * not by what its schedule made of it: two accesses that happened one after the other are in
 * conflict unless something orders them on every machine.
 */
final class Sanitizer implements Observer {

  /**
   * Whether it can follow what these instructions do. It knows nothing yet of what mbarriers order
   * nor of what bulk copies, tensor copies and products of warpgroups touch, and would report right
   * kernels.
   */
  static boolean follows(List<Instruction> instructions) {
    return instructions.stream()
        .noneMatch(i ->
            switch (i.form().semantics()) {
              case Semantics.Mbarrier _,
                  Semantics.CopyArrive _,
                  Semantics.BulkCopy _,
                  Semantics.TensorCopy _,
                  Semantics.StoreAsync _,
                  Semantics.ReplaceInTensorMap _,
                  Semantics.CopyTensorMap _,
                  Semantics.Wgmma _ ->
                  true;
              default -> false;
            });
  }

  /** What the workers of one launch share. */
  static final class Launch {
    final Places places;
    final SyncPlaces released = new SyncPlaces();
    private final Observed observed;
    private final boolean races;
    private final Reports reports = new Reports();
    private final GlobalShadow shadow = new GlobalShadow();
    private final List<Role> roles;
    private final Sentences sentences;
    private final IdentityHashMap<Instruction, Integer> numbers = new IdentityHashMap<>();

    Launch(Observed observed, Dim3 cluster, Sanitize level) {
      this.observed = observed;
      this.races = level == Sanitize.FULL;
      this.places =
          new Places(observed.kernel().name(), observed.grid(), observed.block(), cluster);
      var instructions = observed.instructions();
      var variables = new KernelVariables(observed.kernel(), instructions, observed.sharedBytes());
      this.roles =
          IntStream.range(0, instructions.size())
              .mapToObj(i -> Role.of(i, instructions.get(i), variables))
              .toList();
      this.sentences = new Sentences(places, variables, roles);
      for (int i = 0; i < instructions.size(); i++) {
        numbers.put(instructions.get(i), i);
      }
    }

    /** What has been found. */
    List<Report> reports() {
      return reports.all();
    }
  }

  private final Watch watch;
  private final Launch launch;
  private final Sentences sentences;
  private final int rank;

  /** The number in its cluster of the block's first warp. */
  private final int firstWarp;

  private final DefinedBytes localDefined;
  private final int localBytes;
  private final LaneJudge[] judges = new LaneJudge[32];
  private final int[] times = new int[32];
  private final long[] keys = new long[32];

  /** Which bytes of its source are defined, for each lane of a copy. */
  private final long[] copied = new long[32];

  private long block;
  private Role role;
  private Touch touch;

  /** The number in its cluster of the warp that touches. */
  private int warp;

  private @Nullable Memory lastBuffer;
  private GlobalShadow.@Nullable Pages lastPages;

  /**
   * @param rank of the blocks in their clusters
   */
  Sanitizer(Watch watch, int rank) {
    this.watch = watch;
    this.launch = watch.launch;
    this.sentences = launch.sentences;
    this.rank = rank;
    int warps = launch.places.warps();
    this.firstWarp = rank * warps;
    this.localBytes = Block.localBytes(launch.observed.kernel());
    this.localDefined = new DefinedBytes(32L * warps * localBytes);
    for (int lane = 0; lane < judges.length; lane++) {
      judges[lane] = new LaneJudge(lane);
    }
    this.role = launch.roles.getFirst();
    this.touch = new Touch(role.instruction(), Touch.Kind.LOAD);
  }

  @Override
  public void begin(long number) {
    block = number;
    watch.begin(number, rank);
    localDefined.clear();
  }

  @Override
  public boolean watches(int number) {
    return launch.roles.get(number).kind() != Role.Kind.OTHER;
  }

  @Override
  public void execute(int number, int ofBlock, int active, int chosen) {
    role = launch.roles.get(number);
    int of = firstWarp + ofBlock;
    switch (role.kind()) {
      case COMMIT -> watch.copies.commit(of, chosen);
      case WAIT -> {
        if (role.but() == AsyncCopies.Wait.ALL) {
          watch.copies.commit(of, chosen);
        }
        watch.copies.await(of, chosen, Math.max(0, role.but()), watch.clocks.now(of));
      }
      case FENCE -> watch.ordering.fence(of, chosen, role.strength());
      case CLUSTER_ARRIVE -> watch.arrive(of, chosen, role.releases());
      case EXIT -> exit(of, chosen);
      case ACCESS, COPY, OTHER -> {} // touch says what
    }
  }

  private void exit(int of, int lanes) {
    watch.live[of] &= ~lanes;
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * of + Integer.numberOfTrailingZeros(left);
      int copy = watch.copies.left(thread);
      if (copy >= 0) {
        launch.reports.add(
            Kind.COPY_LEFT_AT_EXIT,
            copy,
            role.number(),
            block,
            () -> sentences.copyLeft(watch.cluster(), thread, copy, role));
      }
    }
  }

  @Override
  public void synchronize(int ofBlock, int lanes) {
    int of = firstWarp + ofBlock;
    watch.clocks.synchronize(of, lanes, watch.live[of]);
  }

  private int barrier(int ofBlock) {
    return rank * Barriers.COUNT + ofBlock;
  }

  @Override
  public void arrive(int barrier, int ofBlock) {
    watch.clocks.arrive(barrier(barrier), firstWarp + ofBlock);
  }

  @Override
  public void open(int barrier, int waiting) {
    for (int left = waiting; left != 0; left &= left - 1) {
      watch.clocks.leave(barrier(barrier), firstWarp + Integer.numberOfTrailingZeros(left));
    }
    watch.clocks.clear(barrier(barrier));
  }

  @Override
  public void joined(int ofBlock, int lanes) {
    watch.join(firstWarp + ofBlock, lanes);
  }

  @Override
  public void complain(Kind kind, int thread, Instruction instruction, String what, String remedy) {
    int number = launch.numbers.getOrDefault(instruction, 0);
    launch.reports.add(
        kind,
        number,
        number,
        block,
        () -> sentences.of(kind, block, thread, instruction, what, remedy));
  }

  @Override
  public void touch(Touch now) {
    if (now.mask == 0) {
      return;
    }
    touch = now;
    warp = firstWarp + now.warp;
    checkExtents();
    checkDefined();
    boolean copy = role.kind() == Role.Kind.COPY;
    for (int left = now.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      times[lane] =
          copy ? watch.copies.issue(32 * warp + lane, role.number()) : watch.clocks.now(warp);
    }
    boolean writes = now.kind() != Touch.Kind.LOAD;
    for (int left = now.mask; left != 0; ) {
      var memory = requireNonNull(now.memories[Integer.numberOfTrailingZeros(left)]);
      int lanes = lanesOf(memory, left);
      left &= ~lanes;
      if (memory.space() == Space.SHARED) {
        share(watch.shared(memory), lanes, writes);
      } else if (launch.races && memory instanceof Allocation buffer) {
        launch.shadow.touch(
            pages(buffer),
            now,
            lanes,
            writes,
            role.mark(),
            warp,
            times,
            (int) watch.cluster(),
            watch.clocks.seen(warp),
            judges);
      }
    }
    if (launch.races && writes && role.strength() != Mark.WEAK) {
      findKeys();
      watch.ordering.write(warp, now, role, keys);
    }
  }

  @Override
  public void touched(Touch now) {
    if (launch.races && role.observes()) {
      touch = now;
      warp = firstWarp + now.warp;
      findKeys();
      watch.ordering.read(warp, now, role, keys);
    }
  }

  /** What names the place of each lane among those of global memory, or of the cluster's shared. */
  private void findKeys() {
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var memory = touch.memory(lane);
      keys[lane] =
          memory.space() == Space.SHARED
              ? ((long) watch.shared(memory).rank() << 32) + touch.offsets[lane]
              : touch.address(lane);
    }
  }

  private int lanesOf(Memory memory, int among) {
    int lanes = 0;
    for (int left = among; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (touch.memories[lane] == memory) {
        lanes |= 1 << lane;
      }
    }
    return lanes;
  }

  private GlobalShadow.Pages pages(Allocation buffer) {
    var pages = lastPages;
    if (pages == null || lastBuffer != buffer) {
      pages = launch.shadow.of(buffer);
      lastPages = pages;
      lastBuffer = buffer;
    }
    return pages;
  }

  private void share(Watch.Shared memory, int lanes, boolean writes) {
    if (memory.rank() != rank && watch.hasEnded(memory.rank())) {
      report(
          Integer.numberOfTrailingZeros(lanes),
          Kind.PEER_ENDED,
          () -> sentences.ended(memory.rank()));
    }
    if (!launch.races) {
      return;
    }
    int[] seen = watch.clocks.seen(warp);
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      long mark = Mark.at(role.mark(), warp, lane, times[lane]);
      if (writes) {
        memory.shadow().write(touch.offsets[lane], touch.bytes, mark, seen, judges[lane]);
      } else {
        memory.shadow().read(touch.offsets[lane], touch.bytes, mark, seen, judges[lane]);
      }
    }
  }

  /** An address that was made from a variable's belongs to that variable. */
  private void checkExtents() {
    var extent = role.extent();
    if (extent == null || (role.kind() == Role.Kind.COPY && touch.kind() == Touch.Kind.LOAD)) {
      return;
    }
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (touch.memory(lane).space() == extent.space()) {
        long offset = place(lane);
        if (offset < extent.start() || offset + touch.bytes > extent.end()) {
          report(lane, Kind.OUT_OF_BOUNDS, () -> sentences.beyond(extent, offset, touch.bytes));
        }
      }
    }
  }

  /** The offset in the lane's own memory. */
  private long place(int lane) {
    return touch.memory(lane).space() == Space.LOCAL
        ? touch.offsets[lane] - (32L * touch.warp + lane) * localBytes
        : touch.offsets[lane];
  }

  private @Nullable DefinedBytes defined(Memory memory) {
    return memory instanceof Allocation buffer
        ? buffer.defined()
        : switch (memory.space()) {
          case SHARED -> watch.shared(memory).defined();
          case LOCAL -> localDefined;
          default -> null; // whoever launches fills the others
        };
  }

  private void checkDefined() {
    boolean copy = role.kind() == Role.Kind.COPY;
    if (copy && touch.kind() == Touch.Kind.LOAD) {
      Arrays.fill(copied, -1);
    }
    Memory last = null;
    DefinedBytes bits = null;
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var memory = requireNonNull(touch.memories[lane]);
      if (memory != last) {
        last = memory;
        bits = defined(memory);
      }
      if (bits == null) {
        continue;
      }
      long offset = touch.offsets[lane];
      int bytes = touch.bytes(lane);
      if (touch.kind() != Touch.Kind.STORE) {
        long there = bits.of(offset, bytes);
        if (copy) {
          // what nobody uses may be undefined: the copy is as defined as its source
          copied[lane] = there | ~DefinedBytes.ones(bytes);
        } else if (there != DefinedBytes.ones(bytes)) {
          report(lane, Kind.UNINITIALISED, () -> sentences.undefined(there, bytes));
        }
      }
      if (touch.kind() != Touch.Kind.LOAD) {
        if (copy) {
          bits.unset(offset, bytes);
          bits.setAll(offset, copied[lane] & DefinedBytes.ones(bytes));
        } else {
          bits.set(offset, bytes);
        }
      }
    }
  }

  /** A finding about one access. */
  private void report(int lane, Kind kind, Supplier<Sentences.Text> text) {
    launch.reports.add(
        kind,
        role.number(),
        role.number(),
        block,
        () -> sentences.of(kind, block, 32 * touch.warp + lane, role, text.get(), touch, lane));
  }

  /** Judges accesses in conflict with what one lane does now. */
  private final class LaneJudge implements Judge {
    private final int lane;

    LaneJudge(int lane) {
      this.lane = lane;
    }

    @Override
    public void judge(long before, int cluster, boolean wrote) {
      var kind = kind(before, cluster, wrote);
      if (kind != null) {
        launch.reports.add(
            kind,
            Mark.instruction(before),
            role.number(),
            block,
            () -> sentences.conflict(kind, before, cluster, wrote, block, role, touch, lane));
      }
    }

    private @Nullable Kind kind(long before, int cluster, boolean wrote) {
      if (Mark.has(before | role.mark(), Mark.READ_ONLY)) {
        return Kind.READ_ONLY_WRITTEN;
      }
      if (Mark.has(before, Mark.COPY)) {
        return copyKind(before, cluster, wrote);
      }
      boolean near = cluster == (int) watch.cluster();
      if (near && Mark.thread(before) == 32 * warp + lane) {
        return null;
      }
      int otherWarp = Mark.warp(before);
      int other = Mark.lane(before);
      if (near && otherWarp == warp && isSameMoment(before, other)) {
        return touch.kind() == Touch.Kind.ATOMIC || touch.agree(lane, other)
            ? null
            : Kind.LANES_COLLIDE;
      }
      if (watch.clocks.knows(warp, lane, cluster, otherWarp, other, Mark.time(before))) {
        return null;
      }
      int strength = Mark.strength(before);
      if (strength != Mark.WEAK && role.strength() != Mark.WEAK) {
        int needed =
            !near ? Mark.DEVICE : watch.rankOf(otherWarp) == rank ? Mark.BLOCK : Mark.CLUSTER;
        return Math.min(strength, role.strength()) >= needed ? null : Kind.NARROW_SCOPE;
      }
      if (Mark.has(before | role.mark(), Mark.ATOMIC)) {
        return Kind.ATOMIC_AND_PLAIN;
      }
      return race(near, otherWarp);
    }

    private Kind race(boolean near, int otherWarp) {
      return !near
          ? Kind.RACE_IN_GRID
          : otherWarp == warp
              ? Kind.RACE_IN_WARP
              : watch.rankOf(otherWarp) == rank ? Kind.RACE_IN_BLOCK : Kind.RACE_IN_CLUSTER;
    }

    /** Whether another lane did it with the same instruction, at the same time. */
    private boolean isSameMoment(long before, int other) {
      return Mark.instruction(before) == Mark.instruction(role.mark())
          && Mark.time(before) == times[lane]
          && other < lane
          && ((touch.mask >>> other) & 1) != 0
          && touch.memories[other] == touch.memories[lane]
          && touch.offsets[other] == touch.offsets[lane];
    }

    private @Nullable Kind copyKind(long before, int cluster, boolean wrote) {
      int otherWarp = Mark.warp(before);
      int other = Mark.lane(before);
      if (cluster != (int) watch.cluster()) {
        return watch.clocks.knowsAny(warp, lane, cluster, otherWarp, other)
            ? null
            : Kind.RACE_IN_GRID;
      }
      int thread = Mark.thread(before);
      int group = Mark.time(before);
      if (!watch.copies.isDone(thread, group)) {
        return !wrote
            ? Kind.COPY_SOURCE_WRITTEN
            : touch.kind() == Touch.Kind.LOAD ? Kind.COPY_NOT_AWAITED : Kind.COPY_TARGET_WRITTEN;
      }
      int awaited = watch.copies.time(thread, group);
      return thread == 32 * warp + lane
              || watch.clocks.knows(warp, lane, cluster, otherWarp, other, awaited)
          ? null
          : race(true, otherWarp);
    }
  }
}
