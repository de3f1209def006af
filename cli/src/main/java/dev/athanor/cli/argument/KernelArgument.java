package dev.athanor.cli.argument;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.Fill;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Npy;
import dev.athanor.service.failure.Failure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** A kernel argument given on the command line. */
public sealed interface KernelArgument {

  /** The syntax of arguments. */
  String FORMS =
      "expected TYPE:VALUE (f32:3.5, u32:7), in:FILE.npy, out:FILE.npy:DTYPE:SHAPE,"
          + " inout:FILE.npy, zeros:BYTES, bytes:FILE or tensormap:BOX:… of in, out or inout";

  /** A number. */
  record Scalar(Type type, long bits) implements KernelArgument {}

  /** The contents of a file, passed by value. */
  record Bytes(MemorySegment contents) implements KernelArgument {}

  /**
   * A buffer.
   *
   * @param target the file that receives the contents after the launch
   * @param map the tensor map that is passed instead of the buffer's address
   */
  record Tensor(HostTensor initial, Optional<Path> target, Optional<TensorMap> map)
      implements KernelArgument {
    Tensor(HostTensor initial, Optional<Path> target) {
      this(initial, target, Optional.empty());
    }
  }

  /** A file, which may contain colons, as in {@code C:\y.npy}, a dtype and a shape. */
  Pattern OUT = Pattern.compile("out:(.+):([^:]*):([^:]*)");

  /**
   * Parses an argument and reads the file that it names.
   *
   * @throws IllegalArgumentException if the argument is invalid or the file cannot be read
   */
  static KernelArgument parse(String text) {
    var parts = text.split(":", 4);
    try {
      return switch (parts[0]) {
        case "in" -> new Tensor(TensorFile.read(file(text, parts)), Optional.empty());
        case "inout" -> {
          var file = file(text, parts);
          yield new Tensor(TensorFile.read(file), Optional.of(TensorFile.writable(file)));
        }
        case "out" -> {
          var out = OUT.matcher(text);
          if (!out.matches()) {
            throw new IllegalArgumentException("expected out:FILE.npy:DTYPE:SHAPE");
          }
          var type = new TensorType(dtype(out.group(2)), shape(out.group(3)));
          if (Npy.header(type).isEmpty()) {
            throw new IllegalArgumentException("npy files do not support " + out.group(2));
          }
          yield new Tensor(
              HostTensor.zeros(type), Optional.of(TensorFile.writable(Path.of(out.group(1)))));
        }
        case "zeros" ->
            new Tensor(
                HostTensor.zeros(
                    new TensorType(DType.U8, shape(parts.length == 2 ? parts[1] : ""))),
                Optional.empty());
        case "tensormap" -> tensorMap(text);
        case "bytes" -> new Bytes(MemorySegment.ofArray(Files.readAllBytes(file(text, parts))));
        default -> number(parts);
      };
    } catch (IOException e) {
      throw new InvalidArgument("--arg %s: %s".formatted(text, e), e);
    } catch (InvalidArgument e) {
      throw e; // from the tensor of a tensor map
    } catch (IllegalArgumentException | Failure e) {
      throw new InvalidArgument("--arg %s: %s".formatted(text, e.getMessage()), e);
    }
  }

