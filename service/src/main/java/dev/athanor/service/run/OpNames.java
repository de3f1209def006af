package dev.athanor.service.run;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Finds ops by name; names their inputs, attributes and outputs, of which a list counts once. */
public final class OpNames {

  private OpNames() {}

  /**
   * Returns the op with a name.
   *
   * @param field the path of the name in the request; null for the URL path
   * @throws Failure.Refused with {@code unknown-op}
   */
  public static Op find(Catalogue catalogue, String name, @Nullable String field) {
    return catalogue
        .find(name)
        .orElseThrow(() ->
            new Failure.Refused(
                Code.UNKNOWN_OP,
                field,
                "Unknown op \"%s\". GET /ops lists all ops.".formatted(Tensors.excerpt(name))));
  }

  public static List<String> inputs(OpDescription op) {
    return op.inputs().stream().filter(Input::isListed).map(Input::label).toList();
  }

  public static List<String> attributes(OpDescription op) {
    return op.attributes().stream().map(Attribute::name).toList();
  }

  public static List<String> outputs(OpDescription op) {
    return op.outputs().stream().filter(Output::isListed).map(Output::label).toList();
  }

  /** Returns the names of inputs with their aliases, of attributes and of outputs. */
  public static List<String> all(OpDescription op) {
    var inputs =
        op.inputs().stream()
            .filter(Input::isListed)
            .flatMap(input -> Stream.concat(Stream.of(input.label()), input.aliases().stream()));
    var others = Stream.concat(attributes(op).stream(), outputs(op).stream());
    return Stream.concat(inputs, others).toList();
  }
}
