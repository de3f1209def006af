package dev.athanor.service.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.move.Layout;
import dev.athanor.service.tensor.Tenant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MemoryPlanTest {

  private static final Op COPY = Catalogue.load().find("copy").orElseThrow();
  private static final TensorType TYPE = TensorType.of(DType.F32, 16, 16);
  private static final long BYTES = 1024;

  private final List<RunStep> steps = new ArrayList<>();

  /** Adds a step that writes a part of a value. */
  private RunValue copy(RunValue into, RunValue part) {
    try (var device = new EmulatedDevice()) {
      var inputs = Map.of("into", into, "x", part);
      var types = Map.of("into", into.type(), "x", part.type());
      var attributes = Attributes.of(COPY.description(), Map.of());
      var plan = COPY.plan(types, attributes, device.capability());
      var y = new RunValue(Objects.requireNonNull(plan.outputs().get("y")));
      inputs.values().forEach(value -> value.useIn(steps.size()));
      y.useIn(steps.size());
      steps.add(new RunStep("copy", COPY::mayReplace, plan, "f32", inputs, Map.of("y", y)));
      return y;
    }
  }

  private MemoryPlan plan() {
    var numbers = PipelineKey.numbers(steps);
    return MemoryPlan.of(PipelineKey.of(Tenant.LOCAL, steps, numbers), Set.of());
  }

  /** Of a chain, only the input and the output of a step exist at the same time. */
  @Test
  void valuesShareMemoryAfterTheirLastUse() {
    var x = new RunValue(TYPE);
    var value = x;
    for (int i = 0; i < 10; i++) {
      value = copy(value, value);
    }
    assertThat(plan().bytes()).isEqualTo(2 * BYTES);
    copy(x, value);
    assertThat(plan().bytes()).as("x lives until the end").isEqualTo(3 * BYTES);
  }

  @Test
  void outputsStayUntilTheEnd() {
    var value = new RunValue(TYPE);
    for (int i = 0; i < 5; i++) {
      value = copy(value, value);
      value.setOutput();
    }
    assertThat(plan().bytes()).as("the input is not needed any more").isEqualTo(5 * BYTES);
  }

  /** A value with a buffer of its own lends it to earlier values. */
  @Test
  void valuesUseTheBuffersOfLaterOnes() {
    var x = new RunValue(TYPE);
    var a = copy(x, x);
    var y = copy(a, a);
    y.setOutput();
    var numbers = PipelineKey.numbers(steps);
    var key = PipelineKey.of(Tenant.LOCAL, steps, numbers);
    int separate = Objects.requireNonNull(numbers.get(y));
    assertThat(MemoryPlan.of(key, Set.of(separate)).bytes()).as("only a").isEqualTo(BYTES);
  }

  @Test
  void viewsAndReplacementsAreInTheMemoryOfOthers() {
    var x = new RunValue(TYPE);
    var row = x.view(TensorType.of(DType.F32, 1, 16), 512, new Layout(List.of(16L, 1L), 0));
    var y = copy(x, row);
    y.replace(x);
    var plan = plan();
    assertThat(plan.bytes()).isEqualTo(BYTES);
    assertThat(plan.places()).hasSize(1);
  }
}
