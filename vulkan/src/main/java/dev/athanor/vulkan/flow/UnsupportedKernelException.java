package dev.athanor.vulkan.flow;

/** Thrown for a kernel that has no translation to SPIR-V. The message names the reason. */
public final class UnsupportedKernelException extends RuntimeException {

  /** Creates the exception. */
  public UnsupportedKernelException(String message) {
    super(message);
  }
}
