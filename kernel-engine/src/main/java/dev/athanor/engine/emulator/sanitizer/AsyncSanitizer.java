package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.DefinedBytes;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.emulator.watch.ByteRanges;
import dev.athanor.engine.emulator.watch.LaunchGeometry;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import java.util.ArrayList;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Looks at what the steps of a block do beside its threads: what mbarriers order, and what bulk
 * copies, copies of tiles and products touch until somebody has waited for them. The steps tell it,
 * while their instruction is executed. Threads are numbered through the block.
 */
final class AsyncSanitizer implements AsyncObserver {

  /** No group. */
  private static final int NONE = -1;

  private final Sanitizer of;
  private final ClusterHistory watch;
  private final AsyncHistory async;

  /** The last group of each thread's bulk copies that has one in it, and its instruction. */
  private final int[] lastGroups;

  private final int[] lastInstructions;

  /** How many groups of each thread are known to be read. */
  private final int[] read;

  private final ProductRegisters registers;

  AsyncSanitizer(Sanitizer of) {
    this.of = of;
    this.watch = of.watch;
    this.async = watch.async;
    int warps = of.launch.places.warps();
    this.lastGroups = new int[32 * warps];
    this.lastInstructions = new int[32 * warps];
    this.read = new int[32 * warps];
    this.registers = new ProductRegisters(of, warps);
  }

  void begin() {
    Arrays.fill(lastGroups, NONE);
    Arrays.fill(read, 0);
    registers.begin();
  }

  private int inCluster(int thread) {
    return 32 * of.firstWarp + thread;
  }

  private void complain(Kind kind, int thread, String what, String remedy) {
    of.complain(kind, thread, of.role().instruction(), what, remedy);
  }

  @Override
  public void made(ObservedMbarrier barrier, int thread, Memory memory, long offset) {
    var shared = watch.shared(memory);
    async.make(barrier, inCluster(thread), of.role().number(), shared, offset);
    shared.defined().set(offset, Long.BYTES);
  }

  @Override
  public void completes(ObservedMbarrier barrier, long phases) {
    async.of(barrier).complete(phases);
  }

