package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.PlainJava;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;

/** What goes wrong in kernels that run in plain Java, and what is said about it. */
class PlainJavaTest {
  private static final InJava KERNELS = new InJava(PlainJavaTest.class);
  private static final Set<String> NAMES = ConcurrentHashMap.newKeySet();
  private static final CountDownLatch STARTED = new CountDownLatch(1);

  static void names() {
    NAMES.add(Thread.currentThread().getName());
  }

  @Test
  void javaThreadsHaveTheNamesOfGpuThreads() {
    KERNELS.run("names", Dim3.of(2, 1), Dim3.of(1, 2));
    assertThat(NAMES)
        .containsExactlyInAnyOrder(
            "block (0,0,0) thread (0,0,0)",
            "block (0,0,0) thread (0,1,0)",
            "block (1,0,0) thread (0,0,0)",
            "block (1,0,0) thread (0,1,0)");
  }

  static void outOfBounds(int[] values) {
    Gpu.barrier();
    int at = Gpu.threadIdxX() + 4 * Gpu.blockIdxX();
    values[at] = 1;
    Gpu.barrier();
  }

  @Test
  void anExceptionNamesTheThread() {
    assertFault("outOfBounds", Dim3.of(3), Dim3.of(4), (Object) new int[7])
        .hasMessageContaining("block (1,0,0) thread (3,0,0)")
        .hasMessageContaining("Index 7 out of bounds for length 7")
        .hasCauseInstanceOf(ArrayIndexOutOfBoundsException.class);
  }

  static void halves(float[] values) {
    if (Gpu.threadIdxX() < 16) {
      values[Gpu.threadIdxX()] = Gpu.blockSum(1f);
    } else {
      Gpu.barrier();
    }
  }

  @Test
  void threadsThatWaitForEachOtherAtDifferentCallsAreNamed() {
    assertFault("halves", Dim3.of(1), Dim3.of(32), (Object) new float[32])
        .hasMessageMatching(
            "kernel halves failed: block \\(0,0,0\\): all threads wait for others: lanes 0-15 wait"
                + " at blockSum \\(PlainJavaTest.java:\\d+\\), lanes 16-31 at barrier"
                + " \\(PlainJavaTest.java:\\d+\\)");
    assertFault("halves", Dim3.of(1), Dim3.of(128), (Object) new float[32])
        .hasMessageContaining("warp 0: lanes 0-15 wait at blockSum (")
        .hasMessageContaining("; warps 1-3: lanes 0-31 wait at barrier (");
  }

  static void differentShuffles(int[] values) {
    int thread = Gpu.threadIdxX();
    values[thread] = thread == 3 ? Gpu.shuffleUp(thread, 1) : Gpu.shuffleDown(thread, 1);
  }

  @Test
  void lanesThatExchangeAtDifferentCallsAreNamed() {
    assertFault("differentShuffles", Dim3.of(1), Dim3.of(32), (Object) new int[32])
        .hasMessageContaining("lanes of a warp call different operations: lanes 0-2 wait at")
        .hasMessageContaining("shuffleDown (PlainJavaTest.java:")
        .hasMessageContaining("lane 3 at shuffleUp (")
        .hasMessageContaining("lanes 4-31 at shuffleDown (");
  }

  @SuppressWarnings("DuplicateBranches") // two barriers, not one
  static void differentBarriers(int limit) {
    if (Gpu.threadIdxX() < limit) {
      Gpu.barrier();
    } else {
      Gpu.barrier();
    }
  }

  @Test
  void aWarpComesToOneBarrier() {
    assertFault("differentBarriers", Dim3.of(1), Dim3.of(64), 40)
        .hasMessageContaining("lanes of a warp call different operations: warp 0: lanes 0-31 wait")
        .hasMessageContaining("warp 1: lanes 0-7 wait at barrier");
    KERNELS.run("differentBarriers", Dim3.of(1), Dim3.of(64), 32);
  }

  static void leaves(int first) {
    if (Gpu.threadIdxX() == first) {
      return;
    }
    Gpu.barrier();
  }

  @Test
  void aThreadThatLeavesBeforeABarrierIsAnError() {
    for (int first : new int[] {0, 17, 39}) {
      assertFault("leaves", Dim3.of(1), Dim3.of(40), first)
          .message()
          .containsAnyOf(
              "thread (%d,0,0) left the kernel, but the block waits for it: ".formatted(first),
              "to barrier (PlainJavaTest.java:");
    }
  }

