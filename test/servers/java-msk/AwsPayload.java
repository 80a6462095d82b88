import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslClient;
import software.amazon.msk.auth.iam.IAMClientCallbackHandler;
import software.amazon.msk.auth.iam.IAMLoginModule;

/** Prints what AWS's own client would send to the broker named by the argument, with the environment's credentials. */
public final class AwsPayload {
  public static void main(String[] args) throws Exception {
    new IAMLoginModule(); // Registers the mechanism.
    AppConfigurationEntry entry = new AppConfigurationEntry(
        IAMLoginModule.class.getName(), AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, Map.of());
    IAMClientCallbackHandler handler = new IAMClientCallbackHandler();
    handler.configure(Map.of(), "AWS_MSK_IAM", List.of(entry));
    SaslClient client =
        Sasl.createSaslClient(new String[] {"AWS_MSK_IAM"}, null, "kafka", args[0], Map.of(), handler);
    System.out.println(new String(client.evaluateChallenge(new byte[0]), StandardCharsets.UTF_8));
  }
}
