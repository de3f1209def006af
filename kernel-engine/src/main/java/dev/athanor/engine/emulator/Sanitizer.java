package dev.athanor.engine.emulator;

import static java.util.Objects.requireNonNull;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.device.Report.Kind;
import dev.athanor.engine.emulator.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Statement.Instruction;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Watches the blocks of one worker for what a GPU would not show: bytes that nobody has written,
 * accesses that nothing orders, copies that nobody waits for. It goes by what happened in this run,
 * not by what its schedule made of it: two accesses that happened one after the other are in
 * conflict unless something orders them on every machine.
 */
final class Sanitizer implements Observer {

  /** What the workers of one launch share. */
  static final class Launch {
    private final Observed observed;
    private final boolean races;
    private final Reports reports = new Reports();
    private final GlobalShadow shadow = new GlobalShadow();
    private final SyncPlaces places = new SyncPlaces();
    private final KernelVariables variables;
    private final List<Role> roles;
    private final IdentityHashMap<Instruction, Integer> numbers = new IdentityHashMap<>();

    Launch(Observed observed, Sanitize level) {
      this.observed = observed;
      this.races = level == Sanitize.FULL;
      var instructions = observed.instructions();
      this.variables = new KernelVariables(observed.kernel(), instructions, observed.sharedBytes());
      this.roles =
          java.util.stream.IntStream.range(0, instructions.size())
              .mapToObj(i -> Role.of(i, instructions.get(i), variables))
              .toList();
      for (int i = 0; i < instructions.size(); i++) {
        numbers.put(instructions.get(i), i);
      }
    }

    /** What has been found. */
    List<Report> reports() {
      return reports.all();
    }
  }

  private final Launch launch;
  private final Sentences sentences;
  private final Clocks clocks;
  private final CopyClocks copies;
  private final Ordering ordering;
  private final SharedShadow shadow;
  private final DefinedBytes sharedDefined;
  private final DefinedBytes localDefined;
  private final int localBytes;
  private final int[] live;
  private final LaneJudge[] judges = new LaneJudge[32];
  private final int[] times = new int[32];

  /** Which bytes of its source are defined, for each lane of a copy. */
  private final long[] copied = new long[32];

  private long block;
  private Role role;
  private Touch touch;
  private @Nullable Memory lastMemory;
  private GlobalShadow.@Nullable Pages lastPages;

  Sanitizer(Launch launch) {
    this.launch = launch;
    var observed = launch.observed;
    int warps = Math.toIntExact(Math.ceilDiv(observed.block().count(), 32));
    this.sentences =
        new Sentences(
            new Places(observed.kernel().name(), observed.grid(), observed.block()),
            launch.variables,
            launch.roles);
    this.clocks = new Clocks(warps);
    this.copies = new CopyClocks(32 * warps);
    this.ordering = new Ordering(clocks, launch.places, 32 * warps);
    this.shadow = new SharedShadow(observed.sharedBytes(), warps);
    this.sharedDefined = new DefinedBytes(observed.sharedBytes());
    this.localBytes = Block.localBytes(observed.kernel());
    this.localDefined = new DefinedBytes(32L * warps * localBytes);
    this.live = new int[warps];
    for (int lane = 0; lane < judges.length; lane++) {
      judges[lane] = new LaneJudge(lane);
    }
    this.role = launch.roles.getFirst();
    this.touch = new Touch(role.instruction(), Touch.Kind.LOAD);
  }

  @Override
  public void begin(long number) {
    block = number;
    int threads = (int) launch.observed.block().count();
    for (int warp = 0; warp < live.length; warp++) {
      live[warp] = (int) DefinedBytes.ones(Math.min(32, threads - 32 * warp));
    }
    clocks.begin(number);
    copies.begin();
    ordering.begin(number);
    shadow.begin((int) number);
    sharedDefined.clear();
    localDefined.clear();
  }

  @Override
  public boolean watches(int number) {
    return launch.roles.get(number).kind() != Role.Kind.OTHER;
  }

  @Override
  public void execute(int number, int warp, int active, int chosen) {
    role = launch.roles.get(number);
    switch (role.kind()) {
      case COMMIT -> copies.commit(warp, chosen);
      case WAIT -> {
        if (role.but() == AsyncCopies.Wait.ALL) {
          copies.commit(warp, chosen);
        }
        copies.await(warp, chosen, Math.max(0, role.but()), clocks.now(warp));
      }
      case FENCE -> ordering.fence(warp, chosen, role.strength() == Mark.WIDE);
      case EXIT -> exit(warp, chosen);
      case ACCESS, COPY, OTHER -> {} // touch says what
    }
  }

