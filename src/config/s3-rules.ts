import { textOf } from '../lib/json-scalars.ts'
import { isMap, type Problem, valueAt } from './problem.ts'

/** The rules of an S3 storage that span fields; see `registry-rules.ts` for why they look at plain data. */
export function checkS3Rules(tree: unknown): Problem[] {
  const storage = valueAt(tree, ['storage'])
  if (!isMap(storage) || storage.backend !== 's3') return []
  const about = (name: string, wrong: string): Problem => ({ path: ['storage', name], about: 'field', wrong })
  const has = (name: string) => storage[name] !== undefined
  const problems: Problem[] = []
  if (has('access_key_id') && !has('secret_access_key')) {
    problems.push(about('secret_access_key', 'is required with access_key_id'))
  }
  for (const name of ['secret_access_key', 'session_token']) {
    if (has(name) && !has('access_key_id')) problems.push(about(name, 'has no effect without access_key_id'))
  }
  for (const name of ['sse_kms_key_id', 'sse_bucket_key']) {
    if (has(name) && !textOf(storage.sse).startsWith('aws:kms')) problems.push(about(name, 'needs sse: aws:kms'))
  }
  return problems
}
