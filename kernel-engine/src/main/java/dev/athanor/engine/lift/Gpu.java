package dev.athanor.engine.lift;

import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.HostAtomics;
import dev.athanor.engine.lift.intrinsic.JavaFormat;
import java.lang.invoke.VarHandle;
import java.util.function.IntConsumer;

/**
 * What a GPU thread can do beyond plain Java: the intrinsics of kernels written as Java methods.
 *
 * <p>On a device, each method becomes the PTX that its comment names. In plain Java, each has the
 * same meaning, on one Java thread per GPU thread. Positions, shared arrays and everything that
 * threads do together need a kernel run and throw {@link IllegalStateException} outside of one;
 * atomics, fences and arithmetic work anywhere.
 *
 * <p>A <em>block operation</em> must be called by all threads of the block, a <em>warp
 * operation</em> by all threads of the warp that have not left the kernel, or by those of its mask,
 * each at the same call. Warps are formed from 32 consecutive threads of a block, x fastest, then
 * y, then z; the last warp of a block may have fewer.
 *
 * <p>Atomics are relaxed unless they say otherwise, with the scope of the device for arrays of the
 * kernel's parameters and of the block for shared arrays. Those that change an element return its
 * old value.
 */
public final class Gpu {

  private static final int ALL_LANES = -1;

  private Gpu() {}

  /** Returns this thread's index in its block along x. PTX: {@code %tid.x}. */
  public static int threadIdxX() {
    return GpuThread.current().threadIdx().x();
  }

  /** Returns this thread's index in its block along y. PTX: {@code %tid.y}. */
  public static int threadIdxY() {
    return GpuThread.current().threadIdx().y();
  }

  /** Returns this thread's index in its block along z. PTX: {@code %tid.z}. */
  public static int threadIdxZ() {
    return GpuThread.current().threadIdx().z();
  }

  /** Returns this block's index in the grid along x. PTX: {@code %ctaid.x}. */
  public static int blockIdxX() {
    return GpuThread.current().blockIdx().x();
  }

  /** Returns this block's index in the grid along y. PTX: {@code %ctaid.y}. */
  public static int blockIdxY() {
    return GpuThread.current().blockIdx().y();
  }

  /** Returns this block's index in the grid along z. PTX: {@code %ctaid.z}. */
  public static int blockIdxZ() {
    return GpuThread.current().blockIdx().z();
  }

  /** Returns the number of threads of a block along x. PTX: {@code %ntid.x}. */
  public static int blockDimX() {
    return GpuThread.current().blockDim().x();
  }

  /** Returns the number of threads of a block along y. PTX: {@code %ntid.y}. */
  public static int blockDimY() {
    return GpuThread.current().blockDim().y();
  }

  /** Returns the number of threads of a block along z. PTX: {@code %ntid.z}. */
  public static int blockDimZ() {
    return GpuThread.current().blockDim().z();
  }

  /** Returns the number of blocks of the grid along x. PTX: {@code %nctaid.x}. */
  public static int gridDimX() {
    return GpuThread.current().gridDim().x();
  }

  /** Returns the number of blocks of the grid along y. PTX: {@code %nctaid.y}. */
  public static int gridDimY() {
    return GpuThread.current().gridDim().y();
  }

  /** Returns the number of blocks of the grid along z. PTX: {@code %nctaid.z}. */
  public static int gridDimZ() {
    return GpuThread.current().gridDim().z();
  }

  /** Returns this thread's lane: its index in its warp, 0 to 31. PTX: {@code %laneid}. */
  public static int laneId() {
    return GpuThread.current().lane();
  }

  /**
   * Returns the index of this thread's warp in its block. PTX: computed from {@code %tid} and
   * {@code %ntid}, since {@code %warpid} may change while a kernel runs.
   */
  public static int warpId() {
    return GpuThread.current().warp();
  }

  /**
   * Waits until all threads of the block call it; writes before it are visible to the block after
   * it. A block operation. PTX: {@code bar.sync 0}.
   */
  public static void barrier() {
    GpuThread.current().barrier();
  }

  /**
   * Waits until all threads of the grid call it; writes before it are visible to the grid after it.
   * Launches of a kernel that calls it are cooperative: a grid that does not fit on the device at
   * once is refused. PTX: as {@code grid.sync()} of CUDA's cooperative groups, with {@code
   * %envreg1} and {@code %envreg2}.
   */
  public static void gridBarrier() {
    GpuThread.current().gridBarrier();
  }

