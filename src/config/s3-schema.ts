import {
  backendField,
  bucketName,
  connectionFields,
  endpointUrl,
  prefixField,
  regionName,
  transferFields,
  transferNames,
} from './bucket-fields.ts'
import { camelKeys } from './camel-keys.ts'
import { checkRules, type FieldRule, forbidden, has, not, required } from './field-rules.ts'
import { fields } from './leaf.ts'
import { isMap, type Problem, valueAt } from './problem.ts'
import { choice, flag } from './scalar-leaves.ts'
import { anyText, text } from './text-leaves.ts'

/** The field names of the storage's own options, with units where the file leaves them to the value. */
export const s3Schema = fields({
  backend: backendField('s3'),
  bucket: text(bucketName, { description: 'The bucket that holds the backups. It must exist.' }),
  prefix: prefixField,
  region: text(regionName, {
    description: 'The region of the bucket; otherwise AWS_REGION or the profile says it.',
  }).exactOptional(),
  endpoint: text(endpointUrl, {
    description: 'Where a store other than AWS answers; otherwise AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL may say it.',
    hidden: true,
  }).exactOptional(),
  path_style: flag({
    description: 'Puts the bucket into the path, not into the host name. True by default with an `endpoint`.',
  }).exactOptional(),
  access_key_id: text(anyText, {
    description: 'The access key. Without it the chain of the AWS SDK finds credentials.',
    hidden: true,
  }).exactOptional(),
  secret_access_key: text(anyText, { description: 'The secret of the access key.', secret: true }).exactOptional(),
  session_token: text(anyText, { description: 'The token of temporary credentials.', secret: true }).exactOptional(),
  ...connectionFields,
  sse: choice(['none', 'AES256', 'aws:kms', 'aws:kms:dsse'], {
    description: 'The encryption to ask the store for. With `none` the default of the bucket applies.',
  }).prefault('none'),
  sse_kms_key_id: text(anyText, {
    description: 'The KMS key for `aws:kms`; without it the key of the account.',
  }).exactOptional(),
  sse_bucket_key: flag({
    description: 'Whether `aws:kms` uses a bucket key, which saves calls to KMS.',
  }).exactOptional(),
  checksum: choice(['crc32c', 'crc32', 'sha256', 'md5', 'none'], {
    description: 'What the store checks each body with. `md5` and `none` are for stores that refuse newer ones.',
  }).prefault('crc32c'),
  sign_payload: flag({
    description: 'Whether the signature covers the bodies, which costs time. By default so over http only.',
  }).exactOptional(),
  ...transferFields({ minPartMiB: 5 }),
}).transform(s3 => camelKeys(s3, transferNames))

export const s3Rules: readonly FieldRule[] = [
  required('secret_access_key', not(has('access_key_id')), 'is required with {access_key_id}'),
  ...['secret_access_key', 'session_token'].map(name =>
    forbidden(name, has('access_key_id'), 'has no effect without {access_key_id}'),
  ),
  ...['sse_kms_key_id', 'sse_bucket_key'].map(name =>
    forbidden(name, { value: 'sse', startsWith: 'aws:kms' }, 'needs sse: aws:kms'),
  ),
]

export function checkS3Rules(tree: unknown): Problem[] {
  const storage = valueAt(tree, ['storage'])
  return isMap(storage) && storage.backend === 's3' ? checkRules(s3Rules, storage, ['storage']) : []
}
