package dev.athanor.service.run;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.DeviceRuntimes;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.stream.RequestContext;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a small op through the same path as requests and compares the result with the reference. The
 * service becomes ready only after it passes.
 */
public final class SelfTest {

  private static final Logger LOG = LoggerFactory.getLogger(SelfTest.class);
  private static final long SEED = 42;

  private final Catalogue catalogue;
  private final OpRunner runner;
  private final DeviceRuntimes runtimes;
  private final DeviceHealth health;

  public SelfTest(
      Catalogue catalogue, OpRunner runner, DeviceRuntimes runtimes, DeviceHealth health) {
    this.catalogue = catalogue;
    this.runner = runner;
    this.runtimes = runtimes;
    this.health = health;
  }

  /**
   * Tests all devices with {@code matmul}, or with the first op of the catalog.
   *
   * @return whether the test passed; the log contains the reason if not
   */
  public boolean run() {
    var op =
        catalogue
            .find("matmul")
            .or(() -> catalogue.all().stream().findFirst())
            .orElseThrow(() -> new IllegalStateException("no ops found on the class path"));
    try {
      runtimes.all().forEach(runtime -> check(op, runtime));
      health.passed();
      return true;
    } catch (Failure e) {
      LOG.error("Self-test could not run {}: {}", op.description().name(), e.getMessage(), e);
    } catch (IllegalStateException e) {
      LOG.error("Self-test failed: {}", e.getMessage());
    }
    return false;
  }

  private void check(Op op, DeviceRuntime runtime) {
    var test =
        op.cases(new Random(SEED), true).stream()
            .min((a, b) -> Long.compare(bytes(a), bytes(b)))
            .orElseThrow(
                () -> new IllegalStateException(op.description().name() + " has no test cases"));
    var inputs = new HashMap<String, Call.Input>();
    test.inputs().forEach((name, tensor) -> inputs.put(name, new Call.Input.Inline(tensor)));
    var result =
        runner.run(
            new Call(op, inputs, test.attributes().values(), Map.of(), RequestContext.OWN),
            runtime);
    op.reference(test.inputs(), test.attributes())
        .forEach((name, reference) -> {
          if (!(result.outputs().get(name) instanceof Result.Output.Inline(HostTensor out))) {
            throw new IllegalStateException(
                "%s did not return output %s".formatted(result.kernel(), name));
          }
          var tolerance = test.tolerance(name);
          double error = tolerance.error(out.toDoubles(), reference);
          if (!(error <= tolerance.limit())) {
            throw new IllegalStateException(
                "%s: output %s has an error of %s, which exceeds the tolerance of %s"
                    .formatted(result.kernel(), name, error, tolerance));
          }
        });
    LOG.debug("Self-test passed on {}: {}", runtime.id(), result.kernel());
  }

  private static long bytes(Op.Case test) {
    return test.inputs().values().stream().mapToLong(tensor -> tensor.type().bytes()).sum();
  }
}
