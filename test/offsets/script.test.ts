import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { KafkaBackupError } from '../../src/errors.ts'
import type { OffsetsPlan, PlannedPosition } from '../../src/offsets/plan-reset.ts'
import { formatScript } from '../../src/offsets/script.ts'

const now = (group: string) => ({
  ...{ group, type: 'classic' as const, state: 'Empty', members: 0, positions: [], undecided: [] },
})
const row = (partition: number, changes: Partial<PlannedPosition> = {}): PlannedPosition => ({
  ...{ topic: 'orders', partition, from: 1n, to: 7n, leaderEpoch: -1, metadata: '', isChange: true, ...changes },
})

test('a script has a command for each group, and says what it leaves out', () => {
  const plan: OffsetsPlan = {
    clusterId: 'c1',
    topicIds: new Map(),
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

test('no name from a store becomes a command of the script', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'script-'))
  try {
    const touch = `touch ${join(dir, 'ran')}`
    const names = [
      `x\n${touch}\n`,
      `x\r\n${touch}\n#`,
      `$(${touch})`,
      `\`${touch}\``,
      `';${touch};'`,
      `END\n${touch}\n`,
    ]
    const groups = names.flatMap(name => [
      { now: now(name), positions: [row(0)] },
      { now: now('g'), positions: [row(0, { topic: name }), row(1, { topic: name, to: null, problem: name })] },
      { now: now(name), positions: [], error: new KafkaBackupError('KAFKA_DENIED', name) },
    ])
    const plan: OffsetsPlan = { clusterId: `c\n${touch}`, topicIds: new Map(), strategy: 'latest', groups }
    await writeFile(join(dir, 'script'), formatScript(plan, { bootstrapServers: [`a:1\n${touch}`], isSecure: false }))
    await writeFile(join(dir, 'kafka-consumer-groups.sh'), '#!/bin/sh\nprintf "%s\\n" "$4"\n', { mode: 0o755 })
    const env = { ...process.env, PATH: `${dir}:${process.env.PATH}` }
    const { stdout } = await promisify(execFile)('sh', [join(dir, 'script')], { env })
    // Names without control characters reach Kafka's tool as they are.
    assert.deepEqual(
      new Set(stdout.trimEnd().split('\n')),
      new Set(['g', ...names.filter(name => !/[\r\n]/.test(name))]),
    )
    await assert.rejects(stat(join(dir, 'ran')), { code: 'ENOENT' })
  } finally {
    await rm(dir, { recursive: true })
  }
})