  /** An invalid argument; the message includes it. */
  final class InvalidArgument extends IllegalArgumentException {
    InvalidArgument(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /**
   * Parses a tensor map such as {@code tensormap:BOX:swizzle=128:fill=nan:in:FILE.npy}. The box
   * lists the extents of a tile, outermost first.
   */
  private static Tensor tensorMap(String text) {
    var parts = text.split(":", -1);
    int at = 2;
    var words = new HashMap<String, String>();
    while (at < parts.length && parts[at].contains("=")) {
      var word = parts[at++].split("=", 2);
      words.put(word[0], word[1]);
    }
    var rest =
        String.join(":", Arrays.asList(parts).subList(Math.min(at, parts.length), parts.length));
    if (!(rest.matches("(in|out|inout):.*") && parse(rest) instanceof Tensor tensor)) {
      throw new IllegalArgumentException(
          "expected tensormap:BOX:swizzle=128:fill=nan:in:FILE.npy, with optional swizzle and fill,"
              + " and in, out or inout");
    }
    var swizzle = SWIZZLES.get(words.getOrDefault("swizzle", "none"));
    var fill = FILLS.get(words.getOrDefault("fill", "zero"));
    words.keySet().removeAll(Set.of("swizzle", "fill"));
    if (swizzle == null || fill == null || !words.isEmpty()) {
      throw new IllegalArgumentException(
          "swizzle must be none, 32, 64 or 128, fill must be zero or nan; other options are unknown");
    }
    var type = tensor.initial.type();
    var element = element(type.dtype());
    var shape = type.shape().extents();
    var strides = new ArrayList<Long>();
    long stride = element.bytes();
    for (long extent : shape.reversed()) {
      stride *= extent;
      strides.add(stride);
    }
    if (!strides.isEmpty()) {
      strides.removeLast();
    }
    var box = shape(parts[1]).extents().reversed().stream().map(Math::toIntExact).toList();
    var map =
        TensorMap.of(element, shape.reversed(), strides, box).withSwizzle(swizzle).withFill(fill);
    return new Tensor(tensor.initial, tensor.target, Optional.of(map));
  }

  Map<String, SwizzleMode> SWIZZLES =
      Map.of(
          "none", SwizzleMode.NONE,
          "32", SwizzleMode.BYTES_32,
          "64", SwizzleMode.BYTES_64,
          "128", SwizzleMode.BYTES_128);

  Map<String, Fill> FILLS = Map.of("zero", Fill.ZERO, "nan", Fill.NAN);

  private static Element element(DType type) {
    return switch (type) {
      case F64 -> Element.F64;
      case F32 -> Element.F32;
      case F16 -> Element.F16;
      case BF16 -> Element.BF16;
      case I64 -> Element.S64;
      case I32 -> Element.S32;
      case U32 -> Element.U32;
      case I16 -> Element.U16;
      case I8,
          U8,
          BOOL,
          E4M3,
          E5M2,
          Q4_0,
          Q4_1,
          Q5_0,
          Q8_0,
          Q4_K,
          Q5_K,
          Q6_K,
          IQ4_NL,
          IQ4_XS,
          MXFP4,
          NF4 ->
          Element.U8;
    };
  }

  private static Path file(String text, String[] parts) {
    if (parts.length < 2 || !Files.isReadable(Path.of(text.substring(parts[0].length() + 1)))) {
      throw new IllegalArgumentException("cannot read the file");
    }
    return Path.of(text.substring(parts[0].length() + 1));
  }

  private static DType dtype(String text) {
    return DType.of(text)
        .orElseThrow(
            () -> new IllegalArgumentException("the dtype must be one of " + DType.names()));
  }

  private static Shape shape(String text) {
    if (!text.matches("\\d{1,10}(,\\d{1,10})*")) {
      throw new IllegalArgumentException("a size must be comma-separated integers, such as 64,64");
    }
    return new Shape(Arrays.stream(text.split(",", -1)).map(Long::valueOf).toList());
  }

  private static Scalar number(String[] parts) {
    var type =
        Arrays.stream(Type.values())
            .filter(t -> t.word().equals(parts[0]) && NUMBERS.contains(t))
            .findFirst();
    if (type.isEmpty() || parts.length != 2) {
      throw new IllegalArgumentException(FORMS);
    }
    try {
      return new Scalar(type.get(), bits(type.get(), parts[1]));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "\"%s\" is not a number of type %s".formatted(parts[1], parts[0]), e);
    }
  }

  /** The types of scalar parameters. */
  List<Type> NUMBERS =
      List.of(
          Type.B8, Type.B16, Type.B32, Type.B64, Type.U8, Type.U16, Type.U32, Type.U64, Type.S8,
          Type.S16, Type.S32, Type.S64, Type.F32, Type.F64);

  private static long bits(Type type, String text) {
    return switch (type) {
      case F32 -> Float.floatToRawIntBits(Float.parseFloat(text)) & 0xFFFF_FFFFL;
      case F64 -> Double.doubleToRawLongBits(Double.parseDouble(text));
      default -> {
        var value =
            text.toLowerCase(Locale.ROOT).startsWith("0x")
                ? new BigInteger(text.substring(2), 16)
                : new BigInteger(text);
        boolean signed = type.kind() == Type.Kind.SIGNED;
        var least = signed ? BigInteger.ONE.shiftLeft(type.bits() - 1).negate() : BigInteger.ZERO;
        var greatest = BigInteger.ONE.shiftLeft(type.bits() - (signed ? 1 : 0));
        if (value.compareTo(least) < 0 || value.compareTo(greatest) >= 0) {
          throw new NumberFormatException(text);
        }
        yield value.longValue();
      }
    };
  }

  /**
   * Returns the argument for a launch. Allocates a buffer for a tensor and adds it to {@code
   * buffers}.
   */
  default Argument on(Device device, Stream stream, List<Buffer> buffers) {
    return switch (this) {
      case Scalar number -> new Argument.Scalar(number.type, number.bits);
      case Bytes bytes -> new Argument.Bytes(bytes.contents);
      case Tensor tensor -> {
        var buffer = device.allocate(Math.max(1, tensor.initial.data().byteSize()));
        buffers.add(buffer);
        stream.upload(tensor.initial.data(), buffer, 0);
        yield tensor.map.map(map -> Argument.of(map, buffer)).orElse(Argument.of(buffer));
      }
    };
  }

  /** An output file and the type of its tensor. */
  record WrittenFile(String file, String type) {}

  /**
   * Writes the outputs of a launch to files.
   *
   * @param buffers the buffers that {@link #on} allocated for the arguments
   * @throws UncheckedIOException if a file cannot be written
   */
  static List<WrittenFile> write(
      List<? extends KernelArgument> arguments, List<Buffer> buffers, Stream stream) {
    var written = new ArrayList<WrittenFile>();
    int next = 0;
    for (var argument : arguments) {
      if (argument instanceof Tensor tensor) {
        var buffer = buffers.get(next++);
        if (tensor.target().isPresent()) {
          var type = tensor.initial().type();
          var data = MemorySegment.ofArray(new byte[Math.toIntExact(type.bytes())]);
          stream.download(buffer, 0, data);
          stream.synchronize();
          try {
            TensorFile.write(tensor.target().get(), new HostTensor(type, data));
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
          written.add(new WrittenFile(tensor.target().get().toString(), type.toString()));
        }
      }
    }
    return written;
  }
}
