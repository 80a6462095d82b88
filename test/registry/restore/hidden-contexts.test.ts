import assert from 'node:assert/strict'
import { test } from 'node:test'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { openStage } from './schema-stage.ts'

const start = snapshotOf([versionOf(':.eu:theirs', 1, 1)], { contexts: ['.', '.eu'] })

for (const vendor of ['confluent', 'axonops'] as const) {
  test(`a restore needs no context of ${vendor} that it does not write to, and the one that it writes to`, async t => {
    const stage = await openStage(t, snapshotOf([versionOf('a', 1, 5)]), { start, vendor })
    await stage.setProxy(({ target }) => {
      const path = decodeURIComponent(target.split('?')[0] ?? '')
      const denied = { kind: 'answer', status: 403, json: { error_code: 40301, message: 'denied' } } as const
      if (path.startsWith('/contexts/.eu/') || path.includes(':.eu:')) return denied
      return path === '/subjects'
        ? { kind: 'edit', edit: body => body.replace(/"[^"]*:\.eu:[^"]*",?/g, '') }
        : { kind: 'pass' }
    })
    const { plan } = await stage.survey()
    assert.deepEqual(plan.conflicts, [])
    await assert.rejects(stage.survey({ subjectMapping: new Map([['a', ':.eu:a']]) }), {
      code: 'REGISTRY_AUTH',
      message: /does not show what is in the context \.eu, which it has/,
      help: 'Allow the user of the job to read it.',
    })
  })
}
