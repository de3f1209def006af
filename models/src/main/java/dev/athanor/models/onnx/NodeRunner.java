package dev.athanor.models.onnx;

import dev.athanor.models.ModelException;
import dev.athanor.models.graph.GraphBuilder;
import dev.athanor.models.graph.Value;
import dev.athanor.models.onnx.operator.Node;
import dev.athanor.models.onnx.operator.Operator.NotExpressible;
import dev.athanor.models.onnx.operator.Operators;
import dev.athanor.models.onnx.proto.AttributeProto;
import dev.athanor.models.onnx.proto.FunctionProto;
import dev.athanor.models.onnx.proto.GraphProto;
import dev.athanor.models.onnx.proto.NodeProto;
import dev.athanor.models.onnx.proto.ValueInfoProto;
import dev.athanor.ops.OpException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Adds the nodes of a model to a graph. Functions of the model are inlined, and so is the branch of
 * an {@code If} that its condition, which must be a constant, chooses.
 */
final class NodeRunner {

  /** Maximum nesting of functions and branches. */
  private static final int MOST_NESTED = 64;

  /** Maximum number of nodes after functions are inlined. */
  private static final int MOST_NODES = 1 << 17;

  /** The names of the domain of the standard operators. */
  static final Set<String> STANDARD = Set.of("", "ai.onnx");

  /** The domains of all operators, whose names differ. */
  private static final Set<String> DOMAINS =
      Set.of("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training");

  private static final String IF = "If";

  /** The attributes of an {@code If} with its branches. */
  private static final List<String> BRANCHES = List.of("then_branch", "else_branch");

  private final GraphBuilder graph;
  private final long opset;
  private final Map<String, FunctionProto> functions;
  private final Map<String, MemorySegment> folder;
  private int nested;
  private int count;

  /**
   * Creates a runner.
   *
   * @param functions of the model by domain and name
   * @param folder the files of the model's folder by their paths
   */
  NodeRunner(
      GraphBuilder graph,
      long opset,
      Map<String, FunctionProto> functions,
      Map<String, MemorySegment> folder) {
    this.graph = graph;
    this.opset = opset;
    this.functions = functions;
    this.folder = folder;
  }

  static String key(String domain, String name) {
    return domain + "." + name;
  }

  /** Returns a node's name and operator, for messages. */
  static String label(NodeProto node) {
    var operator = node.getDomain().isEmpty() ? "" : node.getDomain() + ".";
    var name = node.getName().isEmpty() ? "" : " \"%s\"".formatted(node.getName());
    return "node%s of %s%s".formatted(name, operator, node.getOpType());
  }

  /** Adds a sentence for each node whose operator is unknown, also in branches and functions. */
  static void missing(
      List<NodeProto> nodes, Map<String, FunctionProto> functions, List<String> missing) {
    for (var node : nodes) {
      var function = functions.get(key(node.getDomain(), node.getOpType()));
      if (function != null) {
        continue; // its nodes are searched once
      }
      if (isIf(node)) {
        for (var branch : BRANCHES) {
          missing(attribute(node, branch).getNodeList(), functions, missing);
        }
      } else if (!DOMAINS.contains(node.getDomain())
          || Operators.find(node.getOpType()).isEmpty()) {
        missing.add(label(node) + " is not supported");
      }
    }
  }

  private static boolean isIf(NodeProto node) {
    return STANDARD.contains(node.getDomain()) && node.getOpType().equals(IF);
  }

  private static GraphProto attribute(NodeProto node, String name) {
    return node.getAttributeList().stream()
        .filter(each -> each.getName().equals(name) && each.hasG())
        .findFirst()
        .map(AttributeProto::getG)
        .orElseThrow(() ->
            new ModelException.Malformed(
                "%s has no attribute %s with a graph".formatted(label(node), name)));
  }

