import { textOf } from '../lib/json.ts'
import { parseBytes } from '../lib/units.ts'
import { any, checkRules, type FieldRule, forbidden, has, not, on } from './field-rules.ts'
import { isMap, type Problem, valueAt } from './problem.ts'

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
