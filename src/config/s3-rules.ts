import { checkRules, type FieldRule, forbidden, has, not, required } from './field-rules.ts'
import { isMap, type Problem, valueAt } from './problem.ts'

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