  /**
   * Waits until all threads of the warp call it; writes before it are visible to the warp after it.
   * A warp operation. PTX: {@code bar.warp.sync}.
   */
  public static void warpBarrier() {
    warpBarrier(ALL_LANES);
  }

  /**
   * As {@link #warpBarrier()}, among the lanes of a mask.
   *
   * @param members mask of the lanes that call it together, with this one
   */
  public static void warpBarrier(int members) {
    GpuThread.current().warpBarrier(members);
  }

  /**
   * Orders this thread's memory accesses before it and those after it, as seen by every thread of
   * the device. PTX: {@code fence.acq_rel.gpu}.
   */
  public static void memoryFence() {
    VarHandle.fullFence();
  }

  /**
   * Waits until the previous launch of the stream has completed, whose writes are visible
   * afterwards. Returns at once unless the launch is dependent ({@code Launch.asDependent}). Such a
   * kernel calls it before it reads what earlier launches write, and before it writes what they
   * access. PTX: {@code griddepcontrol.wait}; nothing before sm_90, where no launch is dependent.
   */
  public static void awaitPreviousGrid() {
    // launches in plain Java are never dependent
  }

  /**
   * Lets a dependent launch that follows begin, once every block has called it or ended. Makes no
   * writes visible: that launch calls {@link #awaitPreviousGrid}. PTX: {@code
   * griddepcontrol.launch_dependents}; nothing before sm_90.
   */
  public static void launchDependents() {
    // launches in plain Java are never dependent
  }

  /**
   * Prints numbers for debugging, as C's {@code printf} does. CUDA and plain Java write to the
   * standard output, {@link HostKernel#output} elsewhere; the emulator logs the text, or passes it
   * to {@code EmulatorOptions.withOutput}. CUDA and the emulator do so when the launch has ended,
   * and keep 1 MiB. The calls of a thread are in order, and those of threads in any order. PTX: a
   * call of {@code vprintf}.
   *
   * @param format a constant, as for {@link String#format}, with these conversions: {@code d},
   *     {@code x}, {@code X} and {@code o} of a byte, short, int or long; {@code f}, {@code e},
   *     {@code E}, {@code g}, {@code G}, {@code a} and {@code A} of a float or double; {@code c},
   *     which prints one byte, of a char, byte, short or int; {@code %n} and {@code %%}. Numbers
   *     look as in C: {@code nan}, {@code inf}, {@code %g} without zeros at the end, ties to even
   * @param values at most 32, one for each conversion
   * @throws IllegalArgumentException in plain Java, if the format does not fit the values; devices
   *     refuse the kernel
   */
  public static void print(String format, Object... values) {
    GpuThread.print(JavaFormat.print(format, values));
  }

  /**
   * Returns the array in shared memory that belongs to this call: one for each block, the same for
   * all its threads and every time that the call is reached. A helper called from two places has
   * two arrays. The contents are undefined at first. PTX: a {@code .shared} array, aligned to 16
   * bytes.
   *
   * @param length number of elements, a constant of 1 or more
   */
  public static float[] sharedFloats(int length) {
    return GpuThread.current().shared(float[].class, length);
  }

  /** As {@link #sharedFloats}, of {@code int}. */
  public static int[] sharedInts(int length) {
    return GpuThread.current().shared(int[].class, length);
  }

  /** As {@link #sharedFloats}, of {@code long}. */
  public static long[] sharedLongs(int length) {
    return GpuThread.current().shared(long[].class, length);
  }

  /** As {@link #sharedFloats}, of {@code double}. */
  public static double[] sharedDoubles(int length) {
    return GpuThread.current().shared(double[].class, length);
  }

  /** As {@link #sharedFloats}, of {@code byte}. */
  public static byte[] sharedBytes(int length) {
    return GpuThread.current().shared(byte[].class, length);
  }

  /** As {@link #sharedFloats}, of {@code short}. */
  public static short[] sharedShorts(int length) {
    return GpuThread.current().shared(short[].class, length);
  }

  /**
   * Returns the shared memory whose size the launch gives, as one array. A kernel has one such
   * array, with one type of elements. The contents are undefined at first. PTX: an {@code .extern
   * .shared} array; its length is {@code %dynamic_smem_size} divided by the size of an element.
   */
  public static float[] dynamicSharedFloats() {
    return GpuThread.current().dynamicShared(float[].class);
  }

  /** As {@link #dynamicSharedFloats}, of {@code int}. */
  public static int[] dynamicSharedInts() {
    return GpuThread.current().dynamicShared(int[].class);
  }

