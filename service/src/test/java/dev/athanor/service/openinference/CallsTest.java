package dev.athanor.service.openinference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.openinference.InferenceRequest.Input;
import dev.athanor.service.openinference.InferenceRequest.Output;
import dev.athanor.service.openinference.ServedModel.Arguments;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Destination;
import dev.athanor.service.run.Result;
import dev.athanor.service.run.TestOps;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorSettings;
import dev.athanor.service.tensor.TensorStore;
import java.math.BigInteger;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests the translation of inference requests into calls. */
class CallsTest {

  private static final Tenant TENANT = new Tenant("someone");
  private static final TensorStore STORE =
      new TensorStore(
          new Handles("test"),
          new TensorSettings(1000, 10, Duration.ofHours(1), 0, Duration.ofHours(1)),
          Clock.systemUTC());

  private static final OpModel IDENTITY = new OpModel(new TestOps.Identity());

  private static Arguments call(
      Map<String, Object> parameters, RequestContext context, Output... outputs) {
    var x = new Input.Data("x", HostTensor.of(TensorType.of(DType.F32, 1), 1));
    var request = new InferenceRequest(parameters, List.of(x), List.of(outputs), Datatypes.NUMBERS);
    return Calls.of(IDENTITY, request, STORE.of(TENANT), context);
  }

  @Test
  void parametersSetAttributesDeadlineAndPriority() {
    var context = new RequestContext(TENANT, 2, Deadline.in(60_000), () -> true);
    var call = call(Map.of("gate", true, "timeout", 500_000, "priority", 1L), context);
    assertThat(call.attributes()).isEqualTo(Map.of("gate", true));
    assertThat(call.context().tenant()).isEqualTo(TENANT);
    assertThat(call.context().priority()).isEqualTo(1);
    assertThat(call.context().clientHasGone().getAsBoolean()).isTrue();
    assertThat(call.context().deadline().millis()).isEqualTo(500);
    assertThat(call.context().deadline().remainingNanos())
        .isBetween(-TimeUnit.HOURS.toNanos(1), TimeUnit.MILLISECONDS.toNanos(500));
  }

  @Test
  void earliestDeadlineAppliesAndZeroMeansNone() {
    var context = new RequestContext(TENANT, 2, Deadline.in(60_000), () -> false);
    assertThat(millis(Map.of("timeout", 0, "deadline_ms", 0, "priority", 0), context))
        .isEqualTo(60_000);
    assertThat(millis(Map.of("timeout", 90_000_000), context)).isEqualTo(60_000);
    assertThat(millis(Map.of("timeout", 1, "deadline_ms", 7), context)).isEqualTo(1);
    assertThat(millis(Map.of("timeout", 9_000, "deadline_ms", 7), context)).isEqualTo(7);
    assertThat(call(Map.of("priority", 0), context).context().priority()).isEqualTo(2);
    var unlimited = BigInteger.TWO.pow(64).subtract(BigInteger.ONE);
    assertThat(millis(Map.of("timeout", unlimited), context)).isEqualTo(60_000);
    assertThat(call(Map.of(), RequestContext.OWN).context().deadline().isSet()).isFalse();
  }

  @Test
  void higherPrioritiesNeedTheScope() {
    var context =
        new RequestContext(
            TENANT,
            TENANT.name(),
            3,
            false,
            Deadline.none(),
            () -> false,
            RequestContext.OWN.memory(),
            false);
    for (int priority : new int[] {1, 2}) {
      assertThatThrownBy(() -> call(Map.of("priority", priority), context))
          .isInstanceOfSatisfying(
              Failure.class,
              failure -> {
                assertThat(failure.code()).isEqualTo(Code.FORBIDDEN);
                assertThat(failure.field()).isEqualTo("parameters.priority");
              })
          .hasMessage(
              "parameters.priority is %d; a priority higher than 3 requires the scope \"priority\", which the caller lacks",
              priority);
    }
    for (int priority : new int[] {0, 3, 4, 5}) {
      assertThat(call(Map.of("priority", priority), context).context().priority())
          .isEqualTo(priority == 0 ? 3 : priority);
    }
  }

  private static long millis(Map<String, Object> parameters, RequestContext context) {
    return call(parameters, context).context().deadline().millis();
  }

  @Test
  void dropsUnnamedOutputsIfOthersAreNamed() {
    var all = call(Map.of(), RequestContext.OWN);
    assertThat(all.outputs()).isEmpty();
    assertThat(all.defaultTarget())
        .isEqualTo(new Call.Target(new Destination.Inline(Datatypes.NUMBERS), null));
    var one = call(Map.of(), RequestContext.OWN, new Output("y", new Destination.Keep()));
    assertThat(one.outputs()).containsOnlyKeys("y");
    assertThat(one.defaultTarget()).isNull();
  }

  @Test
  void reportsTimes() {
    var timing = new Result.Timing(0.5, 1.04, 2, 3, 4, 10.26);
    var result =
        new Result(
            "emulator:0", List.of(new Result.Step("op", "kernel_f32", 3, 0)), Map.of(), timing, 1);
    assertThat(Inference.of(IDENTITY, result).parameters())
        .isEqualTo(
            Map.of(
                "kernel", "kernel_f32",
                "prepare_us", 0.5,
                "queue_us", 1.0,
                "compute_input_us", 2.0,
                "compute_infer_us", 3.0,
                "compute_output_us", 4.0,
                "total_us", 10.3));
  }
}
