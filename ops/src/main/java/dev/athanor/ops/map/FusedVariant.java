package dev.athanor.ops.map;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.map.FusedFunction.Tensor;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * The kernel of a {@link FusedFunction} on dense tensors of one shape. A thread loads all operands
 * of its elements before it stores their results, so that results may replace operands.
 *
 * <p>Parameters: the operands, the results, the number of elements, and those of the function.
 */
public record FusedVariant(FusedFunction function) implements Variant {

  private static final int THREADS = 256;

  /** Returns the elements of a thread: 16 bytes of the widest tensor. */
  private int vector() {
    return 16
        / Stream.concat(function.operands().stream(), function.results().stream())
            .mapToInt(tensor -> tensor.dtype().bytes())
            .max()
            .orElseThrow();
  }

  /**
   * Returns the launch.
   *
   * @param input name of an input, for messages
   * @param type of the input; all operands and results have its shape
   * @param arguments the tensors, and the arguments of the function
   */
  public Step step(String input, TensorType type, Arguments arguments) {
    long elements = type.shape().elements();
    long blocks = Math.ceilDiv(elements, (long) THREADS * vector());
    var grid = Dim3.of(Checks.count(input, type.shape(), blocks));
    return new Step(this, grid, THREADS, 0, arguments.with("count", elements));
  }

  @Override
  public String name() {
    return function.name();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    int vector = vector();
    var first = k.block().wide().times(THREADS * vector);
    var operands = pointers(k, function.operands(), first);
    var results = pointers(k, function.results(), first);
    var count = k.wide("count");
    var compute = function.declare(k);
    var at = k.thread().times(vector);
    var inside = isInside(first, at.plus(vector - 1), count);
    move(operands, results, compute, inside, vector, at);
    // the last elements, fewer than a vector
    k.when(
        inside.not().and(isInside(first, at, count)),
        () -> {
          for (int i = 0; i < vector - 1; i++) {
            var element = at.plus(i);
            move(operands, results, compute, isInside(first, element, count), 1, element);
          }
        });
  }

  private static List<GlobalPointer> pointers(KernelBuilder k, List<Tensor> tensors, Wide first) {
    return tensors.stream()
        .map(tensor -> k.pointer(tensor.name(), Elements.type(tensor.dtype())).plus(first))
        .toList();
  }

  private static Predicate isInside(Wide first, Int at, Wide count) {
    return first.plus(at.wide()).lt(count);
  }

  private static void move(
      List<GlobalPointer> operands,
      List<GlobalPointer> results,
      UnaryOperator<List<Real>> compute,
      Predicate inside,
      int elements,
      Int at) {
    var loaded = operands.stream().map(from -> from.loadWhere(inside, elements, at)).toList();
    var computed = new ArrayList<List<Real>>();
    for (int i = 0; i < elements; i++) {
      int element = i;
      computed.add(compute.apply(loaded.stream().map(each -> each.get(element).widen()).toList()));
    }
    for (int r = 0; r < results.size(); r++) {
      var to = results.get(r);
      var values = new ArrayList<Value>();
      for (var each : computed) {
        values.add(each.get(r).to(to.element()));
      }
      to.storeWhere(inside, at, values);
    }
  }
}