  private void exit(int warp, int lanes) {
    live[warp] &= ~lanes;
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * warp + Integer.numberOfTrailingZeros(left);
      int copy = copies.left(thread);
      if (copy >= 0) {
        launch.reports.add(
            Kind.COPY_LEFT_AT_EXIT,
            copy,
            role.number(),
            block,
            () -> sentences.copyLeft(block, thread, copy, role));
      }
    }
  }

  @Override
  public void synchronize(int warp, int lanes) {
    clocks.synchronize(warp, lanes, live[warp]);
  }

  @Override
  public void arrive(int barrier, int warp) {
    clocks.arrive(barrier, warp);
  }

  @Override
  public void open(int barrier, int waiting) {
    clocks.open(barrier, waiting);
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
    checkExtents();
    checkDefined();
    boolean copy = role.kind() == Role.Kind.COPY;
    for (int left = now.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      times[lane] = copy ? copies.issue(32 * now.warp + lane, role.number()) : clocks.now(now.warp);
    }
    if (!launch.races) {
      return;
    }
    boolean writes = now.kind() != Touch.Kind.LOAD;
    for (int left = now.mask; left != 0; ) {
      var memory = requireNonNull(now.memories[Integer.numberOfTrailingZeros(left)]);
      int lanes = lanesOf(memory, left);
      left &= ~lanes;
      if (memory instanceof Allocation buffer) {
        launch.shadow.touch(
            pages(buffer),
            now,
            lanes,
            writes,
            role.mark(),
            times,
            (int) block,
            clocks.seen(now.warp),
            judges);
      } else if (memory.space() == Space.SHARED) {
        share(lanes, writes);
      }
    }
    if (writes && role.strength() != Mark.WEAK) {
      ordering.write(now, role);
    }
  }

  @Override
  public void touched(Touch now) {
    if (launch.races && role.observes()) {
      ordering.read(now, role);
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
    if (pages == null || lastMemory != buffer) {
      pages = launch.shadow.of(buffer);
      lastPages = pages;
      lastMemory = buffer;
    }
    return pages;
  }

  private void share(int lanes, boolean writes) {
    int[] seen = clocks.seen(touch.warp);
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      long mark = Mark.at(role.mark(), touch.warp, lane, times[lane]);
      if (writes) {
        shadow.write(touch.offsets[lane], touch.bytes, mark, seen, judges[lane]);
      } else {
        shadow.read(touch.offsets[lane], touch.bytes, mark, seen, judges[lane]);
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
          case SHARED -> sharedDefined;
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
          report(lane, Kind.UNINITIALISED, () -> sentences.undefined(there, touch.bytes));
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
  private void report(int lane, Kind kind, java.util.function.Supplier<Sentences.Text> text) {
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
    public void judge(long before, int where, boolean wrote) {
      var kind = kind(before, where, wrote);
      if (kind != null) {
        launch.reports.add(
            kind,
            Mark.instruction(before),
            role.number(),
            block,
            () -> sentences.conflict(kind, before, where, wrote, block, role, touch, lane));
      }
    }

    private @Nullable Kind kind(long before, int where, boolean wrote) {
      boolean same = where == (int) block;
      if (Mark.has(before | role.mark(), Mark.READ_ONLY)) {
        return Kind.READ_ONLY_WRITTEN;
      }
      if (Mark.has(before, Mark.COPY)) {
        return copyKind(before, where, wrote);
      }
      int thread = 32 * touch.warp + lane;
      if (same && Mark.thread(before) == thread) {
        return null;
      }
      int warp = Mark.warp(before);
      int other = Mark.lane(before);
      if (same && warp == touch.warp && isSameMoment(before, other)) {
        return touch.kind() == Touch.Kind.ATOMIC || touch.agree(lane, other)
            ? null
            : Kind.LANES_COLLIDE;
      }
      if (clocks.knows(touch.warp, lane, where, warp, other, Mark.time(before))) {
        return null;
      }
      int strength = Mark.strength(before);
      if (strength != Mark.WEAK && role.strength() != Mark.WEAK) {
        boolean reaches = same || (strength == Mark.WIDE && role.strength() == Mark.WIDE);
        return reaches ? null : Kind.NARROW_SCOPE;
      }
      if (Mark.has(before | role.mark(), Mark.ATOMIC)) {
        return Kind.ATOMIC_AND_PLAIN;
      }
      return race(same, warp);
    }

    private Kind race(boolean sameBlock, int warp) {
      return !sameBlock
          ? Kind.RACE_IN_GRID
          : warp == touch.warp ? Kind.RACE_IN_WARP : Kind.RACE_IN_BLOCK;
    }

    /** Whether another lane did it with the same instruction, at the same time. */
    private boolean isSameMoment(long before, int other) {
      return Mark.instruction(before) == role.number()
          && Mark.time(before) == times[lane]
          && other < lane
          && ((touch.mask >>> other) & 1) != 0
          && touch.memories[other] == touch.memories[lane]
          && touch.offsets[other] == touch.offsets[lane];
    }

    private @Nullable Kind copyKind(long before, int where, boolean wrote) {
      int warp = Mark.warp(before);
      int other = Mark.lane(before);
      if (where != (int) block) {
        return clocks.knowsAny(touch.warp, lane, where, warp, other) ? null : Kind.RACE_IN_GRID;
      }
      int thread = Mark.thread(before);
      int group = Mark.time(before);
      if (!copies.isDone(thread, group)) {
        return !wrote
            ? Kind.COPY_SOURCE_WRITTEN
            : touch.kind() == Touch.Kind.LOAD ? Kind.COPY_NOT_AWAITED : Kind.COPY_TARGET_WRITTEN;
      }
      return thread == 32 * touch.warp + lane
              || clocks.knows(touch.warp, lane, where, warp, other, copies.time(thread, group))
          ? null
          : race(true, warp);
    }
  }
}
