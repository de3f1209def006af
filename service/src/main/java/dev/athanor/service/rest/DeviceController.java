package dev.athanor.service.rest;

import dev.athanor.service.codec.DeviceView;
import dev.athanor.service.codec.Json;
import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.DeviceRuntime;
import dev.athanor.service.device.DeviceRuntimes;
import dev.athanor.service.http.HttpRequests;
import dev.athanor.service.rest.tensors.Media;
import dev.athanor.service.stream.StreamPool;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Endpoint {@code GET /devices}, which describes all devices. */
@RestController
class DeviceController {

  private final DeviceRuntimes runtimes;
  private final DeviceHealth health;
  private final StreamPool streams;

  DeviceController(DeviceRuntimes runtimes, DeviceHealth health, StreamPool streams) {
    this.runtimes = runtimes;
    this.health = health;
    this.streams = streams;
  }

  @GetMapping("/devices")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    HttpRequests.checkQuery(request, List.of());
    Media.ofAnswer(request, Media.JSON);
    response.setContentType(Media.JSON.text());
    Json.writeValue(
        response.getOutputStream(),
        new DeviceView.Devices(runtimes.all().stream().map(this::view).toList()));
  }

  private DeviceView view(DeviceRuntime runtime) {
    var capability = runtime.device().capability();
    var memory = runtime.device().memory();
    return new DeviceView(
        capability.id(),
        capability.name(),
        capability.target().toString(),
        capability.driver(),
        capability.multiprocessors(),
        runtime.memory().isLost() ? "lost" : health.isReady() ? "ready" : "not-ready",
        new DeviceView.Memory(memory.used(), memory.pooled(), memory.free()),
        streams.waiting(runtime.number()),
        streams.perDevice(),
        streams.busy(runtime.number()));
  }
}
