package dev.athanor.engine.ptx;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A read-only register that the hardware sets (PTX ISA 10). */
public enum SpecialRegister implements Operand {
  TID_X,
  TID_Y,
  TID_Z,
  NTID_X,
  NTID_Y,
  NTID_Z,
  CTAID_X,
  CTAID_Y,
  CTAID_Z,
  NCTAID_X,
  NCTAID_Y,
  NCTAID_Z,
  LANEID,
  WARPID,
  NWARPID,
  SMID,
  NSMID,
  GRIDID(Type.U64),
  LANEMASK_EQ,
  LANEMASK_LE,
  LANEMASK_LT,
  LANEMASK_GE,
  LANEMASK_GT,
  CLOCK,
  CLOCK_HI,
  CLOCK64(Type.U64),
  GLOBALTIMER(Type.U64),
  GLOBALTIMER_LO,
  GLOBALTIMER_HI,
  ENVREG1,
  ENVREG2,
  CLUSTERID_X,
  CLUSTERID_Y,
  CLUSTERID_Z,
  NCLUSTERID_X,
  NCLUSTERID_Y,
  NCLUSTERID_Z,
  CLUSTER_CTAID_X,
  CLUSTER_CTAID_Y,
  CLUSTER_CTAID_Z,
  CLUSTER_NCTAID_X,
  CLUSTER_NCTAID_Y,
  CLUSTER_NCTAID_Z,
  CLUSTER_CTARANK,
  CLUSTER_NCTARANK,
  IS_EXPLICIT_CLUSTER(Type.PRED),
  TOTAL_SMEM_SIZE,
  DYNAMIC_SMEM_SIZE;

  private final Type type;

  SpecialRegister() {
    this(Type.U32);
  }

  SpecialRegister(Type type) {
    this.type = type;
  }

  /** The type of its value. */
  public Type type() {
    return type;
  }

  private static final Map<String, SpecialRegister> BY_TEXT =
      Arrays.stream(values())
          .collect(Collectors.toUnmodifiableMap(SpecialRegister::toString, Function.identity()));

  /** The register that this text names, with its percent sign. */
  public static Optional<SpecialRegister> of(String text) {
    return Optional.ofNullable(BY_TEXT.get(text));
  }

  @Override
  public String toString() {
    return "%" + name().toLowerCase(Locale.ROOT).replaceFirst("_([xyz])$", ".$1");
  }
}
