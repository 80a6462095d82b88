import { camelKeys } from './camel-keys.ts'
import { fields } from './leaf.ts'
import { saslSchema } from './sasl-schema.ts'
import { choice } from './scalar-leaves.ts'
import { text } from './text-leaves.ts'
import { anyText, pemFile } from './text-rules.ts'

export const securityProtocols = ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'] as const

const tlsFilesSchema = fields({
  ca_cert: text(pemFile, {
    description:
      'The CA certificates that brokers are trusted by, and no others. Without it those that Node.js ships are trusted.',
  }).exactOptional(),
  client_cert: text(pemFile, {
    description: 'The certificate that this client shows, with its chain; needs `client_key`.',
  }).exactOptional(),
  client_key: text(pemFile, { description: 'The private key of the client certificate.' }).exactOptional(),
  client_key_password: text(anyText, {
    description: 'The password of an encrypted private key.',
    secret: true,
  }).exactOptional(),
})
  .transform(tls => camelKeys(tls))
  .meta({ description: 'TLS files, for SSL and SASL_SSL. They are read again when they change.' })

/** How a cluster is talked to. `checkSecurityRules` has the rules between the fields. */
export const securitySchema = fields({
  protocol: choice(securityProtocols, {
    description: 'What the listener speaks. Nothing else is tried: certificates and host names are always verified.',
  }),
  tls: tlsFilesSchema.exactOptional(),
  sasl: saslSchema.exactOptional(),
}).meta({ description: 'How the cluster is talked to. Without it: plain text and no login.' })
