package dev.athanor.service.rest;

import dev.athanor.engine.device.Device;
import dev.athanor.service.codec.DeviceView;
import dev.athanor.service.codec.Json;
import dev.athanor.service.run.DeviceHealth;
import dev.athanor.service.run.StreamPool;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** What the service runs on. */
@RestController
class DeviceController {

  private final Device device;
  private final DeviceHealth health;
  private final StreamPool streams;

  DeviceController(Device device, DeviceHealth health, StreamPool streams) {
    this.device = device;
    this.health = health;
    this.streams = streams;
  }

  @GetMapping("/devices")
  void list(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Requests.checkQuery(request, List.of());
    Media.ofAnswer(request, Media.JSON);
    response.setContentType(Media.JSON.text());
    Json.writeValue(response.getOutputStream(), new DeviceView.Devices(List.of(view())));
  }

  private DeviceView view() {
    var capability = device.capability();
    var memory = device.memory();
    return new DeviceView(
        capability.id(),
        capability.name(),
        capability.target().toString(),
        capability.driver(),
        capability.multiprocessors(),
        health.isLost() ? "lost" : health.isReady() ? "ready" : "not-ready",
        new DeviceView.Memory(memory.used(), memory.pooled(), memory.free()),
        streams.waiting(),
        streams.count(),
        streams.busy());
  }
}
