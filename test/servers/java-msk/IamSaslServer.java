import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.TreeSet;
import javax.security.auth.callback.CallbackHandler;
import javax.security.sasl.SaslServer;
import javax.security.sasl.SaslServerFactory;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.signer.Aws4Signer;
import software.amazon.awssdk.auth.signer.params.Aws4PresignerParams;
import software.amazon.awssdk.http.SdkHttpFullRequest;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.regions.Region;

/**
 * Believes whoever can make the signature that the AWS SDK makes of the same request. The broker's environment has the
 * credentials, as AWS knows those of its users.
 */
public final class IamSaslServer implements SaslServer {
  private static final DateTimeFormatter DATE =
      DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
  private String user;

  public static final class Factory implements SaslServerFactory {
    @Override
    public SaslServer createSaslServer(
        String mechanism, String protocol, String name, Map<String, ?> properties, CallbackHandler handler) {
      return new IamSaslServer();
    }

    @Override
    public String[] getMechanismNames(Map<String, ?> properties) {
      return new String[] {"AWS_MSK_IAM"};
    }
  }

  @Override
  public byte[] evaluateResponse(byte[] response) {
    try {
      JsonNode said = new ObjectMapper().readTree(response);
      check("version", "2020_10_22", said);
      check("action", "kafka-cluster:Connect", said);
      check("x-amz-algorithm", "AWS4-HMAC-SHA256", said);
      check("x-amz-signedheaders", "host", said);
      String[] scope = said.path("x-amz-credential").asText().split("/");
      if (scope.length != 5 || !scope[0].equals(System.getenv("AWS_ACCESS_KEY_ID"))) throw refuse("unknown access key");
      Instant date = DATE.parse(said.path("x-amz-date").asText(), Instant::from);
      Duration life = Duration.ofSeconds(said.path("x-amz-expires").asInt());
      if (life.toSeconds() > 900 || date.plus(life).isBefore(Instant.now())) throw refuse("expired");
      Map<String, java.util.List<String>> signed = sign(said.path("host").asText(), scope[2], date, life);
      signed.forEach((name, values) -> check(name.toLowerCase(), values.get(0), said));
      TreeSet<String> names = new TreeSet<>();
      said.fieldNames().forEachRemaining(names::add);
      signed.keySet().forEach(name -> names.remove(name.toLowerCase()));
      if (!names.toString().equals("[host, user-agent, version]")) throw refuse("fields besides the query: " + names);
      user = scope[0];
      return "{\"version\":\"2020_10_22\",\"request-id\":\"1\"}".getBytes(StandardCharsets.UTF_8);
    } catch (java.io.IOException | java.time.DateTimeException error) {
      throw refuse(error.getMessage());
    }
  }

  private static Map<String, java.util.List<String>> sign(String host, String region, Instant date, Duration life) {
    SdkHttpFullRequest request = SdkHttpFullRequest.builder()
        .method(SdkHttpMethod.GET).protocol("https").host(host).encodedPath("/")
        .putRawQueryParameter("Action", "kafka-cluster:Connect").build();
    Aws4PresignerParams params = Aws4PresignerParams.builder()
        .awsCredentials(credentials()).signingName("kafka-cluster").signingRegion(Region.of(region))
        .signingClockOverride(Clock.fixed(date, ZoneOffset.UTC)).expirationTime(date.plus(life)).build();
    return Aws4Signer.create().presign(request, params).rawQueryParameters();
  }

  private static AwsCredentials credentials() {
    String id = System.getenv("AWS_ACCESS_KEY_ID");
    String secret = System.getenv("AWS_SECRET_ACCESS_KEY");
    String token = System.getenv("AWS_SESSION_TOKEN");
    return token == null ? AwsBasicCredentials.create(id, secret) : AwsSessionCredentials.create(id, secret, token);
  }

  private static void check(String field, String expected, JsonNode said) {
    if (!said.path(field).asText().equals(expected)) throw refuse(field + " is not what AWS computes");
  }

  private static SaslAuthenticationException refuse(String why) {
    return new SaslAuthenticationException("Access denied: " + why);
  }

  @Override
  public boolean isComplete() {
    return user != null;
  }

  @Override
  public String getAuthorizationID() {
    return user;
  }

  @Override
  public String getMechanismName() {
    return "AWS_MSK_IAM";
  }

  @Override
  public Object getNegotiatedProperty(String name) {
    return null;
  }

  @Override
  public byte[] wrap(byte[] outgoing, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public byte[] unwrap(byte[] incoming, int offset, int length) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void dispose() {}
}
