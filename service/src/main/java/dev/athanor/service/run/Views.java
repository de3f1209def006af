package dev.athanor.service.run;

import dev.athanor.ops.TensorType;
import dev.athanor.ops.move.Layout;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks the views of a request. */
final class Views {

  private Views() {}

  /**
   * Returns a view of a value, or the value itself if {@code view} is null.
   *
   * @param field the path of the view in the request
   * @throws Failure.Refused if the value does not have these elements
   */
  static RunValue of(RunValue value, Call.@Nullable View view, String field) {
    if (view == null) {
      return value;
    }
    var type =
        view.shape() == null
            ? value.type()
            : Tensors.type(value.type().dtype(), view.shape(), field + ".shape");
    if (view.offset() == null && view.strides() == null) {
      return value.view(reshaped(value.type(), type, field), 0, dense(type, 0));
    }
    return part(value, type, view, field);
  }

  private static Layout dense(TensorType type, long first) {
    return new Layout(Layout.denseStrides(type.shape()), first);
  }

  private static TensorType reshaped(TensorType own, TensorType type, String field) {
    if (type.shape().elements() != own.shape().elements()) {
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          field + ".shape",
          "%s.shape is %s, but the tensor has shape %s; both must have the same number of elements"
              .formatted(field, type.shape(), own.shape()));
    }
    return type;
  }

  private static RunValue part(RunValue value, TensorType type, Call.View view, String field) {
    var own = value.type();
    if (own.dtype().isBlock()) {
      throw invalid(
          field,
          "%s is a part of a tensor of %s, whose blocks cannot be divided; read all of it"
              .formatted(field, own.dtype().text()));
    }
    long offset = view.offset() == null ? 0 : view.offset();
    if (offset < 0) {
      throw invalid(
          field + ".offset",
          "%s.offset must be an integer of at least 0, got %d".formatted(field, offset));
    }
    var strides = view.strides() == null ? dense(type, 0).strides() : view.strides();
    checkStrides(strides, type, field);
    long last = last(offset, strides, type);
    long elements = own.shape().elements();
    if (last >= elements) {
      throw new Failure.Refused(
          Code.SHAPE_MISMATCH,
          field,
          "%s has shape %s, offset %d and strides %s, but the tensor of shape %s has only %d elements"
              .formatted(field, type.shape(), offset, strides, own.shape(), elements));
    }
    if (type.isEmpty()) {
      return value.view(type, 0, dense(type, 0));
    }
    int bytes = own.dtype().bytes();
    long start = offset * bytes / Layout.ALIGNMENT * Layout.ALIGNMENT;
    return value.view(type, start, new Layout(strides, offset - start / bytes));
  }

  private static void checkStrides(List<Long> strides, TensorType type, String field) {
    if (strides.size() != type.shape().rank()) {
      throw invalid(
          field + ".strides",
          "%s.strides is %s; give one number for each dimension of shape %s"
              .formatted(field, strides, type.shape()));
    }
    for (long stride : strides) {
      if (stride < 0) {
        throw invalid(
            field + ".strides",
            "%s.strides is %s; strides must be at least 0".formatted(field, strides));
      }
    }
  }

  /**
   * Returns the index of the last element, or of the one before the first if there is none; the
   * greatest long if it is greater than that.
   */
  private static long last(long offset, List<Long> strides, TensorType type) {
    if (type.isEmpty()) {
      return offset - 1;
    }
    try {
      long last = offset;
      for (int i = 0; i < strides.size(); i++) {
        long steps = type.shape().extent(i) - 1;
        last = Math.addExact(last, Math.multiplyExact(steps, strides.get(i)));
      }
      return last;
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }

  private static Failure invalid(String field, String message) {
    return new Failure.Refused(Code.INVALID_TENSOR, field, message);
  }
}
