import * as z from 'zod'
import { camelKeys } from './camel-keys.ts'
import { fields, kinds } from './leaf.ts'
import { registryRestoreSchema, subjectFields } from './registry-restore-schema.ts'
import { choice, duration, flag, integer } from './scalar-leaves.ts'
import { anyText, file, httpUrl, text, textList, tokenUrl } from './text-leaves.ts'

const schemaTypes = ['AVRO', 'JSON', 'PROTOBUF'] as const

const connectionSchema = fields({
  rate_limit_rps: integer({
    description: 'Requests sent to the registry in a second, at most. Without it: as many as it answers.',
    min: 1,
    max: 100_000,
  }).exactOptional(),
  connect_timeout: duration({ description: 'How long a connection may take.', min: '1s', max: '10m' }).prefault('10s'),
  request_timeout: duration({ description: 'How long an answer may take.', min: '1s', max: '10m' }).prefault('30s'),
})
  .transform(connection =>
    camelKeys(connection, { connect_timeout: 'connectTimeoutMs', request_timeout: 'requestTimeoutMs' }),
  )
  .meta({ description: 'How the registry is talked to.' })
  .prefault({})

const subjectsSchema = fields({
  ...subjectFields('Subjects to back up; `*` is all.'),
  include_soft_deleted: flag({
    description:
      'Take versions that are marked as deleted too. Records that carry their IDs cannot be read without them; a ' +
      'warning counts what is left out.',
  }).prefault(false),
  include_versions: choice(['all', 'latest'], { description: 'Which versions of a subject are taken.' }).prefault(
    'all',
  ),
  include_references: flag({
    description: 'Take the versions that a schema refers to, also where `subjects` does not match them.',
  }).prefault(true),
})
  .transform(backup => camelKeys(backup))
  .meta({ description: 'What is taken from the registry.' })
  .prefault({})

const protobufSchema = fields({
  include_dependencies: flag({
    description: 'Take the .proto files that a schema imports. Without it: as `backup.include_references` says.',
  }).exactOptional(),
})
  .transform(protobuf => camelKeys(protobuf))
  .meta({ description: 'Settings of Protobuf schemas.' })
  .prefault({})

const tlsSchema = fields({
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

const authSchema = kinds('type', [basicAuth, mtlsAuth, oauthAuth], 'is not known').meta({
  description: 'How to log in to the registry.',
})

/** Defaults that hang on another field are in place afterwards. */
export const registrySchema = fields({
  enabled: flag({ description: 'Turns the schema registry on.' }),
  url: textList(httpUrl, {
    description:
      'The address of the registry, or of several of one, tried in this order; required where it is enabled.',
    allowed: 'http or https URLs joined by commas, such as https://registry:8081; all https with auth.type mtls',
    min: 1,
    shorthand: 'commas',
    hidden: true,
  }).exactOptional(),
  auth: authSchema.exactOptional(),
  tls: tlsSchema.exactOptional(),
  connection: connectionSchema,
  backup: subjectsSchema,
  restore: registryRestoreSchema,
  schema_types: z
    .array(choice(schemaTypes, { description: 'A type of schema.' }))
    .min(1)
    .meta({
      description: 'The types of schemas that are taken, and restored. A shorter list is a filter.',
      'x-type': 'list of text',
      'x-allowed': schemaTypes.join(', '),
    })
    .prefault([...schemaTypes]),
  protobuf: protobufSchema,
})
  .transform(({ protobuf, ...registry }) => ({
    ...camelKeys(registry, { url: 'urls' }),
    protobuf: { includeDependencies: protobuf.includeDependencies ?? registry.backup.includeReferences },
  }))
  .meta({ description: 'The schema registry that belongs to the topics.' })

function authType<const T extends string>(type: T) {
  return z.literal(type).meta({ description: 'How to log in.', 'x-type': 'text', 'x-allowed': 'basic, mtls, oauth' })
}
