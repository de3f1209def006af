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
 * The protocol's names of dtypes. It defines none for fp8 and block formats: fp8 uses the names of
 * safetensors, block formats their own.
 */
public final class Datatypes {

  /**
   * The dtypes whose elements may be sent as numbers, in JSON or in the typed fields of gRPC. The
   * protocol does not define this for FP16, but JSON numbers can represent its values.
   */
  public static final Set<DType> NUMBERS =
      Collections.unmodifiableSet(
          Arrays.stream(DType.values())
              .filter(dtype -> !isRawOnly(dtype))
              .collect(Collectors.toCollection(() -> EnumSet.noneOf(DType.class))));

  private Datatypes() {}

  /** Returns the protocol's name, such as {@code FP32}. */
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
      case BF16, BOOL, Q4_0, Q4_1, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4, NF4 ->
          dtype.name().toUpperCase(Locale.ROOT);
    };
  }

  /**
   * Returns the dtype with a name.
   *
   * @param field its path in the request
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
                "%s is \"%s\"; it must be one of %s"
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

  /** Returns the failure for numbers of a dtype that must be sent as raw bytes. */
  public static Failure rawOnly(DType dtype, String field) {
    return new Failure.Refused(
        Code.INVALID_TENSOR,
        field,
        "%s: %s cannot be sent as numbers; send raw bytes, little-endian and row-major"
            .formatted(field, name(dtype)));
  }
}
