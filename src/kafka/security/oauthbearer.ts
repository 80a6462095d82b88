import { KafkaBackupError } from '../../errors.ts'
import type { TokenSource } from '../../lib/oauth.ts'
import type { SaslMechanism } from './mechanism.ts'
import type { OAuthOptions } from './options.ts'

const SEPARATOR = '\x01'

/**
 * RFC 7628: `n,,^Aauth=Bearer <token>^A<name>=<value>^A…^A`. A broker that refuses the token says why in JSON; a lone
 * ^A in return ends the conversation, and the broker's error follows.
 */
export function oauthBearer(
  { clientId, extensions = {} }: Pick<OAuthOptions, 'clientId' | 'extensions'>,
  tokens: Pick<TokenSource, 'token'>,
): SaslMechanism {
  return {
    name: 'OAUTHBEARER',
    identity: clientId,
    async *converse(_endpoint, signal) {
      const token = await tokens.token(signal)
      const fields = [`auth=Bearer ${token}`, ...Object.entries(extensions).map(([name, value]) => `${name}=${value}`)]
      const refusal = yield Buffer.from(['n,,', ...fields, '', ''].join(SEPARATOR))
      if (refusal.length === 0) return
      yield Buffer.from(SEPARATOR)
      throw new KafkaBackupError('KAFKA_AUTH', `the broker refused the token of ${clientId}: ${refusal.toString()}`)
    },
  }
}
