package dev.athanor.testing;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.Objects;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Writes the processor time of each test class, in seconds, to {@code target/processor-times.txt}
 * if {@code -Dathanor.test.times} is set. Unlike elapsed time it hardly depends on what else the
 * machine does. Child processes are not included.
 */
public final class ProcessorTimes implements TestExecutionListener {

  private static final Path REPORT = Path.of("target", "processor-times.txt");

  private final OperatingSystemMXBean system =
      Objects.requireNonNull(ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class));

  private long last;

  /** Called by JUnit's launcher. */
  public ProcessorTimes() {}

  @Override
  public void testPlanExecutionStarted(TestPlan plan) {
    last = system.getProcessCpuTime();
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    if (System.getProperty("athanor.test.times") != null
        && test.getSource().orElse(null) instanceof ClassSource type) {
      long now = system.getProcessCpuTime();
      var line = String.format(Locale.ROOT, "%8.2f %s%n", (now - last) / 1e9, type.getClassName());
      last = now;
      try {
        Files.writeString(REPORT, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
