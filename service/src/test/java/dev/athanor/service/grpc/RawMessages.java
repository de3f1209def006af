package dev.athanor.service.grpc;

import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Method descriptors with raw bytes as messages. */
final class RawMessages {

  private RawMessages() {}

  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  /**
   * Returns a unary method.
   *
   * @param method the full name, {@code package.Service/Method}
   */
  static MethodDescriptor<byte[], byte[]> unary(String method) {
    return MethodDescriptor.newBuilder(BYTES, BYTES)
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(method)
        .build();
  }

  /** Returns a method whose requests are raw bytes. */
  static <A> MethodDescriptor<byte[], A> withRawRequests(MethodDescriptor<?, A> method) {
    return method.toBuilder(BYTES, method.getResponseMarshaller()).build();
  }
}
