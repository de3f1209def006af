package dev.athanor.models.checkpoint;

import dev.athanor.models.ModelException;
import dev.athanor.models.checkpoint.DecoderConfig.Part;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The tensors of a checkpoint. */
final class Tensors {

  private static final Set<DType> DTYPES = EnumSet.of(DType.F32, DType.F16, DType.BF16);

  /**
   * Tensors that follow from the configuration, which earlier versions of transformers stored, and
   * the copy of tied embeddings.
   */
  private static final Pattern DERIVED =
      Pattern.compile(
          ".*(rotary_emb\\.inv_freq|position_ids|attention\\.masked_bias)|lm_head\\.weight");

  private Tensors() {}

  /**
   * Returns the tensors that a model reads.
   *
   * @param shapes those that it reads, by name
   * @param part a pattern of the names that belong to the model; it must read each of them
   * @throws ModelException.Malformed if one is missing, of another shape or dtype, or not read
   */
  static Map<String, HostTensor> read(
      Map<String, HostTensor> tensors, Map<String, Shape> shapes, Pattern part) {
    var problems = new ArrayList<String>();
    var read = new LinkedHashMap<String, HostTensor>();
    shapes.forEach((name, shape) -> {
      var tensor = tensors.get(name);
      if (tensor == null) {
        problems.add("\"%s\" %s is missing".formatted(name, shape));
      } else if (!tensor.type().shape().equals(shape)) {
        problems.add(
            "\"%s\" has the shape %s, expected %s".formatted(name, tensor.type().shape(), shape));
      } else {
        read.put(name, tensor);
      }
    });
    for (var name : new TreeMap<>(tensors).keySet()) {
      boolean extra = part.matcher(name).matches() && !DERIVED.matcher(name).matches();
      if (extra && !shapes.containsKey(name)) {
        problems.add("\"%s\" is not part of the model".formatted(name));
      }
    }
    read.values().stream()
        .filter(tensor -> tensor.type().shape().rank() > 1)
        .findFirst()
        .ifPresent(first ->
            read.forEach((name, tensor) -> {
              if (!suits(tensor.type(), first.type().dtype())) {
                problems.add(dtypes(name, tensor.type().dtype(), first.type().dtype()));
              }
            }));
    if (!problems.isEmpty()) {
      throw new ModelException.Malformed(
          "the tensors do not suit config.json:\n" + String.join("\n", problems));
    }
    return read;
  }

  /** Returns whether ops accept a tensor beside matrices of the dtype. */
  private static boolean suits(TensorType type, DType dtype) {
    boolean parameters = type.dtype() == DType.F32 && type.shape().rank() == 1;
    return DTYPES.contains(dtype) && (type.dtype() == dtype || parameters);
  }

  private static String dtypes(String name, DType dtype, DType others) {
    return DTYPES.contains(others)
        ? "\"%s\" is %s; the other matrices are %s, and vectors may be f32"
            .formatted(name, dtype.text(), others.text())
        : "\"%s\" is %s; supported are f32, f16 and bf16".formatted(name, dtype.text());
  }

  /**
   * Replaces a matrix by consecutive rows of it, without a copy.
   *
   * @param layer the beginning of the names
   */
  static void split(Map<String, HostTensor> tensors, String layer, String name, List<Part> parts) {
    var matrix = Objects.requireNonNull(tensors.remove(layer + name));
    long width = matrix.type().bytes() / matrix.type().shape().extent(0);
    long first = 0;
    for (var part : parts) {
      var shape = Shape.of(part.rows(), matrix.type().shape().extent(1));
      var data = matrix.data().asSlice(first * width, part.rows() * width);
      var type = new TensorType(matrix.type().dtype(), shape);
      tensors.put(layer + part.weight(), new HostTensor(type, data));
      first += part.rows();
    }
  }
}
