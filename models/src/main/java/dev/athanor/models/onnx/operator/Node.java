package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.GraphBuilder;
import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.file.TensorProtos;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.models.onnx.proto.AttributeProto;
import dev.athanor.models.onnx.proto.NodeProto;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A call of an operator, and the ops that operators share. */
public final class Node {
  private static final Catalogue CATALOGUE = Catalogue.load();

  /** Maximum numbers of a range, which is a constant. */
  private static final long MOST_OF_RANGE = 1 << 24;

  private final GraphBuilder graph;
  private final NodeProto proto;
  private final List<@Nullable Value> inputs;
  private final long opset;
  private final Map<String, MemorySegment> folder;
  private final Map<String, AttributeProto> attributes = new HashMap<>();

  /**
   * Creates a call.
   *
   * @param inputs null for those that are omitted
   * @param opset the version of the operator set
   * @param folder the files of the model's folder by their paths
   */
  public Node(
      GraphBuilder graph,
      NodeProto proto,
      List<? extends @Nullable Value> inputs,
      long opset,
      Map<String, MemorySegment> folder) {
    this.graph = graph;
    this.proto = proto;
    this.inputs = Collections.unmodifiableList(new ArrayList<>(inputs));
    this.opset = opset;
    this.folder = folder;
    proto.getAttributeList().forEach(each -> attributes.put(each.getName(), each));
  }

  /** Returns the version of the operator set. */
  public long opset() {
    return opset;
  }

  /** Returns the inputs that are given. */
  public List<Value> inputs() {
    return inputs.stream().filter(Objects::nonNull).toList();
  }

  /** Returns an input that the operator requires. */
  public Value x(int index) {
    return input(index)
        .orElseThrow(() -> new IllegalArgumentException("input %d is missing".formatted(index)));
  }

  public Optional<Value> input(int index) {
    return index < inputs.size() ? Optional.ofNullable(inputs.get(index)) : Optional.empty();
  }

  /** Returns the number of outputs. */
  public int outputs() {
    return proto.getOutputCount();
  }

  /** Returns whether an output has a name. */
  public boolean isWanted(int output) {
    return output < proto.getOutputCount() && !proto.getOutput(output).isEmpty();
  }

  // attributes

  public boolean has(String name) {
    return attributes.containsKey(name);
  }

  public long integer(String name, long otherwise) {
    var given = attributes.get(name);
    return given == null ? otherwise : given.getI();
  }

  public boolean flag(String name, boolean otherwise) {
    return integer(name, otherwise ? 1 : 0) != 0;
  }

  public double number(String name, double otherwise) {
    var given = attributes.get(name);
    return given == null ? otherwise : given.getF();
  }

  public String text(String name, String otherwise) {
    var given = attributes.get(name);
    return given == null ? otherwise : given.getS().toStringUtf8();
  }

  public Optional<List<Long>> integers(String name) {
    return Optional.ofNullable(attributes.get(name)).map(AttributeProto::getIntsList);
  }

  public Optional<List<Float>> numbers(String name) {
    return Optional.ofNullable(attributes.get(name)).map(AttributeProto::getFloatsList);
  }

  public Optional<HostTensor> tensor(String name) {
    return Optional.ofNullable(attributes.get(name))
        .map(given -> TensorProtos.read(given.getT(), folder));
  }

  /** Returns the dtype that an attribute names by its number. */
  public DType dtype(String name, DType otherwise) {
    long number = integer(name, 0);
    return number == 0
        ? otherwise
        : TensorProtos.dtype(number)
            .orElseThrow(() -> new NotExpressible("the data type %d".formatted(number)));
  }

  // constants

  /**
   * Returns the integers of an input whose elements must be known.
   *
   * @throws NotExpressible if they depend on the inputs of the model
   */
  public Optional<List<Long>> integersOf(int index) {
    return input(index).map(value -> integers(value, "input " + index));
  }

