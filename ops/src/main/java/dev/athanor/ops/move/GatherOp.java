package dev.athanor.ops.move;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.map.ElementwiseSteps;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;

/** Gathers rows of a table, such as embeddings of tokens. */
public final class GatherOp implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "gather",
          "Gathers rows of a table, such as token embeddings.",
          List.of(
              new Input("table", "[V, D]", ElementwiseOps.ELEMENTS, false, "the table"),
              new Input(
                  "index",
                  "[…]",
                  Set.of(DType.I32, DType.I64),
                  false,
                  "row indices from 0 to V − 1; any other index yields zeros. NumPy and ONNX"
                      + " count negative indices from the end; PyTorch rejects them")),
          List.of(),
          List.of(
              Output.of("y", "[…, D]", "same as table", "the gathered rows, copied bit for bit")),
          "y[…, d] = table[index[…], d], or 0 if index[…] is not in 0 … V − 1",
          "0");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return BoundInputs.of(DESCRIPTION, inputs, attributes).outputs();
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var table = call.type("table");
    var index = call.type("index");
    var outputs = call.outputs();
    long rowBytes = table.shape().extent(1) * table.dtype().bytes();
    var variant = new GatherVariant((int) Math.min(16, Long.lowestOneBit(rowBytes)), index.dtype());
    int perRow = Checks.count("table", table.shape(), rowBytes / variant.access());
    int tableRows = Checks.count("table", table.shape(), table.shape().extent(0));
    // limits the rows of a launch so that 32-bit indices suffice for the words of y
    long most = Math.max(1, ElementwiseSteps.MOST / (4L * perRow));
    long rows = index.shape().elements();
    var steps = new ArrayList<Step>();
    for (long row = 0; row < rows; row += most) {
      long here = Math.min(most, rows - row);
      steps.add(
          new Step(
              variant,
              Dim3.of(
                  Math.toIntExact(
                      Math.ceilDiv(here * perRow, GatherVariant.THREADS * GatherVariant.DEPTH))),
              GatherVariant.THREADS,
              0,
              Arguments.ofInputs("table")
                  .with("index", new Slot.Input("index", row * index.dtype().bytes()))
                  .with("y", new Slot.Output("y", row * rowBytes))
                  .with("tableRows", tableRows)
                  .with("rows", (int) here)
                  .with("perRow", perRow)));
    }
    var candidates = new Candidates("gather of " + table.dtype().text(), capability);
    var cost =
        new Plan.Cost(0, index.bytes() + 2.0 * Objects.requireNonNull(outputs.get("y")).bytes());
    if (candidates.runs(Target.SM_80, variant.name())) {
      candidates.offer(
          variant.name(),
          Machine.of(capability).streaming(steps.size(), cost.bytes()),
          "%d rows of %d accesses each".formatted(rows, perRow),
          steps,
          0);
    }
    return candidates.plans(outputs, cost);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var table = Objects.requireNonNull(inputs.get("table"));
    var index = Objects.requireNonNull(inputs.get("index"));
    long rows = table.type().shape().extent(0);
    long width = table.type().shape().extent(1);
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            index.type().shape().elements() * width,
            i -> {
              long row = index.type().dtype().readLong(index.data(), i / width);
              return row >= 0 && row < rows ? table.get(row * width + i % width) : 0;
            }));
  }

  /** Draws indices of any rows of the table. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    return Map.of(
        "table",
        draw.usual(call.type("table")),
        "index",
        draw.integers(0, call.extent("V") - 1, call.type("index")));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    var shapes = List.of(Shape.of(), Shape.of(13), Shape.of(3, 40));
    int n = 0;
    for (var dtype :
        quick ? List.of(DType.F16) : List.of(DType.F32, DType.BF16, DType.F64, DType.I8)) {
      for (int width : quick ? new int[] {7, 64} : new int[] {1, 2, 7, 16, 33, 100, 128}) {
        int rows = 17 + n;
        var type = TensorType.of(dtype, rows, width);
        var indexType =
            new TensorType(n % 2 == 0 ? DType.I32 : DType.I64, shapes.get(n % shapes.size()));
        var index = draw.integers(0, rows - 1, indexType);
        long elements = indexType.shape().elements();
        if (elements > 3) {
          // the first row, the last, and some outside the table
          long[] special = {0, rows - 1, rows, -1, Integer.MAX_VALUE, Integer.MIN_VALUE};
          for (int i = 0; i < special.length; i++) {
            indexType.dtype().writeLong(index.data(), i, special[i]);
          }
          if (indexType.dtype() == DType.I64) {
            indexType.dtype().writeLong(index.data(), special.length, 1L << 32);
          }
        }
        var table = dtype.isFloat() ? draw.normal(0, 1, type) : draw.integers(-128, 127, type);
        cases.add(
            new Case(
                Map.of("table", table, "index", index),
                new Attributes(Map.of()),
                Map.of("y", Tolerance.exact())));
        n++;
      }
    }
    return cases;
  }
}
