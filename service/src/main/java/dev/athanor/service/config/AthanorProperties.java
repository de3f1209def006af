package dev.athanor.service.config;

import dev.athanor.service.device.RunSettings;
import dev.athanor.service.grpc.GrpcSettings;
import dev.athanor.service.http.RestSettings;
import dev.athanor.service.metrics.MetricsSettings;
import dev.athanor.service.model.ModelSettings;
import dev.athanor.service.replica.DiscoveredReplicas;
import dev.athanor.service.replica.ForwardSettings;
import dev.athanor.service.security.SecuritySettings;
import dev.athanor.service.tensor.QuotaSettings;
import dev.athanor.service.tensor.TensorSettings;
import jakarta.validation.Valid;
import jakarta.validation.constraints.AssertTrue;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.util.Set;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * All settings under {@code athanor}. The descriptions of the parameters, here and in the nested
 * records, become docs/settings.md.
 *
 * @param device Devices to use: auto (the first GPU, or the emulator if there is none), all (every
 *     GPU), or one or more of emulator, cuda and vulkan, each with an optional number such as
 *     cuda:1, separated by commas.
 * @param replica Name of this process among several replicas, such as its pod's name. The text
 *     after the last hyphen is part of its handles. If empty, that part is random and handles of
 *     other replicas are unknown.
 * @param plugins Folder with jars of additional ops. Empty for none.
 * @param weights Folder with .safetensors and .gguf files. Their tensors are loaded before the
 *     service is ready, as named tensors of the tenant local. Empty for none.
 */
@Validated
@ConfigurationProperties("athanor")
public record AthanorProperties(
    @Pattern(regexp = DEVICES, message = "must be " + DEVICES_IN_WORDS) @DefaultValue("auto")
        String device,
    @Pattern(
            regexp = "(([a-z0-9.-]*-)?[a-z0-9]{1,16})?",
            message =
                "must be lower-case letters, digits, periods and hyphens, with 1 to 16 letters and digits after the last hyphen")
        @DefaultValue("")
        String replica,
    @DefaultValue("") String plugins,
    @DefaultValue("") String weights,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue ForwardSettings forward,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue RunSettings run,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue TuningSettings tuning,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue TensorSettings tensors,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue QuotaSettings quota,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue ModelSettings models,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue RestSettings rest,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue GrpcSettings grpc,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue MetricsSettings metrics,
    @Valid @NotNull @NestedConfigurationProperty @DefaultValue SecuritySettings security) {

  /** Requires a name for forwarding, which distinguishes the handles of replicas. */
  @AssertTrue(message = "athanor.forward.url requires athanor.replica, the name of this replica")
  public boolean isReplicaNamedForForwarding() {
    return forward.url().isEmpty() || !replica.isEmpty();
  }

  /** Replicas copy tensors to each other, and this one must know which of them it is. */
  @AssertTrue(
      message =
          "athanor.forward.replicas needs athanor.forward.url, and must list the id of each replica once, that of athanor.replica among them")
  public boolean isReplicaAmongReplicas() {
    var replicas = forward.ids();
    return replicas.isEmpty()
        || (!forward.url().isEmpty()
            && replicas.contains(id())
            && Set.copyOf(replicas).size() == replicas.size());
  }

  /** Discovered replicas are told apart by ordinals, which also order their versions of a name. */
  @AssertTrue(
      message =
          "athanor.forward.discovery needs athanor.forward.url, and an ordinal from 0 to 255 at the end of athanor.replica, as in athanor-0")
  public boolean isReplicaDiscoverable() {
    return forward.discovery().isEmpty()
        || (!forward.url().isEmpty()
            && id().matches("0|[1-9]\\d{0,2}")
            && Integer.parseInt(id()) < DiscoveredReplicas.ORDINALS);
  }

  /** Replicas are either found or listed. */
  @AssertTrue(
      message =
          "athanor.forward.discovery and athanor.forward.replicas are both set; remove athanor.forward.replicas to find the replicas by DNS, or athanor.forward.discovery to list them")
  public boolean isReplicasSettingUnambiguous() {
    return forward.discovery().isEmpty() || forward.replicas().isEmpty();
  }

  private String id() {
    return replica.substring(replica.lastIndexOf('-') + 1);
  }

  private static final String DEVICE = "(emulator|cuda|vulkan)(:\\d{1,2})?";

  /** The syntax of {@link #device}. */
  public static final String DEVICES = "auto|all|" + DEVICE + "(," + DEVICE + ")*";

  /** The syntax of {@link #device} in words. */
  public static final String DEVICES_IN_WORDS =
      "auto, all, or one or more of emulator, cuda and vulkan, each with an optional number such as cuda:1, separated by commas";
}
