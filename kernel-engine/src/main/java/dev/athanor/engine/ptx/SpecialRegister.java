package dev.athanor.engine.ptx;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A read-only register set by the hardware (PTX ISA 10). */
public enum SpecialRegister implements Operand {
  TID_X,
  TID_Y,
  TID_Z,
  TID_W,
  NTID_X,
  NTID_Y,
  NTID_Z,
  NTID_W,
  CTAID_X,
  CTAID_Y,
  CTAID_Z,
  CTAID_W,
  NCTAID_X,
  NCTAID_Y,
  NCTAID_Z,
  NCTAID_W,
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
  ENVREG0,
  ENVREG1,
  ENVREG2,
  ENVREG3,
  ENVREG4,
  ENVREG5,
  ENVREG6,
  ENVREG7,
  ENVREG8,
  ENVREG9,
  ENVREG10,
  ENVREG11,
  ENVREG12,
  ENVREG13,
  ENVREG14,
  ENVREG15,
  ENVREG16,
  ENVREG17,
  ENVREG18,
  ENVREG19,
  ENVREG20,
  ENVREG21,
  ENVREG22,
  ENVREG23,
  ENVREG24,
  ENVREG25,
  ENVREG26,
  ENVREG27,
  ENVREG28,
  ENVREG29,
  ENVREG30,
  ENVREG31,
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
  PM0,
  PM1,
  PM2,
  PM3,
  PM4,
  PM5,
  PM6,
  PM7,
  PM0_64(Type.U64),
  PM1_64(Type.U64),
  PM2_64(Type.U64),
  PM3_64(Type.U64),
  PM4_64(Type.U64),
  PM5_64(Type.U64),
  PM6_64(Type.U64),
  PM7_64(Type.U64),
  TOTAL_SMEM_SIZE,
  AGGR_SMEM_SIZE,
  DYNAMIC_SMEM_SIZE,
  RESERVED_SMEM_OFFSET_BEGIN,
  RESERVED_SMEM_OFFSET_END,
  RESERVED_SMEM_OFFSET_CAP,
  RESERVED_SMEM_OFFSET_0,
  RESERVED_SMEM_OFFSET_1,
  CURRENT_GRAPH_EXEC(Type.U64);

  private final Type type;

  SpecialRegister() {
    this(Type.U32);
  }

  SpecialRegister(Type type) {
    this.type = type;
  }

  /** Returns the type of the value. */
  public Type type() {
    return type;
  }

  private static final Map<String, SpecialRegister> BY_TEXT =
      Arrays.stream(values())
          .collect(Collectors.toUnmodifiableMap(SpecialRegister::toString, Function.identity()));

  /** Returns the register with a name, such as {@code %tid.x}. */
  public static Optional<SpecialRegister> of(String text) {
    return Optional.ofNullable(BY_TEXT.get(text));
  }

  @Override
  public String toString() {
    return "%" + name().toLowerCase(Locale.ROOT).replaceFirst("_([xyzw])$", ".$1");
  }
}
