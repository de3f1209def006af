package dev.athanor.service.model;

import dev.athanor.models.onnx.proto.AttributeProto;
import dev.athanor.models.onnx.proto.GraphProto;
import dev.athanor.models.onnx.proto.ModelProto;
import dev.athanor.models.onnx.proto.NodeProto;
import dev.athanor.models.onnx.proto.OperatorSetIdProto;
import dev.athanor.models.onnx.proto.TensorProto;
import dev.athanor.models.onnx.proto.TensorShapeProto;
import dev.athanor.models.onnx.proto.TensorShapeProto.Dimension;
import dev.athanor.models.onnx.proto.TypeProto;
import dev.athanor.models.onnx.proto.ValueInfoProto;
import dev.athanor.testing.CheckpointFiles;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import tools.jackson.databind.json.JsonMapper;

/** Small ONNX files. */
public final class SmallModels {

  /** The columns of the matrices of {@link #adding}. */
  public static final int WIDTH = 12;

  private SmallModels() {}

  private static TensorProto tensor(String name, List<Long> shape, float... values) {
    var tensor = TensorProto.newBuilder().setName(name).setDataType(1).addAllDims(shape);
    for (float value : values) {
      tensor.addFloatData(value);
    }
    return tensor.build();
  }

  public static NodeProto node(String operator, String output, String... inputs) {
    return NodeProto.newBuilder()
        .setOpType(operator)
        .setName(output)
        .addAllInput(Arrays.asList(inputs))
        .addOutput(output)
        .build();
  }

  /** Returns a float matrix with a number of rows that calls choose. */
  public static ValueInfoProto matrix(String name, String rows, long columns) {
    return matrix(name, rows, Dimension.newBuilder().setDimValue(columns));
  }

  /** An f32 matrix whose rows and columns calls choose. */
  public static ValueInfoProto matrix(String name, String rows, String columns) {
    return matrix(name, rows, Dimension.newBuilder().setDimParam(columns));
  }

  private static ValueInfoProto matrix(String name, String rows, Dimension.Builder columns) {
    var shape =
        TensorShapeProto.newBuilder()
            .addDim(Dimension.newBuilder().setDimParam(rows))
            .addDim(columns);
    var type = TypeProto.Tensor.newBuilder().setElemType(1).setShape(shape);
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(TypeProto.newBuilder().setTensorType(type))
        .build();
  }

  /** Returns the file of a graph. */
  public static byte[] model(GraphProto.Builder graph) {
    return ModelProto.newBuilder()
        .setIrVersion(8)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setVersion(18))
        .setGraph(graph)
        .build()
        .toByteArray();
  }

  /** y = relu(x + w), of {@link #WIDTH} columns; t = its transpose. */
  public static GraphProto.Builder adding(float weight) {
    var weights = new float[WIDTH];
    Arrays.fill(weights, weight);
    var permutation =
        AttributeProto.newBuilder().setName("perm").addAllInts(List.of(1L, 0L)).build();
    return GraphProto.newBuilder()
        .addInput(matrix("x", "rows", WIDTH))
        .addInitializer(tensor("w", List.of((long) WIDTH), weights))
        .addNode(node("Add", "sum", "x", "w"))
        .addNode(node("Relu", "y", "sum"))
        .addNode(node("Transpose", "t", "y").toBuilder().addAttribute(permutation))
        .addOutput(matrix("y", "rows", WIDTH))
        .addOutput(matrix("t", "rows", WIDTH));
  }

  /** y = relu(present), where present is the state followed by x: what a decoder does with keys. */
  public static byte[] appending() {
    var axis = AttributeProto.newBuilder().setName("axis").setI(1);
    return model(
        GraphProto.newBuilder()
            .addInput(matrix("x", "batch", "new"))
            .addInput(matrix("past_key_values.0.key", "batch", "past"))
            .addNode(
                node("Concat", "present.0.key", "past_key_values.0.key", "x").toBuilder()
                    .addAttribute(axis))
            .addNode(node("Relu", "y", "present.0.key"))
            .addOutput(matrix("y", "batch", "all"))
            .addOutput(matrix("present.0.key", "batch", "all")));
  }

  /** A zip of a decoder of two layers with at most 128 positions and 30 tokens. */
  public static byte[] decoder() throws IOException {
    return decoder(128);
  }

  /** A zip of a decoder of two layers and 30 tokens. */
  @SuppressWarnings("unchecked")
  public static byte[] decoder(int positions) throws IOException {
    var files = Objects.requireNonNull(CheckpointFiles.all().get("llama"));
    var json = new JsonMapper();
    Map<String, Object> config = json.readValue(files.get("config.json"), Map.class);
    config.put("max_position_embeddings", positions);
    var body = new ByteArrayOutputStream();
    try (var zip = new ZipOutputStream(body)) {
      add(zip, "config.json", json.writeValueAsBytes(config));
      add(zip, "model.safetensors", Objects.requireNonNull(files.get("model.safetensors")));
    }
    return body.toByteArray();
  }

  private static void add(ZipOutputStream zip, String name, byte[] content) throws IOException {
    zip.putNextEntry(new ZipEntry(name));
    zip.write(content);
    zip.closeEntry();
  }
}
