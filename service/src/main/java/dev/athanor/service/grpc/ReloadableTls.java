package dev.athanor.service.grpc;

import io.grpc.util.AdvancedTlsX509KeyManager;
import io.grpc.util.AdvancedTlsX509TrustManager;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.KeyManagerFactorySpi;
import javax.net.ssl.ManagerFactoryParameters;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundleRegistry;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslManagerBundle;

/**
 * TLS credentials of the gRPC server that follow updates of an SSL bundle. gRPC reads the managers
 * of a bundle only once, at startup, so these managers have replaceable contents.
 */
final class ReloadableTls {

  /** The key types of server certificates, as key managers name them. */
  private static final String[] KEY_TYPES = {"EC", "RSA", "EdDSA", "RSASSA-PSS"};

  private final AdvancedTlsX509KeyManager keys = new AdvancedTlsX509KeyManager();
  private final AdvancedTlsX509TrustManager trust;

  private ReloadableTls() throws GeneralSecurityException {
    trust = AdvancedTlsX509TrustManager.newBuilder().build();
  }

  /**
   * Registers a bundle whose credentials follow the updates of another bundle.
   *
   * @return the name of the new bundle
   */
  static String register(SslBundles bundles, SslBundleRegistry registry, String name) {
    var first = bundles.getBundle(name);
    var followed = name + " (reloadable)";
    try {
      var tls = new ReloadableTls();
      tls.update(first);
      bundles.addBundleUpdateHandler(name, tls::update);
      registry.registerBundle(
          followed,
          SslBundle.of(
              first.getStores(),
              first.getKey(),
              first.getOptions(),
              first.getProtocol(),
              SslManagerBundle.of(
                  factory(first.getManagers().getKeyManagerFactory(), tls.keys),
                  SslManagerBundle.from(tls.trust).getTrustManagerFactory())));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("cannot use the SSL bundle " + name, e);
    }
    return followed;
  }

  private void update(SslBundle bundle) {
    var manager = only(X509ExtendedKeyManager.class, bundle.getManagers().getKeyManagers());
    var alias =
        Arrays.stream(KEY_TYPES)
            .map(type -> manager.getServerAliases(type, null))
            .filter(Objects::nonNull)
            .flatMap(Stream::of)
            .findFirst();
    try {
      if (alias.isPresent()) {
        keys.updateIdentityCredentials(
            manager.getCertificateChain(alias.get()), manager.getPrivateKey(alias.get()));
      }
      trust.updateTrustCredentials(
          only(X509TrustManager.class, bundle.getManagers().getTrustManagers())
              .getAcceptedIssuers());
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalStateException("cannot use the updated SSL bundle", e);
    }
  }

  private static <T> T only(Class<T> type, Object[] managers) {
    return Stream.of(managers)
        .filter(type::isInstance)
        .map(type::cast)
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no " + type.getSimpleName()));
  }

  private static KeyManagerFactory factory(KeyManagerFactory like, KeyManager manager) {
    var spi =
        new KeyManagerFactorySpi() {
          @Override
          protected void engineInit(@Nullable KeyStore store, char @Nullable [] password) {}

          @Override
          protected void engineInit(ManagerFactoryParameters parameters) {}

          @Override
          protected KeyManager[] engineGetKeyManagers() {
            return new KeyManager[] {manager};
          }
        };
    return new KeyManagerFactory(spi, like.getProvider(), like.getAlgorithm()) {};
  }
}
