package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.AttributeType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks that every op accepts the documented values of its attributes, and no others. */
class AttributeBoundsTest {

  /** Attributes whose maximum does not match the shape of any test tensor. */
  private static final Set<String> SHAPE_ATTRIBUTES = Set.of("k", "heads", "headDim", "rotaryDim");

  static List<String> ops() {
    return OpsTest.ops();
  }

  @ParameterizedTest
  @MethodSource("ops")
  void acceptsDocumentedValues(String name) {
    var op = Catalogue.load().find(name).orElseThrow();
    var attributes = op.description().attributes();
    if (attributes.isEmpty()) {
      return;
    }
    var quick = op.cases(new Random(1), true);
    var all = new ArrayList<Op.Case>(quick);
    boolean few = true;
    for (var attribute : attributes) {
      for (var value : documentedValues(attribute)) {
        boolean accepted = isAccepted(op, all, attribute.name(), value);
        if (!accepted && few) {
          few = false;
          all.addAll(op.cases(new Random(1), false));
          accepted = isAccepted(op, all, attribute.name(), value);
        }
        assertThat(accepted).as("%s accepts %s = %s", name, attribute.name(), value).isTrue();
      }
    }
  }

  private static Set<Object> documentedValues(Attribute attribute) {
    var values = new LinkedHashSet<Object>(attribute.choices());
    if (attribute.type() == AttributeType.BOOLEAN) {
      values.addAll(List.of(true, false));
    }
    if (!attribute.defaultValue().isEmpty()) {
      values.add(attribute.defaultValue());
    }
    // a single size of 0 is not the extent of any test tensor
    if (Double.isFinite(attribute.least()) && !attribute.name().equals("sizes")) {
      values.add(attribute.least());
    }
    if (Double.isFinite(attribute.greatest()) && !SHAPE_ATTRIBUTES.contains(attribute.name())) {
      values.add(attribute.greatest());
    }
    return values;
  }

  /** Returns whether some case accepts the value, with its other attributes unchanged. */
  private static boolean isAccepted(Op op, List<Op.Case> cases, String attribute, Object value) {
    for (Op.Case each : cases) {
      var given = new HashMap<String, Object>(each.attributes().values());
      given.put(attribute, value);
      var inputs = HostTensor.types(each.inputs());
      try {
        var attributes = Attributes.of(op.description(), given);
        assertThat(op.plans(inputs, attributes, TestDevices.H200)).isNotEmpty();
        return true;
      } catch (OpException e) {
        // another case may suit this value
        assertThat(e).hasMessageMatching(".{10,}");
      }
    }
    return false;
  }

  @ParameterizedTest
  @MethodSource("ops")
  void rejectsOtherValues(String name) {
    var description = Catalogue.load().find(name).orElseThrow().description();
    for (var attribute : description.attributes()) {
      for (var value : invalidValues(attribute)) {
        assertThatThrownBy(() -> Attributes.of(description, Map.of(attribute.name(), value)))
            .as("%s of %s = %s", attribute.name(), name, value)
            .isInstanceOf(OpException.InvalidAttribute.class)
            .hasMessageStartingWith("attribute \"%s\" must be ".formatted(attribute.name()))
            .hasMessageContaining(", got ");
      }
    }
  }

  private static List<Object> invalidValues(Attribute attribute) {
    var values = new ArrayList<Object>();
    switch (attribute.type()) {
      case CHOICE -> values.add("no-such-choice");
      case BOOLEAN -> values.addAll(List.of("yes", 1));
      case INTEGER -> {
        values.addAll(List.of(1.5, "many", Double.NaN));
        if (Double.isFinite(attribute.least())) {
          values.add(attribute.least() - 1);
        }
        if (Double.isFinite(attribute.greatest())) {
          values.add(attribute.greatest() + 1);
        }
      }
      case INTEGERS -> values.addAll(List.of(List.of(1.5), "0,many", true));
      case NUMBERS -> values.addAll(List.of(List.of(Double.NaN), "0;1", true));
      case TEXT -> values.addAll(List.of(1, List.of("a")));
      case NUMBER -> {
        values.addAll(List.of("much", Double.NaN, Double.POSITIVE_INFINITY, true));
        if (Double.isFinite(attribute.least())) {
          values.add(Math.nextDown(attribute.least()));
        }
        if (Double.isFinite(attribute.greatest())) {
          values.add(Math.nextUp(attribute.greatest()));
        }
      }
    }
    return values;
  }
}
