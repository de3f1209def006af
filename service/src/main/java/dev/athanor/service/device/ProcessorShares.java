package dev.athanor.service.device;

import dev.athanor.service.schedule.TenantShares;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Shares the processors between the tenants that decode or encode large bodies. Virtual threads are
 * not preempted, so that without a limit, large bodies of one tenant would occupy all processors.
 * The limit leaves a processor to small bodies, if there are two. Tenants share the others by
 * start-time fair queueing, as the scheduler does with devices: the waiting tenant with the least
 * tag is next, and its tag advances by the time that it used, divided by its weight.
 *
 * <p>A thread holds a processor only while it works: it releases the processor before it waits for
 * the network or a device. Thread-safe.
 */
public final class ProcessorShares {

  /** Bytes of a request that need no turn, so that small requests never wait. */
  static final int FREE_BYTES = 64 << 10;

  private static final ThreadLocal<Turn> CURRENT = new ThreadLocal<>();

  private final TenantShares shares;
  private final LongSupplier clock;
  private final ReentrantLock lock = new ReentrantLock();

  /** The tenants that use or wait for a processor, or whose tags are ahead of those that do. */
  private final Map<String, Flow> flows = new HashMap<>();

  private final int processors;
  private int free;
  private double virtualTime;

  /** Shares all processors but one, or the only one. */
  public ProcessorShares(TenantShares shares) {
    this(Math.max(1, Runtime.getRuntime().availableProcessors() - 1), shares, System::nanoTime);
  }

  /**
   * @param processors the number of large bodies to decode or encode at the same time
   * @param clock in nanoseconds
   */
  public ProcessorShares(int processors, TenantShares shares, LongSupplier clock) {
    this.processors = processors;
    free = processors;
    this.shares = shares;
    this.clock = clock;
  }

  /** A tenant that uses or waits for a processor. */
  private static final class Flow {
    final Queue<Condition> waiting = new ArrayDeque<>();
    double tag;
    int running;

    boolean isIdle() {
      return running == 0 && waiting.isEmpty();
    }
  }

  /**
   * Counts the work of this thread for a tenant's request, until the turn is closed.
   *
   * @param tenant who is charged
   */
  public Turn open(String tenant) {
    var turn = new Turn(tenant);
    CURRENT.set(turn);
    return turn;
  }

  /** Returns the number of requests that wait. */
  public int waiting() {
    lock.lock();
    try {
      return flows.values().stream().mapToInt(flow -> flow.waiting.size()).sum();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for a processor before this thread decodes or encodes more bytes, unless its request is
   * small.
   */
  public static void acquire(long bytes) {
    var turn = CURRENT.get();
    if (turn != null) {
      turn.acquire(bytes);
    }
  }

  /** Releases the processor of this thread, if it holds one. Call this before waiting. */
  public static void release() {
    var turn = CURRENT.get();
    if (turn != null) {
      turn.release();
    }
  }

  /** Ends the turn of this thread, if it has one, for work that costs little per byte. */
  public static void leave() {
    var turn = CURRENT.get();
    if (turn != null) {
      turn.close();
    }
  }

  /** The use of processors by one request, on one thread. */
  public final class Turn implements AutoCloseable {
    private final String tenant;
    private long bytes;
    private @Nullable Flow holding;
    private long since;

    private Turn(String tenant) {
      this.tenant = tenant;
    }

    private void acquire(long more) {
      bytes += more;
      if (bytes > FREE_BYTES && holding == null) {
        holding = take(tenant);
        since = clock.getAsLong();
      }
    }

    private void release() {
      if (holding != null) {
        give(holding, (clock.getAsLong() - since) / shares.weight(tenant));
        holding = null;
      }
    }

    @Override
    public void close() {
      release();
      CURRENT.remove();
    }
  }

  private Flow take(String tenant) {
    lock.lock();
    try {
      var flow = flows.computeIfAbsent(tenant, _ -> new Flow());
      if (flow.isIdle()) {
        flow.tag = Math.max(flow.tag, virtualTime);
      }
      if (free > 0) {
        start(flow);
        return flow;
      }
      var turn = lock.newCondition();
      flow.waiting.add(turn);
      while (flow.waiting.contains(turn)) {
        turn.awaitUninterruptibly();
      }
      return flow;
    } finally {
      lock.unlock();
    }
  }

  private void start(Flow flow) {
    virtualTime = Math.max(virtualTime, flow.tag);
    flow.running++;
    free--;
  }

  private void give(Flow flow, double charge) {
    lock.lock();
    try {
      flow.tag += charge;
      flow.running--;
      free++;
      var next =
          flows.values().stream()
              .filter(each -> !each.waiting.isEmpty())
              .min(Comparator.comparingDouble(each -> each.tag));
      if (next.isPresent()) {
        start(next.get());
        next.get().waiting.remove().signal();
      }
      flows
          .values()
          .removeIf(each -> each.isIdle() && (each.tag <= virtualTime || free == processors));
    } finally {
      lock.unlock();
    }
  }
}
