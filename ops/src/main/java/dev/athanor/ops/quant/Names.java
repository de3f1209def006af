package dev.athanor.ops.quant;

import java.util.Locale;

/** Parts of the names of kernels. */
public final class Names {

  private Names() {}

  public static String of(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
