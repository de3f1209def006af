package dev.athanor.service.http;

import org.apache.coyote.Adapter;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.tomcat.util.net.SocketEvent;

/** Wraps Tomcat's servlet adapter to act before and after requests. */
abstract class AdapterFilter implements Adapter {

  private final Adapter servlets;

  AdapterFilter(Adapter servlets) {
    this.servlets = servlets;
  }

  @Override
  public void service(Request request, Response response) throws Exception {
    servlets.service(request, response);
  }

  @Override
  public boolean prepare(Request request, Response response) throws Exception {
    return servlets.prepare(request, response);
  }

  @Override
  public boolean asyncDispatch(Request request, Response response, SocketEvent status)
      throws Exception {
    return servlets.asyncDispatch(request, response, status);
  }

  @Override
  public void log(Request request, Response response, long time) {
    servlets.log(request, response, time);
  }

  @Override
  public void checkRecycled(Request request, Response response) {
    servlets.checkRecycled(request, response);
  }

  @Override
  public String getDomain() {
    return servlets.getDomain();
  }
}
