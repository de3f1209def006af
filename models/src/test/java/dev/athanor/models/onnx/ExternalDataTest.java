package dev.athanor.models.onnx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.models.ModelException;
import dev.athanor.models.onnx.proto.AttributeProto;
import dev.athanor.models.onnx.proto.GraphProto;
import dev.athanor.models.onnx.proto.ModelProto;
import dev.athanor.models.onnx.proto.NodeProto;
import dev.athanor.models.onnx.proto.StringStringEntryProto;
import dev.athanor.models.onnx.proto.TensorProto;
import dev.athanor.models.onnx.proto.ValueInfoProto;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reads models whose tensors are stored in other files of their folder. */
class ExternalDataTest {

  /** Two numbers after four other bytes. */
  private static final MemorySegment WEIGHTS =
      MemorySegment.ofArray(new byte[] {9, 9, 9, 9, 0, 0, (byte) 0x80, 0x3F, 0, 0, 0, 0x40});

  private static TensorProto tensor(Map<String, String> where) {
    var tensor =
        TensorProto.newBuilder()
            .setName("w")
            .setDataType(1)
            .addDims(2)
            .setDataLocation(TensorProto.DataLocation.EXTERNAL);
    where.forEach((key, value) ->
        tensor.addExternalData(StringStringEntryProto.newBuilder().setKey(key).setValue(value)));
    return tensor.build();
  }

  private static OnnxModel read(GraphProto.Builder graph) {
    var model = ModelProto.newBuilder().setGraph(graph).build();
    return OnnxModel.read(
        MemorySegment.ofArray(model.toByteArray()), Map.of("weights/w.bin", WEIGHTS));
  }

  /** Returns the model y = w. */
  private static OnnxModel read(Map<String, String> where) {
    return read(
        GraphProto.newBuilder()
            .addInitializer(tensor(where))
            .addNode(NodeProto.newBuilder().setOpType("Identity").addInput("w").addOutput("y"))
            .addOutput(ValueInfoProto.newBuilder().setName("y")));
  }

  private static Map<String, String> at(String location, String offset, String length) {
    return Map.of("location", location, "offset", offset, "length", length);
  }

  @ParameterizedTest
  @CsvSource({"weights/w.bin", "./weights/w.bin"})
  void weightsAreViewsOfTheFile(String location) {
    var weight = read(at(location, "4", "8")).weights().iterator().next();
    assertThat(weight.toDoubles()).containsExactly(1, 2);
    assertThat(weight.data().heapBase()).isEqualTo(WEIGHTS.heapBase());
    assertThat(weight.data().address()).isEqualTo(4);
  }

  @Test
  void attributesMayBeExternalToo() {
    var value =
        AttributeProto.newBuilder().setName("value").setT(tensor(at("weights/w.bin", "4", "8")));
    var model =
        read(
            GraphProto.newBuilder()
                .addNode(
                    NodeProto.newBuilder().setOpType("Constant").addAttribute(value).addOutput("y"))
                .addOutput(ValueInfoProto.newBuilder().setName("y")));
    assertThat(model.reference(Map.of()))
        .hasEntrySatisfying("y", y -> assertThat(y.toDoubles()).containsExactly(1, 2));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "w.bin | 0 | 8 | tensor \"w\" is stored in the file \"w.bin\", which the model's folder does not have; store the folder as a zip",
        "weights/../../w.bin | 0 | 8 | tensor \"w\" is stored in the file \"weights/../../w.bin\", which the model's folder does not have; store the folder as a zip",
        "weights/w.bin | 0 | 4 | tensor \"w\" is f32[2], which has 8 bytes; the file has 4",
        "weights/w.bin | 5 | 8 | tensor \"w\" has 8 bytes from byte 5 of \"weights/w.bin\", which ends after 12 bytes",
        "weights/w.bin | 999999999999999999 | 8 | tensor \"w\" has 8 bytes from byte 999999999999999999 of \"weights/w.bin\", which ends after 12 bytes",
        "weights/w.bin | -4 | 8 | tensor \"w\" has the offset \"-4\" in its file; it must be a number of bytes",
        "weights/w.bin | 4 | x | tensor \"w\" has the length \"x\" in its file; it must be a number of bytes",
      })
  void refusesBytesThatTheFolderDoesNotHave(
      String location, String offset, String length, String message) {
    assertThatThrownBy(() -> read(at(location, offset, length)))
        .isInstanceOf(ModelException.Malformed.class)
        .hasMessage(message);
  }
}
