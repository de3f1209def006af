package dev.athanor.engine.debug;

import dev.athanor.engine.debug.Stop.Reason;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** Where a run stops next. */
abstract class Goal {

  /** The warp that has reached a goal. */
  record Hit(Reason reason, int warp, List<Breakpoint> breakpoints) {
    Hit(Reason reason, int warp) {
      this(reason, warp, List.of());
    }
  }

  /** Returns which warp stops the run before an instruction; null = none does. */
  abstract @Nullable Hit before(Moment moment);

  /** Lanes are about to access memory. */
  void touches(Moment moment, MemoryRequest request) {}

  /** Returns whether the run goes where it has not been: findings and pauses stop it. */
  boolean isForward() {
    return true;
  }

  /** Stops at a breakpoint. */
  static final class NextBreakpoint extends Goal {
    @Override
    @Nullable Hit before(Moment moment) {
      for (int warp = moment.first(); warp < moment.end(); warp++) {
        var hit = moment.hits(warp);
        if (!hit.isEmpty()) {
          return new Hit(Reason.BREAKPOINT, warp, hit);
        }
      }
      return null;
    }
  }

  /** Stops where a warp goes on, or another one if it has exited. */
  static final class NextOfWarp extends Goal {
    private final WarpId warp;
    private final Predicate<Moment> wanted;

    /**
     * @param wanted whether to stop where the warp goes on
     */
    NextOfWarp(WarpId warp, Predicate<Moment> wanted) {
      this.warp = warp;
      this.wanted = wanted;
    }

    @Override
    @Nullable Hit before(Moment moment) {
      if (!moment.includes(warp)) {
        return moment.isLive(warp) ? null : new Hit(Reason.STEP, moment.first());
      }
      var hit = moment.hits(warp.warp());
      if (!hit.isEmpty()) {
        return new Hit(Reason.BREAKPOINT, warp.warp(), hit);
      }
      return wanted.test(moment) ? new Hit(Reason.STEP, warp.warp()) : null;
    }
  }

  /** Stops at a step. */
  static final class AtStep extends Goal {
    private final long step;
    private final Hit hit;

    /**
     * @param warp of the block that executes the step
     */
    AtStep(long step, Reason reason, int warp) {
      this.step = step;
      this.hit = new Hit(reason, warp);
    }

    @Override
    @Nullable Hit before(Moment moment) {
      return moment.step() < step ? null : new Hit(hit.reason, hit.warp, moment.hits(hit.warp));
    }

    @Override
    boolean isForward() {
      return false;
    }
  }

  /** Runs up to a step and finds the last step before at which something holds. */
  static final class LastBefore extends Goal {
    private static final int NONE = -1;

    private final long limit;
    private final ToIntFunction<Moment> warp;

    /** The step that was found; negative = none. */
    long found = NONE;

    /** The warp of that step. */
    int foundWarp;

    /**
     * @param warp returns the warp for which a step holds; negative = it does not hold
     */
    LastBefore(long limit, ToIntFunction<Moment> warp) {
      this.limit = limit;
      this.warp = warp;
    }

    @Override
    @Nullable Hit before(Moment moment) {
      if (moment.step() >= limit) {
        return new Hit(Reason.POSITION, moment.first());
      }
      int holds = warp.applyAsInt(moment);
      if (holds >= 0) {
        found = moment.step();
        foundWarp = holds;
      }
      return null;
    }

    @Override
    boolean isForward() {
      return false;
    }
  }

  /** Runs up to a step and finds the last access of a lane before. */
  static final class LastAccess extends Goal {
    private final long limit;
    private final Lane lane;
    private final Stop.@Nullable Access access;

    /** The last step at which the lane accessed the bytes; negative = none. */
    long touched = -1;

    /** The last step at which the lane executed the instruction; negative = none. */
    long executed = -1;

    /**
     * @param access the bytes; null = any
     */
    LastAccess(long limit, Lane lane, Stop.@Nullable Access access) {
      this.limit = limit;
      this.lane = lane;
      this.access = access;
    }

    @Override
    @Nullable Hit before(Moment moment) {
      if (moment.step() >= limit) {
        return new Hit(Reason.POSITION, moment.first());
      }
      if (lane.executes(moment)) {
        executed = moment.step();
      }
      return null;
    }

    @Override
    void touches(Moment moment, MemoryRequest request) {
      if (access != null
          && moment.step() < limit
          && request.warp() == lane.place().warp()
          && ((request.mask() >>> lane.place().lane()) & 1) != 0
          && executed == moment.step()
          && Run.access(request, lane.place().lane()).overlaps(access)) {
        touched = moment.step();
      }
    }

    @Override
    boolean isForward() {
      return false;
    }
  }
}
