import { isMap, type Problem, valueAt } from './problem.ts'

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
