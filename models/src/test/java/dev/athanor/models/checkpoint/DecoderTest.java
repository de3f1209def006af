package dev.athanor.models.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelDefinition.State;
import dev.athanor.models.References;
import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.Graph.Step;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DecoderTest {

  private static final int BLOCKS = 5;
  private static final int BLOCK_SIZE = 4;
  private static final double[][] BLOCK_TABLE = {{4, 1}, {0, 3}};

  /** The positions that the first call adds, and the tokens of each sequence among them. */
  private static final int PREFILL = 5;

  private static final int[] FIRST = {5, 3};

  private static void assertClose(double[] numbers, double[] expected, double limit) {
    assertThat(Tolerance.relative(limit).error(numbers, expected)).isLessThanOrEqualTo(limit);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "llama",
        "llama-bf16",
        "mistral",
        "qwen2",
        "qwen3",
        "gemma",
        "granite",
        "phi3",
        "mamba2"
      })
  void sequencesHaveTheLogitsOfTransformers(String name) {
    var checkpoint = Checkpoint.of(name);
    var model = checkpoint.model();
    var inputs = checkpoint.inputs();
    var outputs = References.run(model.graph(HostTensor.types(inputs)), inputs);
    var logits = get(outputs, "logits");
    var expected = checkpoint.output("logits");
    assertThat(logits.type()).isEqualTo(expected.type());
    assertClose(logits.toDoubles(), expected.toDoubles(), checkpoint.limit());

    var last = References.run(model.graph(HostTensor.types(inputs), Set.of("next")), inputs);
    assertThat(last.keySet()).containsExactly("next");
    var next = get(outputs, "next");
    assertThat(get(last, "next").toDoubles()).isEqualTo(next.toDoubles());
    for (int row = 0; row < 2; row++) {
      assertThat(numbers(next, row)).isEqualTo(numbers(logits, row, 7));
    }
  }

  private static HostTensor get(Map<String, HostTensor> tensors, String name) {
    return Objects.requireNonNull(tensors.get(name), name);
  }

  /** Returns the last dimension at some indices of the others. */
  private static double[] numbers(HostTensor tensor, int... indices) {
    long first = 0;
    for (int i = 0; i < indices.length; i++) {
      first = first * tensor.type().shape().extent(i) + indices[i];
    }
    int count = (int) tensor.type().shape().extent(-1);
    return tensor.toDoubles(first * count, count);
  }

  /** Two sequences with unlike numbers of tokens in one batch, in blocks of a shared pool. */
  @ParameterizedTest
  @ValueSource(
      strings = {"llama", "llama-bf16", "mistral", "qwen2", "qwen3", "gemma", "granite", "phi3"})
  void sessionsHaveTheLogitsOfTransformers(String name) {
    var checkpoint = Checkpoint.of(name);
    var model = checkpoint.model();
    var pools = pools(model);
    int calls = 1 + (int) checkpoint.input("tokens").type().shape().extent(1) - PREFILL;
    for (int call = 0; call < calls; call++) {
      int positions = call == 0 ? PREFILL : 1;
      int[] lengths = {FIRST[0] + call, FIRST[1] + call};
      var inputs = inputs(checkpoint.input("tokens"), positions, lengths);
      inputs.putAll(pools);
      var wanted = new HashSet<>(Set.of("logits", "next"));
      model.states().forEach(state -> wanted.add(state.output()));
      var outputs = References.run(model.graph(HostTensor.types(inputs), wanted), inputs);
      model.states().forEach(state -> pools.put(state.input(), get(outputs, state.output())));
      for (int row = 0; row < 2; row++) {
        assertThat(numbers(get(outputs, "next"), row))
            .isEqualTo(numbers(get(outputs, "logits"), row, positions - 1));
        for (int i = Math.max(0, positions - lengths[row]); i < positions; i++) {
          assertClose(
              numbers(get(outputs, "logits"), row, i),
              numbers(checkpoint.output("logits"), row, lengths[row] - positions + i),
              checkpoint.limit());
        }
      }
    }
  }

  /** Returns pools of NaN. */
  private static Map<String, HostTensor> pools(ModelDefinition model) {
    var pools = new HashMap<String, HostTensor>();
    for (var state : model.states()) {
      var cached = (State.Cached) state;
      var type = TensorType.of(cached.dtype(), BLOCKS, cached.heads(), BLOCK_SIZE, cached.size());
      var unwritten = new double[(int) type.shape().elements()];
      Arrays.fill(unwritten, Double.NaN);
      pools.put(cached.input(), HostTensor.of(type, unwritten));
    }
    return pools;
  }

  private static Map<String, HostTensor> inputs(HostTensor tokens, int positions, int[] lengths) {
    var given = new double[2 * positions];
    for (int row = 0; row < 2; row++) {
      for (int i = 0; i < positions; i++) {
        int position = lengths[row] - positions + i;
        given[row * positions + i] = position < 0 ? 0 : numbers(tokens, row)[position];
      }
    }
    var inputs = new LinkedHashMap<String, HostTensor>();
    inputs.put("tokens", HostTensor.of(TensorType.of(DType.I64, 2, positions), given));
    inputs.put(
        ModelDefinition.LENGTHS,
        HostTensor.of(TensorType.of(DType.I32, 2), lengths[0], lengths[1]));
    inputs.put(
        ModelDefinition.BLOCK_TABLE,
        HostTensor.of(
            TensorType.of(DType.I32, 2, 2),
            Arrays.stream(BLOCK_TABLE).flatMapToDouble(Arrays::stream).toArray()));
    return inputs;
  }

  private static Graph decoding(ModelDefinition model, int batch) {
    var types = new HashMap<String, TensorType>();
    types.put("tokens", TensorType.of(DType.I64, batch, 1));
    types.put(ModelDefinition.LENGTHS, TensorType.of(DType.I32, batch));
    types.put(ModelDefinition.BLOCK_TABLE, TensorType.of(DType.I32, batch, 2));
    types.putAll(HostTensor.types(pools(model)));
    var wanted = new HashSet<>(Set.of("next"));
    model.states().forEach(state -> wanted.add(state.output()));
    return model.graph(types, wanted);
  }

  private static List<Step> readers(Graph graph, String name) {
    return graph.steps().stream()
        .filter(step -> step.inputs().values().stream().anyMatch(in -> in.name().equals(name)))
        .toList();
  }

  /** A caller that writes the states into the pools changes nothing that another step reads. */
  @Test
  void poolsAreNeverCopied() {
    var model = Checkpoint.of("llama").model();
    var graph = decoding(model, 2);
    assertThat(model.states()).hasSize(4);
    for (var state : model.states()) {
      var appends = readers(graph, state.input());
      assertThat(appends).extracting(Step::op).containsExactly("cache-append");
      var output = Objects.requireNonNull(graph.outputs().get(state.output())).step();
      assertThat(appends.getFirst().outputs().values()).containsExactly(output);
      assertThat(readers(graph, output)).extracting(Step::op).containsExactly("attention-decode");
    }
  }

  /** Without the logits of all positions, the last product is of the last position only. */
  @Test
  void nextTokensTakeOneRowOfLogits() {
    var checkpoint = Checkpoint.of("llama");
    var types = HostTensor.types(checkpoint.inputs());
    var last = checkpoint.model().graph(types, Set.of("next")).steps().getLast();
    assertThat(last.op()).isEqualTo("matmul");
    assertThat(Objects.requireNonNull(last.inputs().get("a")).shape()).isEqualTo(Shape.of(2, 16));
  }

  /** 5 steps of all, 15 of each layer. */
  @ParameterizedTest
  @CsvSource({"llama, 34", "qwen3, 38", "phi3, 34"})
  void tokensTakeFewSteps(String name, int steps) {
    assertThat(decoding(Checkpoint.of(name).model(), 2).steps()).hasSize(steps);
  }

  /** Weights are uploaded once: graphs read them as they are stored. */
  @Test
  void weightsAreNotCopied() {
    var checkpoint = Checkpoint.of("llama");
    var model = checkpoint.model();
    assertThat(model.weights()).containsExactlyInAnyOrderElementsOf(checkpoint.tensors().values());
    var graph = decoding(model, 1);
    assertThat(graph.weights().values()).containsAll(checkpoint.tensors().values());
  }

  /** A first call with five tokens of each sequence, and one for each of the others. */
  @Test
  void recurrencesAreCarriedBetweenCalls() {
    var checkpoint = Checkpoint.of("mamba2");
    var model = checkpoint.model();
    var wanted = new HashSet<>(Set.of("logits"));
    var states = new HashMap<String, HostTensor>();
    for (var state : model.states()) {
      wanted.add(state.output());
      var type = ((State.Carried) state).initial();
      var extents = type.shape().extents().stream().mapToLong(each -> each).toArray();
      extents[0] = 2;
      states.put(state.input(), HostTensor.zeros(TensorType.of(type.dtype(), extents)));
    }
    for (int end = PREFILL; end <= 8; end++) {
      int positions = end == PREFILL ? PREFILL : 1;
      var inputs = inputs(checkpoint.input("tokens"), positions, new int[] {end, end});
      inputs.keySet().retainAll(Set.of("tokens"));
      inputs.putAll(states);
      var outputs = References.run(model.graph(HostTensor.types(inputs), wanted), inputs);
      model.states().forEach(state -> states.put(state.input(), get(outputs, state.output())));
      for (int row = 0; row < 2; row++) {
        for (int i = 0; i < positions; i++) {
          assertClose(
              numbers(get(outputs, "logits"), row, i),
              numbers(checkpoint.output("logits"), row, end - positions + i),
              checkpoint.limit());
        }
      }
    }
  }
}
