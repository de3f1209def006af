package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The members of {@code config.json}. A member that is null counts as absent. */
record Config(Map<String, ?> members) {

  /** Returns a positive integer. */
  long size(String name) {
    return optionalSize(name)
        .orElseThrow(
            () -> new ModelException.Malformed("`%s` is missing in config.json".formatted(name)));
  }

  /** Returns a positive integer. */
  Optional<Long> optionalSize(String name) {
    return optional(
        name,
        "an integer from 1 to 2147483647",
        member ->
            member instanceof Number number
                    && number.doubleValue() == number.intValue()
                    && number.intValue() > 0
                ? number.longValue()
                : null);
  }

  /** Returns the number of layers, each of which has tensors. */
  int layers(String name, int tensors) {
    long layers = size(name);
    if (layers > tensors) {
      throw new ModelException.Malformed(
          "`%s` is %d, but there are only %d tensors".formatted(name, layers, tensors));
    }
    return (int) layers;
  }

  /** Returns an integer from 0 on. */
  long index(String name, long otherwise) {
    return optional(
            name,
            "an integer from 0 to 2147483647",
            member ->
                member instanceof Number number
                        && number.doubleValue() == number.intValue()
                        && number.intValue() >= 0
                    ? number.longValue()
                    : null)
        .orElse(otherwise);
  }

  double number(String name, double otherwise) {
    return optional(
            name,
            "a positive number of f32",
            member ->
                member instanceof Number number
                        && number.floatValue() > 0
                        && Float.isFinite(number.floatValue())
                    ? number.doubleValue()
                    : null)
        .orElse(otherwise);
  }

  boolean flag(String name, boolean otherwise) {
    return optional(name, "true or false", member -> member instanceof Boolean flag ? flag : null)
        .orElse(otherwise);
  }

  String text(String name, String otherwise) {
    return optional(name, "a string", member -> member instanceof String text ? text : null)
        .orElse(otherwise);
  }

  Optional<List<?>> list(String name) {
    return optional(name, "a list", member -> member instanceof List<?> list ? list : null);
  }

  @SuppressWarnings("unchecked") // the names of members are strings
  Optional<Config> object(String name) {
    return optional(
        name,
        "an object",
        member -> member instanceof Map<?, ?> map ? new Config((Map<String, ?>) map) : null);
  }

  /**
   * Refuses an option.
   *
   * @param supported what is supported instead
   */
  void requireAbsent(String name, String supported) {
    if (members.get(name) != null) {
      throw unsupported(name, supported);
    }
  }

  /** Refuses the value of a member. */
  ModelException.Unsupported unsupported(String name, String supported) {
    return new ModelException.Unsupported(
        List.of("`%s` is %s; supported are %s".formatted(name, shown(name), supported)));
  }

  private String shown(String name) {
    var member = members.get(name);
    return member instanceof String ? "\"" + member + "\"" : String.valueOf(member);
  }

  private <T> Optional<T> optional(String name, String kind, Function<Object, @Nullable T> read) {
    var member = members.get(name);
    if (member == null) {
      return Optional.empty();
    }
    var value = read.apply(member);
    if (value == null) {
      throw new ModelException.Malformed(
          "`%s` is %s in config.json; it must be %s".formatted(name, shown(name), kind));
    }
    return Optional.of(value);
  }
}