  static void asksALaneThatLeft(int[] values) {
    if (Gpu.threadIdxX() == 4) {
      return;
    }
    values[Gpu.threadIdxX()] = Gpu.shuffleDown(1, 1);
  }

  static void asksALaneThatNeverWas(int[] values) {
    values[Gpu.threadIdxX()] = Gpu.shuffle(1, 20);
  }

  @Test
  void aValueOfALaneThatIsNotThereIsAnError() {
    assertFault("asksALaneThatLeft", Dim3.of(1), Dim3.of(32), (Object) new int[32])
        .hasMessageContaining("block (0,0,0) thread (3,0,0)")
        .hasMessageContaining("lane 3 asks for the value of lane 4, which has left the kernel");
    assertFault("asksALaneThatNeverWas", Dim3.of(1), Dim3.of(20), (Object) new int[32])
        .hasMessageContaining(
            "asks for the value of lane 20, which does not exist: the block has 20 threads");
  }

  static void lengthOfPosition() {
    Gpu.sharedInts(1 + Gpu.threadIdxX());
  }

  static void noLength() {
    Gpu.sharedInts(0);
  }

  static void twoTypes() {
    Gpu.dynamicSharedInts();
    Gpu.dynamicSharedBytes();
  }

  @Test
  void sharedArraysHaveAConstantLengthAndOneType() {
    assertFault("lengthOfPosition", Dim3.of(1), Dim3.of(2))
        .hasMessageContaining("sharedInts (PlainJavaTest.java:")
        .hasMessageContaining("the length must be a constant");
    assertFault("noLength", Dim3.of(1), Dim3.of(1))
        .hasMessageContaining("asks for 0 elements; the minimum is 1");
    assertFault("twoTypes", Dim3.of(1), Dim3.of(1))
        .hasMessageContaining("dynamic shared memory is a byte[] here and a int[] elsewhere");
  }

  void notStatic() {}

  static int returnsSomething() {
    return 1;
  }

  @Test
  void launchesAreChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> KERNELS.run("names", Dim3.of(1), Dim3.of(1025)))
        .withMessage("cannot launch names: got a block of 1025x1x1 threads; the limit is 1024");
    assertThatIllegalArgumentException()
        .isThrownBy(() ->
            PlainJava.run(
                KERNELS.method("names"), Dim3.of(1), Dim3.of(1), -1, GpuThread.STANDARD_OUTPUT))
        .withMessage(
            "cannot launch names: got -1 bytes of dynamic shared memory; the minimum is 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> KERNELS.run("leaves", Dim3.of(1), Dim3.of(1), 1, 2))
        .withMessage("cannot launch leaves: got 2 arguments; the kernel takes 1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> KERNELS.run("leaves", Dim3.of(1), Dim3.of(1), 1.5f))
        .withMessageMatching(
            "cannot launch leaves: got Float 1.5 for parameter (first|arg0) of type int");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> KERNELS.run("notStatic", Dim3.of(1), Dim3.of(1)))
        .withMessageContaining("a kernel is a static method that returns void, got void");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> KERNELS.run("returnsSomething", Dim3.of(1), Dim3.of(1)))
        .withMessageContaining("a kernel is a static method that returns void, got static int");
  }

  static void waitsForever(int[] flag) {
    STARTED.countDown();
    while (Gpu.atomicAdd(flag, 0, 0) == 0) {
      Gpu.warpBarrier();
    }
  }

  @Test
  void anInterruptEndsTheLaunch() throws InterruptedException {
    var thrown = new AtomicReference<Throwable>();
    var launch =
        Thread.ofPlatform()
            .start(() -> {
              try {
                KERNELS.run("waitsForever", Dim3.of(1), Dim3.of(2), (Object) new int[1]);
              } catch (KernelFault fault) {
                thrown.set(fault);
              }
            });
    STARTED.await();
    launch.interrupt();
    launch.join();
    assertThat(thrown.get()).hasMessageContaining("the launch was interrupted");
  }

  private static AbstractThrowableAssert<?, KernelFault> assertFault(
      String kernel, Dim3 grid, Dim3 block, Object... arguments) {
    return assertThat(
            catchThrowableOfType(
                KernelFault.class, () -> KERNELS.run(kernel, grid, block, arguments)))
        .isNotNull();
  }
}
