package dev.athanor.junit;

import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Marks a test of kernels. The method may take a {@link dev.athanor.engine.device.Device} and a
 * {@link Launcher}, in addition to parameters of other extensions; so may {@code @BeforeEach} and
 * {@code @AfterEach} methods. Each invocation has its own device, which is closed afterwards.
 *
 * <p>The method is invoked on the emulator once for each combination of target, schedule, timing
 * and seed, and once on the first GPU. Without a GPU, that invocation is skipped with a reason.
 * Combinations without random choices run with the first seed only. The emulator runs one block at
 * a time, so invocations are reproducible.
 *
 * <p>A launch with findings of the sanitizer throws {@link
 * dev.athanor.engine.device.DeviceException.KernelFault}. If the test does not catch it, the test
 * fails with the text of the findings, and they are written as SARIF 2.1.0 to the file that the
 * configuration parameter {@value #SARIF} names, relative to the working directory; {@value
 * #DEFAULT_SARIF} by default.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@TestTemplate
@ExtendWith(GpuTestExtension.class)
public @interface GpuTest {

  /** JUnit configuration parameter: path of the SARIF file. */
  String SARIF = "athanor.sarif";

  /** Default of {@link #SARIF}. */
  String DEFAULT_SARIF = "target/athanor.sarif";

  /** Emulated targets. The default runs code for every GPU up to Hopper. */
  String[] targets() default "sm_90a";

  /** Thread schedules. */
  Schedule[] schedules() default {Schedule.CONVERGING, Schedule.ONE_BY_ONE, Schedule.RANDOM};

  /** Completion times of asynchronous operations. */
  AsyncTiming[] timings() default {AsyncTiming.LAZY, AsyncTiming.EAGER};

  /** Seeds of random schedules and timings. */
  long[] seeds() default 1;

  /** The level of the sanitizer. */
  Sanitize sanitize() default Sanitize.FULL;

  /** Kinds of findings to ignore. Faults that stop a kernel are always reported. */
  Report.Kind[] ignored() default {};

  /** Whether the test also runs on the first GPU. */
  boolean gpu() default true;
}
