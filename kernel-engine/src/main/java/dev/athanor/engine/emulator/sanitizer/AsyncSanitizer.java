package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.DefinedBytes;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.sanitizer.clocks.SparseVectorClock;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.emulator.watch.ByteRanges;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks the asynchronous operations of the blocks of one rank: what mbarriers order, and what bulk
 * copies, tensor copies and products access until a thread waits for them. Threads are numbered in
 * their block.
 */
final class AsyncSanitizer implements AsyncObserver {

  /** No group. */
  private static final int NONE = -1;

  private final BlockSanitizer block;
  private final LaunchHistory launch;
  private final ClusterHistory history;
  private final AsyncHistory async;

  /** For each thread its last bulk group with a copy in it, and the instruction of that copy. */
  private final int[] lastGroups;

  private final int[] lastInstructions;

  /** For each thread the bulk groups whose sources are known to be read. */
  private final int[] readGroups;

  private final ProductRegisters registers;

  /** For each thread the products in tensor memory since its last commit. */
  private final Map<Integer, List<AsyncAccess>> uncommitted = new HashMap<>();

  AsyncSanitizer(BlockSanitizer block) {
    this.block = block;
    this.launch = block.launch;
    this.history = block.history;
    this.async = history.async;
    int threads = Warps.SIZE * launch.geometry.warps();
    this.lastGroups = new int[threads];
    this.lastInstructions = new int[threads];
    this.readGroups = new int[threads];
    this.registers = new ProductRegisters(launch);
  }

  /** A block begins. */
  void begin() {
    Arrays.fill(lastGroups, NONE);
    Arrays.fill(readGroups, 0);
    registers.begin(block.block());
    uncommitted.clear();
  }

  private int inCluster(int thread) {
    return Warps.SIZE * block.firstWarp + thread;
  }

  private int warpOf(int thread) {
    return block.firstWarp + Warps.warpOf(thread);
  }

  private int now(int thread) {
    return history.clocks.now(warpOf(thread));
  }

  private void acquire(int thread, SparseVectorClock clock) {
    history.clocks.acquire(warpOf(thread), Warps.laneOf(thread), clock);
  }

  private void reportViolation(Kind kind, int thread, String what, String remedy) {
    block.reportViolation(kind, thread, block.effect().instruction(), what, remedy);
  }

  @Override
  public void made(ObservedMbarrier barrier, int thread, Memory shared, long offset) {
    int number = block.effect().number();
    async.make(
        barrier,
        new MbarrierHistory.Origin(inCluster(thread), now(thread), number, shared, offset));
    history.shared(shared).defined().set(offset, Long.BYTES);
  }

  @Override
  public void completes(ObservedMbarrier barrier, long phases) {
    async.of(barrier).complete(phases);
  }

  /** A thread uses an mbarrier, which must be visible to it. */
  private MbarrierHistory use(ObservedMbarrier barrier, int thread) {
    var known = async.of(barrier);
    if (launch.races && !async.isVisible(known, inCluster(thread))) {
      boolean near = history.rankOf(Warps.warpOf(known.origin.thread())) == block.rank;
      reportViolation(
          Kind.MBARRIER_NOT_VISIBLE,
          thread,
          "uses %s, which another thread made, and nothing orders the two".formatted(barrier),
          near
              ? "a barrier of the block between the two would order them"
              : "fence.mbarrier_init.release.cluster, and then barrier.cluster, between the two would"
                  + " order them");
    }
    known.use(inCluster(thread), now(thread));
    return known;
  }

  @Override
  public void counts(ObservedMbarrier barrier, int thread) {
    use(barrier, thread);
  }

  @Override
  public void invalidates(ObservedMbarrier barrier, int thread) {
    var known = use(barrier, thread);
    async.invalidate(known);
    if (launch.races && !reportOtherUse(known, barrier, thread)) {
      var last = known.lastCopy;
      if (last != null
          && !last.isOver(history.clocks, warpOf(thread), Warps.laneOf(thread), true)) {
        reportViolation(
            Kind.MBARRIER_IN_USE,
            thread,
            "invalidates %s, which a pending copy may still signal".formatted(barrier),
            "wait for the phase of the copy first");
      }
    }
  }

  /** Reports a use of an mbarrier that is not ordered before a thread; returns whether any is. */
  private boolean reportOtherUse(MbarrierHistory known, ObservedMbarrier barrier, int thread) {
    int[] uses = known.uses();
    for (int other = 0; other < uses.length; other++) {
      if (uses[other] != 0
          && !history.clocks.knowsThread(
              warpOf(thread), Warps.laneOf(thread), other, uses[other])) {
        int user = other % (Warps.SIZE * launch.geometry.warps());
        int rank = history.rankOf(Warps.warpOf(other));
        reportViolation(
            Kind.MBARRIER_IN_USE,
            thread,
            "invalidates %s, which lane %d of warp %d%s has used, and nothing orders the two"
                .formatted(
                    barrier,
                    Warps.laneOf(user),
                    Warps.warpOf(user),
                    rank == block.rank ? "" : " of block %d of the cluster".formatted(rank)),
            "a barrier after the last use of the mbarrier would order them");
        return true;
      }
    }
    return false;
  }

