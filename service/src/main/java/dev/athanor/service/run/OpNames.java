package dev.athanor.service.run;

import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import java.util.List;
import java.util.stream.Stream;

/** The names of an op's inputs, attributes and outputs for messages, which name a list once. */
public final class OpNames {

  private OpNames() {}

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
