package dev.athanor.service.run;

import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;

/** What the refusals of ops mean to a client. */
final class OpFailures {

  private OpFailures() {}

  /**
   * Explains a refusal.
   *
   * @param at the path of the op's call in the request, with a dot at its end; empty where that is
   *     the request itself
   */
  static Failure explain(OpDescription op, OpException refusal, String at) {
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
    return new Failure.Refused(code, at + path(op, refusal), String.valueOf(refusal.getMessage()));
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