  private boolean isRelaxed() {
    return block.effect().instruction().modifiers().has("relaxed");
  }

  @Override
  public void arrives(ObservedMbarrier barrier, int thread) {
    var known = use(barrier, thread);
    if (!known.isObserved()) {
      reportViolation(
          Kind.MBARRIER_OVERRUN,
          thread,
          "arrives at %s, but no thread has observed the end of the previous phase"
              .formatted(barrier),
          "wait for each phase before any thread arrives for the next; otherwise a thread that waits"
              + " for its parity may wait forever");
    }
    if (!isRelaxed()) {
      history.clocks.publish(warpOf(thread), Warps.laneOf(thread), known.arriving());
      history.clocks.tick(warpOf(thread));
    }
  }

  @Override
  public void observes(ObservedMbarrier barrier, int ofBlock, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = Warps.firstThread(ofBlock, left);
      use(barrier, thread).observe(inCluster(thread));
    }
    if (!isRelaxed()) {
      int warp = block.firstWarp + ofBlock;
      history.clocks.acquire(warp, lanes, history.live[warp], async.of(barrier).completed());
    }
  }

  @Override
  public void misses(ObservedMbarrier barrier, int thread) {
    long passed = use(barrier, thread).miss(inCluster(thread));
    if (passed > 1) {
      reportViolation(
          Kind.MBARRIER_OVERRUN,
          thread,
          "waits for a parity of %s, and %d phases have ended since it began to wait"
              .formatted(barrier, passed),
          "let no thread arrive for the next phase before all waiting threads have continued");
    }
  }

  @Override
  public Signal copiesArrive(ObservedMbarrier barrier, int thread) {
    var signal = async.issue(inCluster(thread), block.effect().number(), use(barrier, thread));
    history.copies.arrive(inCluster(thread), signal);
    return signal;
  }

  @Override
  public Signal issues(
      int thread, ByteRanges source, ByteRanges target, int bytes, ObservedMbarrier barrier) {
    // a copy reaches its mbarrier through the generic proxy (PTX ISA 9.7.9.25.4.1)
    var known = use(barrier, thread);
    var copy = issue(thread, source, target, bytes, known);
    known.lastCopy = copy;
    return copy;
  }

  @Override
  public void issues(int thread, ByteRanges source, ByteRanges target, int bytes, int group) {
    var copy = issue(thread, source, target, bytes, null);
    lastGroups[thread] = group;
    lastInstructions[thread] = block.effect().number();
    copy.readAt(groups(thread, true), group + 1);
    copy.completeAt(groups(thread, false), group + 1);
  }

  /** Returns the agent of a thread's bulk groups, or of the reading of their sources. */
  private long groups(int thread, boolean read) {
    return async.agentOf(2 * inCluster(thread) + (read ? 1 : 0));
  }

  private AsyncAccess issue(
      int thread,
      ByteRanges source,
      ByteRanges target,
      int bytes,
      @Nullable MbarrierHistory barrier) {
    var effect = block.effect();
    var copy = async.issue(inCluster(thread), effect.number(), barrier);
    var defined = new DefinedBytes(bytes);
    defined.setRange(0, bytes);
    var reads = new MemoryRequest(effect.instruction(), MemoryRequest.Kind.LOAD);
    source.forEach((memory, offset, count, at) -> {
      var from = block.definedness.of(memory);
      if (from != null) {
        defined.copyRange(from, offset, at, count);
      }
      block.accessAsync(reads, thread, copy.number, memory, offset, count);
    });
    var writes =
        new MemoryRequest(
            effect.instruction(),
            effect.reduces() ? MemoryRequest.Kind.ATOMIC : MemoryRequest.Kind.STORE);
    target.forEach((memory, offset, count, at) -> {
      var to = block.definedness.of(memory);
      if (to != null && !effect.reduces()) {
        to.copyRange(defined, at, offset, count);
      }
      block.accessAsync(writes, thread, copy.number, memory, offset, count);
    });
    return copy;
  }

  @Override
  public void awaits(int thread, int until, boolean read) {
    var completed = new SparseVectorClock();
    completed.raise(groups(thread, true), until);
    if (!read) {
      completed.raise(groups(thread, false), until);
    }
    acquire(thread, completed);
    readGroups[thread] = Math.max(readGroups[thread], until);
  }

  @Override
  public void changesMap(int thread, Memory memory, long offset, boolean collective) {
    var defined = block.definedness.of(memory);
    if (defined != null) {
      defined.setRange(offset, TensorMap.BYTES);
    }
    if (memory instanceof Allocation buffer) {
      history.maps.change(buffer, offset, warpOf(thread), Warps.laneOf(thread), collective);
    }
  }

  @Override
  public void fencesMap(int thread, Allocation buffer, long offset) {
    history.maps.fence(buffer, offset, warpOf(thread), Warps.laneOf(thread));
  }

  @Override
  public void usesMap(int thread, Allocation buffer, long offset) {
    if (launch.races
        && !history.maps.isFenced(buffer, offset, warpOf(thread), Warps.laneOf(thread))) {
      reportViolation(
          Kind.TENSOR_MAP_FENCE,
          thread,
          "uses the tensor map at 0x%x, which this launch has changed"
              .formatted(buffer.address() + offset),
          "the PTX memory model requires fence.proxy.tensormap::generic.acquire of this map after"
              + " the change and before the use (PTX ISA 9.7.13.4)");
    }
  }

  @Override
  public Product product(int warp) {
    var product = async.issue(inCluster(Warps.SIZE * warp), block.effect().number(), null);
    return (joining, factors, group) -> join(product, joining, factors, group);
  }

  private void join(AsyncAccess product, int warp, ByteRanges factors, int group) {
    var reads = new MemoryRequest(block.effect().instruction(), MemoryRequest.Kind.LOAD);
    factors.forEach((memory, offset, bytes, _) ->
        block.accessAsync(reads, Warps.SIZE * warp, product.number, memory, offset, bytes));
    product.readAt(products(warp), group + 1);
    product.completeAt(products(warp), group + 1);
    registers.multiply(warp, block.effect(), group);
  }

  /** Returns the agent of the product groups of a warp's warpgroup. */
  private long products(int warp) {
    return async.agentOf(-1 - (block.firstWarp + warp) / LaunchGeometry.WARPGROUP);
  }

  @Override
  public void awaitsProducts(int ofBlock, int until) {
    registers.await(ofBlock, until);
    if (until <= 0) {
      return;
    }
    var completed = new SparseVectorClock();
    completed.raise(products(ofBlock), until);
    int warp = block.firstWarp + ofBlock;
    history.clocks.acquire(warp, -1, history.live[warp], completed);
  }

  @Override
  public void multiplies(int thread, ByteRanges factors, ByteRanges sums, boolean adds) {
    var product = async.issue(inCluster(thread), block.effect().number(), null);
    uncommitted.computeIfAbsent(thread, _ -> new ArrayList<>()).add(product);
    var instruction = block.effect().instruction();
    var reads = new MemoryRequest(instruction, MemoryRequest.Kind.LOAD);
    factors.forEach((memory, offset, bytes, _) ->
        block.accessAsync(reads, thread, product.number, memory, offset, bytes));
    var writes =
        new MemoryRequest(instruction, adds ? MemoryRequest.Kind.ATOMIC : MemoryRequest.Kind.STORE);
    sums.forEach((memory, offset, bytes, _) ->
        block.accessAsync(writes, thread, product.number, memory, offset, bytes));
  }

  @Override
  public Signal productsArrive(ObservedMbarrier barrier, int thread) {
    var known = use(barrier, thread);
    var signal = async.issue(inCluster(thread), block.effect().number(), known);
    var products = uncommitted.remove(thread);
    return () -> {
      signal.done();
      if (products != null) {
        products.forEach(product -> product.doneWith(signal));
      }
    };
  }

  /** The current instruction uses registers of products, or is a fence for them. */
  void usesRegisters(int warp) {
    registers.use(warp, block.effect());
  }

  /** Lanes of a warp exit. */
  void warpExits(int warp) {
    int product = registers.left(warp);
    if (product >= 0) {
      block.reportLeft(inCluster(Warps.SIZE * warp), product);
    }
  }

  /** A thread exits. */
  void threadExits(int thread) {
    var products = uncommitted.get(thread);
    if (products != null) {
      block.reportLeft(inCluster(thread), products.getLast().instruction);
    }
    if (lastGroups[thread] >= readGroups[thread]) {
      block.reportLeft(inCluster(thread), lastInstructions[thread]);
    }
  }

  /** All threads of the block have exited. */
  void end() {
    for (var barrier : history.mbarriers(block.rank)) {
      var known = async.of(barrier);
      var last = known.lastCopy;
      if (last != null && !known.hasObserved(last)) {
        launch.reports.add(
            Kind.COPY_LEFT_AT_EXIT,
            last.instruction,
            last.instruction,
            block.block(),
            () -> launch.messages.unseen(history.cluster(), last, barrier));
      } else if (barrier.missingBytes() != 0 && !barrier.hasPendingSignal()) {
        int maker = known.origin.instruction();
        launch.reports.add(
            Kind.MBARRIER_BYTES,
            maker,
            maker,
            block.block(),
            () -> launch.messages.bytesLeft(history.cluster(), known.origin, barrier));
      }
    }
  }
}
