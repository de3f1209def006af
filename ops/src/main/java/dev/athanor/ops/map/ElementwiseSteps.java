package dev.athanor.ops.map;

import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.map.ElementwiseVariant.Advance;
import java.util.List;
import java.util.Optional;

/**
 * The launches that compute the elements of a result or of a part of it, in {@link Loops}.
 *
 * @param op name of the op, for messages
 * @param loops with the strides of the operands, followed by those of a strided result
 * @param operands addresses of the operands in memory
 * @param in dtype of the operands
 * @param last dtype of the last operand
 * @param result address of the result
 * @param out dtype of the result
 * @param conversion the conversion of results to elements of the output
 * @param constants the argument of the scalar operand, if there is one
 */
public record ElementwiseSteps(
    String op,
    Formula formula,
    Loops loops,
    List<Slot> operands,
    DType in,
    DType last,
    Slot.Output result,
    DType out,
    Conversion conversion,
    Arguments constants) {

  /** Maximum number of elements per launch, so that 32-bit indices suffice. */
  public static final long MOST = 1L << 30;

  public ElementwiseSteps {
    operands = List.copyOf(operands);
  }

  /**
   * Returns the launches that copy elements bit for bit, or store a constant.
   *
   * @param loops with the strides of the source, unless it is a constant, and of the result
   * @param source an address, or an integer with the bits of the constant
   * @param size an integer dtype of the size of an element
   */
  public static ElementwiseSteps copy(
      String op, Loops loops, Slot source, Slot.Output result, DType size) {
    boolean fills = source instanceof Slot.Scalar;
    int sources = fills ? 0 : 1;
    return new ElementwiseSteps(
        op,
        fills ? Formula.FILL : Formula.IDENTITY,
        loops.isDense(sources) ? loops.first(sources) : loops,
        fills ? List.of() : List.of(source),
        size,
        size,
        result,
        size,
        Conversion.usual(size),
        fills ? Arguments.NONE.with("value", source) : Arguments.NONE);
  }

  /** Returns the integer dtype whose kernels copy the elements of a dtype. */
  public static DType ofSameSize(DType dtype) {
    return switch (dtype.bytes()) {
      case 1 -> DType.U8;
      case 2 -> DType.I16;
      case 4 -> DType.I32;
      default -> DType.I64;
    };
  }

  /** Returns the launches, each of at most {@link #MOST} elements. */
  public List<Step> steps() {
    return steps(MOST);
  }

  /**
   * Returns the launches.
   *
   * @param most maximum number of elements per launch, a multiple of 16
   */
  List<Step> steps(long most) {
    return loops.parts(most).stream().map(this::step).toList();
  }

  private boolean isStrided() {
    return loops.inner().strides().size() > operands.size();
  }

  private Step step(Loops.Part part) {
    var all = part.loops().loops();
    var advances = part.loops().inner().strides().stream().map(Advance::of).toList();
    var variant =
        new ElementwiseVariant(
            formula,
            !constants.isEmpty(),
            in,
            last,
            out,
            conversion,
            all.size(),
            advances.subList(0, operands.size()),
            isStrided() ? Optional.of(advances.getLast()) : Optional.empty(),
            vector(part));
    var arguments = constants.with(part.arguments(variant.vector(), this::stride));
    for (int o = 0; o < operands.size(); o++) {
      arguments =
          arguments.with("x" + o, operands.get(o).advanced(part.starts().get(o) * bytes(o)));
    }
    var inner = part.loops().inner().strides();
    for (int o = 0; o < inner.size(); o++) {
      if (Advance.of(inner.get(o)) == Advance.STRIDED) {
        arguments = arguments.with(Loops.strideName(all.size() - 1, o), stride(inner.get(o)));
      }
    }
    long elements = part.elements();
    return new Step(
        variant,
        Dim3.of(variant.blocks(elements)),
        ElementwiseVariant.THREADS,
        0,
        arguments.with("y", result.advanced(resultStart(part) * out.bytes())));
  }

  /** Returns the bytes of an element of an operand. */
  private int bytes(int operand) {
    return (operand == operands.size() - 1 ? last : in).bytes();
  }

  private static long offset(Slot slot) {
    return switch (slot) {
      case Slot.Input(_, var offset) -> offset;
      case Slot.Output(_, var offset) -> offset;
      case Slot.Workspace(var offset) -> offset;
      case Slot.Tensor(var first, _) -> offset(first);
      case Slot.Scalar _ -> 0;
    };
  }

  private long resultStart(Loops.Part part) {
    return isStrided() ? part.starts().getLast() : part.first();
  }

  private int stride(long stride) {
    if (stride != (int) stride) {
      throw new OpException.TooLarge(
          operands.isEmpty() ? result.name() : name(operands.getFirst()),
          "%s needs a stride of %d elements; the maximum is 2^31 - 1".formatted(op, stride));
    }
    return (int) stride;
  }

  private static String name(Slot slot) {
    return slot instanceof Slot.Input(var name, _) ? name : "y";
  }

  /** Returns the widest vector, in elements, to which every row of a part is aligned. */
  private int vector(Loops.Part part) {
    // a single loop computes the remainder one by one; with several, the vector divides the inner
    boolean several = part.loops().rank() > 1;
    long steps = several ? part.loops().inner().count() : 0;
    for (int p = 0; p < part.starts().size(); p++) {
      switch (Advance.of(part.loops().inner().strides().get(p))) {
        case CONTIGUOUS -> {
          steps |= part.starts().get(p);
          for (var loop : part.loops().loops().subList(0, part.loops().rank() - 1)) {
            steps |= loop.strides().get(p);
          }
        }
        case REPEATED -> {}
        case STRIDED -> steps |= 1;
      }
    }
    steps |= isStrided() ? 0 : part.first();
    int widest = ElementwiseVariant.widest(in, last, out);
    long bytes = offset(result) / out.bytes();
    for (int o = 0; o < operands.size(); o++) {
      boolean contiguous = part.loops().inner().strides().get(o) == 1;
      bytes |= contiguous ? offset(operands.get(o)) / bytes(o) : 0;
    }
    return (int) Long.lowestOneBit(steps | bytes | widest);
  }
}
