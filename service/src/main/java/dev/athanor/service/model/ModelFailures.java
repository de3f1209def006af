package dev.athanor.service.model;

import dev.athanor.models.ModelException;
import dev.athanor.models.graph.Ops;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.run.OpFailures;

/** Translates exceptions of models into failures for clients. */
final class ModelFailures {

  private ModelFailures() {}

  static Failure explain(ModelException e) {
    if (e instanceof ModelException.InvalidStep invalid) {
      var op = Ops.find(invalid.op()).description();
      return OpFailures.explain(op, invalid.rejection(), "steps[%d].".formatted(invalid.index()))
          .in(new Failure.Step(invalid.index(), invalid.op()));
    }
    var code =
        switch (e) {
          case ModelException.Malformed _ -> Code.MALFORMED_BODY;
          case ModelException.InvalidStep _, ModelException.InvalidInput _ -> Code.SHAPE_MISMATCH;
          case ModelException.Unsupported _ -> Code.INVALID_ATTRIBUTE;
        };
    return new Failure.Refused(code, e.field(), String.valueOf(e.getMessage()));
  }
}
