package dev.athanor.ops.lift;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * A problem in text form, such as {@code R=3 C=1000 alpha=2}.
 *
 * @param extents by the names in the shapes of inputs
 * @param attributes the given attributes
 */
record ProblemText(Map<String, List<Long>> extents, Map<String, String> attributes) {
  private static final Pattern EXTENT = Pattern.compile("[1-9][0-9]{0,8}");

  ProblemText {
    extents = Map.copyOf(extents);
    attributes = Map.copyOf(attributes);
  }

  /**
   * Parses a problem.
   *
   * @throws IllegalArgumentException if a size is missing or a name is unknown
   */
  static ProblemText parse(KernelDefinition definition, String text) {
    var names = new TreeSet<String>();
    definition.inputs().forEach(input -> names.addAll(input.shape().names()));
    var extents = new LinkedHashMap<String, List<Long>>();
    var attributes = new LinkedHashMap<String, String>();
    for (var part : text.strip().split("[\\s,]+", -1)) {
      var pair = part.split("=", 2);
      if (names.contains(pair[0]) && pair.length == 2 && EXTENT.matcher(pair[1]).matches()) {
        extents.put(pair[0], List.of(Long.parseLong(pair[1])));
      } else if (definition.attributes().stream().anyMatch(a -> a.name().equals(pair[0]))
          && pair.length == 2) {
        attributes.put(pair[0], pair[1]);
      } else if (!part.isEmpty()) {
        throw new IllegalArgumentException(
            "the case \"%s\" has \"%s\"; write sizes (%s) and attributes as NAME=NUMBER"
                .formatted(text, part, String.join(", ", names)));
      }
    }
    for (var name : names) {
      if (!extents.containsKey(name)) {
        throw new IllegalArgumentException(
            "the case \"%s\" lacks the size %s; write %s=NUMBER".formatted(text, name, name));
      }
    }
    try {
      Attributes.of(definition.description(), attributes);
    } catch (OpException e) {
      throw new IllegalArgumentException("the case \"%s\": %s".formatted(text, e.getMessage()), e);
    }
    return new ProblemText(extents, attributes);
  }
}
