package dev.athanor.service.openinference;

import dev.athanor.models.ModelDefinition.Input;
import dev.athanor.ops.DType;
import dev.athanor.service.model.StoredModel;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.run.Call.Target;
import dev.athanor.service.run.OpRunner;
import dev.athanor.service.run.Result;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** A model that a tenant stored. */
record TenantModel(StoredModel model, StoredModels models) implements ServedModel {

  @Override
  public String name() {
    return model.name();
  }

  @Override
  public String version() {
    return Long.toString(model.version());
  }

  @Override
  public String label() {
    return OpRunner.PIPELINE;
  }

  @Override
  public Model description() {
    var properties = new LinkedHashMap<String, String>();
    for (var input : model.definition().inputs()) {
      properties.put("inputs." + input.name() + ".shape", input.extents().toString());
    }
    for (var name : outputs()) {
      model
          .definition()
          .declared(name)
          .ifPresent(
              output -> properties.put("outputs." + name + ".shape", output.extents().toString()));
    }
    return new Model(
        name(),
        version(),
        model.definition().inputs().stream().map(TenantModel::tensor).toList(),
        outputs().stream().map(this::outputTensor).toList(),
        properties);
  }

  private static Model.Tensor tensor(Input declared) {
    return new Model.Tensor(
        declared.name(),
        declared.dtype(),
        declared.extents().stream().map(Model::extent).toList(),
        false);
  }

  /** Describes an output; clients take the types of those that are not declared from responses. */
  private Model.Tensor outputTensor(String name) {
    return model
        .definition()
        .declared(name)
        .map(TenantModel::tensor)
        .orElseGet(() -> new Model.Tensor(name, DType.F32, List.of(Model.ANY), false));
  }

  @Override
  public List<String> inputs() {
    return model.definition().inputs().stream().map(Input::name).toList();
  }

  @Override
  public List<String> outputs() {
    return model.definition().outputs();
  }

  @Override
  public List<String> attributes() {
    return List.of();
  }

  @Override
  public Optional<String> input(String given) {
    return inputs().stream().filter(given::equals).findFirst();
  }

  @Override
  public Optional<String> output(String given) {
    return outputs().stream().filter(given::equals).findFirst();
  }

  @Override
  public Object counted() {
    return model;
  }

  @Override
  public Supplier<Result> start(Arguments arguments, OpRunner runner) {
    var targets = targets(arguments);
    return models.start(
        model.checked(targets), arguments.inputs(), targets, arguments.context(), runner::start);
  }

  private Map<String, Target> targets(Arguments arguments) {
    var targets = new HashMap<>(arguments.outputs());
    var others = arguments.defaultTarget();
    if (others != null) {
      outputs().forEach(name -> targets.putIfAbsent(name, others));
    }
    return targets;
  }
}