  /** As {@link #dynamicSharedFloats}, of {@code long}. */
  public static long[] dynamicSharedLongs() {
    return GpuThread.current().dynamicShared(long[].class);
  }

  /** As {@link #dynamicSharedFloats}, of {@code double}. */
  public static double[] dynamicSharedDoubles() {
    return GpuThread.current().dynamicShared(double[].class);
  }

  /** As {@link #dynamicSharedFloats}, of {@code byte}. */
  public static byte[] dynamicSharedBytes() {
    return GpuThread.current().dynamicShared(byte[].class);
  }

  /** As {@link #dynamicSharedFloats}, of {@code short}. */
  public static short[] dynamicSharedShorts() {
    return GpuThread.current().dynamicShared(short[].class);
  }

  /**
   * Returns the value that another lane passes. A warp operation; the other lane must be among the
   * callers. PTX: {@code shfl.sync.idx.b32}, two for types of 64 bits.
   *
   * @param lane index of the lane, modulo 32
   */
  public static int shuffle(int value, int lane) {
    return shuffle(value, lane, ALL_LANES);
  }

  /**
   * As {@link #shuffle(int, int)}, among the lanes of a mask.
   *
   * @param members mask of the lanes that call it together, with this one
   */
  public static int shuffle(int value, int lane, int members) {
    return (int) GpuThread.current().shuffle(value, lane, members);
  }

  /** As {@link #shuffle(int, int)}, for a {@code long}. */
  public static long shuffle(long value, int lane) {
    return shuffle(value, lane, ALL_LANES);
  }

  /** As {@link #shuffle(int, int, int)}, for {@code long}. */
  public static long shuffle(long value, int lane, int members) {
    return GpuThread.current().shuffle(value, lane, members);
  }

  /** As {@link #shuffle(int, int)}, for a {@code float}. */
  public static float shuffle(float value, int lane) {
    return shuffle(value, lane, ALL_LANES);
  }

  /** As {@link #shuffle(int, int, int)}, for {@code float}. */
  public static float shuffle(float value, int lane, int members) {
    return Float.intBitsToFloat(
        (int) GpuThread.current().shuffle(Float.floatToRawIntBits(value), lane, members));
  }

  /** As {@link #shuffle(int, int)}, for a {@code double}. */
  public static double shuffle(double value, int lane) {
    return shuffle(value, lane, ALL_LANES);
  }

  /** As {@link #shuffle(int, int, int)}, for {@code double}. */
  public static double shuffle(double value, int lane, int members) {
    return Double.longBitsToDouble(
        GpuThread.current().shuffle(Double.doubleToRawLongBits(value), lane, members));
  }

  /**
   * Returns the value that the lane passes whose index is this lane's exclusive or {@code mask}. A
   * warp operation; the other lane must be among the callers. PTX: {@code shfl.sync.bfly.b32}, two
   * for types of 64 bits.
   *
   * @param mask modulo 32
   */
  public static int shuffleXor(int value, int mask) {
    return shuffleXor(value, mask, ALL_LANES);
  }

  /**
   * As {@link #shuffleXor(int, int)}, among the lanes of a mask.
   *
   * @param members mask of the lanes that call it together, with this one
   */
  public static int shuffleXor(int value, int mask, int members) {
    return (int) GpuThread.current().shuffleXor(value, mask, members);
  }

  /** As {@link #shuffleXor(int, int)}, for a {@code long}. */
  public static long shuffleXor(long value, int mask) {
    return shuffleXor(value, mask, ALL_LANES);
  }

  /** As {@link #shuffleXor(int, int, int)}, for {@code long}. */
  public static long shuffleXor(long value, int mask, int members) {
    return GpuThread.current().shuffleXor(value, mask, members);
  }

  /** As {@link #shuffleXor(int, int)}, for a {@code float}. */
  public static float shuffleXor(float value, int mask) {
    return shuffleXor(value, mask, ALL_LANES);
  }

  /** As {@link #shuffleXor(int, int, int)}, for {@code float}. */
  public static float shuffleXor(float value, int mask, int members) {
    return Float.intBitsToFloat(
        (int) GpuThread.current().shuffleXor(Float.floatToRawIntBits(value), mask, members));
  }

  /** As {@link #shuffleXor(int, int)}, for a {@code double}. */
  public static double shuffleXor(double value, int mask) {
    return shuffleXor(value, mask, ALL_LANES);
  }

  /** As {@link #shuffleXor(int, int, int)}, for {@code double}. */
  public static double shuffleXor(double value, int mask, int members) {
    return Double.longBitsToDouble(
        GpuThread.current().shuffleXor(Double.doubleToRawLongBits(value), mask, members));
  }

