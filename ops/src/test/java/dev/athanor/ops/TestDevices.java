package dev.athanor.ops;

import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.profile.OpProfile;

/** Devices that tests plan for. */
public final class TestDevices {

  public static final Capability H200 = OpProfile.capability(Gpu.H200);

  /** A GPU that a few blocks fill, so that problems are not split as for a large one. */
  public static final Capability SMALL = of(Target.SM_90A, 2, 232_448);

  private TestDevices() {}

  /** Returns a fictitious device. */
  public static Capability of(Target target, int multiprocessors, int sharedBytes) {
    return new Capability(
        "test:0", "test device", target, "0", multiprocessors, 1024, 49_152, sharedBytes, 1L << 34);
  }
}
