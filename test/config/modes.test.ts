import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type BackupJob, type Job, parseJob, type RestoreJob } from '../../src/config/load-job.ts'
import { errorOf, errorsOf, minimalJob, minimalRestore } from './job-texts.ts'

const given = { source: 'job.yaml', env: {} }

describe('the mode of a job', () => {
  test('decides what the job is', () => {
    assert.equal(parseJob(minimalJob, given).mode, 'backup')
    assert.equal(parseJob(minimalRestore, given).mode, 'restore')
    const { mode } = parseJob(minimalRestore.replace('mode: restore', `mode: \${MODE}`), {
      ...given,
      env: { MODE: 'restore' },
    })
    assert.equal(mode, 'restore')
    assert.equal(
      parseJob(minimalRestore.replace('mode: restore', 'mode: x'), { ...given, set: ['mode=restore'] }).mode,
      'restore',
    )
  })

  test('must be given, and hides no other error', () => {
    const missing = 'mode: is required; allowed: backup, restore'
    assert.deepEqual(errorsOf(minimalJob.replace('mode: backup\n', '')), [missing])
    assert.deepEqual(errorsOf(minimalRestore.replace('mode: restore\n', '')), [missing])
    assert.deepEqual(errorsOf(`${minimalRestore.replace('mode: restore\n', '')}restore: {verify: x}\n`), [
      missing,
      'restore.verify: "x" is neither true nor false; allowed: true, false [line 7]',
    ])
  })

  test('that is mistyped is named with what was meant, and the job checked as that', () => {
    const slip = 'mode: "restor" is not known; allowed: backup, restore (did you mean `restore`?) [line 1]'
    assert.deepEqual(errorsOf(minimalRestore.replace('mode: restore', 'mode: restor')), [slip])
    assert.deepEqual(errorsOf(`${minimalRestore.replace('mode: restore', 'mode: restor')}backup: {}\n`), [
      slip,
      'backup: belongs to mode: backup; the settings of a restore are under `restore` [line 8]',
    ])
    const source = errorsOf(minimalJob.replace('mode: backup', 'mode: restor'))
    assert.ok(
      source.includes('source: belongs to mode: backup; a restore writes to `target` [line 3]'),
      source.join('\n'),
    )
    assert.deepEqual(errorsOf(minimalJob.replace('mode: backup', 'mode: Backup')), [
      'mode: "Backup" is not known; allowed: backup, restore (did you mean `backup`?) [line 1]',
    ])
  })

  test('that is another word, a list or nothing is refused', () => {
    const wrong = (mode: string) => errorsOf(minimalJob.replace('mode: backup', `mode: ${mode}`))
    assert.deepEqual(wrong('verify'), ['mode: "verify" is not known; allowed: backup, restore [line 1]'])
    assert.deepEqual(wrong('[backup]'), [
      'mode: a list is not known; allowed: backup, restore (did you mean `backup`?) [line 1]',
    ])
    assert.deepEqual(wrong(''), ['mode: has no value; allowed: backup, restore [line 1]'])
  })
})

describe('sections of the other mode', () => {
  const refused: Record<string, [text: string, errors: string[]]> = {
    'are named as such in a backup': [
      `${minimalJob}target: {bootstrap_servers: [a:1]}\nrestore: {verify: true}\n`,
      [
        'target: belongs to mode: restore; a backup reads from `source` [line 10]',
        'restore: belongs to mode: restore; the settings of a backup are under `backup` [line 11]',
      ],
    ],
    'are named as such in a restore': [
      `${minimalRestore}source: {bootstrap_servers: [a:1]}\nbackup: {on_gap: fail}\n`,
      [
        'source: belongs to mode: backup; a restore writes to `target` [line 8]',
        'backup: belongs to mode: backup; the settings of a restore are under `restore` [line 9]',
      ],
    ],
    'are named as such without a value': [
      `${minimalRestore}source:\n`,
      ['source: belongs to mode: backup; a restore writes to `target` [line 8]'],
    ],
    'are named as such inside the target': [
      minimalRestore.replace('storage:', '  topics: {include: [a]}\n  client_rack: r\nstorage:'),
      [
        'target.topics: belongs to mode: backup; the topics of a restore are under `restore.topics` [line 5]',
        'target.client_rack: belongs to mode: backup, whose reads may go to a near replica; writes may not [line 6]',
      ],
    ],
    'are named beside the section that is missing': [
      minimalRestore.replace('target:', 'source:'),
      [
        'target: is required; allowed: a map of bootstrap_servers, client_id, request_timeout, security',
        'source: belongs to mode: backup; a restore writes to `target` [line 3]',
      ],
    ],
  }
  for (const [name, [text, errors]] of Object.entries(refused)) {
    test(name, () => assert.deepEqual(errorsOf(text), errors))
  }

  test('are not checked, so that no secret in them is shown', () => {
    const text = `${minimalRestore}source: {security: {sasl: {password: hunter2}}, hunter2: hunter2}\n`
    assert.doesNotMatch(errorOf(text).message, /hunter2/)
  })
})

