import * as z from 'zod'
import { camelKeys } from './camel-keys.ts'
import { fields, kinds } from './leaf.ts'
import { text } from './text-leaves.ts'
import { anyText, file, tokenUrl } from './text-rules.ts'

export const tlsSchema = fields({
  ca_cert: text(file, { description: 'The CA certificate; required for `mtls`.' }).exactOptional(),
  client_cert: text(file, { description: 'The client certificate; required for `mtls`.' }).exactOptional(),
  client_key: text(file, { description: 'The private key of the client; required for `mtls`.' }).exactOptional(),
})
  .transform(tls => camelKeys(tls))
  .meta({ description: 'TLS files, next to `auth` or inside it, not both.' })

const basicAuth = fields({
  type: authType('basic'),
  username: text(anyText, { description: 'The user.' }),
  password: text(anyText, { description: 'The password of the user.', secret: true }),
  tls: tlsSchema.exactOptional(),
}).transform(auth => camelKeys(auth))

const mtlsAuth = fields({ type: authType('mtls'), tls: tlsSchema.exactOptional() }).transform(auth => camelKeys(auth))

const oauthAuth = fields({
  type: authType('oauth'),
  token_url: text(tokenUrl, { description: 'The URL that issues tokens.', hidden: true }),
  client_id: text(anyText, { description: 'The client that asks for a token.' }),
  client_secret: text(anyText, { description: 'The secret of the client.', secret: true }),
  scope: text(anyText, { description: 'The scope asked for.' }),
  tls: tlsSchema.exactOptional(),
}).transform(auth => camelKeys(auth))

export const authSchema = kinds('type', [basicAuth, mtlsAuth, oauthAuth], 'is not known').meta({
  description: 'How to log in to the registry.',
})

function authType<const T extends string>(type: T) {
  return z.literal(type).meta({ description: 'How to log in.', 'x-type': 'text', 'x-allowed': 'basic, mtls, oauth' })
}
