package dev.athanor.engine.emulator.async;

import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.memory.Registers.Lanes;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.Step;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.ptx.Semantics.MbarrierKind;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.meaning.MbarrierState;
import org.jspecify.annotations.Nullable;

/** Instructions on {@link Mbarrier}s. */
final class MbarrierSteps {

  private MbarrierSteps() {}

  /** All operations except waits. */
  static final class Operate implements Step {
    private final Block block;
    private final MbarrierKind kind;
    private final boolean mayComplete;
    private final MbarrierFinder finder;
    private final @Nullable Lanes count;
    private final @Nullable Lanes bytes;
    private final @Nullable Lanes result;

    /**
     * @param count the number of arrivals, or of announced bytes; null = one arrival
     * @param bytes announced with an arrival; null = none
     * @param result receives the state before an arrival; null = unused
     */
    Operate(
        AsyncState async,
        Instruction instruction,
        MbarrierKind kind,
        Addresses addresses,
        @Nullable Lanes count,
        @Nullable Lanes bytes,
        @Nullable Lanes result) {
      this.block = async.block;
      this.kind = kind;
      this.mayComplete = !instruction.modifiers().has("noComplete");
      this.finder = new MbarrierFinder(async, instruction, addresses);
      this.count = count;
      this.bytes = bytes;
      this.result = result;
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        int mask = block.active[warp];
        if (mask != 0) {
          finder.resolve(warp, mask);
          finder.observe();
          for (int left = mask; left != 0; left &= left - 1) {
            operate(warp, Integer.numberOfTrailingZeros(left));
          }
        }
      }
    }

    private void operate(int warp, int lane) {
      long number = count == null ? 1 : count.bits(Warps.thread(warp, lane));
      if (kind == MbarrierKind.INIT) {
        init(warp, lane, number);
        return;
      }
      var barrier = finder.find(lane);
      long before = barrier.state();
      var observer = block.asyncObserver;
      if (observer != null) {
        switch (kind) {
          case ARRIVE, DROP -> observer.arrives(barrier, Warps.thread(warp, lane));
          case INVAL -> observer.invalidates(barrier, Warps.thread(warp, lane));
          case INIT, EXPECT, COMPLETE, TEST_WAIT, TRY_WAIT ->
              observer.counts(barrier, Warps.thread(warp, lane));
        }
      }
      if (bytes != null) {
        finder.check(
            Kind.MBARRIER_BYTES, lane, barrier.expect(bytes.bits(Warps.thread(warp, lane))));
      }
      int arrivals = (int) Math.min(number, Integer.MAX_VALUE);
      var violation =
          switch (kind) {
            case EXPECT -> barrier.expect(number);
            case COMPLETE -> barrier.complete(number);
            case ARRIVE -> barrier.arrive(arrivals, mayComplete);
            case DROP -> barrier.drop(arrivals, mayComplete);
            case INVAL -> {
              finder.owner(lane).mbarriers.remove(finder.offset(lane));
              yield null;
            }
            case INIT, TEST_WAIT, TRY_WAIT -> throw new IllegalStateException(kind + " elsewhere");
          };
      finder.check(
          switch (kind) {
            case EXPECT, COMPLETE -> Kind.MBARRIER_BYTES;
            default -> Kind.MBARRIER_COUNT;
          },
          lane,
          violation);
      if (result != null) {
        result.set(Warps.thread(warp, lane), before);
      }
    }

