import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.catalina.startup.Tomcat;

/** Tomcat with one servlet that only copies, to measure HTTP on the JVM. Argument: the port. */
public class BareServlet extends HttpServlet {

  private static final long serialVersionUID = 1;

  private record Held(byte[] bytes, String dtype, String shape) {}

  private final transient Map<String, Held> tensors = new ConcurrentHashMap<>();
  private final AtomicLong created = new AtomicLong();

  public static void main(String[] args) throws Exception {
    var tomcat = new Tomcat();
    tomcat.setPort(Integer.parseInt(args[0]));
    tomcat.setBaseDir(args[1]);
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    var context = tomcat.addContext("", null);
    Tomcat.addServlet(context, "bare", new BareServlet());
    context.addServletMappingDecoded("/*", "bare");
    tomcat.start();
    tomcat.getServer().await();
  }

  private static String handle(HttpServletRequest request) {
    return request.getRequestURI().split("/")[2];
  }

  @Override
  protected void doPost(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var handle = "t_" + created.incrementAndGet();
    var dtype = request.getParameter("dtype");
    var shape = request.getParameter("shape");
    tensors.put(handle, new Held(request.getInputStream().readAllBytes(), dtype, shape));
    response.setStatus(HttpServletResponse.SC_CREATED);
    answer(handle, response);
  }

  @Override
  protected void doPut(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var held = tensors.get(handle(request)).bytes();
    request.getInputStream().readNBytes(held, 0, held.length);
    answer(handle(request), response);
  }

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (request.getRequestURI().equals("/readyz")) {
      return;
    }
    var held = tensors.get(handle(request)).bytes();
    response.setContentType("application/octet-stream");
    response.setContentLength(held.length);
    response.getOutputStream().write(held);
  }

  @Override
  protected void doDelete(HttpServletRequest request, HttpServletResponse response) {
    tensors.remove(handle(request));
    response.setStatus(HttpServletResponse.SC_NO_CONTENT);
  }

  /** Describes the tensor like the service, as the Java client expects. */
  private void answer(String handle, HttpServletResponse response) throws IOException {
    var held = tensors.get(handle);
    response.setContentType("application/json");
    response
        .getOutputStream()
        .write(
            "{\"handle\":\"%s\",\"dtype\":\"%s\",\"shape\":[%s],\"bytes\":%d}"
                .formatted(handle, held.dtype(), held.shape(), held.bytes().length)
                .getBytes());
  }
}
