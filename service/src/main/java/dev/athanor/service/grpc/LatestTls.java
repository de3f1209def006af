package dev.athanor.service.grpc;

import java.net.Socket;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.KeyManagerFactorySpi;
import javax.net.ssl.ManagerFactoryParameters;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.TrustManagerFactorySpi;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundleRegistry;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslManagerBundle;

/**
 * Keys and certificates as a bundle has them now. gRPC asks for its managers once, when it starts;
 * these look the rest up in those of the latest version of the bundle at each handshake.
 */
final class LatestTls {

  private LatestTls() {}

  /**
   * Registers a bundle that follows another.
   *
   * @return its name
   */
  static String register(SslBundles bundles, SslBundleRegistry registry, String name) {
    var first = bundles.getBundle(name);
    var keys = new Keys(keys(first));
    var trust = new Trust(trust(first));
    bundles.addBundleUpdateHandler(
        name,
        latest -> {
          keys.replace(keys(latest));
          trust.replace(trust(latest));
        });
    var managers = first.getManagers();
    var own = "the latest of " + name;
    registry.registerBundle(
        own,
        SslBundle.of(
            first.getStores(),
            first.getKey(),
            first.getOptions(),
            first.getProtocol(),
            SslManagerBundle.of(
                factory(managers.getKeyManagerFactory(), keys),
                factory(managers.getTrustManagerFactory(), trust))));
    return own;
  }

  private static X509ExtendedKeyManager keys(SslBundle bundle) {
    return only(X509ExtendedKeyManager.class, bundle.getManagers().getKeyManagers());
  }

  private static X509ExtendedTrustManager trust(SslBundle bundle) {
    return only(X509ExtendedTrustManager.class, bundle.getManagers().getTrustManagers());
  }

  private static <T> T only(Class<T> type, Object[] managers) {
    return Arrays.stream(managers)
        .filter(type::isInstance)
        .map(type::cast)
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("every Java has " + type.getSimpleName()));
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

  private static TrustManagerFactory factory(TrustManagerFactory like, TrustManager manager) {
    var spi =
        new TrustManagerFactorySpi() {
          @Override
          protected void engineInit(@Nullable KeyStore store) {}

          @Override
          protected void engineInit(ManagerFactoryParameters parameters) {}

          @Override
          protected TrustManager[] engineGetTrustManagers() {
            return new TrustManager[] {manager};
          }
        };
    return new TrustManagerFactory(spi, like.getProvider(), like.getAlgorithm()) {};
  }

  /**
   * A handshake asks for an alias first and then for what it stands for, so the alias says of which
   * version it is, and the version before the latest is kept.
   */
  private static final class Keys extends X509ExtendedKeyManager {

    private record Version(long number, X509ExtendedKeyManager manager) {
      private String prefix() {
        return number + ":";
      }
    }

    private record Versions(Version latest, Version before) {}

    private volatile Versions versions;

    Keys(X509ExtendedKeyManager first) {
      var version = new Version(0, first);
      versions = new Versions(version, version);
    }

    synchronized void replace(X509ExtendedKeyManager manager) {
      var latest = versions.latest();
      versions = new Versions(new Version(latest.number() + 1, manager), latest);
    }

    private static @Nullable String named(Version version, @Nullable String alias) {
      return alias == null ? null : version.prefix() + alias;
    }

    private @Nullable Version of(String alias) {
      var now = versions;
      return alias.startsWith(now.latest().prefix())
          ? now.latest()
          : alias.startsWith(now.before().prefix()) ? now.before() : null;
    }

    private static String bare(String alias) {
      return alias.substring(alias.indexOf(':') + 1);
    }

    @Override
    public @Nullable String chooseEngineServerAlias(
        String type, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
      var latest = versions.latest();
      return named(latest, latest.manager().chooseEngineServerAlias(type, issuers, engine));
    }

    @Override
    public @Nullable String chooseServerAlias(
        String type, Principal @Nullable [] issuers, @Nullable Socket socket) {
      var latest = versions.latest();
      return named(latest, latest.manager().chooseServerAlias(type, issuers, socket));
    }

    @Override
    public X509Certificate @Nullable [] getCertificateChain(String alias) {
      var version = of(alias);
      return version == null ? null : version.manager().getCertificateChain(bare(alias));
    }

    @Override
    public @Nullable PrivateKey getPrivateKey(String alias) {
      var version = of(alias);
      return version == null ? null : version.manager().getPrivateKey(bare(alias));
    }

    @Override
    public String @Nullable [] getServerAliases(String type, Principal @Nullable [] issuers) {
      var latest = versions.latest();
      var aliases = latest.manager().getServerAliases(type, issuers);
      return aliases == null
          ? null
          : Arrays.stream(aliases).map(alias -> latest.prefix() + alias).toArray(String[]::new);
    }

    /** A server is no client. */
    @Override
    public String @Nullable [] getClientAliases(String type, Principal @Nullable [] issuers) {
      return null;
    }

    @Override
    public @Nullable String chooseClientAlias(
        String[] types, Principal @Nullable [] issuers, @Nullable Socket socket) {
      return null;
    }
  }

  private static final class Trust extends X509ExtendedTrustManager {
    private volatile X509ExtendedTrustManager latest;

    Trust(X509ExtendedTrustManager first) {
      latest = first;
    }

    void replace(X509ExtendedTrustManager manager) {
      latest = manager;
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      latest.checkClientTrusted(chain, type, engine);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      latest.checkClientTrusted(chain, type, socket);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      latest.checkClientTrusted(chain, type);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      latest.checkServerTrusted(chain, type, engine);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      latest.checkServerTrusted(chain, type, socket);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      latest.checkServerTrusted(chain, type);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return latest.getAcceptedIssuers();
    }
  }
}
