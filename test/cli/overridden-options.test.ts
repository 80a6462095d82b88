import assert from 'node:assert/strict'
import { test } from 'node:test'
import { warnOverriddenOptions } from '../../src/cli/overridden-options.ts'

function warningsOf(value: string | undefined): string[] {
  const lines: string[] = []
  const log = { has: () => true, write: (level: string, text: string) => void lines.push(`${level} ${text}`) }
  warnOverriddenOptions({ KAFKA_BACKUP_OVERRIDDEN_NODE_OPTIONS: value }, log)
  return lines
}

test('warns about NODE_OPTIONS of an envFrom without showing it, and only where there is one', () => {
  const [line = '', ...more] = warningsOf('--use-system-ca --title=s3cret')
  assert.match(line, /^warn NODE_OPTIONS from envFrom has no effect.*spec\.podTemplate\.spec\.env/)
  assert.doesNotMatch(line, /s3cret/)
  assert.deepEqual(more, [])
  for (const value of [undefined, '', ' ', '$(NODE_OPTIONS)']) assert.deepEqual(warningsOf(value), [])
})