  /** Runs nodes in order and adds their outputs to {@code values}. */
  void run(List<NodeProto> nodes, Map<String, Value> values) {
    if (++nested > MOST_NESTED) {
      throw new ModelException.Malformed(
          "functions and branches are nested more than %d deep".formatted(MOST_NESTED));
    }
    for (var node : nodes) {
      if (++count > MOST_NODES) {
        throw new ModelException.Malformed(
            "the model has more than %d nodes with those of its functions".formatted(MOST_NODES));
      }
      var results = run(node, values);
      for (int i = 0; i < Math.min(results.size(), node.getOutputCount()); i++) {
        // without a name, an output is omitted
        if (!node.getOutput(i).isEmpty()) {
          values.put(node.getOutput(i), results.get(i));
        }
      }
    }
    nested--;
  }

  private List<Value> run(NodeProto node, Map<String, Value> values) {
    var given = new ArrayList<@Nullable Value>();
    for (var name : node.getInputList()) {
      if (!name.isEmpty() && !values.containsKey(name)) {
        throw new ModelException.Malformed(
            "%s reads \"%s\", which no earlier node computes".formatted(label(node), name));
      }
      given.add(values.get(name));
    }
    var function = functions.get(key(node.getDomain(), node.getOpType()));
    if (function != null) {
      return inlined(node, function, given);
    }
    return isIf(node) ? branch(node, given, values) : operator(node, given);
  }

  private List<Value> operator(NodeProto node, List<@Nullable Value> given) {
    try {
      return Operators.find(node.getOpType())
          .orElseThrow()
          .apply(new Node(graph, node, given, opset, folder));
    } catch (NotExpressible e) {
      throw new ModelException.Unsupported(
          "%s requires %s, which the import does not support"
              .formatted(label(node), e.getMessage()),
          e);
    } catch (OpException
        | IllegalArgumentException
        | IndexOutOfBoundsException
        | NoSuchElementException
        | ArithmeticException e) {
      throw new ModelException.Unsupported("%s: %s".formatted(label(node), e.getMessage()), e);
    }
  }

  private List<Value> branch(
      NodeProto node, List<@Nullable Value> given, Map<String, Value> values) {
    var condition = given.isEmpty() ? null : given.getFirst();
    if (condition == null || condition.constant().isEmpty()) {
      throw new ModelException.Unsupported(
          List.of(
              label(node) + " requires a constant condition, which the import does not support"));
    }
    boolean holds = condition.constant().get().get(0) != 0;
    var body = attribute(node, BRANCHES.get(holds ? 0 : 1));
    var inner = new HashMap<>(values);
    OnnxModel.initializers(body, folder)
        .forEach((name, tensor) -> inner.put(name, graph.constant(tensor)));
    run(body.getNodeList(), inner);
    return results(
        node, body.getOutputList().stream().map(ValueInfoProto::getName).toList(), inner);
  }

  private List<Value> inlined(NodeProto node, FunctionProto function, List<@Nullable Value> given) {
    var inner = new HashMap<String, Value>();
    for (int i = 0; i < Math.min(given.size(), function.getInputCount()); i++) {
      var value = given.get(i);
      if (value != null) {
        inner.put(function.getInput(i), value);
      }
    }
    var attributes = new HashMap<String, AttributeProto>();
    function.getAttributeProtoList().forEach(each -> attributes.put(each.getName(), each));
    node.getAttributeList().forEach(each -> attributes.put(each.getName(), each));
    run(function.getNodeList().stream().map(each -> bound(each, attributes)).toList(), inner);
    return results(node, function.getOutputList(), inner);
  }

  /** Replaces references to attributes of a function by their values; drops those without. */
  private static NodeProto bound(NodeProto node, Map<String, AttributeProto> attributes) {
    var bound = node.toBuilder().clearAttribute();
    for (var attribute : node.getAttributeList()) {
      var value = attributes.get(attribute.getRefAttrName());
      if (attribute.getRefAttrName().isEmpty()) {
        bound.addAttribute(attribute);
      } else if (value != null) {
        bound.addAttribute(value.toBuilder().setName(attribute.getName()));
      }
    }
    return bound.build();
  }

  private static List<Value> results(
      NodeProto node, List<String> names, Map<String, Value> values) {
    var results = new ArrayList<Value>();
    for (var name : names) {
      var value = values.get(name);
      if (value == null) {
        throw new ModelException.Malformed(
            "%s has the output \"%s\", which no node computes".formatted(label(node), name));
      }
      results.add(value);
    }
    return results;
  }
}
