package dev.athanor.engine.ptx;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A read-only register that the hardware sets (PTX ISA 10). All of these are 32 bits wide. */
public enum SpecialRegister implements Operand {
  TID_X,
  TID_Y,
  TID_Z,
  NTID_X,
  NTID_Y,
  NTID_Z,
  CTAID_X,
  CTAID_Y,
  CTAID_Z,
  NCTAID_X,
  NCTAID_Y,
  NCTAID_Z,
  LANEID,
  WARPID;

  private static final Map<String, SpecialRegister> BY_TEXT =
      Arrays.stream(values())
          .collect(Collectors.toUnmodifiableMap(SpecialRegister::toString, Function.identity()));

  /** The register that this text names, with its percent sign. */
  public static Optional<SpecialRegister> of(String text) {
    return Optional.ofNullable(BY_TEXT.get(text));
  }

  @Override
  public String toString() {
    return "%" + name().toLowerCase(Locale.ROOT).replace('_', '.');
  }
}