  /**
   * Returns the value that the lane {@code distance} below passes, or this lane's own if there is
   * no such lane. A warp operation; the other lane must be among the callers. PTX: {@code
   * shfl.sync.up.b32}, two for types of 64 bits.
   *
   * @param distance modulo 32
   */
  public static int shuffleUp(int value, int distance) {
    return shuffleUp(value, distance, ALL_LANES);
  }

  /**
   * As {@link #shuffleUp(int, int)}, among the lanes of a mask.
   *
   * @param members mask of the lanes that call it together, with this one
   */
  public static int shuffleUp(int value, int distance, int members) {
    return (int) GpuThread.current().shuffleUp(value, distance, members);
  }

  /** As {@link #shuffleUp(int, int)}, for a {@code long}. */
  public static long shuffleUp(long value, int distance) {
    return shuffleUp(value, distance, ALL_LANES);
  }

  /** As {@link #shuffleUp(int, int, int)}, for {@code long}. */
  public static long shuffleUp(long value, int distance, int members) {
    return GpuThread.current().shuffleUp(value, distance, members);
  }

  /** As {@link #shuffleUp(int, int)}, for a {@code float}. */
  public static float shuffleUp(float value, int distance) {
    return shuffleUp(value, distance, ALL_LANES);
  }

  /** As {@link #shuffleUp(int, int, int)}, for {@code float}. */
  public static float shuffleUp(float value, int distance, int members) {
    return Float.intBitsToFloat(
        (int) GpuThread.current().shuffleUp(Float.floatToRawIntBits(value), distance, members));
  }

  /** As {@link #shuffleUp(int, int)}, for a {@code double}. */
  public static double shuffleUp(double value, int distance) {
    return shuffleUp(value, distance, ALL_LANES);
  }

  /** As {@link #shuffleUp(int, int, int)}, for {@code double}. */
  public static double shuffleUp(double value, int distance, int members) {
    return Double.longBitsToDouble(
        GpuThread.current().shuffleUp(Double.doubleToRawLongBits(value), distance, members));
  }

  /**
   * Returns the value that the lane {@code distance} above passes, or this lane's own if that would
   * be above 31. A warp operation; the other lane must be among the callers. PTX: {@code
   * shfl.sync.down.b32}, two for types of 64 bits.
   *
   * @param distance modulo 32
   */
  public static int shuffleDown(int value, int distance) {
    return shuffleDown(value, distance, ALL_LANES);
  }

  /**
   * As {@link #shuffleDown(int, int)}, among the lanes of a mask.
   *
   * @param members mask of the lanes that call it together, with this one
   */
  public static int shuffleDown(int value, int distance, int members) {
    return (int) GpuThread.current().shuffleDown(value, distance, members);
  }

  /** As {@link #shuffleDown(int, int)}, for a {@code long}. */
  public static long shuffleDown(long value, int distance) {
    return shuffleDown(value, distance, ALL_LANES);
  }

  /** As {@link #shuffleDown(int, int, int)}, for {@code long}. */
  public static long shuffleDown(long value, int distance, int members) {
    return GpuThread.current().shuffleDown(value, distance, members);
  }

  /** As {@link #shuffleDown(int, int)}, for a {@code float}. */
  public static float shuffleDown(float value, int distance) {
    return shuffleDown(value, distance, ALL_LANES);
  }

  /** As {@link #shuffleDown(int, int, int)}, for {@code float}. */
  public static float shuffleDown(float value, int distance, int members) {
    return Float.intBitsToFloat(
        (int) GpuThread.current().shuffleDown(Float.floatToRawIntBits(value), distance, members));
  }

  /** As {@link #shuffleDown(int, int)}, for a {@code double}. */
  public static double shuffleDown(double value, int distance) {
    return shuffleDown(value, distance, ALL_LANES);
  }

  /** As {@link #shuffleDown(int, int, int)}, for {@code double}. */
  public static double shuffleDown(double value, int distance, int members) {
    return Double.longBitsToDouble(
        GpuThread.current().shuffleDown(Double.doubleToRawLongBits(value), distance, members));
  }

  /**
   * Returns a mask with the bits of the lanes that pass true; lanes that have left the kernel count
   * as false. A warp operation. PTX: {@code vote.sync.ballot.b32}.
   */
  public static int ballot(boolean vote) {
    return ballot(vote, ALL_LANES);
  }

