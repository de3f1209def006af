package dev.athanor.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.IntegerList;
import dev.athanor.api.v1.OpAttribute;
import dev.athanor.api.v1.OpInput;
import dev.athanor.api.v1.OpOutput;
import dev.athanor.api.v1.TensorList;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests lists of inputs, outputs and attribute values in requests and descriptions. */
class ListsTest {

  private static final HostTensor X = HostTensor.scalar(1);

  private static OpCall call() {
    return OpCall.of("map")
        .input("x", List.of(X, X))
        .attribute("axes", 0, 2)
        .attribute("constants", 0.5, 2)
        .attribute("sizes", List.of(3L))
        .attribute("mixed", List.of(1, 0.5))
        .attribute("none", List.<Long>of())
        .attribute("expression", "x0, x1")
        .output("y", 2);
  }

  @Test
  void namesTheTensorsOfLists() {
    assertThat(call().inputs().keySet()).containsExactly("x0", "x1");
    assertThat(call().outputs()).containsExactly("y0", "y1");
    assertThatThrownBy(() -> OpCall.of("split").output("y", 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("The number of outputs y0, y1, … must be at least 1, not 0.");
  }

  @Test
  void sendsListsInJson() {
    var json = StandardCharsets.UTF_8.decode(Json.op(call(), Map.of())).toString();
    assertThat(json)
        .contains(
            "\"attributes\":{\"axes\":[0,2],\"constants\":[0.5,2.0],\"sizes\":[3],\"mixed\":[1,0.5],\"none\":[],\"expression\":\"x0, x1\"}");
  }

  @Test
  void sendsListsInQueries() {
    try (var server = new FakeServer(FakeServer.json(200, "{\"outputs\": {}}"));
        var athanor = Athanor.connect(server.url())) {
      athanor.run(call());
      assertThat(server.requests.get(0).path())
          .contains("axes=0%2C2&constants=0.5%2C2.0&sizes=3&mixed=1%2C0.5&none=&expression=x0");
    }
  }

  @Test
  void sendsListsOverGrpc() {
    var request = Protos.run(call(), Map.of(), null);
    assertThat(request.getAttributesOrThrow("axes").getIntegers().getValuesList())
        .containsExactly(0L, 2L);
    assertThat(request.getAttributesOrThrow("constants").getNumbers().getValuesList())
        .containsExactly(0.5, 2.0);
    assertThat(request.getAttributesOrThrow("sizes").getIntegers().getValuesList())
        .containsExactly(3L);
    assertThat(request.getAttributesOrThrow("mixed").getNumbers().getValuesList())
        .containsExactly(1.0, 0.5);
    assertThat(request.getAttributesOrThrow("none").hasIntegers()).isTrue();
    assertThat(request.getAttributesOrThrow("expression").getText()).isEqualTo("x0, x1");
  }

  @Test
  void recordsListsInPipelines() {
    try (var athanor = Athanor.connect("http://127.0.0.1:1")) {
      var pipeline = athanor.pipeline();
      var values = pipeline.run(call());
      assertThat(values.keySet()).containsExactly("y0", "y1");
      var joined =
          pipeline.run(OpCall.of("concat").input("x", List.copyOf(values.values())).output("y"));
      assertThat(joined.keySet()).containsExactly("y");
    }
  }

  @Test
  void describesLists() {
    var x = TensorList.newBuilder().setName("x").setCount(3).build();
    var y = TensorList.newBuilder().setName("y").setCount(2).build();
    var axes = IntegerList.newBuilder().addValues(0).addValues(2);
    var overGrpc =
        Protos.op(
            dev.athanor.api.v1.OpDescription.newBuilder()
                .addInputs(OpInput.newBuilder().setName("x0").setList(x))
                .addAttributes(
                    OpAttribute.newBuilder()
                        .setName("axes")
                        .setDefaultValue(AttributeValue.newBuilder().setIntegers(axes)))
                .addOutputs(OpOutput.newBuilder().setName("y0").setList(y))
                .addOutputs(OpOutput.newBuilder().setName("sum"))
                .build());
    assertThat(overGrpc.attributes().get(0).defaultValue()).isEqualTo(List.of(0L, 2L));
    var json =
        """
        {"ops": [{
          "inputs": [{"name": "x0", "list": {"name": "x", "count": 3}, "optional": false}],
          "outputs": [{"name": "y0", "list": {"name": "y", "count": 2}, "optional": false},
                      {"name": "sum", "optional": false}]}]}
        """;
    var overHttp = Json.ops(ByteBuffer.wrap(json.getBytes(StandardCharsets.UTF_8))).get(0);
    for (var op : List.of(overGrpc, overHttp)) {
      assertThat(op.inputs().get(0).list()).isEqualTo(new OpDescription.TensorList("x", 3));
      assertThat(op.outputs().get(0).names()).containsExactly("y0", "y1");
      assertThat(op.outputs().get(1).names()).containsExactly("sum");
    }
  }
}
