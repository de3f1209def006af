package dev.athanor.service.openinference;

import dev.athanor.service.run.Call;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import dev.athanor.service.stream.RequestContext;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What clients of the protocol call as a model: an op, or a model that a tenant stored. */
public interface ServedModel {

  String name();

  String version();

  /** Returns the label of its requests in metrics. */
  String label();

  /** Describes it for clients. */
  Model description();

  /** Returns the names of its inputs for messages. */
  List<String> inputs();

  /** Returns the names of its outputs for messages. */
  List<String> outputs();

  /** Returns the names of the attributes that it accepts as parameters. */
  List<String> attributes();

  /** Returns the name of an input by its name or an alias; empty if there is none. */
  Optional<String> input(String given);

  /** Returns the name of an output; empty if there is none. */
  Optional<String> output(String given);

  /** Returns the object for which requests are counted, as long as it exists. */
  Object counted();

  /**
   * Starts it.
   *
   * @return waits for the result; must be called
   */
  Supplier<Result> start(Arguments arguments, OpRunner runner);

  /**
   * What a request gives and asks for.
   *
   * @param inputs inputs by name
   * @param attributes attributes by name
   * @param outputs the targets of named outputs
   * @param defaultTarget the target of all other outputs; null to discard them
   */
  record Arguments(
      Map<String, Call.Input> inputs,
      Map<String, ?> attributes,
      Map<String, Target> outputs,
      @Nullable Target defaultTarget,
      RequestContext context) {
    public Arguments {
      inputs = Map.copyOf(inputs);
      attributes = Map.copyOf(attributes);
      outputs = Map.copyOf(outputs);
    }
  }
}
