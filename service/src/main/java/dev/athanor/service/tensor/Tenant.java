package dev.athanor.service.tensor;

import java.util.regex.Pattern;

/**
 * A tenant, which owns tensors and has quotas.
 *
 * @param name 1 to 64 letters, digits, dots, hyphens and underscores, so that it is safe in logs
 */
public record Tenant(String name) {

  private static final Pattern FORM = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  /** The tenant of all requests if authentication is disabled. */
  public static final Tenant LOCAL = new Tenant("local");

  /**
   * @throws IllegalArgumentException if the name is invalid
   */
  public Tenant {
    if (!isName(name)) {
      throw new IllegalArgumentException(
          "a tenant's name must have 1 to 64 letters, digits, dots, hyphens and underscores");
    }
  }

  /** Whether a text is a valid tenant name. */
  public static boolean isName(String text) {
    return FORM.matcher(text).matches();
  }
}
