package dev.athanor.service.openinference;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The description of a model for clients of the protocol.
 *
 * @param properties details that the protocol has no field for: the dtypes and shapes of tensors,
 *     the attributes (passed as parameters), and the formula
 */
public record Model(
    String name,
    String version,
    List<Tensor> inputs,
    List<Tensor> outputs,
    Map<String, String> properties) {

  public static final String PLATFORM = "athanor_ptx";
  public static final String BACKEND = "athanor";

  /** Marks a variable dimension. */
  public static final long ANY = -1;

  private static final String SAME_AS = "same as ";
  private static final Pattern BRACKETS = Pattern.compile("\\[([^\\]]*)]");

  /**
   * An input or an output.
   *
   * @param dtype the most common of its dtypes
   * @param shape with {@link #ANY} for variable dimensions; the properties state whether the rank
   *     varies
   */
  public record Tensor(String name, DType dtype, List<Long> shape, boolean optional) {

    /** Returns the protocol's name of the dtype, such as {@code FP32}. */
    public String datatype() {
      return Datatypes.name(dtype);
    }

    /** Returns the name in Triton's model configuration, such as {@code TYPE_FP32}. */
    public String configType() {
      return "TYPE_" + datatype();
    }
  }

  /**
   * Describes an op as a model. Of a list of outputs it names only the first, which every call
   * returns, since clients request all outputs of a model.
   */
  public static Model of(OpDescription op) {
    var inputs =
        op.inputs().stream()
            .map(i -> new Tensor(i.name(), usual(i.dtypes()), shape(i.shape()), i.optional()))
            .toList();
    var outputs =
        op.outputs().stream()
            .filter(OpDescription.Output::isListed)
            .map(o -> new Tensor(o.name(), usual(op, o), shape(o.shape()), o.optional()))
            .toList();
    return new Model(op.name(), OpModel.VERSION, inputs, outputs, properties(op));
  }

  private static DType usual(Set<DType> dtypes) {
    return dtypes.contains(DType.F32)
        ? DType.F32
        : dtypes.stream().min(Comparator.naturalOrder()).orElse(DType.F32);
  }

  /** Resolves the dtype in a description: a dtype, {@code same as x}, or an attribute's name. */
  private static DType usual(OpDescription op, OpDescription.Output output) {
    var words = output.dtype();
    var of = words.startsWith(SAME_AS) ? words.substring(SAME_AS.length()) : null;
    var same = of == null ? null : op.input(of).orElse(null);
    if (same != null) {
      return usual(same.dtypes());
    }
    var text = op.attribute(words).map(OpDescription.Attribute::defaultValue).orElse(words);
    return DType.of(text)
        .or(() -> op.inputs().stream().findFirst().map(input -> usual(input.dtypes())))
        .orElse(DType.F32);
  }

  /** Parses a shape such as {@code […, M, 2]}; the optional leading dimensions are omitted. */
  static List<Long> shape(String text) {
    var brackets = BRACKETS.matcher(text);
    if (!brackets.find()) {
      return List.of(ANY);
    }
    var extents = new ArrayList<Long>();
    boolean any = false;
    for (var part : brackets.group(1).split(",", -1)) {
      var extent = part.strip();
      boolean isLeading = extent.startsWith("…");
      any |= isLeading;
      if (!extent.isEmpty() && !isLeading) {
        extents.add(extent(extent));
      }
    }
    if (extents.isEmpty() && any) {
      extents.add(ANY);
    }
    return extents;
  }

  /** Returns an extent; {@link #ANY} for one that has a name. */
  static long extent(String text) {
    return text.matches("\\d{1,9}") ? Long.parseLong(text) : ANY;
  }

  private static Map<String, String> properties(OpDescription op) {
    var properties = new LinkedHashMap<String, String>();
    properties.put("summary", op.summary());
    properties.put("formula", op.formula());
    var special = new TreeSet<DType>();
    for (var input : op.inputs()) {
      if (!input.isListed()) {
        continue;
      }
      var path = "inputs." + input.name() + ".";
      if (input.series().isPresent()) {
        properties.put(path + "list", input.label());
      }
      properties.put(
          path + "datatypes",
          input.dtypes().stream().sorted().map(Datatypes::name).collect(Collectors.joining(", ")));
      properties.put(path + "shape", input.shape());
      properties.put(path + "optional", Boolean.toString(input.optional()));
      properties.put(path + "meaning", input.meaning());
      input.dtypes().stream().filter(d -> !Datatypes.NUMBERS.contains(d)).forEach(special::add);
    }
    for (var attribute : op.attributes()) {
      properties.put("parameters." + attribute.name(), text(attribute));
    }
    for (var output : op.outputs()) {
      if (!output.isListed()) {
        continue;
      }
      var path = "outputs." + output.name() + ".";
      if (output.series().isPresent()) {
        properties.put(path + "list", output.label());
      }
      properties.put(path + "datatype", words(output.dtype()));
      properties.put(path + "shape", output.shape());
      properties.put(path + "meaning", output.meaning());
    }
    for (var dtype : special) {
      // clients do not know the sizes of these datatypes
      properties.put(
          "datatypes." + Datatypes.name(dtype),
          dtype.isBlock()
              ? "%d bytes for %d elements".formatted(dtype.bytes(), dtype.blockElements())
              : "bytes an element: " + dtype.bytes());
    }
    return properties;
  }

  private static String words(String dtype) {
    return DType.of(dtype).map(Datatypes::name).orElse(dtype);
  }

  private static String text(OpDescription.Attribute attribute) {
    var values =
        attribute.choices().isEmpty()
            ? attribute.type().name().toLowerCase(Locale.ROOT)
            : String.join(" | ", attribute.choices());
    return String.join(
        "",
        values,
        prefixed(" ", attribute.bounds()),
        prefixed(", default ", attribute.defaultValue()),
        ": ",
        attribute.meaning());
  }

  private static String prefixed(String prefix, @Nullable String text) {
    return text == null || text.isEmpty() ? "" : prefix + text;
  }
}
