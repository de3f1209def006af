package dev.athanor.models.onnx;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.athanor.models.ModelException;
import dev.athanor.models.onnx.file.TensorProtos;
import dev.athanor.models.onnx.proto.ModelProto;
import dev.athanor.models.onnx.proto.TensorProto;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A model with inputs and expected outputs, such as a test of the onnx package.
 *
 * @param inputs messages of tensors
 * @param expected messages of tensors
 * @param relative the relative tolerance
 * @param absolute the absolute tolerance
 */
record ModelCase(
    String name,
    ByteString model,
    List<byte[]> inputs,
    List<byte[]> expected,
    double relative,
    double absolute) {

  /** The expected results of these dtypes are rounded at every step. */
  private static final Map<DType, Double> TWO_ULPS = Map.of(DType.F16, 0x1p-9, DType.BF16, 0x1p-6);

  /** Returns models and tests of the onnx package. */
  static List<ModelCase> of(Map<String, Map<String, byte[]>> files) {
    var cases = new ArrayList<ModelCase>();
    files.forEach((name, each) -> cases.add(of(name, each)));
    return cases;
  }

  private static ModelCase of(String name, Map<String, byte[]> files) {
    var inputs = new ArrayList<byte[]>();
    var expected = new ArrayList<byte[]>();
    files.forEach((file, bytes) -> {
      if (file.startsWith("input")) {
        inputs.add(bytes);
      } else if (file.startsWith("output")) {
        expected.add(bytes);
      }
    });
    var tolerance =
        new String(Objects.requireNonNull(files.get("tolerance")), UTF_8).split(" ", -1);
    return new ModelCase(
        name,
        ByteString.copyFrom(Objects.requireNonNull(files.get("model"))),
        inputs,
        expected,
        Double.parseDouble(tolerance[0]),
        Double.parseDouble(tolerance[1]));
  }

  String operator() throws InvalidProtocolBufferException {
    return ModelProto.parseFrom(model).getGraph().getNode(0).getOpType();
  }

  /** Returns the inputs by name. */
  Map<String, HostTensor> tensors() throws InvalidProtocolBufferException {
    var given = new LinkedHashMap<String, HostTensor>();
    for (var bytes : inputs) {
      var tensor = TensorProto.parseFrom(bytes);
      given.put(tensor.getName(), TensorProtos.read(tensor));
    }
    return given;
  }

  /** Returns "passed", "wrong: …", or why the import does not support the node. */
  String outcome() throws InvalidProtocolBufferException {
    Map<String, HostTensor> results;
    var tensors = new ArrayList<HostTensor>();
    try {
      var read = OnnxModel.read(model.toByteArray());
      var given = tensors();
      for (var bytes : expected) {
        tensors.add(TensorProtos.read(TensorProto.parseFrom(bytes)));
      }
      results = read.reference(given);
    } catch (ModelException e) {
      return Objects.requireNonNull(e.getMessage());
    }
    if (results.size() != tensors.size()) {
      return "wrong: %d outputs, expected %d".formatted(results.size(), tensors.size());
    }
    int i = 0;
    for (var result : results.values()) {
      var difference = difference(result, tensors.get(i++));
      if (!difference.isEmpty()) {
        return "wrong: " + difference;
      }
    }
    return "passed";
  }

  private String difference(HostTensor result, HostTensor wanted) {
    if (!result.type().equals(wanted.type())) {
      return "%s, expected %s".formatted(result.type(), wanted.type());
    }
    double ulps = Math.max(relative, TWO_ULPS.getOrDefault(wanted.type().dtype(), 0.0));
    double least = Math.max(absolute, 1e-6);
    for (long i = 0; i < wanted.type().shape().elements(); i++) {
      double one = result.get(i);
      double other = wanted.get(i);
      boolean close =
          one == other
              || (Double.isNaN(one) && Double.isNaN(other))
              || Math.abs(one - other) <= least + ulps * Math.abs(other);
      if (!close) {
        return "element %d is %s, expected %s".formatted(i, one, other);
      }
    }
    return "";
  }

  @Override
  public String toString() {
    return name;
  }
}
