package dev.athanor.service.soak;

/** An answer of the contract that is no result. */
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
