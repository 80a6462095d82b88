import { KafkaBackupError } from '../../errors.ts'
import type { SaslMechanism } from './mechanism.ts'
import type { PasswordLogin } from './options.ts'
import { readSecret } from './secret.ts'

/** RFC 4616: `[authzid] NUL authcid NUL passwd`. The password itself goes to the broker. */
export function plain(login: PasswordLogin): SaslMechanism {
  return {
    name: 'PLAIN',
    identity: login.username,
    async *converse() {
      const password = await readSecret(login.password, login.passwordFile, 'password')
      if (`${login.username}${password}`.includes('\0')) {
        throw new KafkaBackupError('CONFIG_INVALID', 'the user name or password for PLAIN contains a NUL character')
      }
      yield Buffer.from(`\0${login.username}\0${password}`)
    },
  }
}
