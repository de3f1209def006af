package dev.athanor.service.security;

import dev.athanor.service.tensor.Tenant;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;

/** Authenticates callers by client certificates, which the TLS handshake has verified. */
public final class CertificateCallers implements Callers {

  private final SecuritySettings.Mtls settings;

  public CertificateCallers(SecuritySettings.Mtls settings) {
    this.settings = settings;
  }

  @Override
  public Caller identify(Credentials credentials) {
    if (credentials.certificates().isEmpty()) {
      throw Callers.unauthenticated("Client certificate required");
    }
    var certificate = credentials.certificates().getFirst();
    var tenants =
        names(certificate).stream()
            .map(settings.tenantPattern()::matcher)
            .filter(Matcher::matches)
            .map(m -> m.group(1))
            .distinct()
            .toList();
    if (tenants.size() != 1 || !Tenant.isName(tenants.getFirst())) {
      throw Callers.unauthenticated(
          "the client certificate must name exactly one tenant in its %s"
              .formatted(settings.tenantFrom()));
    }
    return new Caller(
        certificate.getSubjectX500Principal().getName(),
        new Tenant(tenants.getFirst()),
        settings.scopes());
  }

  private List<String> names(X509Certificate certificate) {
    try {
      return switch (settings.tenantFrom()) {
        case SUBJECT_CN ->
            new LdapName(certificate.getSubjectX500Principal().getName())
                .getRdns().stream()
                    .filter(rdn -> rdn.getType().equalsIgnoreCase("CN"))
                    .map(rdn -> rdn.getValue().toString())
                    .toList();
        case SAN_URI -> alternatives(certificate, 6);
        case SAN_DNS -> alternatives(certificate, 2);
      };
    } catch (InvalidNameException | CertificateParsingException e) {
      throw Callers.unauthenticated("the client certificate's names cannot be read");
    }
  }

  /**
   * Returns the subject alternative names of one kind.
   *
   * @param kind the tag of GeneralName (RFC 5280, section 4.2.1.6)
   */
  private static List<String> alternatives(X509Certificate certificate, int kind)
      throws CertificateParsingException {
    var names = new ArrayList<String>();
    for (var name :
        Objects.requireNonNullElse(certificate.getSubjectAlternativeNames(), List.<List<?>>of())) {
      if (name.get(0) instanceof Integer tag && tag == kind) {
        names.add(String.valueOf(name.get(1)));
      }
    }
    return names;
  }

  @Override
  public String challenge() {
    return "Certificate realm=\"athanor\"";
  }

  @Override
  public List<String> schemes() {
    return List.of("certificate");
  }

  @Override
  public String credential() {
    return "client certificate";
  }
}
