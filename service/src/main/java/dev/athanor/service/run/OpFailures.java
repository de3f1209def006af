package dev.athanor.service.run;

import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;

/** Translates exceptions of ops into failures for clients. */
public final class OpFailures {

  private OpFailures() {}

  /**
   * Translates an exception of an op.
   *
   * @param at the path of the call within the request, with a trailing dot; empty for the request
   *     itself
   */
  public static Failure explain(OpDescription op, OpException refusal, String at) {
    var code =
        switch (refusal) {
          case OpException.ShapeMismatch _ -> Code.SHAPE_MISMATCH;
          case OpException.UnsupportedDType _ -> Code.UNSUPPORTED_DTYPE;
          case OpException.InvalidAttribute _ -> Code.INVALID_ATTRIBUTE;
          case OpException.MissingInput _ -> Code.MISSING_INPUT;
          case OpException.UnknownField _ -> Code.UNKNOWN_FIELD;
          // over-large problems are bad requests; 413 is for bodies
          case OpException.TooLarge _ -> Code.SHAPE_MISMATCH;
          case OpException.UnsupportedOnDevice _ -> Code.UNSUPPORTED_ON_DEVICE;
        };
    // messages quote attributes, which may contain any characters
    return new Failure.Refused(
        code,
        Tensors.printable(at + path(op, refusal)),
        Tensors.printable(String.valueOf(refusal.getMessage())));
  }

  private static String path(OpDescription op, OpException refusal) {
    var field = refusal.field();
    if (op.input(field).isPresent() || refusal instanceof OpException.MissingInput) {
      return "inputs." + field;
    }
    if (op.attribute(field).isPresent()) {
      return "attributes." + field;
    }
    return op.output(field).isPresent() ? "outputs." + field : field;
  }
}
