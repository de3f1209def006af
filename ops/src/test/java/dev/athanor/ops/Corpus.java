package dev.athanor.ops;

import dev.athanor.engine.emulator.EmulatedDevice;
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
 * The kernels of an op beside those that its cases run: what planners choose first for the problems
 * of {@link Production}, and what else has a plan parameter of a value that no case leads to. Plan
 * parameters are the components of the records that kernels are built from: tile shapes, access
 * widths, dtypes, head sizes, epilogues, splits.
 */
final class Corpus {

  private static final Map<String, Corpus> CORPORA = new ConcurrentHashMap<>();

  private final Map<String, Variant> firstChoices = new TreeMap<>();
  private final Set<String> unrun;
  private final List<Trial> trials = new ArrayList<>();
  private final Set<Value> planned;
  private final Set<Value> ofCases;
  private final Set<Value> ofAll;

  /** A plan that is run, and what it computes. */
  record Trial(Problem problem, LaunchPlan plan) {}

  /** A value of a parameter of a kind of kernel: {@code TensorVariant.tile.m = 128}. */
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
    unrun = new HashSet<>(firstChoices.keySet());
    try (var device = new EmulatedDevice()) {
      for (var each : op.cases(new Random(1), false)) {
        var types = HostTensor.types(each.inputs());
        for (var plan : op.plans(types, each.attributes(), device.capability())) {
          run.addAll((LaunchPlan) plan);
          unrun.removeAll(names((LaunchPlan) plan));
        }
      }
    }
    ofCases = Set.copyOf(run.found);
    var offered = new ArrayList<Trial>();
    for (var problem : Production.run(op)) {
      for (var gpu : Production.GPUS) {
        Production.plans(problem, gpu).forEach(plan -> offered.add(new Trial(problem, plan)));
      }
    }
    for (var trial : offered) {
      if (unrun.removeAll(names(trial.plan))) {
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
    ofAll = run.found;
  }

  /** The corpus of an op. */
  static Corpus of(String op) {
    return CORPORA.computeIfAbsent(op, _ -> new Corpus(Catalogue.load().find(op).orElseThrow()));
  }

  /** The names of a plan's kernels. */
  static List<String> names(LaunchPlan plan) {
    return plan.steps().stream().map(step -> step.variant().name()).toList();
  }

  /** The first choices, and the kernels of the trials, by name. */
  Map<String, Variant> kernels() {
    var kernels = new TreeMap<>(firstChoices);
    for (var trial : trials) {
      trial.plan.steps().forEach(step -> kernels.put(step.variant().name(), step.variant()));
    }
    return kernels;
  }

  /** Runs of what no case of the op runs. */
  List<Trial> trials() {
    return trials;
  }

  /** First choices that neither a case nor a trial runs. */
  Set<String> unrun() {
    return unrun;
  }

  /** Values that planners can choose for a problem of the suites or of production, on any GPU. */
  Set<Value> planned() {
    return planned;
  }

  /** Values in kernels that the op's cases run. */
  Set<Value> ofCases() {
    return ofCases;
  }

  /** Values in kernels that cases or trials run. */
  Set<Value> ofAll() {
    return ofAll;
  }

  /** The values in some plans. */
  private static final class Values {

    /** Those of each variant, which many plans share. */
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

    /** Adds the components of a record, and of the records within. */
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
