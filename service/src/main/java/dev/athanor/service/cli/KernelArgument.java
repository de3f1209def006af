package dev.athanor.service.cli;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.codec.Npy;
import dev.athanor.service.failure.Failure;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What the command line gives to a parameter of a kernel. */
sealed interface KernelArgument {

  /** How arguments are written. */
  String FORMS =
      "arguments are TYPE:VALUE (f32:3.5, u32:7), in:FILE.npy, out:FILE.npy:DTYPE:SHAPE,"
          + " inout:FILE.npy, zeros:BYTES and bytes:FILE";

  /** A number. */
  record Scalar(Type type, long bits) implements KernelArgument {}

  /** The contents of a file, by value. */
  record Bytes(MemorySegment contents) implements KernelArgument {}

  /**
   * A buffer.
   *
   * @param target where its contents go after the launch
   */
  record Tensor(HostTensor initial, Optional<Path> target) implements KernelArgument {}

  /**
   * Reads an argument, and the file that it names.
   *
   * @throws IllegalArgumentException with a sentence, when it cannot be read
   */
  static KernelArgument parse(String text) {
    var parts = text.split(":", 4);
    try {
      return switch (parts[0]) {
        case "in" -> new Tensor(read(file(text, parts)), Optional.empty());
        case "inout" -> {
          var file = file(text, parts);
          yield new Tensor(read(file), Optional.of(writable(file)));
        }
        case "out" -> {
          if (parts.length != 4) {
            throw new IllegalArgumentException("it is written out:FILE.npy:DTYPE:SHAPE");
          }
          var type = new TensorType(dtype(parts[2]), shape(parts[3]));
          if (Npy.header(type).isEmpty()) {
            throw new IllegalArgumentException("npy files hold no " + parts[2]);
          }
          yield new Tensor(HostTensor.zeros(type), Optional.of(writable(Path.of(parts[1]))));
        }
        case "zeros" ->
            new Tensor(
                HostTensor.zeros(
                    new TensorType(DType.U8, shape(parts.length == 2 ? parts[1] : ""))),
                Optional.empty());
        case "bytes" -> new Bytes(MemorySegment.ofArray(Files.readAllBytes(file(text, parts))));
        default -> number(parts);
      };
    } catch (IOException e) {
      throw new IllegalArgumentException("--arg %s: %s".formatted(text, e), e);
    } catch (IllegalArgumentException | Failure e) {
      throw new IllegalArgumentException("--arg %s: %s".formatted(text, e.getMessage()), e);
    }
  }

  private static Path file(String text, String[] parts) {
    if (parts.length < 2 || !Files.isReadable(Path.of(text.substring(parts[0].length() + 1)))) {
      throw new IllegalArgumentException("there is no readable file of that name");
    }
    return Path.of(text.substring(parts[0].length() + 1));
  }

  private static Path writable(Path file) {
    var folder = file.toAbsolutePath().getParent();
    if (folder == null || !Files.isWritable(Files.exists(file) ? file : folder)) {
      throw new IllegalArgumentException("%s cannot be written".formatted(file));
    }
    return file;
  }

  private static HostTensor read(Path file) throws IOException {
    try (var in = new BufferedInputStream(Files.newInputStream(file))) {
      return Npy.read(in, Integer.MAX_VALUE, file.toString());
    }
  }

  private static DType dtype(String text) {
    return DType.of(text)
        .orElseThrow(() -> new IllegalArgumentException("dtypes are " + DType.names()));
  }

  private static Shape shape(String text) {
    if (!text.matches("\\d{1,10}(,\\d{1,10})*")) {
      throw new IllegalArgumentException("a size is integers with commas between, 64,64");
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
          "\"%s\" is no number of type %s".formatted(parts[1], parts[0]), e);
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

  /** The argument of a launch; what needs a buffer gets one. */
  default Argument on(Device device, Stream stream, List<Buffer> buffers) {
    return switch (this) {
      case Scalar number -> new Argument.Scalar(number.type, number.bits);
      case Bytes bytes -> new Argument.Bytes(bytes.contents);
      case Tensor tensor -> {
        var buffer = device.allocate(Math.max(1, tensor.initial.data().byteSize()));
        buffers.add(buffer);
        stream.upload(tensor.initial.data(), buffer, 0);
        yield Argument.of(buffer);
      }
    };
  }
}
