import * as z from 'zod'
import { camelKeys } from './camel-keys.ts'
import { fields, kinds } from './leaf.ts'
import { choice } from './scalar-leaves.ts'
import { text, textMap } from './text-leaves.ts'
import { anyText, file, pemFile, printableText, tokenUrl } from './text-rules.ts'

export const saslMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER', 'AWS_MSK_IAM'] as const

const oauthSchema = fields({
  token_url: text(tokenUrl, { description: 'Where tokens are asked for (client credentials grant).', hidden: true }),
  client_id: text(anyText, { description: 'The client that asks for a token.' }),
  client_secret: text(anyText, { description: 'The secret of the client.', secret: true }).exactOptional(),
  client_secret_file: text(file, {
    description: 'The file that holds the secret instead; it is read at each request for a token.',
  }).exactOptional(),
  client_auth: choice(['basic', 'post'], {
    description: 'Where the endpoint expects id and secret: in the Authorization header or in the form.',
  }).prefault('basic'),
  scope: text(anyText, { description: 'The scope asked for.' }).exactOptional(),
  audience: text(anyText, { description: 'The audience asked for.' }).exactOptional(),
  extensions: textMap(printableText, {
    description: 'SASL extensions sent with the token, such as `logicalCluster` and `identityPoolId`.',
    allowed: 'a map of names of letters to texts',
  }).exactOptional(),
  ca_cert: text(pemFile, {
    description: 'The CA certificates that the token endpoint is trusted by.',
  }).exactOptional(),
})
  .transform(oauth => camelKeys(oauth))
  .meta({ description: 'How tokens are got.' })

const awsSchema = fields({
  region: text(anyText, {
    description: 'The region of the cluster. Without it, it is taken from the host name of the broker.',
  }).exactOptional(),
  profile: text(anyText, {
    description: 'A profile of the AWS configuration, such as one with a role to assume.',
  }).exactOptional(),
}).meta({ description: 'Whose AWS credentials are used. Without a profile: the default chain of the AWS SDK.' })

const oauthLogin = fields({ mechanism: mechanism('OAUTHBEARER'), oauth: oauthSchema })

const mskLogin = fields({ mechanism: mechanism('AWS_MSK_IAM'), aws: awsSchema.exactOptional() })

export const saslSchema = kinds(
  'mechanism',
  [passwordLogin('PLAIN'), passwordLogin('SCRAM-SHA-256'), passwordLogin('SCRAM-SHA-512'), oauthLogin, mskLogin],
  'is not known',
).meta({ description: 'How to log in, for SASL_PLAINTEXT and SASL_SSL.' })

function passwordLogin<const T extends string>(name: T) {
  return fields({
    mechanism: mechanism(name),
    username: text(anyText, { description: 'The user.' }),
    password: text(anyText, { description: 'The password of the user.', secret: true }).exactOptional(),
    password_file: text(file, {
      description: 'The file that holds the password instead; it is read at each login.',
    }).exactOptional(),
  }).transform(login => camelKeys(login))
}

function mechanism<const T extends string>(name: T) {
  return z
    .literal(name)
    .meta({ description: 'The SASL mechanism.', 'x-type': 'text', 'x-allowed': saslMechanisms.join(', ') })
}
