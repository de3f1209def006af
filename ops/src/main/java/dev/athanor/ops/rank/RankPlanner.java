package dev.athanor.ops.rank;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import java.util.ArrayList;
import java.util.List;

/**
 * Plans the launches that rank rows. The first sorts chunks of each row. While the kept entries are
 * a small part of a chunk, the next launches sort chunks of what is left; then they merge runs.
 */
final class RankPlanner {

  /** Runs that a launch merges into one. */
  private static final int WAYS = 4;

  /** The least quotient of the entries of a chunk and those that are kept for sorting again. */
  private static final int SHRINK = 4;

  private static final List<Integer> SEGMENTS = List.of(64, 512, SharedSort.CAPACITY);

  /** Instructions of a warp for each pair of entries that it compares. */
  private static final double COMPARE_INSTRUCTIONS = 20;

  /** Instructions of a warp for each entry that it loads and stores. */
  private static final double ENTRY_INSTRUCTIONS = 40;

  private static final int REGISTERS = 40;

  private static final int ALIGNMENT = 256;

  /**
   * A problem.
   *
   * @param x the elements; not read by launches that rank scores
   * @param rows number of rows, those along inner dimensions included
   * @param n elements per row
   * @param inner distance between the elements of a row
   * @param kept results per row
   * @param to the outputs, as arguments of {@link ResultWriter}
   */
  record Problem(
      DType dtype,
      Slot x,
      int rows,
      int n,
      int inner,
      int kept,
      boolean descending,
      Result result,
      Arguments to) {}

  /**
   * The entries of each row after a launch: sorted runs, of which the last may be shorter.
   *
   * @param length entries per row
   * @param run entries per run
   */
  record Runs(int length, int run) {

    int count() {
      return Math.ceilDiv(length, run);
    }

    /** Returns what is left if the first entries of each group of {@code size} are kept. */
    Runs kept(int size, int most) {
      int groups = Math.ceilDiv(length, size);
      int each = Math.min(most, Math.min(size, length));
      int last = length - (groups - 1) * size;
      return new Runs((groups - 1) * each + Math.min(each, last), each);
    }
  }

  private final Problem problem;
  private final Machine machine;
  private final Candidates candidates;
  private final List<Step> steps = new ArrayList<>();
  private double microseconds;
  private long workspaceBytes;
  private long mostBlocks;

  /** Offset of the first array of entries. */
  private long firstArray;

  /** Offset of the second array of entries. */
  private long secondArray;

  /** Number of arrays that the launches have stored. */
  private int arrays;

  /** The results of the previous launch. */
  private List<Slot.Workspace> entries = List.of();

  RankPlanner(Problem problem, Capability capability, Candidates candidates) {
    this.problem = problem;
    this.machine = Machine.of(capability);
    this.candidates = candidates;
  }

  /** Returns a dtype whose entries have the same size. */
  static DType anyOf(DType dtype) {
    return Entries.arePacked(dtype) ? DType.F32 : DType.F64;
  }

  /** Returns the bits of a key, for names of kernels that do not read elements. */
  static String size(DType dtype) {
    return Entries.arePacked(dtype) ? "b32" : "b64";
  }

  /** Returns the least segment for rows of this length; the greatest for longer rows. */
  static int segment(int length) {
    return SEGMENTS.stream().filter(each -> each >= length).findFirst().orElse(SharedSort.CAPACITY);
  }

  /** Plans and offers launches that rank the elements of x. */
  void planAll() {
    finish(sortChunks(new Runs(problem.n, 1), false));
  }

  /**
   * Plans launches that rank the elements of x.
   *
   * @return the sorted entries of each row, as the argument {@code from}
   */
  Arguments planEntries() {
    rank(sortChunks(new Runs(problem.n, 1), false));
    return from();
  }

  private Arguments from() {
    return Arguments.ofParts("from", entries);
  }

  /** Plans the launches after the first and offers the plan. */
  void finish(Runs first) {
    rank(first);
    offer();
  }

  private void rank(Runs first) {
    var runs = first;
    while (runs.count() > 1) {
      boolean sorts =
          runs.length <= SharedSort.CAPACITY || problem.kept <= SharedSort.CAPACITY / SHRINK;
      runs = sorts ? sortChunks(runs, true) : merge(runs);
    }
  }

  /** Offers the planned launches. */
  void offer() {
    var name = steps.getFirst().variant().name();
    if (mostBlocks > Integer.MAX_VALUE) {
      candidates.refuse(name, "requires %d blocks; the limit is 2^31 - 1".formatted(mostBlocks));
    } else {
      var how = "%d %s".formatted(steps.size(), steps.size() == 1 ? "launch" : "launches");
      candidates.offer(name, microseconds, how, steps, workspaceBytes);
    }
  }

