package dev.athanor.service.model;

import dev.athanor.models.ModelDefinition.Input;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The values that calls may choose for the extents of a model's inputs that have names.
 *
 * @param ranges by the names of extents; empty if calls may choose any
 */
public record ExtentRanges(Map<String, Range> ranges) {

  /** Accepts all extents. */
  public static final ExtentRanges ANY = new ExtentRanges(Map.of());

  /** The path of the ranges in requests. */
  public static final String FIELD = "extents";

  private static final Pattern FORM = Pattern.compile("(.+):(\\d{1,18})-(\\d{1,18})");

  /** A range with both ends. */
  public record Range(long min, long max) {
    @Override
    public String toString() {
      return min + "-" + max;
    }
  }

  public ExtentRanges {
    ranges = Collections.unmodifiableMap(new LinkedHashMap<>(ranges));
  }

  /**
   * Returns the ranges of a text such as {@code batch:1-8,sequence:1-128}.
   *
   * @throws Failure.Refused with {@code invalid-attribute}
   */
  public static ExtentRanges parse(String text) {
    var ranges = new LinkedHashMap<String, Range>();
    for (var part : text.isEmpty() ? new String[0] : text.split(",", -1)) {
      var match = FORM.matcher(part);
      if (!match.matches()) {
        throw invalid(
            "extents has \"%s\"; each part must be a name and a range, as in batch:1-8"
                .formatted(Tensors.excerpt(part)));
      }
      var range = new Range(Long.parseLong(match.group(2)), Long.parseLong(match.group(3)));
      if (range.min > range.max || ranges.put(match.group(1), range) != null) {
        throw invalid(
            "extents has \"%s\"; a range ends at or after its beginning, and a name has one range"
                .formatted(Tensors.excerpt(part)));
      }
    }
    return new ExtentRanges(ranges);
  }

  private static Failure invalid(String message) {
    return new Failure.Refused(Code.INVALID_ATTRIBUTE, FIELD, message);
  }

  /** Returns the text of the ranges. */
  public String text() {
    return ranges.entrySet().stream()
        .map(range -> range.getKey() + ":" + range.getValue())
        .collect(Collectors.joining(","));
  }

  /**
   * Checks that all extents with names have ranges, if any has.
   *
   * @throws Failure.Refused with {@code invalid-attribute}
   */
  void checkNames(List<Input> inputs) {
    var names = names(inputs);
    if (!ranges.isEmpty() && !ranges.keySet().equals(names)) {
      throw invalid(
          "extents has ranges of %s; the extents of the model's inputs that have names are %s"
              .formatted(new TreeSet<>(ranges.keySet()), names));
    }
  }

  /** Returns the extents that have names. */
  private static SortedSet<String> names(List<Input> inputs) {
    return inputs.stream()
        .flatMap(input -> input.extents().stream())
        .filter(ExtentRanges::isName)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns whether the types of inputs are known but for the ranges. */
  boolean areComplete(List<Input> inputs) {
    return !inputs.isEmpty() && ranges.keySet().containsAll(names(inputs));
  }

  private static boolean isName(String extent) {
    return !extent.matches("\\d+");
  }

  /** Returns the types of the smallest inputs. */
  Map<String, TensorType> lowest(List<Input> inputs) {
    return types(inputs, Range::min);
  }

  /** Returns the types of the largest inputs. */
  Map<String, TensorType> highest(List<Input> inputs) {
    return types(inputs, Range::max);
  }

  private Map<String, TensorType> types(List<Input> inputs, ToLongFunction<Range> end) {
    var types = new LinkedHashMap<String, TensorType>();
    for (var input : inputs) {
      var extents =
          input.extents().stream()
              .map(extent -> {
                var range = ranges.get(extent);
                return range == null ? Long.parseLong(extent) : end.applyAsLong(range);
              })
              .toList();
      types.put(input.name(), new TensorType(input.dtype(), new Shape(extents)));
    }
    return types;
  }

  /**
   * Checks the types of a call's inputs.
   *
   * @throws Failure.Refused with {@code shape-mismatch} if an extent is outside its range
   */
  void check(List<Input> inputs, Map<String, TensorType> types) {
    for (var input : inputs) {
      var type = types.get(input.name());
      if (type == null || type.shape().rank() != input.extents().size()) {
        continue; // the model refuses it
      }
      for (int i = 0; i < input.extents().size(); i++) {
        var name = input.extents().get(i);
        var range = ranges.get(name);
        long extent = type.shape().extent(i);
        if (range != null && (extent < range.min || extent > range.max)) {
          throw new Failure.Refused(
              Code.SHAPE_MISMATCH,
              "inputs." + input.name(),
              "input \"%s\" is %s; the model is stored for %s of %s"
                  .formatted(input.name(), type, name, range));
        }
      }
    }
  }
}
