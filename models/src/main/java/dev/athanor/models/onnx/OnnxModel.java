package dev.athanor.models.onnx;

import com.google.protobuf.UnsafeByteOperations;
import dev.athanor.models.ModelDefinition;
import dev.athanor.models.ModelException;
import dev.athanor.models.graph.Graph;
import dev.athanor.models.graph.GraphBuilder;
import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.file.TensorProtos;
import dev.athanor.models.onnx.proto.FunctionProto;
import dev.athanor.models.onnx.proto.GraphProto;
import dev.athanor.models.onnx.proto.ModelProto;
import dev.athanor.models.onnx.proto.NodeProto;
import dev.athanor.models.onnx.proto.OperatorSetIdProto;
import dev.athanor.models.onnx.proto.TensorShapeProto.Dimension;
import dev.athanor.models.onnx.proto.ValueInfoProto;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/** A model of an ONNX file. */
public final class OnnxModel implements ModelDefinition {

  private static final String PAST = "past_key_values.";
  private static final String PRESENT = "present.";

  private final List<Input> inputs;
  private final List<String> outputs;
  private final Map<String, Input> declared = new HashMap<>();
  private final List<NodeProto> nodes;
  private final Map<String, HostTensor> initializers;
  private final Map<String, FunctionProto> functions;
  private final Map<String, MemorySegment> folder;
  private final long opset;

  private OnnxModel(ModelProto model, Map<String, MemorySegment> folder) {
    this.folder = folder;
    var graph = model.getGraph();
    this.opset =
        model.getOpsetImportList().stream()
            .filter(each -> NodeRunner.STANDARD.contains(each.getDomain()))
            .mapToLong(OperatorSetIdProto::getVersion)
            .max()
            .orElse(1);
    this.functions = new LinkedHashMap<>();
    model
        .getFunctionsList()
        .forEach(each -> functions.put(NodeRunner.key(each.getDomain(), each.getName()), each));
    this.nodes = graph.getNodeList();
    this.initializers = initializers(graph, folder);
    this.inputs =
        graph.getInputList().stream()
            .filter(each -> !initializers.containsKey(each.getName()))
            .map(OnnxModel::input)
            .toList();
    this.outputs = graph.getOutputList().stream().map(ValueInfoProto::getName).toList();
    graph.getOutputList().forEach(this::declare);
    requireOrder();
    requireOperators();
  }

  /**
   * Reads a model that is one file.
   *
   * @throws ModelException if the file is malformed, or has nodes that the import does not support
   */
  public static OnnxModel read(byte[] file) {
    return read(MemorySegment.ofArray(file), Map.of());
  }

  /**
   * Reads a model. Its weights are views of the files, which must not change.
   *
   * @param folder the files of the model's folder by their paths, for tensors outside the file
   * @throws ModelException if a file is malformed, or the model has nodes that the import does not
   *     support
   */
  public static OnnxModel read(MemorySegment file, Map<String, MemorySegment> folder) {
    var model = parse(file);
    if (!model.hasGraph() || model.getGraph().getOutputCount() == 0) {
      throw malformed(file, "it has no graph with outputs");
    }
    return new OnnxModel(model, folder);
  }

  private static ModelProto parse(MemorySegment file) {
    if (file.byteSize() > Integer.MAX_VALUE) {
      throw malformed(file, "a file has at most %d bytes".formatted(Integer.MAX_VALUE));
    }
    var in = UnsafeByteOperations.unsafeWrap(file.asByteBuffer()).newCodedInput();
    in.enableAliasing(true); // the elements of weights are not copied
    try {
      var model = ModelProto.parseFrom(in);
      in.checkLastTagWas(0);
      return model;
    } catch (IOException e) {
      throw malformed(file, String.valueOf(e.getMessage()));
    }
  }

  private static ModelException malformed(MemorySegment file, String reason) {
    return new ModelException.Malformed(
        "the file of %d bytes is not an ONNX model: %s".formatted(file.byteSize(), reason));
  }

  /** Returns the constants of a graph by name. */
  static Map<String, HostTensor> initializers(GraphProto graph, Map<String, MemorySegment> folder) {
    var read = new LinkedHashMap<String, HostTensor>();
    graph
        .getInitializerList()
        .forEach(each -> read.put(each.getName(), TensorProtos.read(each, folder)));
    return read;
  }

  private static Input input(ValueInfoProto info) {
    var type = info.getType().getTensorType();
    if (!info.getType().hasTensorType() || !type.hasShape()) {
      throw new ModelException.Malformed(
          "input \"%s\" must be a tensor with a rank".formatted(info.getName()));
    }
    var dtype =
        TensorProtos.dtype(type.getElemType())
            .orElseThrow(() ->
                new ModelException.Malformed(
                    "input \"%s\" has the data type %d of ONNX, which no op supports"
                        .formatted(info.getName(), type.getElemType())));
    return new Input(info.getName(), dtype, extents(info));
  }

  private void declare(ValueInfoProto output) {
    var type = output.getType().getTensorType();
    if (type.hasShape()) {
      var name = output.getName();
      TensorProtos.dtype(type.getElemType())
          .ifPresent(dtype -> declared.put(name, new Input(name, dtype, extents(output))));
    }
  }