describe('whoever runs jobs of one mode', () => {
  test('gets jobs of that mode', () => {
    const backup: BackupJob = parseJob(minimalJob, { ...given, mode: 'backup' })
    const restore: RestoreJob = parseJob(minimalRestore, { ...given, mode: 'restore' })
    assert.deepEqual([backup.source.clientId, restore.target.clientId], ['kafka-backup', 'kafka-backup'])
  })

  const refused: Record<string, [text: string, mode: Job['mode'], message: string]> = {
    'a restore where a backup is run': [
      minimalRestore,
      'backup',
      'job.yaml: 1 error\n  mode: "restore" is a job for `kafka-backup restore`, not for this command, which needs mode: backup [line 1]',
    ],
    'a backup where a restore is run': [
      minimalJob,
      'restore',
      'job.yaml: 1 error\n  mode: "backup" is a job for `kafka-backup backup`, not for this command, which needs mode: restore [line 1]',
    ],
  }
  for (const [name, [text, mode, message]] of Object.entries(refused)) {
    test(`is not given ${name}, but told which command it is for`, () => {
      assert.throws(() => parseJob(text, { ...given, mode }), { code: 'CONFIG_INVALID', exitCode: 2, message })
    })
  }

  test('hears of a mode that nobody has in the same words as everyone', () => {
    assert.throws(() => parseJob(minimalJob.replace('mode: backup', 'mode: x'), { ...given, mode: 'restore' }), {
      message: 'job.yaml: 1 error\n  mode: "x" is not known; allowed: backup, restore [line 1]',
    })
  })
})

/** Checked by the compiler: assigning `true` fails where the types differ. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

test('the types of a restore say offsets and times as bigints, and maps by topic', () => {
  type Restore = RestoreJob['restore']
  const checks: [
    Same<Job['mode'], 'backup' | 'restore'>,
    Same<Extract<Job, { mode: 'restore' }>, RestoreJob>,
    Same<Extract<Job, { mode: 'backup' }>, BackupJob>,
    Same<ReturnType<typeof parseJob>, Job>,
    Same<Restore['topicMapping'], ReadonlyMap<string, string>>,
    Same<Restore['partitions'], ReadonlyMap<string, number[]>>,
    Same<Restore['partitionMapping'], ReadonlyMap<string, ReadonlyMap<number, number>>>,
    Same<Restore['partitionCount'], ReadonlyMap<string, number>>,
    Same<Restore['topicConfig'], ReadonlyMap<string, string>>,
    Same<
      Restore['offsetRanges'] extends ReadonlyMap<string, infer Range> ? Range : never,
      { readonly start?: bigint; readonly end?: bigint }
    >,
    Same<Restore['timeWindowStartMs'], bigint | undefined>,
    Same<Restore['retention'], 'fail' | 'hold' | 'apply'>,
    Same<Restore['existingTopics'], 'fail' | 'append'>,
    Same<Restore['repartition'], 'keep' | 'by_key'>,
    Same<Restore['bytesPerSecond'], number | undefined>,
    Same<'source' extends keyof RestoreJob ? true : false, false>,
    Same<'target' extends keyof BackupJob ? true : false, false>,
  ] = [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]
  const job = parseJob(minimalRestore, given)
  assert.ok(job.mode === 'restore' && job.restore.topicMapping instanceof Map)
  assert.equal(checks.length, 17)
})
