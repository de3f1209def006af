package dev.athanor.service.tensor;

import java.util.regex.Pattern;

/**
 * Whom tensors belong to, and whose share of the device is counted.
 *
 * @param name 1 to 64 letters, digits, dots, hyphens and underscores, so that it can stand in logs
 */
public record Tenant(String name) {

  private static final Pattern FORM = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  /** Everyone, where nobody has to say who they are. */
  public static final Tenant LOCAL = new Tenant("local");

  /**
   * @throws IllegalArgumentException when the name is not of that form
   */
  public Tenant {
    if (!isName(name)) {
      throw new IllegalArgumentException(
          "a tenant's name has 1 to 64 letters, digits, dots, hyphens and underscores");
    }
  }

  /** Whether a text could be a tenant's name. */
  public static boolean isName(String text) {
    return FORM.matcher(text).matches();
  }
}