  /**
   * As {@link #ballot(boolean)}, among the lanes of a mask.
   *
   * @param members mask of the lanes that call it together, with this one
   */
  public static int ballot(boolean vote, int members) {
    return GpuThread.current().ballot(vote, members);
  }

  /** Returns whether some lane passes true. A warp operation. PTX: {@code vote.sync.any.pred}. */
  public static boolean any(boolean vote) {
    return any(vote, ALL_LANES);
  }

  /**
   * As {@link #any(boolean)}, among the lanes of a mask.
   *
   * @param members mask of the lanes that call it together, with this one
   */
  public static boolean any(boolean vote, int members) {
    return GpuThread.current().ballot(vote, members) != 0;
  }

  /**
   * Returns whether all lanes that have not left the kernel pass true. A warp operation. PTX:
   * {@code vote.sync.all.pred}.
   */
  public static boolean all(boolean vote) {
    return all(vote, ALL_LANES);
  }

  /**
   * As {@link #all(boolean)}, among the lanes of a mask.
   *
   * @param members mask of the lanes that call it together, with this one
   */
  public static boolean all(boolean vote, int members) {
    return GpuThread.current().ballot(!vote, members) == 0;
  }

  /**
   * Returns the sum of the values that the threads of the warp pass, in every lane. No thread of
   * the warp may have left the kernel. Numbers are added as a tree: at distances 16, 8, 4, 2 and 1.
   * PTX: {@link WarpReductions}.
   */
  public static int warpSum(int value) {
    return WarpReductions.sum(value);
  }

  /** As {@link #warpSum(int)}, for {@code long}. */
  public static long warpSum(long value) {
    return WarpReductions.sum(value);
  }

  /** As {@link #warpSum(int)}, for {@code float}. */
  public static float warpSum(float value) {
    return WarpReductions.sum(value);
  }

  /** As {@link #warpSum(int)}, for {@code double}. */
  public static double warpSum(double value) {
    return WarpReductions.sum(value);
  }

  /**
   * Returns the largest of the values that the threads of the warp pass, in every lane. No thread
   * of the warp may have left the kernel. PTX: {@link WarpReductions}.
   */
  public static int warpMax(int value) {
    return WarpReductions.max(value);
  }

  /** As {@link #warpMax(int)}, for {@code long}. */
  public static long warpMax(long value) {
    return WarpReductions.max(value);
  }

  /** As {@link #warpMax(int)}, for {@code float}. */
  public static float warpMax(float value) {
    return WarpReductions.max(value);
  }

  /** As {@link #warpMax(int)}, for {@code double}. */
  public static double warpMax(double value) {
    return WarpReductions.max(value);
  }

  /**
   * Returns the smallest of the values that the threads of the warp pass, in every lane. No thread
   * of the warp may have left the kernel. PTX: {@link WarpReductions}.
   */
  public static int warpMin(int value) {
    return WarpReductions.min(value);
  }

  /** As {@link #warpMin(int)}, for {@code long}. */
  public static long warpMin(long value) {
    return WarpReductions.min(value);
  }

  /** As {@link #warpMin(int)}, for {@code float}. */
  public static float warpMin(float value) {
    return WarpReductions.min(value);
  }

  /** As {@link #warpMin(int)}, for {@code double}. */
  public static double warpMin(double value) {
    return WarpReductions.min(value);
  }

  /**
   * Returns the sum of the values that the threads of the block pass, in every thread. A block
   * operation for blocks of every size and shape; no thread may have left the kernel. Sums of warps
   * are added from the first warp to the last. PTX: {@link BlockReductions}.
   */
  public static int blockSum(int value) {
    return BlockReductions.sum(value);
  }

  /** As {@link #blockSum(int)}, for {@code long}. */
  public static long blockSum(long value) {
    return BlockReductions.sum(value);
  }

  /** As {@link #blockSum(int)}, for {@code float}. */
  public static float blockSum(float value) {
    return BlockReductions.sum(value);
  }

  /** As {@link #blockSum(int)}, for {@code double}. */
  public static double blockSum(double value) {
    return BlockReductions.sum(value);
  }

  /**
   * Returns the largest of the values that the threads of the block pass, in every thread. A block
   * operation for blocks of every size and shape; no thread may have left the kernel. PTX: {@link
   * BlockReductions}.
   */
  public static int blockMax(int value) {
    return BlockReductions.max(value);
  }

  /** As {@link #blockMax(int)}, for {@code long}. */
  public static long blockMax(long value) {
    return BlockReductions.max(value);
  }

  /** As {@link #blockMax(int)}, for {@code float}. */
  public static float blockMax(float value) {
    return BlockReductions.max(value);
  }

