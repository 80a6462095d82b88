import type { JsonSchema } from '../../config/job-json-schema.ts'
import type { Form } from './field-tree.ts'

/**
 * What a job file can say and a resource says in another way, or not at all. Paths without the indexes of lists; all
 * that is below one of them is left out with it.
 */
export const leftOut: Readonly<Record<string, string>> = {
  mode: 'the kind of the resource says it',
  metrics: 'the operator reads the progress of a pod there',
  'storage.path': 'the claim of `storage.pvc` is mounted there',
  'enterprise.schema_registry.auth.tls': '`tls` next to `auth` means the same',
  'encryption.recipients.key_env': '`keySecret` is mounted as a file',
  'encryption.recipients.passphrase_env': '`passphraseSecret` is mounted as a file',
}

/** Files that are no secrets: a ConfigMap may have them too. */
const publicFiles = new Set(['ca_cert', 'id_mapping_file'])

/** Put into the pod by what issues it, at a path that the user of `podTemplate` knows. */
const podFiles = new Set(['federated_token_file'])

/** No secrets, but often kept together with one. */
const besideSecrets = new Set(['access_key_id', 'username'])

/** Secret only where a password is in it. */
const seldomSecret = new Set(['proxy'])

/** `siblings` are the keys of the same map: a secret that may also be in a file is read from there, where it may change. */
export function isLeftOut(path: readonly string[], schema: JsonSchema, siblings: readonly string[]): boolean {
  const isInFile = schema.writeOnly === true && siblings.includes(`${path.at(-1)}_file`)
  return isInFile || Object.hasOwn(leftOut, path.join('.'))
}

export function formsOf(path: readonly string[], schema: JsonSchema): Form[] {
  const key = path.at(-1) ?? ''
  const plain: Form = { type: 'plain', name: camelName(key) }
  if (schema['x-type'] === 'file path' && !podFiles.has(key)) {
    const base = camelName(key.replace(/_file$/, ''))
    const forms: Form[] = [{ type: 'secret-file', name: secretName(base) }]
    return publicFiles.has(key) ? [...forms, { type: 'map-file', name: `${base}ConfigMap` }] : forms
  }
  const env: Form = { type: 'env', name: secretName(camelName(key)) }
  if (schema.writeOnly === true) return seldomSecret.has(key) ? [plain, env] : [env]
  return besideSecrets.has(key) ? [plain, env] : [plain]
}

/** What a resource calls a kind of a section. */
export function kindName(kind: string): string {
  return kind === 'filesystem' ? 'pvc' : kind
}

export function jobKindName(name: string): string {
  return name === 'pvc' ? 'filesystem' : name
}

export function camelName(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function secretName(name: string): string {
  return name.endsWith('Secret') ? name : `${name}Secret`
}
