package dev.athanor.engine.profile;

import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.profile.Banks.Wavefronts;
import dev.athanor.engine.profile.Sectors.Touched;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Warps;
import java.util.List;
import java.util.stream.Stream;

/**
 * What one worker sees. Everything is counted in arrays by the number of the instruction, and added
 * to what other workers saw when the launch is over.
 */
final class Counters implements Observer {

  private static final int LANES = Warps.SIZE;

  final long[] executed;
  final long[] active;
  final long[] split;
  final long[] width = new long[LANES + 1];
  final Requests shared;
  final Requests global;
  final long[] sharedLeast;
  final int[] sharedWays;
  final long[] globalLines;
  final long[] globalUnique;
  final long[] localBytes;
  final Footprint footprint = new Footprint();
  long blocks;

  private final Banks banks = new Banks();
  private final Sectors sectors = new Sectors();
  private final List<Latest<Wavefronts>> latestShared;
  private final List<Latest<Request>> latestGlobal;
  private final long[] addresses = new long[LANES];
  private final int warps;
  private int number;
  private int warp;

  /** Requests of each instruction in one space. */
  static final class Requests {
    final long[] count;
    final long[] bytes;

    /** Wavefronts or sectors. */
    final long[] actual;

    final long[] ideal;

    Requests(int instructions) {
      count = new long[instructions];
      bytes = new long[instructions];
      actual = new long[instructions];
      ideal = new long[instructions];
    }

    private void add(Requests other) {
      Counters.add(count, other.count);
      Counters.add(bytes, other.bytes);
      Counters.add(actual, other.actual);
      Counters.add(ideal, other.ideal);
    }
  }

  /** A request to global memory, with the numbers of its sectors. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Request(Touched touched, long[] numbers) {}

  /**
   * @param warps of a block
   */
  Counters(int instructions, int warps) {
    this.warps = warps;
    executed = new long[instructions];
    active = new long[instructions];
    split = new long[instructions];
    shared = new Requests(instructions);
    global = new Requests(instructions);
    sharedLeast = new long[instructions];
    sharedWays = new int[instructions];
    globalLines = new long[instructions];
    globalUnique = new long[instructions];
    localBytes = new long[instructions];
    latestShared =
        Stream.generate(Latest<Wavefronts>::new).limit((long) instructions * warps).toList();
    latestGlobal =
        Stream.generate(Latest<Request>::new).limit((long) instructions * warps).toList();
  }

  @Override
  public void begin(long block) {
    blocks++;
  }

  @Override
  public void execute(int instruction, int warp, int came, int chosen) {
    number = instruction;
    int lanes = Integer.bitCount(chosen);
    executed[instruction]++;
    active[instruction] += lanes;
    width[lanes]++;
    if (chosen != 0 && chosen != came) {
      split[instruction]++;
    }
  }

  @Override
  public void touch(MemoryRequest touch) {
    warp = touch.warp();
    int inShared = 0;
    int inGlobal = 0;
    int inLocal = 0;
    for (int left = touch.mask(); left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      addresses[lane] = touch.address(lane);
      var space = touch.space(lane);
      if (space.isShared()) {
        inShared |= 1 << lane;
      } else if (space == Space.GLOBAL) {
        inGlobal |= 1 << lane;
      } else if (space == Space.LOCAL) {
        inLocal |= 1 << lane;
      }
    }
    if (inShared != 0) {
      shared(touch.bytes(), inShared, touch.kind() == MemoryRequest.Kind.ATOMIC);
    }
    if (inGlobal != 0) {
      global(touch.bytes(), inGlobal);
    }
    localBytes[number] += (long) touch.bytes() * Integer.bitCount(inLocal);
  }

  private void shared(int bytes, int mask, boolean atomic) {
    var latest = latestShared.get(number * warps + warp);
    var wavefronts = latest.cost(addresses, mask);
    if (wavefronts == null) {
      wavefronts = banks.of(addresses, bytes, mask, atomic);
      latest.keep(addresses, mask, wavefronts);
    }
    shared.count[number]++;
    shared.bytes[number] += (long) bytes * Integer.bitCount(mask);
    shared.actual[number] += wavefronts.actual();
    shared.ideal[number] += wavefronts.ideal();
    sharedLeast[number] += wavefronts.least();
    sharedWays[number] = Math.max(sharedWays[number], wavefronts.ways());
  }

  private void global(int bytes, int mask) {
    var latest = latestGlobal.get(number * warps + warp);
    var request = latest.cost(addresses, mask);
    long further = 0;
    if (request == null) {
      request = new Request(sectors.of(addresses, bytes, mask), sectors.numbers());
      latest.keep(addresses, mask, request);
    } else {
      further = latest.shift(addresses) / Sectors.SECTOR;
    }
    var touched = request.touched;
    global.count[number]++;
    global.bytes[number] += (long) bytes * Integer.bitCount(mask);
    global.actual[number] += touched.sectors();
    global.ideal[number] += touched.ideal();
    globalLines[number] += touched.lines();
    globalUnique[number] += touched.bytes();
    for (long sector : request.numbers) {
      footprint.add(sector + further);
    }
  }

  /** Adds the counts of another worker of the same launch. */
  void add(Counters other) {
    add(executed, other.executed);
    add(active, other.active);
    add(split, other.split);
    add(width, other.width);
    shared.add(other.shared);
    global.add(other.global);
    add(sharedLeast, other.sharedLeast);
    for (int i = 0; i < sharedWays.length; i++) {
      sharedWays[i] = Math.max(sharedWays[i], other.sharedWays[i]);
    }
    add(globalLines, other.globalLines);
    add(globalUnique, other.globalUnique);
    add(localBytes, other.localBytes);
    footprint.addAll(other.footprint);
    blocks += other.blocks;
  }

  private static void add(long[] to, long[] from) {
    for (int i = 0; i < to.length; i++) {
      to[i] += from[i];
    }
  }
}
