package dev.athanor.service.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.codec.ByteSource;
import dev.athanor.service.model.ExtentRanges;
import dev.athanor.service.model.ModelSettings;
import dev.athanor.service.model.ModelUpload;
import dev.athanor.service.model.ModelUpload.Format;
import dev.athanor.service.model.PreparedModels;
import dev.athanor.service.model.SmallModels;
import dev.athanor.service.model.StoredModels;
import dev.athanor.service.run.FakeDevice;
import dev.athanor.service.run.Rig;
import dev.athanor.service.stream.RequestContext;
import dev.athanor.service.tensor.Handles;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.service.tensor.TensorSettings;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests leases and the memory of sessions, with a cache of two blocks. */
class SessionsTest {

  private static final Duration LEASE = Duration.ofMinutes(1);
  private static final RequestContext LOCAL = RequestContext.OWN;

  @TempDir private Path folder;
  private final FakeDevice device = new FakeDevice();
  private Rig rig;
  private Sessions sessions;

  @BeforeEach
  void open() throws IOException {
    var planner = new Planner(device.capability(), TuningCache.open(folder.resolve("tuning.json")));
    rig = new Rig(device, planner, 1, 16, new TensorSettings(1 << 20, 100, LEASE, 0, LEASE));
    var models =
        new StoredModels(Catalogue.load(), rig.store, rig.transfers, new ModelSettings("", 2, 64));
    var prepared = new PreparedModels(models, rig.clock, rig.runner::run);
    put(models, prepared, "small", Format.ZIP, SmallModels.decoder());
    put(models, prepared, "appending", Format.ONNX, SmallModels.appending());
    sessions = new Sessions(models, rig.store, rig.transfers, new Handles(""), rig.clock, 64);
  }

  private static void put(
      StoredModels models, PreparedModels prepared, String name, Format format, byte[] file)
      throws IOException {
    var body = ByteSource.of(new ByteArrayInputStream(file));
    var upload = new ModelUpload(body, format, Long.MAX_VALUE, ExtentRanges.ANY, "");
    var id = models.id(Tenant.LOCAL, name);
    prepared.store(prepared.prepare(id, upload, 0, LOCAL), List.of(), LOCAL);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private Session session() {
    return sessions.create("small", LEASE, LOCAL);
  }

  @Test
  void expiredSessionsGiveTheirBlocksToOthers() {
    var idle = session();
    idle.reserve(40);
    idle.advance(40);
    rig.clock.advance(LEASE.minusSeconds(1));
    var other = session();
    assertThatThrownBy(() -> other.reserve(1)).hasMessageContaining("and 0 are free");
    rig.clock.advance(Duration.ofSeconds(1));
    other.reserve(1);
    assertThat(other.blocks()).hasSize(1);
    assertThatThrownBy(() -> sessions.get(Tenant.LOCAL, "small", idle.id()))
        .hasMessageContaining("It may have expired");
  }

  @Test
  void callsRenewTheLease() {
    var session = session();
    rig.clock.advance(LEASE.minusSeconds(1));
    session.enter();
    rig.clock.advance(LEASE);
    sessions.leave(session);
    rig.clock.advance(LEASE.minusSeconds(1));
    assertThat(sessions.get(Tenant.LOCAL, "small", session.id())).isSameAs(session);
  }

  @Test
  void oneCallAtATimeUsesASession() {
    var session = session();
    session.enter();
    assertThatThrownBy(session::enter)
        .hasMessage(
            "another call uses the session %s; send the calls of a session one after the other"
                .formatted(session.id()));
    sessions.leave(session);
    session.enter();
  }

  /** The call of a session that is deleted may still write into its blocks. */
  @Test
  void blocksStayUntilTheCallEnds() {
    var session = session();
    session.enter();
    session.reserve(64);
    sessions.delete(session);
    var other = session();
    assertThatThrownBy(() -> other.reserve(1)).hasMessageContaining("and 0 are free");
    sessions.leave(session);
    other.reserve(64);
    assertThatThrownBy(session::enter).hasMessageContaining("There is no session");
  }

  /** The store frees the tensors of an expired session first, and forgets their handles. */
  @Test
  void tensorsThatTheStoreHasForgottenAreNoFailure() {
    sessions.create("appending", LEASE, LOCAL);
    rig.clock.advance(LEASE.plusSeconds(1));
    rig.store.sweep();
    rig.clock.advance(LEASE.plusSeconds(1));
    rig.store.sweep();
    assertThat(sessions.list(Tenant.LOCAL, "appending")).isEmpty();
  }
}
