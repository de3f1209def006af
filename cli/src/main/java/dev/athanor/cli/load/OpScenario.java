package dev.athanor.cli.load;

import dev.athanor.cli.client.ClientTensors;
import dev.athanor.client.HostTensor;
import dev.athanor.client.OpCall;
import dev.athanor.client.Operand;
import dev.athanor.client.Tensor;
import dev.athanor.client.Timing;
import dev.athanor.client.ops.AsyncOperations;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.Problem;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Runs an op.
 *
 * @param resident whether inputs and outputs are resident tensors instead of inline values
 */
record OpScenario(String text, Problem problem, boolean resident, Route route, long seed)
    implements Scenario {

  /** How calls are sent. */
  enum Route {
    HTTP,
    GRPC,
    /** All over one gRPC stream, which answers them in order. */
    STREAM
  }

  @Override
  public long bytes() {
    return 0;
  }

  private OpDescription op() {
    return problem.op().description();
  }

  /** Returns the outputs to request: those that every call computes, or all of a list. */
  private List<String> outputs(Map<String, dev.athanor.ops.HostTensor> inputs) {
    return op().outputs().stream().anyMatch(output -> output.series().isPresent())
        ? List.copyOf(reference(inputs).keySet())
        : op().outputs().stream()
            .filter(output -> !output.optional())
            .map(OpDescription.Output::name)
            .toList();
  }

  private Map<String, double[]> reference(Map<String, dev.athanor.ops.HostTensor> inputs) {
    return problem.op().reference(inputs, problem.attributes());
  }

  @Override
  public Ready prepare(Target target, int slots) {
    var drawn = problem.draw(new SplittableRandom(seed));
    var values = new LinkedHashMap<String, HostTensor>();
    var handles = new LinkedHashMap<String, Tensor>();
    drawn.forEach((name, tensor) -> {
      var drawnValues = ClientTensors.of(tensor);
      values.put(name, drawnValues);
      handles.put(name, target.http().upload(drawnValues));
    });
    var call = new Call(op().name(), attributes(), outputs(drawn));
    var expected = new HashMap<String, HostTensor>();
    var results = runResident(target, call, handles);
    var reference = reference(drawn);
    results.forEach((name, result) -> {
      var contents = result.download();
      check(name, contents, Objects.requireNonNull(reference.get(name), name));
      expected.put(name, contents);
    });
    if (!resident) {
      AsyncOperations<HostTensor> operations =
          switch (route) {
            case HTTP -> target.http().async().inline();
            case GRPC -> target.grpc().async().inline();
            case STREAM -> target.stream().inline();
          };
      return new Inline(operations, call, values, expected);
    }
    AsyncOperations<Tensor> operations =
        switch (route) {
          case HTTP -> target.http().async();
          case GRPC -> target.grpc().async();
          case STREAM -> target.stream();
        };
    var targets = new ArrayList<Map<String, Tensor>>();
    for (int slot = 0; slot < slots; slot++) {
      targets.add(runResident(target, call, handles));
    }
    return new OnDevice(operations, call, handles, targets, expected);
  }

  /** Runs the op and returns its outputs as resident tensors. */
  private Map<String, Tensor> runResident(Target target, Call call, Map<String, Tensor> inputs) {
    var run = call.on(inputs);
    call.outputs.forEach(run::output);
    return target.http().run(run);
  }

  /** Returns the attributes that differ from their defaults. */
  private Map<String, Object> attributes() {
    var defaults = Attributes.defaults(op());
    var changed = new TreeMap<>(problem.attributes().values());
    changed.entrySet().removeIf(entry -> entry.getValue().equals(defaults.get(entry.getKey())));
    return changed;
  }

  /** Compares the first result with the op's reference. */
  private void check(String output, HostTensor contents, double[] reference) {
    var computed = ClientTensors.of(contents);
    var dtype = computed.type().dtype();
    var result = computed.toDoubles();
    var tolerance = problem.op().tolerance(output, dtype, problem.inputs(), problem.attributes());
    double error = tolerance.error(result, reference);
    if (!(error <= tolerance.limit())) {
      throw new LoadException(
          "the first result of \"%s\" is wrong: the error of %s is %.3g, the limit is %.3g"
              .formatted(text, output, error, tolerance.limit()));
    }
  }

  /** A factory of calls. Each request needs its own call for its timing. */
  private record Call(String op, Map<String, Object> attributes, List<String> outputs) {
    OpCall on(Map<String, ? extends Operand> inputs) {
      var call = OpCall.of(op);
      inputs.forEach(call::input);
      attributes.forEach((name, value) -> {
        switch (value) {
          case Boolean flag -> call.attribute(name, flag);
          case Long integer -> call.attribute(name, integer);
          case Double number -> call.attribute(name, number);
          case List<?> list -> call.attribute(name, list.stream().map(Number.class::cast).toList());
          default -> call.attribute(name, value.toString());
        }
      });
      return call;
    }
  }

  private static <T> T await(CompletableFuture<T> call) throws InterruptedException {
    try {
      return call.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException failure
          ? failure
          : new IllegalStateException(e.getCause());
    }
  }

  /** Calls with inline inputs and outputs. */
  private record Inline(
      AsyncOperations<HostTensor> operations,
      Call call,
      Map<String, HostTensor> values,
      Map<String, HostTensor> expected)
      implements Ready {

    @Override
    public Response send(int slot, boolean check) throws InterruptedException {
      var timing = new AtomicReference<Timing>();
      var outputs = await(operations.run(call.on(values).timing(timing::set)));
      return Response.of(timing.get(), () -> areCorrect(outputs));
    }

    private boolean areCorrect(Map<String, HostTensor> outputs) {
      return expected.entrySet().stream()
          .allMatch(output -> {
            var values = outputs.get(output.getKey());
            return values != null && values.buffer().equals(output.getValue().buffer());
          });
    }
  }

  /**
   * Calls with resident inputs and outputs.
   *
   * @param targets the tensors that receive the outputs, by slot and name
   */
  private record OnDevice(
      AsyncOperations<Tensor> operations,
      Call call,
      Map<String, Tensor> handles,
      List<Map<String, Tensor>> targets,
      Map<String, HostTensor> expected)
      implements Ready {

    @Override
    public Response send(int slot, boolean check) throws InterruptedException {
      var timing = new AtomicReference<Timing>();
      var run = call.on(handles).timing(timing::set);
      targets.get(slot).forEach(run::into);
      var _ = await(operations.run(run));
      return Response.of(timing.get(), () -> true);
    }

    @Override
    public boolean residentTensorsAreCorrect() {
      return targets.stream()
          .flatMap(target -> target.entrySet().stream())
          .allMatch(target ->
              Transfer.allHold(
                  List.of(target.getValue()),
                  Objects.requireNonNull(expected.get(target.getKey()))));
    }
  }
}