  private Runs sortChunks(Runs runs, boolean from) {
    int segment = segment(runs.length);
    int chunks = Math.ceilDiv(runs.length, segment);
    var left = runs.kept(segment, problem.kept);
    var result = result(left);
    var variant = SortVariant.of(problem.dtype, segment, from, result);
    var arguments =
        (from ? from() : Arguments.NONE)
            .with("rows", problem.rows)
            .with("length", runs.length)
            .with("chunks", chunks)
            .with("kept", left.run);
    if (!from || result.hasValues()) {
      arguments = arguments.with("x", problem.x);
    }
    double bytes =
        (double) problem.rows * runs.length * (from ? entryBytes() : problem.dtype.bytes());
    long blocks = Math.ceilDiv((long) problem.rows * chunks, SharedSort.CAPACITY / segment);
    add(variant, blocks, sortInstructions(segment), bytes, arguments, left);
    return left;
  }

  /** Returns the instructions of a block that sorts in shared memory. */
  static double sortInstructions(int segment) {
    int levels = Integer.numberOfTrailingZeros(segment);
    double pairs = SharedSort.CAPACITY / 2.0 * levels * (levels + 1) / 2;
    return COMPARE_INSTRUCTIONS * pairs + ENTRY_INSTRUCTIONS * SharedSort.CAPACITY;
  }

  private Runs merge(Runs runs) {
    int group = (int) Math.min(runs.length, (long) WAYS * runs.run);
    var left = runs.kept(group, problem.kept);
    var result = result(left);
    int blocks = Math.ceilDiv(runs.length, MergeVariant.THREADS);
    int searches = Integer.SIZE - Integer.numberOfLeadingZeros(runs.run);
    var arguments =
        from()
            .with("blocks", blocks)
            .with("length", runs.length)
            .with("run", runs.run)
            .with("group", group)
            .with("steps", searches)
            .with("kept", left.run);
    if (result.hasValues()) {
      arguments = arguments.with("x", problem.x);
    }
    double each = ENTRY_INSTRUCTIONS + COMPARE_INSTRUCTIONS * (WAYS - 1) * searches;
    add(
        MergeVariant.of(problem.dtype, result),
        (long) problem.rows * blocks,
        MergeVariant.THREADS * each,
        (double) problem.rows * runs.length * entryBytes(),
        arguments,
        left);
    return left;
  }

  /** Returns the result of a launch that leaves these runs. */
  Result result(Runs left) {
    return left.count() == 1 ? problem.result : Result.ENTRIES;
  }

  /**
   * Adds a launch.
   *
   * @param instructions of all threads of a block
   * @param readBytes bytes that the launch reads
   * @param arguments all but those of {@link ResultWriter}
   * @param left what the launch stores
   */
  void add(
      Variant variant,
      long blocks,
      double instructions,
      double readBytes,
      Arguments arguments,
      Runs left) {
    boolean last = result(left) != Result.ENTRIES;
    entries = last ? List.of() : allocate(left);
    var all =
        arguments
            .with(last ? problem.to : Arguments.ofParts("to", entries))
            .with("pitch", left.length)
            .with("n", problem.n)
            .with("inner", problem.inner)
            .with("flip", problem.descending ? -1 : 0);
    // an index and a value, or an entry
    double bytes = readBytes + (double) problem.rows * left.length * (Long.BYTES + Integer.BYTES);
    var work =
        new BlockWork(
            SharedSort.THREADS,
            REGISTERS,
            variant instanceof MergeVariant ? 0 : SharedSort.CAPACITY * entryBytes(),
            machine.issueCycles(instructions / KernelBuilder.WARP),
            Machine.BARRIER_CYCLES,
            bytes / blocks,
            (double) SharedSort.THREADS * Long.BYTES);
    add(variant, blocks, work, bytes, all);
  }

  /**
   * Adds a launch.
   *
   * @param bytes bytes that the launch reads and writes
   */
  void add(Variant variant, long blocks, BlockWork work, double bytes, Arguments arguments) {
    microseconds += machine.microseconds(blocks, work, bytes);
    mostBlocks = Math.max(mostBlocks, blocks);
    var grid = Dim3.of((int) Math.min(blocks, Integer.MAX_VALUE)); // offer refuses more
    steps.add(new Step(variant, grid, work.threads(), 0, arguments));
  }

  /**
   * Adds a launch before all others that computes x.
   *
   * @param stored bytes of x, which the launch stores at the start of the workspace
   */
  void addFirst(
      Variant variant,
      long blocks,
      BlockWork work,
      double bytes,
      Arguments arguments,
      long stored) {
    add(variant, blocks, work, bytes, arguments);
    firstArray = aligned(stored);
    workspaceBytes = firstArray;
  }

  /** Allocates entries. Launches alternate between two arrays, each at most as long as the last. */
  private List<Slot.Workspace> allocate(Runs left) {
    var slots = new ArrayList<Slot.Workspace>();
    long offset = arrays % 2 == 0 ? firstArray : secondArray;
    for (var type : Entries.types(Entries.arePacked(problem.dtype))) {
      slots.add(new Slot.Workspace(offset));
      long bytes = (long) problem.rows * left.length * type.bytes();
      offset += aligned(bytes);
    }
    if (arrays == 0) {
      secondArray = offset;
    }
    arrays++;
    workspaceBytes = Math.max(workspaceBytes, offset);
    return slots;
  }

  private static long aligned(long bytes) {
    return Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
  }

  private int entryBytes() {
    return Entries.types(Entries.arePacked(problem.dtype)).stream().mapToInt(Type::bytes).sum();
  }
}
