package dev.athanor.engine.emulator.sanitizer;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.DefinedBytes;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Watches the blocks of one worker for what a GPU would not show: bytes that nobody has written,
 * accesses that nothing orders, copies that nobody waits for. It goes by what happened in this run,
 * not by what its schedule made of it: two accesses that happened one after the other are in
 * conflict unless something orders them on every machine.
 */
final class Sanitizer implements Observer {

  /** The bytes that are looked at at once of a long row. */
  private static final long PIECE = 16;

  final ClusterHistory watch;
  final SanitizedLaunch launch;
  final SanitizerMessages sentences;
  final int rank;

  /** The number in its cluster of the block's first warp. */
  final int firstWarp;

  private final AsyncSanitizer checks;

  private final DefinedBytes localDefined;
  private final int localBytes;
  private final ConflictClassifier[] judges = new ConflictClassifier[32];
  final int[] times = new int[32];
  private final long[] keys = new long[32];

  /** Which bytes of its source are defined, for each lane of a copy. */
  private final long[] copied = new long[32];

  private long block;
  private MemoryEffect role;
  private MemoryRequest touch;

  /** The number in its cluster of the warp that touches. */
  private int warp;

  /**
   * Up to when each warp's writes are known to what touches beside the threads; null = a thread
   * touches.
   */
  private int @Nullable [] fenced;

  private @Nullable Memory lastBuffer;
  private GlobalShadow.@Nullable Pages lastPages;

  /**
   * @param rank of the blocks in their clusters
   */
  Sanitizer(ClusterHistory watch, int rank) {
    this.watch = watch;
    this.launch = watch.launch;
    this.sentences = launch.sentences;
    this.rank = rank;
    int warps = launch.places.warps();
    this.firstWarp = rank * warps;
    this.localBytes = launch.observed.localBytes();
    this.localDefined = new DefinedBytes(32L * warps * localBytes);
    for (int lane = 0; lane < judges.length; lane++) {
      judges[lane] = new ConflictClassifier(this, lane);
    }
    this.checks = new AsyncSanitizer(this);
    this.role = launch.roles.getFirst();
    this.touch = new MemoryRequest(role.instruction(), MemoryRequest.Kind.LOAD);
  }

  AsyncSanitizer async() {
    return checks;
  }

  MemoryEffect role() {
    return role;
  }

  MemoryRequest now() {
    return touch;
  }

  int warp() {
    return warp;
  }

  long block() {
    return block;
  }

  @Override
  public void end() {
    checks.end();
  }

  @Override
  public void begin(long number) {
    block = number;
    watch.begin(number, rank);
    localDefined.clear();
    checks.begin();
  }

  @Override
  public boolean watches(int number) {
    return launch.roles.get(number).kind() != MemoryEffect.Kind.OTHER
        || launch.productRegisters.has(number);
  }

  @Override
  public void execute(int number, int ofBlock, int active, int chosen) {
    role = launch.roles.get(number);
    int of = firstWarp + ofBlock;
    if (chosen != 0
        && role.kind() != MemoryEffect.Kind.PRODUCT
        && (role.kind() == MemoryEffect.Kind.PRODUCT_FENCE
            || launch.productRegisters.has(number))) {
      checks.touchesRegisters(ofBlock, role);
    }
    switch (role.kind()) {
      case COMMIT -> watch.copies.commit(of, chosen);
      case WAIT -> {
        if (role.but() == MemoryEffect.ALL_COPIES) {
          watch.copies.commit(of, chosen);
        }
        watch.copies.await(of, chosen, Math.max(0, role.but()), watch.clocks.now(of));
      }
      case FENCE -> watch.ordering.fence(of, chosen, role);
      case CLUSTER_ARRIVE -> watch.arrive(of, chosen, role.releases());
      case EXIT -> exit(of, chosen);
      case PROXY_FENCE -> watch.clocks.fenceProxies(of, chosen, role.fences());
      case INIT_FENCE -> watch.async.fenceMade(of, chosen);
      case MAP_FENCE -> watch.ordering.fence(of, chosen, role); // its step tells of which map
      case ACCESS, COPY, MBARRIER, FLIGHT, PRODUCT, PRODUCT_FENCE, OTHER -> {} // touch says what
    }
  }

