package dev.athanor.ops;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.bench.Suites;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The kernels of an op beyond those that its cases run: the first choices of planners for the
 * problems of {@link Production}, and kernels with a value of a plan parameter that no case uses.
 * Plan parameters are the components of the records that kernels are built from: tile shapes,
 * access widths, dtypes, head sizes, epilogues, splits.
 */
final class Corpus {

  private static final Map<String, Corpus> CORPORA = new ConcurrentHashMap<>();

  private final Map<String, Variant> firstChoices = new TreeMap<>();
  private final Set<String> untested;
  private final List<Trial> trials = new ArrayList<>();
  private final Set<Value> planned;
  private final Set<Value> testedByCases;
  private final Set<Value> tested;

  /** A plan to run, and its problem. */
  record Trial(Problem problem, LaunchPlan plan) {}

  /** A value of a plan parameter, such as {@code TensorVariant.tile.m = 128}. */
  record Value(String parameter, String value) {
    @Override
    public String toString() {
      return parameter + " = " + value;
    }
  }

  private Corpus(Op op) {
    for (var plan : Production.firstChoices(op)) {
      plan.steps().forEach(step -> firstChoices.put(step.variant().name(), step.variant()));
    }
    var all = new Values();
    Stream.of(Production.planned(op), Suites.of(op, false))
        .flatMap(Collection::stream)
        .forEach(problem ->
            Production.GPUS.forEach(gpu -> Production.plans(problem, gpu).forEach(all::addAll)));
    planned = all.found;

    var run = new Values();
    untested = new HashSet<>(firstChoices.keySet());
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withTarget(Target.SM_90A))) {
      for (var each : op.cases(new Random(1), false)) {
        var types = HostTensor.types(each.inputs());
        for (var plan : op.plans(types, each.attributes(), device.capability())) {
          run.addAll((LaunchPlan) plan);
          untested.removeAll(names((LaunchPlan) plan));
        }
      }
    }
    testedByCases = Set.copyOf(run.found);
    var offered = new ArrayList<Trial>();
    for (var problem : Production.run(op)) {
      for (var gpu : Production.GPUS) {
        Production.plans(problem, gpu).forEach(plan -> offered.add(new Trial(problem, plan)));
      }
    }
    for (var trial : offered) {
      if (untested.removeAll(names(trial.plan))) {
        trials.add(trial);
        run.addAll(trial.plan);
      }
    }
    for (var trial : offered) {
      var values = new Values();
      values.addAll(trial.plan);
      values.found.retainAll(planned);
      if (!run.found.containsAll(values.found)) {
        trials.add(trial);
        run.addAll(trial.plan);
      }
    }
    tested = run.found;
  }

  /** Returns the corpus of an op. */
  static Corpus of(String op) {
    return CORPORA.computeIfAbsent(op, _ -> new Corpus(Catalogue.load().find(op).orElseThrow()));
  }

  /** Returns the names of a plan's kernels. */
  static List<String> names(LaunchPlan plan) {
    return plan.steps().stream().map(step -> step.variant().name()).toList();
  }

  /** Returns the first choices and the kernels of the trials by name. */
  Map<String, Variant> kernels() {
    var kernels = new TreeMap<>(firstChoices);
    for (var trial : trials) {
      trial.plan.steps().forEach(step -> kernels.put(step.variant().name(), step.variant()));
    }
    return kernels;
  }

  /** Returns the trials: plans with kernels or values that no case of the op runs. */
  List<Trial> trials() {
    return trials;
  }

  /** Returns the first choices that neither a case nor a trial runs. */
  Set<String> untested() {
    return untested;
  }

  /**
   * Returns the values that planners can choose for a problem of the suites or of production, on
   * any GPU.
   */
  Set<Value> planned() {
    return planned;
  }

  /** Returns the values in kernels that the op's cases run. */
  Set<Value> testedByCases() {
    return testedByCases;
  }

  /** Returns the values in kernels that cases or trials run. */
  Set<Value> tested() {
    return tested;
  }

  /** The values in a set of plans. */
  private static final class Values {

    /** The values of each variant, cached because many plans share a variant. */
    private static final Map<Variant, Set<Value>> OF_VARIANTS = new ConcurrentHashMap<>();

    final Set<Value> found = new HashSet<>();

    void addAll(LaunchPlan plan) {
      for (var step : plan.steps()) {
        var kind = step.variant().getClass().getSimpleName();
        found.addAll(
            OF_VARIANTS.computeIfAbsent(
                step.variant(),
                variant -> {
                  var values = new HashSet<Value>();
                  add(kind, variant, values);
                  return values;
                }));
        found.add(new Value(kind + " of several rows of blocks", "" + (step.grid().y() > 1)));
      }
    }

    /** Adds the components of a record, recursively. */
    private static void add(String path, Object object, Set<Value> values) {
      switch (object) {
        case Record composite -> {
          for (var component : composite.getClass().getRecordComponents()) {
            add(path + "." + component.getName(), read(component, composite), values);
          }
        }
        case Optional<?> optional -> {
          values.add(new Value(path, optional.isPresent() ? "present" : "absent"));
          optional.ifPresent(within -> add(path, within, values));
        }
        default -> values.add(new Value(path, object.toString()));
      }
    }

    private static Object read(RecordComponent component, Record of) {
      try {
        var accessor = component.getAccessor();
        accessor.setAccessible(true);
        return accessor.invoke(of);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(component.toString(), e);
      }
    }
  }
}
