import java.security.Provider;
import java.security.Security;
import java.util.Map;
import javax.security.auth.Subject;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.spi.LoginModule;

/** Teaches a broker the server's side of AWS_MSK_IAM, which only Amazon's brokers have. */
public final class IamLoginModule implements LoginModule {
  static {
    Security.addProvider(new IamProvider());
  }

  private static final class IamProvider extends Provider {
    IamProvider() {
      super("test AWS_MSK_IAM server", "1", "");
      put("SaslServerFactory.AWS_MSK_IAM", IamSaslServer.Factory.class.getName());
    }
  }

  @Override
  public void initialize(Subject subject, CallbackHandler handler, Map<String, ?> state, Map<String, ?> options) {}

  @Override
  public boolean login() {
    return true;
  }

  @Override
  public boolean commit() {
    return true;
  }

  @Override
  public boolean abort() {
    return false;
  }

  @Override
  public boolean logout() {
    return true;
  }
}