  private void exit(int of, int lanes) {
    if (lanes != 0) {
      checks.exit(of - firstWarp, role);
    }
    watch.live[of] &= ~lanes;
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * of + Integer.numberOfTrailingZeros(left);
      int copy = watch.copies.left(thread);
      if (copy >= 0) {
        reportLeft(thread, copy, role);
      }
      checks.exits(thread - 32 * firstWarp, role);
    }
  }

  /** A thread of the cluster ends that has not waited for a copy. */
  void reportLeft(int thread, int copy, MemoryEffect end) {
    launch.reports.add(
        launch.roles.get(copy).kind() == MemoryEffect.Kind.PRODUCT
            ? Kind.PRODUCT_LEFT_AT_EXIT
            : Kind.COPY_LEFT_AT_EXIT,
        copy,
        end.number(),
        block,
        () -> sentences.copyLeft(watch.cluster(), thread, copy, end));
  }

  /** Nobody has waited for a copy that an mbarrier was to tell of. */
  void reportUnseen(AsyncAccess copy, ObservedMbarrier barrier) {
    launch.reports.add(
        Kind.COPY_LEFT_AT_EXIT,
        copy.instruction,
        copy.instruction,
        block,
        () -> sentences.unseen(watch.cluster(), copy, barrier));
  }

  /** Bytes were announced to an mbarrier that have not come, or have come unannounced. */
  void reportBytes(MbarrierHistory made, ObservedMbarrier barrier) {
    launch.reports.add(
        Kind.MBARRIER_BYTES,
        made.instruction,
        made.instruction,
        block,
        () -> sentences.bytesLeft(watch.cluster(), made, barrier));
  }

  @Override
  public void allocated(Allocation heap, long offset, long bytes) {
    launch.shadow.forget(heap, offset, bytes);
  }

  @Override
  public void synchronize(int ofBlock, int lanes) {
    int of = firstWarp + ofBlock;
    watch.clocks.synchronize(of, lanes, watch.live[of]);
  }

  private int barrier(int ofBlock) {
    return rank * BARRIERS + ofBlock;
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
  public void touch(MemoryRequest now) {
    if (now.mask == 0) {
      return;
    }
    touch = now;
    warp = firstWarp + now.warp;
    if (role.isOfMbarrier()) {
      touchMbarriers();
      return;
    }
    checkExtents();
    int all = now.mask;
    now.mask &= ~checkHeap(); // of those enough is said
    touchMemory(now);
    now.mask = all;
  }

  private void touchMemory(MemoryRequest now) {
    checkDefined();
    boolean copy = role.kind() == MemoryEffect.Kind.COPY;
    for (int left = now.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int time =
          copy ? watch.copies.issue(32 * warp + lane, role.number()) : watch.clocks.now(warp);
      times[lane] = fitting(time, lane);
    }
    touchShadows(now);
    if (isOrdered() && touchesGlobal()) {
      launch.strong.lock();
    }
  }

  private boolean touchesGlobal() {
    for (int left = touch.mask; left != 0; left &= left - 1) {
      if (touch.memories[Integer.numberOfTrailingZeros(left)] instanceof Allocation) {
        return true;
      }
    }
    return false;
  }

  /** Whether the access may be part of a release or an acquire pattern. */
  private boolean isOrdered() {
    return launch.releases
        && role.strength() != AccessStamp.WEAK
        && role.kind() == MemoryEffect.Kind.ACCESS;
  }

  /** Whatever else there is to say of mbarriers their steps tell the checks. */
  private void touchMbarriers() {
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (touch.memory(lane).space() == Space.SHARED) {
        checkPeer(watch.shared(touch.memory(lane)), 1 << lane);
      }
    }
  }

  private void checkPeer(ClusterHistory.Shared memory, int lanes) {
    if (memory.rank() != rank && watch.hasEnded(memory.rank())) {
      report(
          Integer.numberOfTrailingZeros(lanes),
          Kind.PEER_ENDED,
          () -> sentences.ended(memory.rank()));
    }
  }

  private void touchShadows(MemoryRequest now) {
    boolean writes = now.kind() != MemoryRequest.Kind.LOAD;
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
  }

  @Override
  public void touched(MemoryRequest now) {
    if (!isOrdered()) {
      return;
    }
    try {
      touch = now;
      warp = firstWarp + now.warp;
      findKeys();
      watch.ordering.access(warp, now, role, keys);
    } finally {
      if (launch.strong.isHeldByCurrentThread()) {
        launch.strong.unlock();
      }
    }
  }

  /**
   * Something beside the threads touches bytes one after the other.
   *
   * @param now is filled; its kind says how they are touched
   * @param thread that issued it, in the block
   * @param number of its {@link AsyncAccess}
   */
  void fly(MemoryRequest now, int thread, int number, Memory memory, long offset, long bytes) {
    touch = now;
    warp = firstWarp + thread / 32;
    fenced =
        role.isInAsyncProxy()
            ? watch.clocks.fenced(warp, ProxyMemory.SHARED)
            : watch.clocks.seen(warp);
    int lane = thread % 32;
    now.warp = thread / 32;
    now.mask = 1 << lane;
    now.memories[lane] = memory;
    times[lane] = fitting(number, lane);
    judges[lane].forget();
    for (long at = offset, end = offset + bytes; at < end; at += now.bytes) {
      now.offsets[lane] = at;
      now.bytes = (int) Math.min(Long.lowestOneBit(at | PIECE), Long.highestOneBit(end - at));
      if (role.kind() == MemoryEffect.Kind.PRODUCT) {
        checkDefined(); // a copy may carry undefined bytes along
      }
      touchShadows(now);
    }
    fenced = null;
  }

  /**
   * Returns a time, or stops the launch where a {@link AccessStamp} would take it for an earlier
   * one.
   */
  private int fitting(int time, int lane) {
    if (launch.races && Integer.compareUnsigned(time, AccessStamp.END_OF_TIME) >= 0) {
      throw new Fault(
          List.of(
              sentences.of(
                  Kind.RULE,
                  block,
                  32 * (warp - firstWarp) + lane,
                  role.instruction(),
                  "the sanitizer tells %d synchronizations or asynchronous operations of a launch apart, and this launch has more"
                      .formatted(AccessStamp.END_OF_TIME),
                  "launch fewer blocks at once, or check with athanor.sanitize=memory")));
    }
    return time;
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

  private void share(ClusterHistory.Shared memory, int lanes, boolean writes) {
    checkPeer(memory, lanes);
    if (writes && !memory.mbarriers().isEmpty()) {
      checkMbarriers(memory.mbarriers(), lanes);
    }
    if (!launch.races) {
      return;
    }
    int[] seen = watch.clocks.seen(warp);
    int[] seenWrites = fenced == null ? seen : fenced;
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      long mark = AccessStamp.at(role.mark(), warp, lane, times[lane]);
      if (writes) {
        memory
            .shadow()
            .write(touch.offsets[lane], touch.bytes, mark, seenWrites, seen, judges[lane]);
      } else {
        memory.shadow().read(touch.offsets[lane], touch.bytes, mark, seenWrites, judges[lane]);
      }
    }
  }

  private void checkMbarriers(ClusterHistory.LiveMbarriers live, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (live.isHit(touch.offsets[lane], touch.bytes)) {
        report(lane, Kind.MBARRIER_OVERWRITTEN, sentences::overMbarrier);
      }
    }
  }

  /** An address that was made from a variable's belongs to that variable. */
  private void checkExtents() {
    var extent = role.extent();
    if (extent == null
        || (role.kind() == MemoryEffect.Kind.COPY && touch.kind() == MemoryRequest.Kind.LOAD)) {
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

  /** What lies in the heap belongs to a block that was not freed; answers which lanes' does not. */
  private int checkHeap() {
    var heap = launch.heap;
    int astray = 0;
    if (heap == null) {
      return astray;
    }
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      long offset = touch.offsets[lane];
      int bytes = touch.bytes(lane);
      if (touch.memories[lane] == heap.buffer() && heap.find(offset, bytes) == null) {
        astray |= 1 << lane;
        var freed = heap.freed(offset);
        if (freed != null) {
          report(lane, Kind.USE_AFTER_FREE, () -> sentences.freed(freed, offset));
        } else {
          var before = heap.before(offset);
          report(lane, Kind.OUT_OF_BOUNDS, () -> sentences.beyond(before, offset, bytes));
        }
      }
    }
    return astray;
  }

  /** The offset in the lane's own memory. */
  private long place(int lane) {
    return touch.memory(lane).space() == Space.LOCAL
        ? touch.offsets[lane] - (32L * touch.warp + lane) * localBytes
        : touch.offsets[lane];
  }

  @Nullable DefinedBytes defined(Memory memory) {
    return memory instanceof Allocation buffer
        ? buffer.defined()
        : switch (memory.space()) {
          case SHARED -> watch.shared(memory).defined();
          case LOCAL -> localDefined;
          default -> null; // whoever launches fills the others
        };
  }

  private void checkDefined() {
    boolean copy = role.kind() == MemoryEffect.Kind.COPY;
    if (copy && touch.kind() == MemoryRequest.Kind.LOAD) {
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
      if (touch.kind() != MemoryRequest.Kind.STORE) {
        long there = bits.of(offset, bytes);
        if (copy) {
          // what nobody uses may be undefined: the copy is as defined as its source
          copied[lane] = there | ~DefinedBytes.ones(bytes);
        } else if (there != DefinedBytes.ones(bytes)) {
          report(lane, Kind.UNINITIALISED, () -> sentences.undefined(there, bytes));
        }
      }
      if (touch.kind() != MemoryRequest.Kind.LOAD) {
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
  void report(int lane, Kind kind, Supplier<SanitizerMessages.Text> text) {
    launch.reports.add(
        kind,
        role.number(),
        role.number(),
        block,
        () -> sentences.of(kind, block, 32 * touch.warp + lane, role, text.get(), touch, lane));
  }
}
