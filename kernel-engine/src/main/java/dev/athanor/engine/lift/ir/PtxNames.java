package dev.athanor.engine.lift.ir;

import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Names of Java as identifiers of PTX (PTX ISA 4.4). In an encoded name, each {@code $} precedes
 * four hexadecimal digits in upper case: the code of a character that PTX does not allow. Lifted
 * kernels declare names of their own with a {@code $} before a lower-case letter, which no encoded
 * name has, and reserved names.
 */
public final class PtxNames {
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z]\\w*|_\\w+");
  private static final Pattern DECLARABLE = Pattern.compile("[A-Za-z][\\w$]*|_[\\w$]+");

  /** The dynamic shared array. */
  public static final String DYNAMIC = "dynamic";

  /** The first parts of the names of other arrays; their numbers follow. */
  public static final String SHARED = "shared";

  public static final String LOCAL = "local";
  public static final String CONST = "const";

  /** The only identifier that PTX predefines without a {@code %} or a dot is WARP_SZ. */
  private static final Set<String> RESERVED = Set.of("WARP_SZ", DYNAMIC);

  private PtxNames() {}

  /**
   * Returns an identifier that is not reserved, and differs for different names. It is the name
   * itself where possible.
   */
  public static String encode(String name) {
    if (RESERVED.contains(name)
        || name.matches("(" + SHARED + "|" + LOCAL + "|" + CONST + ")\\d+")) {
      return code(name.charAt(0)) + name.substring(1);
    }
    if (PLAIN.matcher(name).matches()) {
      return name;
    }
    var encoded = new StringBuilder();
    for (int i = 0; i < name.length(); i++) {
      char each = name.charAt(i);
      boolean isAllowed = PLAIN.matcher((i == 0 ? "" : "a") + each).matches();
      encoded.append(isAllowed ? String.valueOf(each) : code(each));
    }
    return encoded.toString();
  }

  private static String code(char character) {
    return String.format(Locale.ROOT, "$%04X", (int) character);
  }

  /** Returns whether a kernel can be declared with a name as it is. */
  public static boolean isDeclarable(String name) {
    return DECLARABLE.matcher(name).matches() && !RESERVED.contains(name);
  }
}
