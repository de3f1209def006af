package dev.athanor.engine.ptx;

/** PTX text that cannot be read. The message begins with the place, {@code file:line:column}. */
public final class PtxSyntaxException extends RuntimeException {

  private final Source source;

  PtxSyntaxException(Source source, String problem) {
    super(source + ": " + problem);
    this.source = source;
  }

  public Source source() {
    return source;
  }
}
