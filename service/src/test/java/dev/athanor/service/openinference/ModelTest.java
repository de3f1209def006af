package dev.athanor.service.openinference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.run.TestOps;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the description of ops as models. */
class ModelTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          []                    | []
          […]                   | [-1]
          […, …]                | [-1]
          […, M, K]             | [-1, -1]
          […a, M, K] or […a, K, M] with transposeA | [-1, -1]
          [B, Hq, 1, D]         | [-1, -1, 1, -1]
          […, S, heads · headDim] | [-1, -1]
          [] or […]             | []
          that of x; [K, N] of gptq | [-1, -1]
          that of x             | [-1]
          """)
  void lettersAreVariableExtents(String text, String extents) {
    assertThat(Model.shape(text)).hasToString(extents);
  }

  @Test
  void roundTripsNamesOfDtypes() {
    for (var dtype : DType.values()) {
      assertThat(Datatypes.of(Datatypes.name(dtype), "datatype")).isEqualTo(dtype);
    }
    assertThat(Datatypes.NUMBERS)
        .contains(DType.F32, DType.F16, DType.BOOL)
        .doesNotContain(DType.BF16, DType.E4M3, DType.E5M2, DType.Q4_0);
    assertThatThrownBy(() -> Datatypes.of("BYTES", "inputs.a.datatype"))
        .isInstanceOf(Failure.Refused.class)
        .hasMessage(
            "inputs.a.datatype is \"BYTES\"; it must be one of FP64, FP32, FP16, BF16, FP8_E4M3,"
                + " FP8_E5M2, INT64, INT32, INT16, INT8, UINT8, UINT32, BOOL, Q4_0, Q4_1, Q5_0, Q8_0,"
                + " Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4, NF4");
  }

  @Test
  void everyOpIsAModel() {
    for (var op : Catalogue.load().all()) {
      var description = op.description();
      var model = Model.of(description);
      assertThat(model.inputs()).hasSameSizeAs(description.inputs());
      assertThat(model.outputs())
          .hasSize((int) description.outputs().stream().filter(each -> each.isListed()).count());
      for (var input : description.inputs()) {
        var tensor = model.inputs().get(description.inputs().indexOf(input));
        assertThat(input.dtypes()).as(model.name() + "." + input.name()).contains(tensor.dtype());
      }
      for (var attribute : description.attributes()) {
        assertThat(model.properties()).containsKey("parameters." + attribute.name());
        // the protocol reserves these parameters
        assertThat(attribute.name())
            .isNotIn("timeout", "priority", "deadline_ms", "binary_data_output")
            .doesNotStartWith("sequence_");
      }
    }
  }

  @Test
  void listsHaveAllInputsAndTheFirstOutput() {
    var join = Model.of(new TestOps.Join().description());
    assertThat(join.inputs())
        .containsExactly(
            new Model.Tensor("x0", DType.F32, List.of(-1L), false),
            new Model.Tensor("x1", DType.F32, List.of(-1L), true),
            new Model.Tensor("x2", DType.F32, List.of(-1L), true),
            new Model.Tensor("x3", DType.F32, List.of(-1L), true));
    assertThat(join.properties())
        .containsEntry("inputs.x0.list", "x0 … x3")
        .containsEntry("parameters.order", "text: the names of the parts in order")
        .doesNotContainKey("inputs.x1.shape");
    var split = Model.of(new TestOps.Split().description());
    assertThat(split.outputs())
        .containsExactly(new Model.Tensor("y0", DType.F32, List.of(-1L), false));
    assertThat(split.properties())
        .containsEntry("outputs.y0.list", "y0 … y3")
        .containsEntry("parameters.sizes", "integers from 1 to 100: the sizes of the parts")
        .doesNotContainKeys("inputs.x.list", "outputs.y1.shape");
  }

  @Test
  void matmulHasF32Tensors() {
    var model = Model.of(Catalogue.load().find("matmul").orElseThrow().description());
    assertThat(model.inputs().getFirst())
        .isEqualTo(new Model.Tensor("a", DType.F32, List.of(-1L, -1L), false));
    assertThat(model.inputs().getFirst().configType()).isEqualTo("TYPE_FP32");
    assertThat(model.outputs().getFirst().datatype()).isEqualTo("FP32");
    assertThat(model.properties())
        .containsEntry("inputs.a.shape", "[…a, M, K] or […a, K, M] with transposeA")
        .containsEntry("datatypes.FP8_E4M3", "bytes an element: 1");
  }
}