  /** As {@link #blockMax(int)}, for {@code double}. */
  public static double blockMax(double value) {
    return BlockReductions.max(value);
  }

  /**
   * Returns the smallest of the values that the threads of the block pass, in every thread. A block
   * operation for blocks of every size and shape; no thread may have left the kernel. PTX: {@link
   * BlockReductions}.
   */
  public static int blockMin(int value) {
    return BlockReductions.min(value);
  }

  /** As {@link #blockMin(int)}, for {@code long}. */
  public static long blockMin(long value) {
    return BlockReductions.min(value);
  }

  /** As {@link #blockMin(int)}, for {@code float}. */
  public static float blockMin(float value) {
    return BlockReductions.min(value);
  }

  /** As {@link #blockMin(int)}, for {@code double}. */
  public static double blockMin(double value) {
    return BlockReductions.min(value);
  }

  /** Adds a value to an element atomically. PTX: {@code atom.add.u32}. */
  public static int atomicAdd(int[] array, int index, int value) {
    return HostAtomics.add(array, index, value);
  }

  /** Adds a value to an element atomically. PTX: {@code atom.add.u64}. */
  public static long atomicAdd(long[] array, int index, long value) {
    return HostAtomics.add(array, index, value);
  }

  /** Adds a value to an element atomically. PTX: {@code atom.add.f32}. */
  public static float atomicAdd(float[] array, int index, float value) {
    return HostAtomics.add(array, index, value);
  }

  /** Adds a value to an element atomically. PTX: {@code atom.add.f64}. */
  public static double atomicAdd(double[] array, int index, double value) {
    return HostAtomics.add(array, index, value);
  }

  /** Replaces an element by the smaller of it and a value atomically. PTX: {@code atom.min.s32}. */
  public static int atomicMin(int[] array, int index, int value) {
    return HostAtomics.min(array, index, value);
  }

  /** Replaces an element by the smaller of it and a value atomically. PTX: {@code atom.min.s64}. */
  public static long atomicMin(long[] array, int index, long value) {
    return HostAtomics.min(array, index, value);
  }

  /** Replaces an element by the larger of it and a value atomically. PTX: {@code atom.max.s32}. */
  public static int atomicMax(int[] array, int index, int value) {
    return HostAtomics.max(array, index, value);
  }

  /** Replaces an element by the larger of it and a value atomically. PTX: {@code atom.max.s64}. */
  public static long atomicMax(long[] array, int index, long value) {
    return HostAtomics.max(array, index, value);
  }

  /**
   * Replaces an element by the smaller of it and a value atomically, as {@link Math#min(float,
   * float)}: a loop of {@code atom.cas}.
   */
  public static float atomicMin(float[] array, int index, float value) {
    return FloatAtomics.atomicMin(array, index, value);
  }

  /**
   * Replaces an element by the smaller of it and a value atomically, as {@link Math#min(double,
   * double)}: a loop of {@code atom.cas}.
   */
  public static double atomicMin(double[] array, int index, double value) {
    return FloatAtomics.atomicMin(array, index, value);
  }

  /**
   * Replaces an element by the larger of it and a value atomically, as {@link Math#max(float,
   * float)}: a loop of {@code atom.cas}.
   */
  public static float atomicMax(float[] array, int index, float value) {
    return FloatAtomics.atomicMax(array, index, value);
  }

  /**
   * Replaces an element by the larger of it and a value atomically, as {@link Math#max(double,
   * double)}: a loop of {@code atom.cas}.
   */
  public static double atomicMax(double[] array, int index, double value) {
    return FloatAtomics.atomicMax(array, index, value);
  }

  /**
   * Adds 1 to an element atomically, which becomes 0 after {@code limit}; both are unsigned. PTX:
   * {@code atom.inc.u32}.
   */
  public static int atomicIncrement(int[] array, int index, int limit) {
    return HostAtomics.increment(array, index, limit);
  }

  /**
   * Subtracts 1 from an element atomically, which becomes {@code limit} after 0, and if it is above
   * {@code limit}; both are unsigned. PTX: {@code atom.dec.u32}.
   */
  public static int atomicDecrement(int[] array, int index, int limit) {
    return HostAtomics.decrement(array, index, limit);
  }

  /** Combines an element with a value by bitwise and atomically. PTX: {@code atom.and.b32}. */
  public static int atomicAnd(int[] array, int index, int value) {
    return HostAtomics.and(array, index, value);
  }

