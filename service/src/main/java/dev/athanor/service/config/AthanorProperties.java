package dev.athanor.service.config;

import dev.athanor.service.device.RunSettings;
import dev.athanor.service.forward.ForwardSettings;
import dev.athanor.service.grpc.GrpcSettings;
import dev.athanor.service.metrics.MetricsSettings;
import dev.athanor.service.rest.http.RestSettings;
import dev.athanor.service.security.SecuritySettings;
import dev.athanor.service.tensor.TensorSettings;
import jakarta.validation.Valid;
import jakarta.validation.constraints.AssertTrue;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * What can be configured under {@code athanor}.
 *
 * @param device auto, all, or one or more of emulator, emulator:N, cuda and cuda:N, separated by
 *     commas
 * @param plugins a folder whose jars bring further ops; none when empty
 * @param replica this process's name among several, such as its pod's; what follows the last hyphen
 *     marks its handles. When empty, the mark is random and foreign handles are unknown
 * @param forward whether and where requests for tensors of other replicas are sent on
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
    @Valid @NotNull @DefaultValue ForwardSettings forward,
    @Valid @NotNull @DefaultValue RunSettings run,
    @Valid @NotNull @DefaultValue TuningSettings tuning,
    @Valid @NotNull @DefaultValue TensorSettings tensors,
    @Valid @NotNull @DefaultValue RestSettings rest,
    @Valid @NotNull @DefaultValue GrpcSettings grpc,
    @Valid @NotNull @DefaultValue MetricsSettings metrics,
    @Valid @NotNull @DefaultValue SecuritySettings security) {

  /** Without a name, this replica could not tell the handles of others from its own. */
  @AssertTrue(
      message =
          "athanor.forward.url needs athanor.replica, the name of this replica among the others")
  public boolean isReplicaNamedForForwarding() {
    return forward.url().isEmpty() || !replica.isEmpty();
  }

  private static final String DEVICE = "(emulator|cuda)(:\\d{1,2})?";

  /** How {@link #device} is written. */
  public static final String DEVICES = "auto|all|" + DEVICE + "(," + DEVICE + ")*";

  /** The same for people. */
  public static final String DEVICES_IN_WORDS =
      "auto, all, or one or more of emulator, emulator:N, cuda and cuda:N, separated by commas";
}