  private MbarrierHistory seen(ObservedMbarrier barrier, int thread) {
    var known = async.of(barrier);
    if (of.launch.races && !async.isVisible(known, inCluster(thread))) {
      boolean near = watch.rankOf(known.maker / 32) == of.rank;
      complain(
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
    seen(barrier, thread);
  }

  @Override
  public void invalidates(ObservedMbarrier barrier, int thread) {
    var known = seen(barrier, thread);
    known.shared.mbarriers().remove(known.offset);
    if (!of.launch.races) {
      return;
    }
    int warp = of.firstWarp + thread / 32;
    int[] uses = known.uses();
    for (int other = 0; other < uses.length; other++) {
      if (uses[other] != 0 && !knows(warp, thread % 32, other, uses[other])) {
        int user = other % (32 * of.launch.places.warps());
        complain(
            Kind.MBARRIER_IN_USE,
            thread,
            "gives up %s, which lane %d of warp %d%s has used, and nothing orders the two"
                .formatted(
                    barrier,
                    user % 32,
                    user / 32,
                    watch.rankOf(other / 32) == of.rank
                        ? ""
                        : " of block %d of the cluster".formatted(watch.rankOf(other / 32))),
            "a barrier after the last use of the mbarrier would order them");
        return;
      }
    }
    var last = known.last;
    if (last != null && !last.isOver(watch.clocks, warp, thread % 32, true)) {
      complain(
          Kind.MBARRIER_IN_USE,
          thread,
          "gives up %s, which a copy is to signal, and does not know that it has"
              .formatted(barrier),
          "wait for the phase of the copy before");
    }
  }

  @Override
  public void arrives(ObservedMbarrier barrier, int thread) {
    var known = seen(barrier, thread);
    if (!known.isObserved()) {
      complain(
          Kind.MBARRIER_OVERRUN,
          thread,
          "arrives at %s, though nobody has seen that the phase before is over".formatted(barrier),
          "wait for each phase before anybody arrives for the next, or who waits for its parity may"
              + " wait for ever");
    }
    if (!of.role().instruction().modifiers().has("relaxed")) {
      int warp = of.firstWarp + thread / 32;
      watch.clocks.publish(warp, thread % 32, known.coming());
      watch.clocks.tick(warp);
    }
  }

  @Override
  public void observes(ObservedMbarrier barrier, int warp, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * warp + Integer.numberOfTrailingZeros(left);
      seen(barrier, thread).observe(inCluster(thread));
    }
    if (!of.role().instruction().modifiers().has("relaxed")) {
      int ofCluster = of.firstWarp + warp;
      watch.clocks.learn(ofCluster, lanes, watch.live[ofCluster], async.of(barrier).come());
    }
  }

  @Override
  public void misses(ObservedMbarrier barrier, int thread) {
    long passed = seen(barrier, thread).miss(inCluster(thread));
    if (passed > 1) {
      complain(
          Kind.MBARRIER_OVERRUN,
          thread,
          "waits for a parity of %s, of which %d phases have ended since it began to wait"
              .formatted(barrier, passed),
          "let nobody arrive for the next phase before all that wait have gone on");
    }
  }

  @Override
  public Signal copiesArrive(ObservedMbarrier barrier, int thread) {
    var known = seen(barrier, thread);
    var flight = async.issue(inCluster(thread), of.role().number(), known);
    watch.copies.arrive(inCluster(thread), flight);
    return flight;
  }

  @Override
  public Signal issues(
      int thread, ByteRanges source, ByteRanges target, int bytes, ObservedMbarrier barrier) {
    // a copy reaches its mbarrier through the generic proxy (PTX ISA 9.7.9.25.4.1)
    var known = seen(barrier, thread);
    var flight = issue(thread, source, target, bytes, known);
    known.last = flight;
    return flight;
  }

  @Override
  public void issues(int thread, ByteRanges source, ByteRanges target, int bytes, int group) {
    var flight = issue(thread, source, target, bytes, null);
    lastGroups[thread] = group;
    lastInstructions[thread] = of.role().number();
    flight.readBy(groups(thread, true), group + 1);
    flight.doneBy(groups(thread, false), group + 1);
  }

  /** The agent that tells of a thread's groups. */
  private long groups(int thread, boolean read) {
    return async.agentOf(2 * inCluster(thread) + (read ? 1 : 0));
  }

  private AsyncAccess issue(
      int thread,
      ByteRanges source,
      ByteRanges target,
      int bytes,
      @Nullable MbarrierHistory barrier) {
    var role = of.role();
    var flight = async.issue(inCluster(thread), role.number(), barrier);
    var defined = new DefinedBytes(bytes);
    defined.setRange(0, bytes);
    var reads = new MemoryRequest(role.instruction(), MemoryRequest.Kind.LOAD);
    source.forEach((memory, offset, count, at) -> {
      var there = of.defined(memory);
      if (there != null) {
        defined.copyRange(there, offset, at, count);
      }
      of.fly(reads, thread, flight.number, memory, offset, count);
    });
    var writes =
        new MemoryRequest(
            role.instruction(),
            role.combines() ? MemoryRequest.Kind.ATOMIC : MemoryRequest.Kind.STORE);
    target.forEach((memory, offset, count, at) -> {
      var there = of.defined(memory);
      if (there != null && !role.combines()) {
        there.copyRange(defined, at, offset, count);
      }
      of.fly(writes, thread, flight.number, memory, offset, count);
    });
    return flight;
  }

  @Override
  public void awaits(int thread, int until, boolean read) {
    var news = new SparseVectorClock();
    news.raise(groups(thread, true), until);
    if (!read) {
      news.raise(groups(thread, false), until);
    }
    watch.clocks.learn(of.firstWarp + thread / 32, thread % 32, news);
    this.read[thread] = Math.max(this.read[thread], until);
  }

  @Override
  public void changesMap(int thread, Memory memory, long offset, boolean collective) {
    var defined = of.defined(memory);
    if (defined != null) {
      defined.setRange(offset, TensorMap.BYTES);
    }
    if (memory instanceof Allocation buffer) {
      int warp = inCluster(thread) / 32;
      long mark = AccessStamp.at(0, warp, thread % 32, now(thread));
      of.launch.changedMaps.put(
          buffer.address() + offset, new TensorMapChange(mark, (int) watch.cluster(), collective));
    }
  }

  private int now(int thread) {
    return watch.clocks.now(inCluster(thread) / 32);
  }

  @Override
  public void fencesMap(int thread, Allocation buffer, long offset) {
    int warp = inCluster(thread) / 32;
    var known = new SparseVectorClock();
    watch.clocks.publish(warp, thread % 32, known);
    async.fenceMap(
        buffer.address() + offset,
        inCluster(thread),
        new TensorMapFence((int) watch.cluster(), warp, now(thread), known));
    watch.clocks.tick(warp);
  }

  @Override
  public void usesMap(int thread, Allocation buffer, long offset) {
    if (!of.launch.races) {
      return;
    }
    long address = buffer.address() + offset;
    var changes = new ArrayList<TensorMapChange>();
    of.launch.shadow.writers(
        of.launch.shadow.of(buffer),
        offset,
        TensorMap.BYTES,
        (mark, cluster, _) -> changes.add(new TensorMapChange(mark, cluster, false)));
    changes.removeIf(
        change -> AccessStamp.has(change.mark(), AccessStamp.COPY)); // these are not followed
    var last = of.launch.changedMaps.get(address);
    if (last != null) {
      changes.add(last);
    }
    int warp = inCluster(thread) / 32;
    var fences = async.mapFences(address).entrySet();
    boolean fenced =
        changes.stream()
            .allMatch(change ->
                fences.stream()
                    .anyMatch(fence ->
                        knows(warp, thread % 32, fence.getKey(), fence.getValue().time())
                            && fence.getValue().covers(change)));
    if (!fenced) {
      complain(
          Kind.TENSOR_MAP_FENCE,
          thread,
          "uses the tensor map at 0x%x, which this launch has changed".formatted(address),
          "the PTX memory model requires fence.proxy.tensormap::generic.acquire of this map after"
              + " the change and before the use (PTX ISA 9.7.13.4)");
    }
  }

  /** Whether a thread knows of another of its cluster, or is itself that one. */
  private boolean knows(int warp, int lane, int other, int time) {
    return other == 32 * warp + lane
        || watch.clocks.knows(warp, lane, watch.cluster(), other / 32, other % 32, time);
  }

  @Override
  public Product product(int warp) {
    var product = async.issue(inCluster(32 * warp), of.role().number(), null);
    return (joining, factors, group) -> join(product, joining, factors, group);
  }

  private void join(AsyncAccess product, int warp, ByteRanges factors, int group) {
    var reads = new MemoryRequest(of.role().instruction(), MemoryRequest.Kind.LOAD);
    factors.forEach((memory, offset, bytes, _) ->
        of.fly(reads, 32 * warp, product.number, memory, offset, bytes));
    product.readBy(products(warp), group + 1);
    product.doneBy(products(warp), group + 1);
    registers.multiply(warp, of.role(), group);
  }

  /** The agent that tells of a warpgroup's groups of products. */
  private long products(int warp) {
    return async.agentOf(-1 - (of.firstWarp + warp) / LaunchGeometry.WARPGROUP);
  }

  @Override
  public void awaitsProducts(int warp, int until) {
    registers.await(warp, until);
    if (until <= 0) {
      return;
    }
    var news = new SparseVectorClock();
    news.raise(products(warp), until);
    int ofCluster = of.firstWarp + warp;
    watch.clocks.learn(ofCluster, -1, watch.live[ofCluster], news);
  }

  /** An instruction touches registers that products use, or is a fence for them. */
  void touchesRegisters(int warp, MemoryEffect role) {
    registers.touch(warp, role);
  }

  /** Lanes of a warp end. */
  void exit(int warp, MemoryEffect end) {
    int left = registers.left(warp);
    if (left >= 0) {
      of.reportLeft(inCluster(32 * warp), left, end);
    }
  }

  /** A thread ends. */
  void exits(int thread, MemoryEffect end) {
    if (lastGroups[thread] >= read[thread]) {
      of.reportLeft(inCluster(thread), lastInstructions[thread], end);
    }
  }

  /** All threads of the block have ended. */
  void end() {
    for (var barrier : watch.mbarriers(of.rank)) {
      var known = async.of(barrier);
      var last = known.last;
      if (last != null && !known.hasSeen(last)) {
        of.reportUnseen(last, barrier);
      } else if (barrier.missingBytes() != 0 && !barrier.isOwed()) {
        of.reportBytes(known, barrier);
      }
    }
  }
}