  /** Combines an element with a value by bitwise and atomically. PTX: {@code atom.and.b64}. */
  public static long atomicAnd(long[] array, int index, long value) {
    return HostAtomics.and(array, index, value);
  }

  /** Combines an element with a value by bitwise or atomically. PTX: {@code atom.or.b32}. */
  public static int atomicOr(int[] array, int index, int value) {
    return HostAtomics.or(array, index, value);
  }

  /** Combines an element with a value by bitwise or atomically. PTX: {@code atom.or.b64}. */
  public static long atomicOr(long[] array, int index, long value) {
    return HostAtomics.or(array, index, value);
  }

  /**
   * Combines an element with a value by bitwise exclusive or atomically. PTX: {@code atom.xor.b32}.
   */
  public static int atomicXor(int[] array, int index, int value) {
    return HostAtomics.xor(array, index, value);
  }

  /**
   * Combines an element with a value by bitwise exclusive or atomically. PTX: {@code atom.xor.b64}.
   */
  public static long atomicXor(long[] array, int index, long value) {
    return HostAtomics.xor(array, index, value);
  }

  /** Replaces an element by a value atomically. PTX: {@code atom.exch.b32}. */
  public static int atomicExchange(int[] array, int index, int value) {
    return HostAtomics.exchange(array, index, value);
  }

  /** Replaces an element by a value atomically. PTX: {@code atom.exch.b64}. */
  public static long atomicExchange(long[] array, int index, long value) {
    return HostAtomics.exchange(array, index, value);
  }

  /** Replaces an element by a value atomically. PTX: {@code atom.exch.b32}. */
  public static float atomicExchange(float[] array, int index, float value) {
    return HostAtomics.exchange(array, index, value);
  }

  /** Replaces an element by a value atomically. PTX: {@code atom.exch.b64}. */
  public static double atomicExchange(double[] array, int index, double value) {
    return HostAtomics.exchange(array, index, value);
  }

  /**
   * Replaces an element by {@code value} if it is {@code expected}, atomically. PTX: {@code
   * atom.cas.b32}.
   */
  public static int atomicCompareAndSet(int[] array, int index, int expected, int value) {
    return HostAtomics.compareAndSet(array, index, expected, value);
  }

  /**
   * Replaces an element by {@code value} if it is {@code expected}, atomically. PTX: {@code
   * atom.cas.b64}.
   */
  public static long atomicCompareAndSet(long[] array, int index, long expected, long value) {
    return HostAtomics.compareAndSet(array, index, expected, value);
  }

  /**
   * Replaces an element by {@code value} if its bits are those of {@code expected}, atomically.
   * PTX: {@code atom.cas.b32}.
   */
  public static float atomicCompareAndSet(float[] array, int index, float expected, float value) {
    return HostAtomics.compareAndSet(array, index, expected, value);
  }

  /**
   * Replaces an element by {@code value} if its bits are those of {@code expected}, atomically.
   * PTX: {@code atom.cas.b64}.
   */
  public static double atomicCompareAndSet(
      double[] array, int index, double expected, double value) {
    return HostAtomics.compareAndSet(array, index, expected, value);
  }

  /**
   * Returns an element that other threads may write meanwhile: a loop reads it again in each turn.
   * PTX: {@code ld.relaxed}.
   */
  public static int loadRelaxed(int[] array, int index) {
    return HostAtomics.loadRelaxed(array, index);
  }

  /** As {@link #loadRelaxed(int[], int)}, for {@code long}. */
  public static long loadRelaxed(long[] array, int index) {
    return HostAtomics.loadRelaxed(array, index);
  }

  /** As {@link #loadRelaxed(int[], int)}, for {@code float}. */
  public static float loadRelaxed(float[] array, int index) {
    return HostAtomics.loadRelaxed(array, index);
  }

  /** As {@link #loadRelaxed(int[], int)}, for {@code double}. */
  public static double loadRelaxed(double[] array, int index) {
    return HostAtomics.loadRelaxed(array, index);
  }

  /**
   * Returns an element. If {@link #storeRelease(int[], int, int)} wrote it, what its thread wrote
   * before is visible after this call. PTX: {@code ld.acquire}.
   */
  public static int loadAcquire(int[] array, int index) {
    return HostAtomics.loadAcquire(array, index);
  }

  /** As {@link #loadAcquire(int[], int)}, for {@code long}. */
  public static long loadAcquire(long[] array, int index) {
    return HostAtomics.loadAcquire(array, index);
  }

  /** As {@link #loadAcquire(int[], int)}, for {@code float}. */
  public static float loadAcquire(float[] array, int index) {
    return HostAtomics.loadAcquire(array, index);
  }

