package dev.athanor.service.soak;

/** A documented error response. */
final class Refusal extends Exception {

  private static final long serialVersionUID = 1;

  private final String code;

  Refusal(String code, String detail) {
    super(code + ": " + detail);
    this.code = code;
  }

  String code() {
    return code;
  }
}
