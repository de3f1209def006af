package dev.athanor.service.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.models.ModelDefinition.Input;
import dev.athanor.ops.DType;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExtentRangesTest {

  private static final List<Input> INPUTS =
      List.of(new Input("x", DType.F32, List.of("batch", "3", "x.2")));

  @Test
  void givesTheTypesAtTheEndsOfAllRanges() {
    var ranges = ExtentRanges.parse("batch:1-8,x.2:0-5");
    ranges.checkNames(INPUTS);
    assertThat(ranges.lowest(INPUTS)).isEqualTo(Map.of("x", TensorType.of(DType.F32, 1, 3, 0)));
    assertThat(ranges.highest(INPUTS)).isEqualTo(Map.of("x", TensorType.of(DType.F32, 8, 3, 5)));
    assertThat(ExtentRanges.parse(ranges.text())).isEqualTo(ranges);
  }

  @Test
  void acceptsAllExtentsWithoutRanges() {
    assertThat(ExtentRanges.parse("")).isEqualTo(ExtentRanges.ANY);
    ExtentRanges.ANY.checkNames(INPUTS);
    ExtentRanges.ANY.check(INPUTS, Map.of("x", TensorType.of(DType.F32, 99, 3, 99)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "batch | extents has \"batch\"; each part must be a name and a range, as in batch:1-8",
        "batch:1-8, | extents has \"\"; each part must be a name and a range, as in batch:1-8",
        "batch:-1-8 | extents has \"batch:-1-8\"; each part must be a name and a range, as in batch:1-8",
        "batch:9-8 | extents has \"batch:9-8\"; a range ends at or after its beginning, and a name has one range",
        "batch:1-8,batch:2-3 | extents has \"batch:2-3\"; a range ends at or after its beginning, and a name has one range",
      })
  void refusesWhatIsNoRange(String text, String message) {
    assertThatThrownBy(() -> ExtentRanges.parse(text))
        .isInstanceOfSatisfying(
            Failure.Refused.class, e -> assertThat(e.field()).isEqualTo("extents"))
        .hasMessage(message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "batch:1-8 | [batch]",
        "batch:1-8,x.2:1-2,rows:1-2 | [batch, rows, x.2]",
      })
  void everyExtentWithANameHasARange(String text, String given) {
    assertThatThrownBy(() -> ExtentRanges.parse(text).checkNames(INPUTS))
        .isInstanceOf(Failure.Refused.class)
        .hasMessage(
            "extents has ranges of %s; the extents of the model's inputs that have names are [batch, x.2]"
                .formatted(given));
  }

  @Test
  void refusesCallsOutsideARange() {
    var ranges = ExtentRanges.parse("batch:2-8,x.2:1-2");
    ranges.check(INPUTS, Map.of("x", TensorType.of(DType.F32, 8, 3, 1)));
    assertThatThrownBy(() -> ranges.check(INPUTS, Map.of("x", TensorType.of(DType.F32, 1, 3, 1))))
        .isInstanceOf(Failure.Refused.class)
        .hasMessage("input \"x\" is f32[1, 3, 1]; the model is stored for batch of 2-8");
  }
}
