package dev.athanor.cli.load;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.athanor.api.v1.AttributeValue;
import dev.athanor.api.v1.InputTensor;
import dev.athanor.api.v1.OutputTarget;
import dev.athanor.api.v1.RunRequest;
import dev.athanor.api.v1.RunResponse;
import dev.athanor.api.v1.TensorData;
import dev.athanor.ops.HostTensor;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Runs an op over gRPC.
 *
 * @param requests by slot
 */
record OpMessages(GrpcClient client, List<RunRequest> requests, OpCall.Targets targets)
    implements Scenario.Ready {

  /** The op, of which requests are made. */
  record Run(String op, Map<String, Object> attributes) {

    /** A request whose inputs are resident and whose outputs are written into tensors. */
    RunRequest on(Map<String, String> handles, Map<String, String> targets) {
      var request = request();
      handles.forEach((name, handle) ->
          request.putInputs(name, InputTensor.newBuilder().setHandle(handle).build()));
      targets.forEach((name, handle) ->
          request.putOutputs(name, OutputTarget.newBuilder().setInto(handle).build()));
      return request.build();
    }

    /** A request whose inputs travel with it, and whose outputs with the answer. */
    RunRequest of(Map<String, HostTensor> tensors) {
      var request = request();
      tensors.forEach((name, tensor) ->
          request.putInputs(name, InputTensor.newBuilder().setInline(data(tensor)).build()));
      return request.build();
    }

    private RunRequest.Builder request() {
      var request = RunRequest.newBuilder().setOp(op);
      attributes.forEach((name, value) -> request.putAttributes(name, attribute(value)));
      return request;
    }
  }

  private static TensorData data(HostTensor tensor) {
    return TensorData.newBuilder()
        .setDtype(tensor.type().dtype().text())
        .addAllShape(tensor.type().shape().extents())
        .setData(ByteString.copyFrom(tensor.data().toArray(ValueLayout.JAVA_BYTE)))
        .build();
  }

  private static AttributeValue attribute(Object value) {
    var message = AttributeValue.newBuilder();
    return switch (value) {
      case Boolean flag -> message.setFlag(flag).build();
      case Long integer -> message.setInteger(integer).build();
      case Double number -> message.setNumber(number).build();
      default -> message.setText(value.toString()).build();
    };
  }

  @Override
  public Client.Answer send(int slot, boolean keep) throws IOException, InterruptedException {
    return client.run(requests.get(slot));
  }

  @Override
  public boolean right(byte[] body) {
    try {
      boolean right = true;
      for (var output : RunResponse.parseFrom(body).getOutputsMap().entrySet()) {
        var expected = targets.expected().get(output.getKey());
        if (expected != null && output.getValue().hasInline()) {
          var data = output.getValue().getInline().getData();
          right &= Arrays.equals(data.toByteArray(), expected);
        }
      }
      return right;
    } catch (InvalidProtocolBufferException e) {
      return false;
    }
  }

  @Override
  public boolean left() throws InterruptedException {
    return targets.areRight();
  }
}
