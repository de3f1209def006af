package dev.athanor.service;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** HTTP/2 frames (RFC 9113) as bytes, for input that client libraries do not send. */
public final class Http2 {

  public static final int DATA = 0;
  public static final int HEADERS = 1;
  public static final int RST_STREAM = 3;
  public static final int SETTINGS = 4;
  public static final int PING = 6;
  public static final int GOAWAY = 7;
  public static final int CONTINUATION = 9;

  public static final int END_STREAM = 1;
  public static final int END_HEADERS = 4;

  public static final int CANCEL = 8;
  public static final int ENHANCE_YOUR_CALM = 11;

  /** Pseudo headers at their index in the static table (RFC 7541, appendix A). */
  private static final List<String> PSEUDO_HEADERS =
      List.of("", ":authority", ":method", "", ":path", "", ":scheme");

  private Http2() {}

  /** Returns the client connection preface with an empty SETTINGS frame. */
  public static byte[] preface() {
    return join(
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
        frame(SETTINGS, 0, 0, new byte[0]));
  }

  public static byte[] frame(int type, int flags, int stream, byte[] payload) {
    return ByteBuffer.allocate(9 + payload.length)
        .put((byte) (payload.length >> 16))
        .putShort((short) payload.length)
        .put((byte) type)
        .put((byte) flags)
        .putInt(stream)
        .put(payload)
        .array();
  }

  /**
   * Returns the HEADERS frame of a gRPC call whose messages follow. {@code further} has names and
   * values in turn.
   */
  public static byte[] call(int stream, String method, String... further) {
    var headers = Stream.of("content-type", "application/grpc", "te", "trailers");
    return request(
        stream,
        0,
        "POST",
        "/" + method,
        "localhost",
        Stream.concat(headers, Arrays.stream(further)).toArray(String[]::new));
  }

  /** Returns the HEADERS frame of a request. {@code further} has names and values in turn. */
  public static byte[] request(
      int stream, int flags, String method, String path, String authority, String... further) {
    var block =
        join(
            field(":method", method),
            field(":scheme", "http"),
            field(":path", path),
            field(":authority", authority));
    for (int i = 0; i < further.length; i += 2) {
      block = join(block, field(further[i], further[i + 1]));
    }
    return frame(HEADERS, flags | END_HEADERS, stream, block);
  }

  /** Returns the frame that cancels a request. */
  public static byte[] cancel(int stream) {
    return frame(RST_STREAM, 0, stream, ByteBuffer.allocate(4).putInt(CANCEL).array());
  }

  /**
   * Returns a header field as a literal without indexing (RFC 7541, 6.2.2). Only the names of
   * pseudo headers are indexed, since Tomcat rejects a literal colon.
   */
  public static byte[] field(String name, String value) {
    int index = Math.max(PSEUDO_HEADERS.indexOf(name), 0);
    return join(new byte[] {(byte) index}, index > 0 ? new byte[0] : text(name), text(value));
  }

  private static byte[] text(String text) {
    var bytes = text.getBytes(StandardCharsets.US_ASCII);
    var out = new ByteArrayOutputStream();
    if (bytes.length < 127) {
      out.write(bytes.length);
    } else {
      out.write(127);
      int rest = bytes.length - 127;
      for (; rest >= 128; rest >>= 7) {
        out.write((rest & 127) | 128);
      }
      out.write(rest);
    }
    out.writeBytes(bytes);
    return out.toByteArray();
  }

  /**
   * Returns a gRPC message in a DATA frame.
   *
   * @param length the length in the message prefix, which may be wrong
   */
  public static byte[] message(int stream, int flags, int length, byte[] message) {
    var payload = ByteBuffer.allocate(5 + message.length).put((byte) 0).putInt(length).put(message);
    return frame(DATA, flags, stream, payload.array());
  }

  public static byte[] join(byte[]... parts) {
    var out = new ByteArrayOutputStream();
    for (var part : parts) {
      out.writeBytes(part);
    }
    return out.toByteArray();
  }

  /** A received frame. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record Frame(int type, int flags, int stream, byte[] payload) {

    public boolean ends() {
      return (flags & END_STREAM) != 0;
    }

    /** Returns the error code of an RST_STREAM or GOAWAY frame. */
    public int error() {
      return ByteBuffer.wrap(payload).getInt(type == GOAWAY ? 4 : 0);
    }
  }

  /** A client that has sent its preface. */
  public static final class Connection implements AutoCloseable {
    private final Socket socket;
    private final DataInputStream in;
    private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder();

    /** Connects to a port of loopback. */
    public Connection(int port) throws IOException {
      socket = new Socket();
      socket.setReceiveBufferSize(1 << 16);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      send(preface());
    }

    /**
     * Sends frames.
     *
     * @return whether the connection was still open
     */
    public boolean send(byte[]... frames) {
      try {
        var out = socket.getOutputStream();
        out.write(join(frames));
        return true;
      } catch (IOException e) {
        return false;
      }
    }

    /** Returns the next frame; null if the server has closed the connection. */
    public @Nullable Frame next() throws IOException {
      try {
        int length = (in.readUnsignedByte() << 16) | in.readUnsignedShort();
        int type = in.readUnsignedByte();
        int flags = in.readUnsignedByte();
        int stream = in.readInt();
        var payload = new byte[length];
        in.readFully(payload);
        return new Frame(type, flags, stream, payload);
      } catch (IOException e) {
        return null; // closed, or reset
      }
    }

    /** Returns the next frame of a type; null if the server closes the connection first. */
    public @Nullable Frame next(int type) throws IOException {
      var frame = next();
      while (frame != null && frame.type != type) {
        frame = next();
      }
      return frame;
    }

    /** Returns a header of a HEADERS frame, for which {@link #headers} was not called. */
    public @Nullable String header(Frame headers, String name) {
      var value = headers(headers).get(name);
      return value == null ? null : value.toString();
    }

    /**
     * Returns the headers in a HEADERS frame. Must be called for all HEADERS frames in order,
     * because of their shared HPACK state.
     */
    public Http2Headers headers(Frame headers) {
      try {
        return decoder.decodeHeaders(headers.stream, Unpooled.wrappedBuffer(headers.payload));
      } catch (Http2Exception e) {
        throw new AssertionError(e);
      }
    }

    /**
     * Reads to the end of a stream and returns its headers and body as text, ending with {@code
     * reset N} if the server has reset it. Discards frames of other streams.
     */
    public String response(int stream) throws IOException {
      var text = new StringBuilder();
      for (var frame = next(); frame != null; frame = next()) {
        if (frame.type == HEADERS) {
          var headers = headers(frame);
          text.append(frame.stream == stream ? headers + "\n" : "");
        } else if (frame.type == DATA && frame.stream == stream) {
          text.append(new String(frame.payload, StandardCharsets.UTF_8));
        } else if (frame.type == RST_STREAM && frame.stream == stream) {
          return text + "reset " + frame.error();
        }
        if (frame.stream == stream && frame.ends()) {
          return text.toString();
        }
      }
      return text + "closed";
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
