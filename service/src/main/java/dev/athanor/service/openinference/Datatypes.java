package dev.athanor.service.openinference;

import dev.athanor.ops.DType;
import dev.athanor.service.codec.Tensors;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What the protocol calls dtypes. It has no name for fp8 and blocks: fp8 goes by the names that
 * safetensors has for it, blocks by their own.
 */
public final class Datatypes {

  /**
   * Those whose elements may be sent as numbers, in JSON or in the typed fields of gRPC. The
   * protocol has no numbers for FP16 either; its values are numbers that JSON has, so they are
   * taken and given.
   */
  public static final Set<DType> NUMBERS =
      Collections.unmodifiableSet(
          Arrays.stream(DType.values())
              .filter(dtype -> !isRawOnly(dtype))
              .collect(Collectors.toCollection(() -> EnumSet.noneOf(DType.class))));

  private Datatypes() {}

  /** The protocol's name: {@code FP32}. */
  public static String name(DType dtype) {
    return switch (dtype) {
      case F64 -> "FP64";
      case F32 -> "FP32";
      case F16 -> "FP16";
      case E4M3 -> "FP8_E4M3";
      case E5M2 -> "FP8_E5M2";
      case I64 -> "INT64";
      case I32 -> "INT32";
      case I16 -> "INT16";
      case I8 -> "INT8";
      case U8 -> "UINT8";
      case U32 -> "UINT32";
      case BF16, BOOL, Q4_0, Q4_1, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, NF4 ->
          dtype.name().toUpperCase(Locale.ROOT);
    };
  }

  /**
   * The dtype of a name.
   *
   * @param field where it stands in the request
   * @throws Failure.Refused with {@code unsupported-dtype}
   */
  public static DType of(String name, String field) {
    return Arrays.stream(DType.values())
        .filter(dtype -> name(dtype).equals(name))
        .findFirst()
        .orElseThrow(() ->
            new Failure.Refused(
                Code.UNSUPPORTED_DTYPE,
                field,
                "%s is \"%s\"; datatypes are %s"
                    .formatted(
                        field,
                        Tensors.excerpt(name),
                        Arrays.stream(DType.values())
                            .map(Datatypes::name)
                            .collect(Collectors.joining(", ")))));
  }

  private static boolean isRawOnly(DType dtype) {
    return dtype.isBlock() || dtype == DType.BF16 || dtype == DType.E4M3 || dtype == DType.E5M2;
  }

  /** The refusal of numbers for a dtype that travels as raw bytes only. */
  public static Failure rawOnly(DType dtype, String field) {
    return new Failure.Refused(
        Code.INVALID_TENSOR,
        field,
        "%s: the protocol has no numbers for %s; send its bytes, little-endian and row-major"
            .formatted(field, name(dtype)));
  }
}
