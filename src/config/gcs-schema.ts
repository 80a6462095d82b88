import { textOf } from '../lib/json.ts'
import { GCS_BUCKET_PATTERN } from '../lib/name-patterns.ts'
import { parseBytes } from '../lib/units.ts'
import {
  backendField,
  connectionFields,
  endpointUrl,
  prefixField,
  transferFields,
  transferNames,
  wrongEndpoint,
} from './bucket-fields.ts'
import { camelKeys } from './camel-keys.ts'
import { any, checkRules, type FieldRule, forbidden, has, not, on } from './field-rules.ts'
import { fields, type TextRule } from './leaf.ts'
import { isMap, type Problem, valueAt } from './problem.ts'
import { flag } from './scalar-leaves.ts'
import { file, text } from './text-leaves.ts'

const gcsBucketName: TextRule = {
  type: 'text',
  allowed: 'the name of a bucket: 3 to 222 of a-z 0-9 . _ -',
  pattern: GCS_BUCKET_PATTERN,
  wrong: text => {
    if (text === '') return 'is empty'
    if (text.includes('://')) return 'is an address'
    if (text.includes('/')) return 'has a slash (folders go to `prefix`)'
    if (text.includes('..')) return 'has two dots in a row'
    if (/[A-Z]/.test(text)) return 'has a capital letter'
    return new RegExp(GCS_BUCKET_PATTERN).test(text) ? undefined : 'is not the name of a bucket'
  },
}

const gcsEndpointUrl: TextRule = {
  ...endpointUrl,
  allowed: 'an https or http URL without a path, such as https://storage-psc.p.googleapis.com',
  wrong: text => wrongEndpoint(text, 'as key_file'),
}

const domainPattern = '^[a-z0-9-]+(\\.[a-z0-9-]+)+$'

const universeDomain: TextRule = {
  type: 'text',
  allowed: 'a domain, such as googleapis.com',
  pattern: domainPattern,
  wrong: text => (new RegExp(domainPattern).test(text) ? undefined : 'is not a domain'),
}

const projectPattern = '^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$|^[0-9]+$'

const projectId: TextRule = {
  type: 'text',
  allowed: 'the id or number of a project, such as acme-backups',
  pattern: projectPattern,
  wrong: text => (new RegExp(projectPattern).test(text) ? undefined : 'is not the id of a project'),
}

const keyPattern = '^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$'

const kmsKeyName: TextRule = {
  type: 'text',
  allowed: 'the name of a key: projects/…/locations/…/keyRings/…/cryptoKeys/…',
  pattern: keyPattern,
  wrong: text => (new RegExp(keyPattern).test(text) ? undefined : 'is not the name of a key'),
}

/** The field names of the storage's own options, with units where the file leaves them to the value. */
export const gcsSchema = fields({
  backend: backendField('gcs'),
  bucket: text(gcsBucketName, { description: 'The bucket that holds the backups. It must exist.' }),
  prefix: prefixField,
  endpoint: text(gcsEndpointUrl, {
    description: 'Where another than Google answers, or Google on a private way; STORAGE_EMULATOR_HOST may say it too.',
    hidden: true,
  }).exactOptional(),
  universe_domain: text(universeDomain, {
    description: 'The domain of a sovereign cloud of Google’s kind; without it googleapis.com.',
  }).exactOptional(),
  key_file: text(file, {
    description:
      'JSON of a service account key or of a workload identity federation. Without it the application default credentials.',
  }).exactOptional(),
  anonymous: flag({ description: 'No credentials at all, for an emulator at `endpoint`.' }).exactOptional(),
  user_project: text(projectId, {
    description: 'The project that pays for the requests, where the bucket asks for one.',
  }).exactOptional(),
  kms_key_name: text(kmsKeyName, {
    description: 'The KMS key for new objects; without it the default of the bucket.',
  }).exactOptional(),
  ...connectionFields,
  ...transferFields({ minPartMiB: 1 }),
}).transform(gcs => camelKeys(gcs, transferNames))

const partUnitBytes = 256 * 1024

export const gcsRules: readonly FieldRule[] = [
  forbidden('anonymous', any(not(on('anonymous')), has('endpoint')), 'needs {endpoint}: only emulators take it'),
  forbidden('key_file', not(on('anonymous')), 'has no effect with {anonymous}'),
]

export function checkGcsRules(tree: unknown): Problem[] {
  const storage = valueAt(tree, ['storage'])
  if (!isMap(storage) || storage.backend !== 'gcs') return []
  const { endpoint, part_size: partSize } = storage
  const isAnonymous = textOf(storage.anonymous) === 'true'
  const about = (name: string, wrong: string): Problem => ({ path: ['storage', name], about: 'field', wrong })
  const problems = checkRules(gcsRules, storage, ['storage'])
  if (!isAnonymous && typeof endpoint === 'string' && isInTheClear(endpoint)) {
    problems.push(
      about('endpoint', 'is not https, and a token would be sent in the clear (anonymous: true sends none)'),
    )
  }
  const bytes = typeof partSize === 'string' ? parseBytes(partSize) : partSize
  if (typeof bytes === 'number' && bytes % partUnitBytes !== 0) {
    problems.push(about('part_size', 'is not a multiple of 256KiB'))
  }
  return problems
}

function isInTheClear(endpoint: string): boolean {
  if (!/^http:\/\//i.test(endpoint) || !URL.canParse(endpoint)) return false
  return !/^(localhost|\[::1\]|127(\.\d+){3})$/.test(new URL(endpoint).hostname)
}
