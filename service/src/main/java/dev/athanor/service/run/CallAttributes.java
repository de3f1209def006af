package dev.athanor.service.run;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.AttributeType;
import dev.athanor.service.codec.AttributeValues;
import java.util.HashMap;
import java.util.Map;

/** Reads the attributes of calls and of the steps of pipelines. */
final class CallAttributes {

  private CallAttributes() {}

  /**
   * Returns the attributes of a call. Merges the requested dtype of a sole output into the
   * attribute {@code outDtype}, if the op has it.
   */
  static Attributes of(Call call) {
    var op = call.op().description();
    var given = new HashMap<String, Object>(call.attributes());
    var choice = op.attribute("outDtype").filter(a -> a.type() == AttributeType.CHOICE).isPresent();
    if (choice && op.outputs().size() == 1) {
      var target = call.outputs().get(op.outputs().getFirst().name());
      if (target != null && target.dtype() != null) {
        given.putIfAbsent("outDtype", target.dtype().text());
      }
    }
    return of(op, given, "");
  }

  /**
   * Returns the attributes of a step.
   *
   * @param at the path of the step in the request, with a trailing dot
   */
  static Attributes of(OpDescription op, Map<String, ?> given, String at) {
    AttributeValues.checkSizes(given, at + "attributes.");
    return Attributes.of(op, given);
  }
}
