package dev.athanor.engine.emulator.sanitizer;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.Fault;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.sanitizer.clocks.ProxyMemory;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.util.List;

/**
 * The sanitizer of the blocks of one rank that a worker executes. It passes on the events of the
 * threads: synchronization to the clocks, accesses to the checks of addresses, defined bytes and
 * races. It decides by what the kernel orders, not by the order in this run: two accesses are a
 * race unless something orders them on every machine.
 */
final class BlockSanitizer implements Observer {

  /** The most bytes of an asynchronous operation that are checked at once. */
  private static final long CHUNK = 16;

  final ClusterHistory history;
  final LaunchHistory launch;
  final int rank;

  /** The number of the block's first warp in its cluster. */
  final int firstWarp;

  final Definedness definedness;
  private final AddressChecks addresses;
  private final RaceDetector races;
  private final AsyncSanitizer async;

  private long block;
  private Access access;

  /** The effect of the instruction that was announced last. */
  private MemoryEffect effect;

  /**
   * @param rank of the blocks in their clusters
   */
  BlockSanitizer(ClusterHistory history, int rank) {
    this.history = history;
    this.launch = history.launch;
    this.rank = rank;
    this.firstWarp = rank * launch.geometry.warps();
    this.definedness = new Definedness(history);
    this.addresses = new AddressChecks(history, rank);
    this.races = new RaceDetector(history, rank);
    this.effect = launch.effects.getFirst();
    this.access = new Access(0, 0, effect);
    this.async = new AsyncSanitizer(this);
  }

  AsyncSanitizer async() {
    return async;
  }

  /** Returns the effect of the instruction that is executed now. */
  MemoryEffect effect() {
    return effect;
  }

  /** Returns the number of the block in the grid. */
  long block() {
    return block;
  }

  @Override
  public void begin(long number) {
    block = number;
    history.begin(number, rank);
    access = new Access(number, (int) history.cluster(), effect);
    definedness.begin();
    races.begin();
    async.begin();
  }

  @Override
  public void end() {
    async.end();
    races.end();
  }

  @Override
  public boolean watches(int number) {
    return launch.effects.get(number).kind() != MemoryEffect.Kind.OTHER
        || launch.productRegisters.has(number);
  }

  @Override
  public void execute(int number, int ofBlock, int active, int chosen) {
    effect = launch.effects.get(number);
    int warp = firstWarp + ofBlock;
    if (chosen != 0
        && effect.kind() != MemoryEffect.Kind.PRODUCT
        && (effect.kind() == MemoryEffect.Kind.PRODUCT_FENCE
            || launch.productRegisters.has(number))) {
      async.usesRegisters(ofBlock);
    }
    switch (effect.kind()) {
      case COMMIT -> history.copies.commit(warp, chosen);
      case WAIT -> {
        if (effect.but() == MemoryEffect.ALL_COPIES) {
          history.copies.commit(warp, chosen);
        }
        int but = Math.max(0, effect.but());
        history.copies.await(warp, chosen, but, history.clocks.now(warp));
      }
      case FENCE -> history.ordering.fence(warp, chosen, effect);
      case CLUSTER_ARRIVE -> history.arrive(warp, chosen, effect.releases());
      case AWAIT_GRID -> races.awaitGrid(warp, chosen);
      case LAUNCH_DEPENDENTS -> races.launchDependents(warp, chosen);
      case EXIT -> exit(warp, chosen);
      case PROXY_FENCE -> history.clocks.fenceProxies(warp, chosen, effect.fences());
      case INIT_FENCE -> history.async.fenceInit(warp, chosen);
      case MAP_FENCE -> history.ordering.fence(warp, chosen, effect); // its step names the map
      case ACCESS, COPY, MBARRIER, ASYNC, PRODUCT, PRODUCT_FENCE, OTHER -> {} // events follow
    }
  }

