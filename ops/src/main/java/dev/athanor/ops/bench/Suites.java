package dev.athanor.ops.bench;

import dev.athanor.ops.Op;
import dev.athanor.ops.Problem;
import java.util.List;
import java.util.Map;

/**
 * The problems that each op is timed with: what language models ask for on a GPU, and small ones of
 * the same kind on the emulator.
 */
public final class Suites {

  /** Problems of an op, one a line, as {@link Problem#parse} reads them. */
  private record Suite(String large, String small) {}

  private static final Map<String, Suite> SUITES =
      Map.of(
          "matmul",
          new Suite(
              """
              a=f32[512,512] b=f32[512,512]
              a=f32[4096,4096] b=f32[4096,4096]
              a=f16[512,512] b=f16[512,512]
              a=f16[1024,1024] b=f16[1024,1024]
              a=f16[2048,2048] b=f16[2048,2048]
              a=f16[4096,4096] b=f16[4096,4096]
              a=f16[8192,8192] b=f16[8192,8192]
              a=f16[1,4096] b=f16[4096,4096] transposeB=true
              a=f16[16,4096] b=f16[4096,4096] transposeB=true
              a=f16[4096,4096] b=f16[11008,4096] transposeB=true
              a=f16[32,128,4096] b=f16[4096,4096]
              a=bf16[4096,4096] b=bf16[4096,4096]
              a=bf16[4096,4096] b=bf16[11008,4096] transposeB=true
              """,
              """
              a=f32[256,256] b=f32[256,256]
              a=f16[256,256] b=f16[256,256]
              a=bf16[256,256] b=bf16[256,256]
              """));

  private Suites() {}

  /** The problems of an op; none when it has no suite. */
  public static List<Problem> of(Op op, boolean large) {
    var suite = SUITES.get(op.description().name());
    return suite == null
        ? List.of()
        : (large ? suite.large : suite.small).lines().map(line -> Problem.parse(op, line)).toList();
  }
}