    private void init(int warp, int lane, long number) {
      if (number < 1 || number > MbarrierState.MAX_ARRIVALS) {
        finder.check(
            Kind.MBARRIER_COUNT,
            lane,
            "an mbarrier expects 1 to %d arrivals, not %d"
                .formatted(MbarrierState.MAX_ARRIVALS, number));
      }
      var owner = finder.owner(lane);
      long offset = finder.offset(lane);
      var old = owner.mbarriers.get(offset);
      if (old != null && old.isIntact()) {
        finder.check(
            Kind.MBARRIER_REMADE, lane, "is made anew without mbarrier.inval: %s".formatted(old));
      }
      var made = new Mbarrier(owner.block, owner.pending, offset, (int) number);
      owner.mbarriers.put(offset, made);
      var observer = block.asyncObserver;
      if (observer != null) {
        observer.made(made, Warps.thread(warp, lane), owner.block.sharedMemory, offset);
      }
    }
  }

  /** Tests whether a phase is complete. */
  static class TestWait implements Step {
    final Block block;
    private final MbarrierFinder finder;
    private final boolean parity;
    private final Lanes asked;
    private final Lanes result;

    TestWait(
        AsyncState async, Instruction instruction, Addresses addresses, Lanes asked, Lanes result) {
      this.block = async.block;
      this.finder = new MbarrierFinder(async, instruction, addresses);
      this.parity = instruction.modifiers().has("parity");
      this.asked = asked;
      this.result = result;
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        int mask = block.active[warp];
        if (mask == 0) {
          continue;
        }
        finder.resolve(warp, mask);
        finder.observe();
        int over = 0;
        for (int left = mask; left != 0; left &= left - 1) {
          int lane = Integer.numberOfTrailingZeros(left);
          boolean complete = isComplete(warp, lane);
          if (!complete && finder.find(lane).finishOne()) {
            complete = isComplete(warp, lane);
          }
          result.set(Warps.thread(warp, lane), complete ? 1 : 0);
          over |= complete ? 1 << lane : 0;
        }
        var observer = block.asyncObserver;
        if (observer != null) {
          tell(observer, warp, mask, over);
        }
      }
    }

    /**
     * Notifies the observer of the results.
     *
     * @param over the lanes whose phase is complete
     */
    private void tell(AsyncObserver observer, int warp, int mask, int over) {
      for (int left = mask & ~over; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        observer.misses(finder.find(lane), Warps.thread(warp, lane));
      }
      for (int left = over; left != 0; ) {
        var barrier = finder.find(Integer.numberOfTrailingZeros(left));
        int lanes = 0;
        for (int others = left; others != 0; others &= others - 1) {
          int lane = Integer.numberOfTrailingZeros(others);
          lanes |= finder.find(lane) == barrier ? 1 << lane : 0;
        }
        observer.observes(barrier, warp, lanes);
        left &= ~lanes;
      }
    }

    boolean isComplete(int warp, int lane) {
      var barrier = finder.find(lane);
      long phase = asked(warp, lane);
      if (parity) {
        long given = asked.bits(Warps.thread(warp, lane));
        if (given > 1) {
          finder.report(
              Kind.MBARRIER_PARITY,
              lane,
              "a parity is 0 or 1, not %d; its lowest bit counts".formatted((int) given),
              "keep the lowest bit: and.b32 with 1");
        }
        return (barrier.phase() & 1) != phase;
      }
      long since = (barrier.phase() - MbarrierState.phase(phase)) & 7;
      if (since > 1) {
        finder.check(
            Kind.MBARRIER_OVERRUN,
            lane,
            "asks for a phase that is %d before that of %s, though only the last is known"
                .formatted(since, barrier));
      }
      return since == 1;
    }

    /**
     * Returns the state or parity that a lane waits for. PTX ISA 9.7.13.15.16 specifies the
     * parities 0 and 1; ptxas ignores all other bits, and Triton writes -1 for 1.
     */
    private long asked(int warp, int lane) {
      long bits = asked.bits(Warps.thread(warp, lane));
      return parity ? bits & 1 : bits;
    }

    boolean areComplete(int warp, int mask) {
      finder.resolve(warp, mask);
      for (int left = mask; left != 0; left &= left - 1) {
        if (!isComplete(warp, Integer.numberOfTrailingZeros(left))) {
          return false;
        }
      }
      return true;
    }

    boolean finishOne(int warp, int mask) {
      finder.resolve(warp, mask);
      for (int left = mask; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        if (!isComplete(warp, lane) && finder.find(lane).finishOne()) {
          return true;
        }
      }
      return false;
    }

    /** Returns whether all arrivals of the lanes' phases have come and only bytes are missing. */
    boolean lacksBytes(int warp, int mask) {
      finder.resolve(warp, mask);
      for (int left = mask; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        if (!isComplete(warp, lane) && finder.find(lane).lacksBytesOnly()) {
          return true;
        }
      }
      return false;
    }

    String missing(int warp, int mask) {
      finder.resolve(warp, mask);
      for (int left = mask; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        if (!isComplete(warp, lane)) {
          var what = parity ? "parity " : "state 0x";
          long phase = asked(warp, lane);
          return "for %s%s of %s".formatted(what, Long.toHexString(phase), finder.find(lane));
        }
      }
      return "for others";
    }
  }

  /** Tests, and waits for a limited time. */
  static final class TryWait extends TestWait implements Step.Event {

    TryWait(
        AsyncState async, Instruction instruction, Addresses addresses, Lanes asked, Lanes result) {
      super(async, instruction, addresses, asked, result);
    }

    @Override
    public boolean isReady(int warp, int mask) {
      return areComplete(warp, mask);
    }

    @Override
    public boolean finishOne(int warp, int mask) {
      return super.finishOne(warp, mask);
    }

    /** The hardware limits the time of the wait, after which the result is false. */
    @Override
    public boolean expires() {
      return true;
    }

    @Override
    public String missing(int warp, int mask) {
      return super.missing(warp, mask);
    }

    @Override
    public Kind kind(int warp, int mask) {
      return lacksBytes(warp, mask) ? Kind.MBARRIER_BYTES : Kind.DEADLOCK;
    }
  }

  /** {@code cp.async.mbarrier.arrive}. */
  static final class CopyArrive implements Step {
    private final AsyncState async;
    private final Block block;
    private final Instruction instruction;
    private final boolean counted;
    private final MbarrierFinder finder;

    CopyArrive(AsyncState async, Instruction instruction, Addresses addresses) {
      this.async = async;
      this.block = async.block;
      this.instruction = instruction;
      this.counted = instruction.modifiers().has("noinc");
      this.finder = new MbarrierFinder(async, instruction, addresses);
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        int mask = block.active[warp];
        if (mask == 0) {
          continue;
        }
        finder.resolve(warp, mask);
        finder.observe();
        for (int left = mask; left != 0; left &= left - 1) {
          int lane = Integer.numberOfTrailingZeros(left);
          var barrier = finder.find(lane);
          if (!counted) {
            finder.check(Kind.MBARRIER_COUNT, lane, barrier.await());
          }
          var observer = block.asyncObserver;
          var signal =
              observer == null ? null : observer.copiesArrive(barrier, Warps.thread(warp, lane));
          var arrival = new Arrival(barrier, warp, lane, async.copies.issued(), signal);
          barrier.addSignal(arrival);
          async.pending.issue(arrival);
        }
      }
    }

    private final class Arrival extends PendingOperation {
      private final Mbarrier barrier;
      private final int warp;
      private final int lane;
      private final long copies;
      private final AsyncObserver.@Nullable Signal signal;

      Arrival(
          Mbarrier barrier,
          int warp,
          int lane,
          long copies,
          AsyncObserver.@Nullable Signal signal) {
        this.signal = signal;
        this.barrier = barrier;
        this.warp = warp;
        this.lane = lane;
        this.copies = copies;
      }

      @Override
      void perform() {
        async.copies.finishIssued(warp, 1 << lane, copies);
        if (signal != null) {
          signal.done();
        }
        var violation = barrier.arrive(1, true);
        if (violation != null) {
          throw block.fault(Kind.MBARRIER_COUNT, Warps.thread(warp, lane), instruction, violation);
        }
      }
    }
  }
}
