package dev.athanor.engine.profile;

import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.profile.Banks.Wavefronts;
import dev.athanor.engine.profile.Sectors.RequestSectors;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Warps;
import java.util.List;
import java.util.stream.Stream;

/**
 * The counters of one worker, as arrays indexed by instruction. They are added to those of other
 * workers at the end of the launch.
 */
final class Counters implements Observer {

  private static final int LANES = Warps.SIZE;

  final long[] executed;
  final long[] active;
  final long[] split;
  final long[] width = new long[LANES + 1];
  final Requests shared;
  final Requests global;
  final long[] sharedMinimum;
  final int[] sharedWays;
  final long[] globalLines;
  final long[] globalUnique;
  final long[] localBytes;
  final Footprint footprint = new Footprint();
  long blocks;

  private final Banks banks = new Banks();
  private final Sectors sectors = new Sectors();
  private final List<LastRequestCache<Wavefronts>> lastSharedRequests;
  private final List<LastRequestCache<Request>> lastGlobalRequests;
  private final long[] addresses = new long[LANES];
  private final int warps;
  private int number;
  private int warp;

  /** The requests of each instruction to one state space. */
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

  /** A request to global memory and its sector numbers. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Request(RequestSectors sectors, long[] numbers) {}

  /**
   * Creates counters.
   *
   * @param warps warps per block
   */
  Counters(int instructions, int warps) {
    this.warps = warps;
    executed = new long[instructions];
    active = new long[instructions];
    split = new long[instructions];
    shared = new Requests(instructions);
    global = new Requests(instructions);
    sharedMinimum = new long[instructions];
    sharedWays = new int[instructions];
    globalLines = new long[instructions];
    globalUnique = new long[instructions];
    localBytes = new long[instructions];
    lastSharedRequests =
        Stream.generate(LastRequestCache<Wavefronts>::new)
            .limit((long) instructions * warps)
            .toList();
    lastGlobalRequests =
        Stream.generate(LastRequestCache<Request>::new).limit((long) instructions * warps).toList();
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
    var cache = lastSharedRequests.get(number * warps + warp);
    var wavefronts = cache.find(addresses, mask);
    if (wavefronts == null) {
      wavefronts = banks.of(addresses, bytes, mask, atomic);
      cache.put(addresses, mask, wavefronts);
    }
    shared.count[number]++;
    shared.bytes[number] += (long) bytes * Integer.bitCount(mask);
    shared.actual[number] += wavefronts.actual();
    shared.ideal[number] += wavefronts.ideal();
    sharedMinimum[number] += wavefronts.minimum();
    sharedWays[number] = Math.max(sharedWays[number], wavefronts.ways());
  }

  private void global(int bytes, int mask) {
    var cache = lastGlobalRequests.get(number * warps + warp);
    var request = cache.find(addresses, mask);
    long further = 0;
    if (request == null) {
      request = new Request(sectors.of(addresses, bytes, mask), sectors.numbers());
      cache.put(addresses, mask, request);
    } else {
      further = cache.shift(addresses) / Sectors.SECTOR;
    }
    var counts = request.sectors;
    global.count[number]++;
    global.bytes[number] += (long) bytes * Integer.bitCount(mask);
    global.actual[number] += counts.sectors();
    global.ideal[number] += counts.ideal();
    globalLines[number] += counts.lines();
    globalUnique[number] += counts.bytes();
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
    add(sharedMinimum, other.sharedMinimum);
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