  private void exit(int warp, int lanes) {
    if (lanes != 0) {
      async.warpExits(warp - firstWarp);
    }
    history.live[warp] &= ~lanes;
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = Warps.firstThread(warp, left);
      int copy = history.copies.left(thread);
      if (copy >= 0) {
        reportLeft(thread, copy);
      }
      async.threadExits(thread - Warps.SIZE * firstWarp);
    }
  }

  /**
   * Reports that a thread exits, without a wait for a copy or product that it has issued.
   *
   * @param thread its number in the cluster
   * @param issued the instruction that issued it
   */
  void reportLeft(int thread, int issued) {
    var end = effect;
    launch.reports.add(
        launch.effects.get(issued).kind() == MemoryEffect.Kind.PRODUCT
            ? Kind.PRODUCT_LEFT_AT_EXIT
            : Kind.COPY_LEFT_AT_EXIT,
        issued,
        end.number(),
        block,
        () -> launch.messages.copyLeft(history.cluster(), thread, issued, end));
  }

  @Override
  public void allocated(Allocation heap, long offset, long bytes) {
    launch.shadow.forget(heap, offset, bytes);
  }

  @Override
  public void synchronize(int ofBlock, int lanes) {
    int warp = firstWarp + ofBlock;
    history.clocks.synchronize(warp, lanes, history.live[warp]);
  }

  /** Returns the number of a barrier of the block in the clocks. */
  private int inCluster(int barrier) {
    return rank * BARRIERS + barrier;
  }

  @Override
  public void arrive(int barrier, int ofBlock) {
    history.clocks.arrive(inCluster(barrier), firstWarp + ofBlock);
  }

  @Override
  public void open(int barrier, int waiting) {
    for (int left = waiting; left != 0; left &= left - 1) {
      history.clocks.leave(inCluster(barrier), firstWarp + Integer.numberOfTrailingZeros(left));
    }
    history.clocks.clear(inCluster(barrier));
  }

  @Override
  public void joined(int ofBlock, int lanes) {
    history.join(firstWarp + ofBlock, lanes);
  }

  @Override
  public void reportViolation(
      Kind kind, int thread, Instruction instruction, String what, String remedy) {
    if (kind == Kind.BARRIER_ABANDONED && !launch.races) {
      return;
    }
    int number = launch.number(instruction);
    launch.reports.add(
        kind,
        number,
        number,
        block,
        () -> launch.messages.of(kind, block, thread, instruction, what, remedy));
  }

  @Override
  public void touch(MemoryRequest request) {
    if (request.mask == 0) {
      return;
    }
    var now = accessOf(request);
    if (effect.isOfMbarrier()) {
      checkMbarrierPeers(now);
      return;
    }
    addresses.checkVariable(now);
    int all = request.mask;
    request.mask &= ~addresses.checkHeap(now); // one report for an address is enough
    definedness.check(now);
    stamp(now);
    checkMemories(now);
    if (races.isOrdering(effect)) {
      races.beginOrdering(now);
    }
    request.mask = all;
  }

  private Access accessOf(MemoryRequest request) {
    int warp = firstWarp + request.warp;
    int[] seen = history.clocks.seen(warp);
    return access.set(effect, request, warp, seen, seen);
  }

  /** Sets the times of an access by threads. */
  private void stamp(Access now) {
    boolean copy = effect.kind() == MemoryEffect.Kind.COPY;
    int warp = now.warp();
    for (int left = now.request().mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int time =
          copy
              ? history.copies.issue(Warps.thread(warp, lane), effect.number())
              : history.clocks.now(warp);
      now.times[lane] = checkedTime(time, warp, lane);
    }
  }

  /** Checks the block of an mbarrier; {@link AsyncSanitizer} checks everything else. */
  private void checkMbarrierPeers(Access now) {
    var request = now.request();
    for (int left = request.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (request.memory(lane).space() == Space.SHARED) {
        addresses.checkPeer(now, history.shared(request.memory(lane)), 1 << lane);
      }
    }
  }

  /** Checks an access against what each memory that it goes to records. */
  private void checkMemories(Access now) {
    var request = now.request();
    for (int left = request.mask; left != 0; ) {
      var memory = requireNonNull(request.memories[Integer.numberOfTrailingZeros(left)]);
      int lanes = lanesOf(request, memory, left);
      left &= ~lanes;
      if (memory.space() == Space.SHARED) {
        var shared = history.shared(memory);
        addresses.checkPeer(now, shared, lanes);
        addresses.checkMbarriers(now, shared, lanes);
        if (launch.races) {
          races.shared(now, shared, lanes);
        }
      } else if (launch.races && memory instanceof Allocation buffer) {
        races.global(now, buffer, lanes);
      }
    }
  }

  private static int lanesOf(MemoryRequest request, Memory memory, int among) {
    int lanes = 0;
    for (int left = among; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (request.memories[lane] == memory) {
        lanes |= 1 << lane;
      }
    }
    return lanes;
  }

  @Override
  public void touched(MemoryRequest request) {
    if (races.isOrdering(effect)) {
      races.endOrdering(accessOf(request));
    }
  }

  /**
   * Checks an access of an asynchronous operation to consecutive bytes.
   *
   * @param request is filled; its kind says how the bytes are accessed
   * @param thread that has issued it, in the block
   * @param number of its {@link AsyncAccess}
   */
  void accessAsync(
      MemoryRequest request, int thread, int number, Memory memory, long offset, long bytes) {
    int warp = firstWarp + Warps.warpOf(thread);
    int lane = Warps.laneOf(thread);
    int[] seen = history.clocks.seen(warp);
    int[] seenWrites =
        effect.isInAsyncProxy() && !memory.isTensorMemory()
            ? history.clocks.fenced(warp, ProxyMemory.SHARED)
            : seen;
    var now = access.set(effect, request, warp, seen, seenWrites);
    request.warp = Warps.warpOf(thread);
    request.mask = 1 << lane;
    request.memories[lane] = memory;
    now.times[lane] = checkedTime(number, warp, lane);
    races.beginAsync();
    for (long at = offset, end = offset + bytes; at < end; at += request.bytes) {
      request.offsets[lane] = at;
      request.bytes = (int) Math.min(Long.lowestOneBit(at | CHUNK), Long.highestOneBit(end - at));
      if (effect.kind() == MemoryEffect.Kind.PRODUCT) {
        definedness.check(now); // copies may carry undefined bytes
      }
      checkMemories(now);
    }
  }

  /** Returns a time, or stops the launch if the time does not fit in an {@link AccessStamp}. */
  private int checkedTime(int time, int warp, int lane) {
    if (launch.races && Integer.compareUnsigned(time, AccessStamp.END_OF_TIME) >= 0) {
      throw new Fault(
          List.of(
              launch.messages.of(
                  Kind.RULE,
                  block,
                  Warps.thread(warp - firstWarp, lane),
                  effect.instruction(),
                  "the sanitizer tells %d synchronizations or asynchronous operations of a launch apart, and this launch has more"
                      .formatted(AccessStamp.END_OF_TIME),
                  "launch fewer blocks at once, or check with athanor.sanitize=memory")));
    }
    return time;
  }
}
