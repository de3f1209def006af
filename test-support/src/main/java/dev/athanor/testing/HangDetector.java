package dev.athanor.testing;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Ends a test run that hangs, after it has printed the stacks of all threads and written them to
 * {@code target/hang-PID.txt}. A run hangs if for a long time no test starts or ends although the
 * processes of the run use the processor, or if they do not use it at all. Both are measured in
 * processor time, of this process and its descendants, so that a slow or busy machine does not end
 * a run.
 */
public final class HangDetector implements TestExecutionListener {

  /** Processor time without progress: an endless loop. {@code -Dathanor.test.cpu-minutes}. */
  private static final Duration BUSY =
      Duration.ofMinutes(Long.getLong("athanor.test.cpu-minutes", 30));

  /** Intervals in a row in which the run is idle: a deadlock. */
  private static final int IDLE_INTERVALS = 60;

  private static final Duration INTERVAL = Duration.ofSeconds(10);

  /** Processor time of an interval up to which the run counts as idle. */
  private static final Duration IDLE = Duration.ofMillis(100);

  // Static, since a JVM may run several plans, one after another.
  private static final Set<String> RUNNING = ConcurrentHashMap.newKeySet();
  private static final AtomicLong PROGRESS = new AtomicLong();
  private static final AtomicBoolean WATCHED = new AtomicBoolean();

  /** Called by JUnit's launcher. */
  public HangDetector() {}

  @Override
  public void testPlanExecutionStarted(TestPlan plan) {
    if (WATCHED.compareAndSet(false, true)) {
      Thread.ofPlatform().daemon().name("hang-detector").start(HangDetector::watch);
    }
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    PROGRESS.incrementAndGet();
    RUNNING.add(test.getUniqueId());
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    PROGRESS.incrementAndGet();
    RUNNING.remove(test.getUniqueId());
  }

  private static void watch() {
    var criterion = new HangCriterion(BUSY, IDLE, IDLE_INTERVALS);
    try {
      while (true) {
        Thread.sleep(INTERVAL);
        if (RUNNING.isEmpty()) { // between two plans
          PROGRESS.incrementAndGet();
        }
        var hang = criterion.next(PROGRESS.get(), processorTime());
        if (hang != null) {
          report("%s Running: %s%n%s%n".formatted(hang, RUNNING, stacks()));
          Thread.sleep(INTERVAL); // Surefire forwards the output of this process in the background
          Runtime.getRuntime().halt(1);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Prints a text, and writes it to a file that outlives this process. */
  private static void report(String text) {
    System.err.print(text);
    try {
      Files.writeString(
          Path.of("target", "hang-%d.txt".formatted(ProcessHandle.current().pid())), text);
    } catch (IOException e) {
      System.err.println("The report of the hang could not be written: " + e);
    }
  }

  private static Duration processorTime() {
    var self = ProcessHandle.current();
    return self.descendants()
        .map(HangDetector::processorTime)
        .reduce(processorTime(self), Duration::plus);
  }

  private static Duration processorTime(ProcessHandle process) {
    return process.info().totalCpuDuration().orElse(Duration.ZERO);
  }

  /** Returns the stacks of all threads, virtual ones too. */
  public static String stacks() {
    try {
      var folder = Files.createTempDirectory("stacks-");
      var file = folder.resolve("stacks.txt");
      try {
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
            .dumpThreads(file.toString(), ThreadDumpFormat.TEXT_PLAIN);
        return Files.readString(file);
      } finally {
        Files.deleteIfExists(file);
        Files.delete(folder);
      }
    } catch (IOException e) {
      return "The stacks could not be written: " + e;
    }
  }
}
