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
 * Runs a small op the way every request does and compares it with its reference: what stands
 * between a start and readiness.
 */
public final class SelfTest {

  private static final Logger LOG = LoggerFactory.getLogger(SelfTest.class);
  private static final long SEED = 42;

  private final Catalogue catalogue;
  private final OpRunner runner;
  private final DeviceRuntimes places;
  private final DeviceHealth health;

  public SelfTest(
      Catalogue catalogue, OpRunner runner, DeviceRuntimes places, DeviceHealth health) {
    this.catalogue = catalogue;
    this.runner = runner;
    this.places = places;
    this.health = health;
  }

  /**
   * Tests all devices with {@code matmul}, or the first op there is.
   *
   * @return whether it passed; if not, the log says why
   */
  public boolean run() {
    var op =
        catalogue
            .find("matmul")
            .or(() -> catalogue.all().stream().findFirst())
            .orElseThrow(() -> new IllegalStateException("there are no ops on the class path"));
    try {
      places.all().forEach(place -> check(op, place));
      health.passed();
      return true;
    } catch (Failure e) {
      LOG.error("the self-test could not run {}: {}", op.description().name(), e.getMessage(), e);
    } catch (IllegalStateException e) {
      LOG.error("the self-test failed: {}", e.getMessage());
    }
    return false;
  }

  private void check(Op op, DeviceRuntime place) {
    var test =
        op.cases(new Random(SEED), true).stream()
            .min((a, b) -> Long.compare(bytes(a), bytes(b)))
            .orElseThrow(
                () -> new IllegalStateException(op.description().name() + " has no cases"));
    var inputs = new HashMap<String, Call.Input>();
    test.inputs().forEach((name, tensor) -> inputs.put(name, new Call.Input.Inline(tensor)));
    var result =
        runner.run(
            new Call(op, inputs, test.attributes().values(), Map.of(), RequestContext.OWN), place);
    op.reference(test.inputs(), test.attributes())
        .forEach((name, reference) -> {
          if (!(result.outputs().get(name) instanceof Result.Output.Inline(HostTensor out))) {
            throw new IllegalStateException("%s gave no %s".formatted(result.kernel(), name));
          }
          var tolerance = test.tolerance(name);
          double error = tolerance.error(out.toDoubles(), reference);
          if (!(error <= tolerance.limit())) {
            throw new IllegalStateException(
                "%s: output %s is off by %s, at most %s is right"
                    .formatted(result.kernel(), name, error, tolerance));
          }
        });
    LOG.debug("self-test passed on {}: {}", place.id(), result.kernel());
  }

  private static long bytes(Op.Case test) {
    return test.inputs().values().stream().mapToLong(tensor -> tensor.type().bytes()).sum();
  }
}
