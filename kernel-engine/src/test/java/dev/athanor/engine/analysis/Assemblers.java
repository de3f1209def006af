package dev.athanor.engine.analysis;

import dev.athanor.testing.Programs;

/** The assemblers of this machine; a test that needs a missing one is skipped. */
public final class Assemblers {

  private static final String TOOLKIT = "install a CUDA toolkit";

  private Assemblers() {}

  /** Returns any assembler. */
  public static Assembler any() {
    return Programs.require(Assembler.best(), "assembler of PTX", TOOLKIT);
  }

  /** Returns {@code ptxas}, which alone supports targets after sm_90a. */
  public static Ptxas ptxas() {
    return Programs.require(Ptxas.find(), "ptxas", TOOLKIT);
  }

  /** Returns the compiler library that JCuda includes. */
  public static JCudaAssembler library() {
    return Programs.require(
        JCudaAssembler.find(), "PTX compiler library", "JCuda has it for Linux on x86-64");
  }
}
