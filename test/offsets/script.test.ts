import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import type { OffsetsPlan, PlannedPosition } from '../../src/offsets/plan-reset.ts'
import { formatScript } from '../../src/offsets/script.ts'

const now = (group: string) => ({ group, type: 'classic' as const, state: 'Empty', members: 0, positions: [] })
const row = (partition: number, changes: Partial<PlannedPosition> = {}): PlannedPosition => ({
  ...{ topic: 'orders', partition, from: 1n, to: 7n, leaderEpoch: -1, metadata: '', isChange: true, ...changes },
})

test('a script has a command for each group, and says what it leaves out', () => {
  const plan: OffsetsPlan = {
    clusterId: 'c1',
    strategy: 'latest',
    groups: [
      {
        now: now("it's"),
        positions: [row(0), row(1, { isChange: false }), row(2, { to: null, problem: 'gone', isChange: false })],
      },
      { now: now('same'), positions: [row(0, { isChange: false })] },
      { now: now('bad\nrm -rf /'), positions: [], error: new KafkaBackupError('KAFKA_DENIED', 'no\nway') },
    ],
  }
  const script = formatScript(plan, { bootstrapServers: ['a:1', 'b:2'], isSecure: true })
  assert.match(
    script,
    /# orders\/2 is left out: gone\ncat > "\$positions" <<'END'\norders,0,7\nEND\nkafka-consumer-groups\.sh /,
  )
  assert.match(
    script,
    /--bootstrap-server a:1,b:2 --command-config client\.properties --group 'it'\\''s' --reset-offsets/,
  )
  assert.match(script, /\n# group same: nothing to change\n\n# group bad rm -rf \/ is left out: no way\n$/)
})