  /** As {@link #loadAcquire(int[], int)}, for {@code double}. */
  public static double loadAcquire(double[] array, int index) {
    return HostAtomics.loadAcquire(array, index);
  }

  /** Writes an element that other threads may read or write meanwhile. PTX: {@code st.relaxed}. */
  public static void storeRelaxed(int[] array, int index, int value) {
    HostAtomics.storeRelaxed(array, index, value);
  }

  /** As {@link #storeRelaxed(int[], int, int)}, for {@code long}. */
  public static void storeRelaxed(long[] array, int index, long value) {
    HostAtomics.storeRelaxed(array, index, value);
  }

  /** As {@link #storeRelaxed(int[], int, int)}, for {@code float}. */
  public static void storeRelaxed(float[] array, int index, float value) {
    HostAtomics.storeRelaxed(array, index, value);
  }

  /** As {@link #storeRelaxed(int[], int, int)}, for {@code double}. */
  public static void storeRelaxed(double[] array, int index, double value) {
    HostAtomics.storeRelaxed(array, index, value);
  }

  /** Writes an element after everything that this thread wrote before. PTX: {@code st.release}. */
  public static void storeRelease(int[] array, int index, int value) {
    HostAtomics.storeRelease(array, index, value);
  }

  /** As {@link #storeRelease(int[], int, int)}, for {@code long}. */
  public static void storeRelease(long[] array, int index, long value) {
    HostAtomics.storeRelease(array, index, value);
  }

  /** As {@link #storeRelease(int[], int, int)}, for {@code float}. */
  public static void storeRelease(float[] array, int index, float value) {
    HostAtomics.storeRelease(array, index, value);
  }

  /** As {@link #storeRelease(int[], int, int)}, for {@code double}. */
  public static void storeRelease(double[] array, int index, double value) {
    HostAtomics.storeRelease(array, index, value);
  }

  /**
   * Returns e to the power of x, approximately. PTX: {@code ex2.approx.f32} of x times the binary
   * logarithm of e.
   */
  public static float fastExp(float x) {
    return (float) Math.exp(x);
  }

  /**
   * Returns the natural logarithm of x, approximately. PTX: {@code lg2.approx.f32} times the
   * natural logarithm of 2.
   */
  public static float fastLog(float x) {
    return (float) Math.log(x);
  }

  /**
   * Returns the sine of x, approximately: for small angles, in radians. PTX: {@code
   * sin.approx.f32}.
   */
  public static float fastSin(float x) {
    return (float) Math.sin(x);
  }

  /**
   * Returns the cosine of x, approximately: for small angles, in radians. PTX: {@code
   * cos.approx.f32}.
   */
  public static float fastCos(float x) {
    return (float) Math.cos(x);
  }

  /** Returns the hyperbolic tangent of x, approximately. PTX: {@code tanh.approx.f32}. */
  public static float fastTanh(float x) {
    return (float) Math.tanh(x);
  }

  /**
   * Returns the reciprocal of the square root of x, approximately. PTX: {@code rsqrt.approx.f32}.
   */
  public static float rsqrt(float x) {
    return (float) (1 / Math.sqrt(x));
  }

  /** Returns x divided by y, approximately. PTX: {@code div.approx.f32}. */
  public static float fastDivide(float x, float y) {
    return x / y;
  }

  /**
   * Returns the number that 16 bits stand for in bfloat16, as {@link Float#float16ToFloat} does in
   * binary16.
   */
  public static float bfloat16ToFloat(short bits) {
    return Float.intBitsToFloat(bits << 16);
  }

  /**
   * Returns the bits of the closest bfloat16, with ties to even, as {@link Float#floatToFloat16}
   * does for binary16. NaN becomes 0x7FFF. PTX: {@code cvt.rn.bf16.f32}.
   */
  public static short floatToBfloat16(float x) {
    if (Float.isNaN(x)) {
      return 0x7FFF;
    }
    int bits = Float.floatToRawIntBits(x);
    return (short) ((bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16);
  }

  /**
   * Calls a function for each index below {@code n}, once by some thread of the grid: thread 0 for
   * 0, thread 1 for 1, and so on, in steps of as many indices as the grid has threads along x.
   */
  public static void forEach(int n, IntConsumer body) {
    long step = (long) gridDimX() * blockDimX();
    for (long i = threadIdxX() + (long) blockIdxX() * blockDimX(); i < n; i += step) {
      body.accept((int) i);
    }
  }
}
