import * as z from 'zod'
import { endpointUrl, regionName } from './bucket-fields.ts'
import { camelKeys } from './camel-keys.ts'
import { fields, type TextRule } from './leaf.ts'
import { isMap, type Problem, valueAt } from './problem.ts'
import { flag } from './scalar-leaves.ts'
import { anyText, backupId, file, text } from './text-leaves.ts'

const variableName: TextRule = {
  type: 'text',
  allowed: 'the name of an environment variable',
  pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
  wrong: name => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : 'is not the name of a variable'),
}

const kmsSchema = fields({
  key_id: text(anyText, { description: 'The key of AWS KMS: its ARN, its id or an alias.' }),
  region: text(regionName, { description: 'Its region; otherwise that of the ARN, or AWS_REGION.' }).exactOptional(),
  endpoint: text(endpointUrl, {
    description: 'Where KMS answers; otherwise AWS_ENDPOINT_URL_KMS or AWS itself.',
    hidden: true,
  }).exactOptional(),
})
  .transform(kms => camelKeys(kms))
  .meta({ description: 'A key that never leaves AWS KMS.' })

const recipientSchema = fields({
  key_file: text(file, {
    description: 'A file with a key of 32 bytes: as they are, in base64 or in hex.',
  }).exactOptional(),
  key_env: text(variableName, { description: 'The environment variable that holds such a key.' }).exactOptional(),
  passphrase_file: text(file, { description: 'A file with a passphrase.' }).exactOptional(),
  passphrase_env: text(variableName, {
    description: 'The environment variable that holds a passphrase.',
  }).exactOptional(),
  aws_kms: kmsSchema.exactOptional(),
  name: text(backupId, { description: 'What messages call it.' }).exactOptional(),
}).transform(recipient => camelKeys(recipient))

/** The keys that open a backup; `checkEncryptionRules` checks that each item names one. */
export const encryptionSchema = fields({
  recipients: z
    .array(recipientSchema)
    .min(1)
    .meta({ description: 'The keys that open the backup; each of them alone is enough.' }),
  hide_names: flag({
    description:
      'Whether the keys of objects hold hashes in place of the names of topics and subjects. Fixed for the life of a backup.',
  }).prefault(false),
})
  .transform(encryption => camelKeys(encryption))
  .meta({ description: 'Encryption of all that is stored, before it leaves this process.' })

/** A recipient has exactly one of them. */
export const recipientKeys = ['key_file', 'key_env', 'passphrase_file', 'passphrase_env', 'aws_kms']

/** Each recipient is one key; see `registry-rules.ts` for why the rules look at plain data. */
export function checkEncryptionRules(tree: unknown): Problem[] {
  const recipients = valueAt(tree, ['encryption', 'recipients'])
  if (!Array.isArray(recipients)) return []
  return recipients.flatMap((recipient, index): Problem[] => {
    if (!isMap(recipient)) return []
    const given = recipientKeys.filter(kind => recipient[kind] !== undefined)
    if (given.length === 1) return []
    const wrong = given.length === 0 ? 'names no key' : `names several keys (${given.join(', ')})`
    return [
      {
        path: ['encryption', 'recipients', index],
        about: 'field',
        wrong,
        allowed: `one of ${recipientKeys.join(', ')}`,
      },
    ]
  })
}
