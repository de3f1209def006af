package dev.athanor.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.athanor.cli.Athanor;
import dev.athanor.models.onnx.proto.ModelProto;
import dev.athanor.models.onnx.proto.NodeProto;
import dev.athanor.testing.OnnxFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests {@code athanor import} without a service. */
class ImportCommandTest {

  @TempDir Path folder;

  private static byte[] model(String name) {
    var files = Objects.requireNonNull(OnnxFiles.models().get(name));
    return Objects.requireNonNull(files.get("model"));
  }

  private Path file(byte[] model) throws IOException {
    return Files.write(folder.resolve("model.onnx"), model);
  }

  private CommandResult run(byte[] model, String... options) throws IOException {
    var line = new String[options.length + 2];
    line[0] = "import";
    line[1] = file(model).toString();
    System.arraycopy(options, 0, line, 2, options.length);
    return CommandResult.of(Athanor.commandLine(), line);
  }

  @Test
  void describesTheModel() throws IOException {
    var run = run(model("resnet"));
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .startsWith("input  x f32[1, 3, 16, 16]%noutput y%n".formatted())
        .containsPattern("(?m)^ +\\d+ Conv$")
        .containsPattern("(?m)^ +\\d+ Relu$");
  }

  @Test
  void explainsFusion() throws IOException {
    var run = run(model("llama"), "--explain", "--input", "x=2x5");
    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .startsWith("Before fusion%ninput  x i64[2, 5]%n".formatted())
        .contains("62 steps, 16 weights of 11,956 bytes", "After fusion", "21 steps, ")
        .containsPattern(
            "(?m)^\\S+ f32\\[2, 4, 5, 4] = attention\\(q=\\S+\\[2, 4, 5, 4], k=\\S+\\[2, 2, 5, 4], v=\\S+\\[2, 2, 5, 4]\\) causal=true scale=0\\.5$")
        .contains("output y f32[2, 5, 30] = ");
  }

  /** Extents that have names are 1, or those of another input. */
  @Test
  void choosesShapes() throws IOException {
    var model = named("llama");
    assertThat(run(model, "--explain").out()).contains("input  x i64[1, 1]");
    assertThat(run(model, "--explain", "--input", "x=2x5").out()).contains("input  x i64[2, 5]");
  }

  /** Returns a model whose input has extents with names. */
  private static byte[] named(String name) throws InvalidProtocolBufferException {
    var model = ModelProto.parseFrom(model(name)).toBuilder();
    var node = NodeProto.newBuilder().setOpType("Neg").addInput("x").addOutput("y");
    var graph = model.getGraphBuilder().clearNode().clearInitializer().addNode(node);
    var shape = graph.getInputBuilder(0).getTypeBuilder().getTensorTypeBuilder().getShapeBuilder();
    shape.getDimBuilder(0).setDimParam("batch");
    shape.getDimBuilder(1).setDimParam("length");
    return model.build().toByteArray();
  }

  @Test
  void listsAllNodesThatAreNotSupported() throws IOException {
    var model = ModelProto.parseFrom(model("resnet")).toBuilder();
    var graph = model.getGraphBuilder();
    graph.getNodeBuilder(0).setName("first").setOpType("Loop");
    graph.getNodeBuilder(1).setName("second").setOpType("NonZero");
    var run = run(model.build().toByteArray());
    assertThat(run.status()).isOne();
    assertThat(run.out().lines())
        .hasSize(2)
        .allMatch(line -> line.endsWith(" is not supported"))
        .anyMatch(line -> line.contains("Loop"))
        .anyMatch(line -> line.contains("NonZero"));
  }

  @Test
  void rejectsFilesThatAreNoModels() throws IOException {
    var run = run(new byte[] {'T', 'E', 'X', 'T'});
    assertThat(run.err())
        .startsWith(
            "athanor import: %s: the file of 4 bytes is not an ONNX model: "
                .formatted(folder.resolve("model.onnx")));
    assertThat(run.status()).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          x=2xA | athanor import: --input x=2xA: expected extents such as 2x5, or none for a scalar
          z=2x5 | athanor import: --input z: the inputs of the model are x i64[2, 5]
          x=2x6 | athanor import: %s: input "x" is i64[2, 6]; the model requires x i64[2, 5]
          """)
  void rejectsShapes(String input, String sentence) throws IOException {
    var run = run(model("llama"), "--explain", "--input", input);
    assertThat(run.err()).startsWith(sentence.formatted(folder.resolve("model.onnx")));
    assertThat(run.status()).isEqualTo(2);
  }
}
