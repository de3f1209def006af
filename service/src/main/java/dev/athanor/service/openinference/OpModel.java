package dev.athanor.service.openinference;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.service.run.Call;
import dev.athanor.service.run.OpNames;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** An op as a model. */
record OpModel(Op op) implements ServedModel {

  /** The only version of every op. */
  static final String VERSION = "1";

  @Override
  public String name() {
    return op.description().name();
  }

  @Override
  public String version() {
    return VERSION;
  }

  @Override
  public String label() {
    return name();
  }

  @Override
  public Model description() {
    return Model.of(op.description());
  }

  @Override
  public List<String> inputs() {
    return OpNames.inputs(op.description());
  }

  @Override
  public List<String> outputs() {
    return OpNames.outputs(op.description());
  }

  @Override
  public List<String> attributes() {
    return OpNames.attributes(op.description());
  }

  @Override
  public Optional<String> input(String given) {
    return op.description().input(given).map(OpDescription.Input::name);
  }

  @Override
  public Optional<String> output(String given) {
    return op.description().output(given).map(OpDescription.Output::name);
  }

  @Override
  public Object counted() {
    return op;
  }

  @Override
  public Supplier<Result> start(Arguments arguments, OpRunner runner) {
    return runner.start(
        new Call(
            op,
            arguments.inputs(),
            arguments.attributes(),
            arguments.outputs(),
            arguments.defaultTarget(),
            arguments.context()));
  }
}
