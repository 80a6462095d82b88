import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearMatch } from '../../src/config/near-match.ts'

const cases: Record<string, [written: string, candidates: string[], expected: string | undefined]> = {
  'a missing letter is found': ['inclde', ['include', 'exclude'], 'include'],
  'two letters in the wrong order are found': ['zsdt', ['auto', 'none', 'zstd'], 'zstd'],
  'camelCase and dashes are found': ['backupId', ['mode', 'backup_id'], 'backup_id'],
  'the closest of several is taken': ['fails', ['tail', 'fail'], 'fail'],
  'a short word must be closer': ['s3', ['gs'], undefined],
  'a different word is not found': ['ignore', ['warn', 'fail'], undefined],
  'nothing is found among nothing': ['x', [], undefined],
}

for (const [name, [written, candidates, expected]] of Object.entries(cases)) {
  test(name, () => assert.equal(nearMatch(written, candidates), expected))
}