  private static List<String> extents(ValueInfoProto info) {
    var shape = info.getType().getTensorType().getShape();
    var extents = new ArrayList<String>();
    for (int i = 0; i < shape.getDimCount(); i++) {
      extents.add(extent(info.getName(), shape.getDim(i), i));
    }
    return extents;
  }

  private static String extent(String input, Dimension dimension, int index) {
    return switch (dimension.getValueCase()) {
      case DIM_VALUE -> Long.toString(dimension.getDimValue());
      case DIM_PARAM -> dimension.getDimParam();
      case VALUE_NOT_SET -> "%s.%d".formatted(input, index);
    };
  }

  private void requireOrder() {
    var known = new HashSet<>(initializers.keySet());
    inputs.forEach(input -> known.add(input.name()));
    for (var node : nodes) {
      for (var name : node.getInputList()) {
        if (!name.isEmpty() && !known.contains(name)) {
          throw new ModelException.Malformed(
              "%s reads \"%s\", which no earlier node computes"
                  .formatted(NodeRunner.label(node), name));
        }
      }
      known.addAll(node.getOutputList());
    }
    for (var output : outputs) {
      if (!known.contains(output)) {
        throw new ModelException.Malformed("no node computes the output \"%s\"".formatted(output));
      }
    }
  }

  private void requireOperators() {
    var missing = new ArrayList<String>();
    NodeRunner.missing(nodes, functions, missing);
    functions
        .values()
        .forEach(function -> NodeRunner.missing(function.getNodeList(), functions, missing));
    if (!missing.isEmpty()) {
      throw new ModelException.Unsupported(missing);
    }
  }

  @Override
  public List<Input> inputs() {
    return inputs;
  }

  /** Returns what decoders name as the exporter of Optimum does: the keys and values so far. */
  @Override
  public List<State> states() {
    var states = new ArrayList<State>();
    for (var input : inputs) {
      var output = input.name().replaceFirst("^" + PAST, PRESENT);
      if (input.name().startsWith(PAST) && outputs.contains(output)) {
        states.add(new State.Carried(input.name(), output, initial(input)));
      }
    }
    return states;
  }

  /** Returns the type of a state of one sequence without positions. */
  private static TensorType initial(Input input) {
    var extents = new ArrayList<Long>();
    for (var extent : input.extents()) {
      boolean known = extent.matches("\\d+");
      extents.add(known ? Long.parseLong(extent) : extents.isEmpty() ? 1L : 0L);
    }
    return new TensorType(input.dtype(), new Shape(extents));
  }

  /** Returns how many nodes of the graph have each operator or function, in alphabetical order. */
  public SortedMap<String, Integer> operators() {
    var counts = new TreeMap<String, Integer>();
    nodes.forEach(node -> counts.merge(node.getOpType(), 1, Integer::sum));
    return counts;
  }

  @Override
  public Collection<HostTensor> weights() {
    return Collections.unmodifiableCollection(initializers.values());
  }

  @Override
  public List<String> outputs() {
    return outputs;
  }

  @Override
  public Optional<Input> declared(String output) {
    return Optional.ofNullable(declared.get(output));
  }

  @Override
  public Graph graph(Map<String, TensorType> types, Set<String> outputs) {
    ModelDefinition.check(inputs, types);
    var graph = new GraphBuilder();
    var values = new HashMap<String, Value>();
    inputs.forEach(input ->
        values.put(
            input.name(),
            graph.input(input.name(), Objects.requireNonNull(types.get(input.name())))));
    return build(graph, values, outputs);
  }

  /**
   * Computes the outputs by the float64 references of the ops, rounded to the dtypes of the values
   * between them.
   *
   * @throws ModelException as {@link #graph}
   */
  public Map<String, HostTensor> reference(Map<String, HostTensor> elements) {
    ModelDefinition.check(inputs, HostTensor.types(elements));
    var graph = new GraphBuilder();
    var values = new HashMap<String, Value>();
    elements.forEach((name, tensor) -> values.put(name, graph.constant(tensor)));
    run(graph, values);
    var results = new LinkedHashMap<String, HostTensor>();
    for (var output : outputs) {
      results.put(output, output(output, values).constant().orElseThrow());
    }
    return results;
  }

  private static Value output(String name, Map<String, Value> values) {
    var value = values.get(name);
    if (value == null) {
      throw new ModelException.Malformed("no node computes the output \"%s\"".formatted(name));
    }
    return value;
  }

  private Graph build(GraphBuilder graph, Map<String, Value> values, Set<String> wanted) {
    run(graph, values);
    var results = new LinkedHashMap<String, Value>();
    outputs.stream()
        .filter(wanted::contains)
        .forEach(name -> results.put(name, output(name, values)));
    return graph.build(results);
  }

  private void run(GraphBuilder graph, Map<String, Value> values) {
    initializers.forEach((name, tensor) -> values.put(name, graph.constant(tensor)));
    new NodeRunner(graph, opset, functions, folder).run(nodes, values);
  }
}