  private static List<Long> integers(Value value, String what) {
    var tensor = known(value, what);
    return IntStream.range(0, Math.toIntExact(value.elements()))
        .mapToObj(i ->
            value.dtype() == DType.I64
                ? tensor.data().getAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, i)
                : (long) tensor.get(i))
        .toList();
  }

  /** Returns the numbers of an input whose elements must be known. */
  public Optional<double[]> numbersOf(int index) {
    return input(index).map(value -> known(value, "input " + index).toDoubles());
  }

  private static HostTensor known(Value value, String what) {
    return value.constant().orElseThrow(() -> new NotExpressible("a constant %s".formatted(what)));
  }

  /** Returns a constant of an inputs' dtype. */
  public Value constant(DType dtype, List<Long> extents, double... values) {
    return graph.constant(HostTensor.of(new TensorType(dtype, new Shape(extents)), values));
  }

  /** Returns a constant. */
  public Value constant(HostTensor tensor) {
    return graph.constant(tensor);
  }

  /** Returns the i32 numbers from 0 to {@code count - 1}. */
  public Value range(long count) {
    if (count > MOST_OF_RANGE) {
      throw new NotExpressible("a range of %d numbers".formatted(count));
    }
    return constant(
        DType.I32,
        List.of(count),
        IntStream.range(0, Math.toIntExact(count)).asDoubleStream().toArray());
  }

  // ops

  /** Runs an op with inputs by name, without those that are null. */
  public Map<String, Value> run(
      String op, Map<String, ? extends @Nullable Value> given, Map<String, ?> attributes) {
    var inputs = new LinkedHashMap<String, Value>();
    given.forEach((name, value) -> {
      if (value != null) {
        inputs.put(name, value);
      }
    });
    return graph.run(op, inputs, attributes);
  }

  /**
   * Runs an op and returns its outputs in order.
   *
   * @param x the inputs in the order of the op's description; null for those that are omitted
   */
  public List<Value> all(String op, Map<String, ?> attributes, @Nullable Value... x) {
    var described = CATALOGUE.find(op).orElseThrow().description().inputs();
    var given = new LinkedHashMap<String, @Nullable Value>();
    for (int i = 0; i < x.length; i++) {
      given.put(described.get(i).name(), x[i]);
    }
    return List.copyOf(run(op, given, attributes).values());
  }

  /** Runs an op and returns its first output. */
  public Value one(String op, Map<String, ?> attributes, @Nullable Value... x) {
    return all(op, attributes, x).getFirst();
  }

  /**
   * Computes an expression of the op map, whose dtype follows from those of x.
   *
   * @param x the values of x0, x1 and so on
   */
  public Value map(String expression, Value... x) {
    return map(expression, null, List.of(), x);
  }

  /**
   * Computes an expression of the op map.
   *
   * @param dtype of the result; null if it follows from those of x
   * @param constants the values of c0, c1 and so on
   */
  public Value map(
      String expression, @Nullable DType dtype, List<? extends Number> constants, Value... x) {
    var attributes = new HashMap<String, Object>();
    attributes.put("expression", expression);
    if (dtype != null) {
      attributes.put("outDtype", dtype.text());
    }
    if (!constants.isEmpty()) {
      attributes.put("constants", constants.stream().map(Number::doubleValue).toList());
    }
    return one("map", attributes, x);
  }

  public Value cast(Value x, DType to) {
    return x.dtype() == to ? x : one("cast", Map.of("to", to.text()), x);
  }

  /** Reduces dimensions, or all if there are none. */
  public Value reduce(String kind, Value x, List<Long> axes, boolean keepdims) {
    return one("reduce", Map.of("kind", kind, "axes", axes, "keepdims", keepdims), x);
  }

  /** Reorders dimensions. */
  public Value permute(Value x, List<Integer> axes) {
    boolean same = IntStream.range(0, axes.size()).allMatch(i -> axes.get(i) == i);
    return same
        ? x
        : one("permute", Map.of("axes", axes.stream().map(Integer::longValue).toList()), x);
  }

  public Value permute(Value x, int... axes) {
    return permute(x, Arrays.stream(axes).boxed().toList());
  }
}
