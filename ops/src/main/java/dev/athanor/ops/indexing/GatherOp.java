package dev.athanor.ops.indexing;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
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
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/**
 * Gathers slices of a tensor along a dimension, such as embeddings of tokens.
 *
 * <p>Negative indices count from the end, except for rows of a matrix, of which they yield zeros:
 * models pad their tokens with -1.
 */
final class GatherOp implements SampledOp {

  private static final String TABLE = "table";

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "gather",
          "Gathers slices along a dimension, such as token embeddings.",
          List.of(
              new Input(TABLE, "[…, V, …]", ElementwiseOps.ELEMENTS, false, "the table"),
              new Input(
                  Indices.INDEX,
                  "[…i]",
                  IndexingOps.INDEX_DTYPES,
                  false,
                  "indices in the dimension axis, from −V to V − 1; negative ones count from the end,"
                      + " except in dimension 0 of a table [V, D], where they yield zeros. Any other"
                      + " index yields zeros")),
          List.of(
              Attribute.integer(
                  Indices.AXIS,
                  0,
                  "dimension of table that is indexed; negative values count from the end")),
          List.of(Output.of("y", "[…, …i, …]", "same as table", "the slices, copied bit for bit")),
          "y[i, m, j] = table[i, index[m], j], or 0 if index[m] is out of range; i, m and j may be"
              + " several indices or none",
          "0");

  /** The cases of other tables than matrices and of other dimensions than the first. */
  private static final List<String> ALONG =
      List.of(
          "table=?[13] index=#[40]",
          "table=?[1] index=#[]",
          "table=?[7,33] index=#[3,5] axis=1",
          "table=?[7,33] index=#[] axis=-1",
          "table=?[9,4,16] index=#[20]",
          "table=?[3,11,64] index=#[] axis=1",
          "table=?[5,6,3] index=#[2,9] axis=-2",
          "table=?[2,3,4,5] index=#[7] axis=2",
          "table=?[1,6,8] index=#[11] axis=1");

  /** A checked call. */
  private record Call(TensorType table, TensorType index, int axis) {

    static Call of(Map<String, TensorType> inputs, Attributes attributes) {
      var table = Objects.requireNonNull(inputs.get(TABLE));
      return new Call(
          table,
          Objects.requireNonNull(inputs.get(Indices.INDEX)),
          Checks.axis(attributes, Indices.AXIS, TABLE, table.shape()));
    }

    boolean gathersRows() {
      return table.shape().rank() == 2 && axis == 0;
    }

    long extent() {
      return table.shape().extent(axis);
    }

    TensorType y() {
      var extents = new ArrayList<>(table.shape().extents().subList(0, axis));
      extents.addAll(index.shape().extents());
      extents.addAll(table.shape().extents().subList(axis + 1, table.shape().rank()));
      return Checks.output("y", table.dtype(), new Shape(extents));
    }
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", Call.of(inputs, attributes).y());
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var call = Call.of(inputs, attributes);
    if (call.gathersRows()) {
      return rows(call.table, call.index, Map.of("y", call.y()), capability);
    }
    var y = call.y();
    var lookup = Lookup.along(call.table.shape(), call.axis, call.index.shape().elements());
    return new GatherPlanner(TABLE, call.table, lookup)
        .plans(DESCRIPTION.name(), call.index, y, capability);
  }

  private static List<? extends Plan> rows(
      TensorType table, TensorType index, Map<String, TensorType> outputs, Capability capability) {
    long rowBytes = table.shape().extent(1) * table.dtype().bytes();
    var variant = new GatherVariant(GatherPlanner.access(rowBytes), index.dtype());
    int perRow = Checks.count(TABLE, table.shape(), rowBytes / variant.access());
    int tableRows = Checks.count(TABLE, table.shape(), table.shape().extent(0));
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
              Arguments.ofInputs(TABLE)
                  .with(Indices.INDEX, new Slot.Input(Indices.INDEX, row * index.dtype().bytes()))
                  .with("y", new Slot.Output("y", row * rowBytes))
                  .with("tableRows", tableRows)
                  .with("rows", (int) here)
                  .with("perRow", perRow)));
    }
    var candidates = new Candidates("gather of " + table.dtype().text(), capability);
    var cost =
        new Plan.Cost(0, index.bytes() + 2.0 * Objects.requireNonNull(outputs.get("y")).bytes());
    candidates.offer(
        variant.name(),
        Machine.of(capability).streaming(steps.size(), cost.bytes()),
        "%d rows of %d accesses each".formatted(rows, perRow),
        steps,
        0);
    return candidates.plans(outputs, cost);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var call = Call.of(HostTensor.types(inputs), attributes);
    var table = Objects.requireNonNull(inputs.get(TABLE));
    var index = Objects.requireNonNull(inputs.get(Indices.INDEX));
    long count = call.index.shape().elements();
    long extent = call.extent();
    var shape = call.table.shape();
    long width = new Shape(shape.extents().subList(call.axis + 1, shape.rank())).elements();
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            call.y().shape().elements(),
            i -> {
              long slice = i / width;
              long given = call.index.dtype().readLong(index.data(), slice % count);
              long at = given < 0 && !call.gathersRows() ? given + extent : given;
              return at < 0 || at >= extent
                  ? 0
                  : table.get((slice / count * extent + at) * width + i % width);
            }));
  }

  /** Draws indices of any slices of the table. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var call = Call.of(inputs, attributes);
    return Map.of(
        TABLE,
        draw.usual(call.table),
        Indices.INDEX,
        draw.integers(0, call.extent() - 1, call.index));
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
                Map.of(TABLE, table, Indices.INDEX, index),
                Attributes.of(DESCRIPTION, Map.of()),
                Map.of("y", Tolerance.exact())));
        n++;
      }
    }
    cases.addAll(IndexingCases.of(this, random, ALONG, GatherIndexedOp.DTYPES, quick ? 1 : 3));
    return cases;
  }
}
