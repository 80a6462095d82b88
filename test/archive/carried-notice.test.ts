import assert from 'node:assert/strict'
import { test } from 'node:test'
import { carriedNotice } from '../../src/archive/carried-notice.ts'

const taken = { key: 'k', size: 1, blake3: 'b', taken_at: 'then' } as const
const acls = { state: 'taken', count: 1 } as const
const manifest = {
  generation: 7,
  created_at: 'now',
  consumer_groups: { ...taken, state: 'taken', groups: 1, positions: 1, errors: 0 },
  access: { ...taken, acls, quotas: { state: 'off' }, users: { state: 'off' } },
} as const

test('states when a carried section was read, and says nothing of one that was read afterwards', () => {
  for (const part of ['consumer_groups', 'access', 'topic_settings'] as const) {
    assert.equal(carriedNotice(manifest, part), undefined)
  }
  const carried = { ...manifest, carried_sections: ['consumer_groups' as const], topic_settings_at: 'before' }
  assert.equal(
    carriedNotice(carried, 'consumer_groups'),
    'the committed offsets of generation 7 were read at then, before its last records were copied (it was committed at now); groups read again what they have read since',
  )
  assert.equal(carriedNotice(carried, 'access'), undefined)
  assert.equal(
    carriedNotice({ ...carried, carried_sections: ['access'] }, 'access'),
    'the access rules of generation 7 were read at then, before its last records were copied (it was committed at now); changes since are missing',
  )
  assert.match(
    carriedNotice(carried, 'topic_settings') ?? '',
    /^the topic settings of generation 7 were read at before,/,
  )
})

test('a section without anything in it is not old', () => {
  const off = { generation: 7, created_at: 'now', carried_sections: ['consumer_groups' as const] }
  assert.equal(carriedNotice({ ...off, consumer_groups: { state: 'off' } }, 'consumer_groups'), undefined)
  assert.equal(carriedNotice(off, 'consumer_groups'), undefined)
})
