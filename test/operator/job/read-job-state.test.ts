import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { buildJob } from '../../../src/operator/job/build-job.ts'
import type { Job, Pod, PodStatus } from '../../../src/operator/job/kube-job.ts'
import { readJobState } from '../../../src/operator/job/read-job-state.ts'
import { conditions, ended, sampleDraft, sampleJob, samplePod, timeAt } from './samples.ts'

const nowMs = Date.parse(timeAt(40))
const read = (job: Job, ...pods: Pod[]) => readJobState(job, pods, nowMs)
const endOf = (job: Job, ...pods: Pod[]) => {
  const { end } = read(job, ...pods)
  assert.ok(end)
  return end
}
const completionTime = '2026-11-16T02:05:00Z'
const complete = () => sampleJob({ conditions: conditions.complete, completionTime })
const trying = () => sampleJob({ startTime: timeAt(1), active: 1 })

describe('a finished Job', () => {
  test('succeeds with the result of its pod', () => {
    const totals = {
      records: 10,
      bytes: 20,
      stored_bytes: 30,
      backup: { stored_bytes: 400, may_hold_deleted_keys: 1, groups: 3 },
    }
    const result = { ok: true, retryable: false, totals, report: 'orders/reports/r.json' }
    assert.deepEqual(read(complete(), samplePod({ status: ended(0, result) })), {
      name: 'orders-3eba439a89',
      uid: 'c830a6b0-5a68-4e7c-9660-3622c52ad35c',
      run: 'scheduled-20261116t0200z',
      purpose: 'main',
      stage: 'shards',
      shards: 3,
      backupId: 'orders',
      dueMs: Date.parse('2026-11-16T02:00:00.123Z'),
      createdMs: Date.parse('2026-11-16T02:00:01Z'),
      isBeingDeleted: false,
      end: {
        isSuccess: true,
        isStillTrying: false,
        completedMs: Date.parse(completionTime),
        totals: {
          records: 10,
          bytes: 20,
          storedBytes: 400,
          mayHoldDeletedKeys: 1,
          gaps: 0,
          report: 'orders/reports/r.json',
        },
      },
      waiting: undefined,
      running: [],
    })
  })

  test('succeeds without its pods, and ignores pods of other Jobs', () => {
    assert.deepEqual([endOf(complete()).isSuccess, endOf(complete()).totals], [true, {}])
    const other = samplePod({ status: ended(0, { totals: { records: 1 } }) })
    const strange = { ...other, metadata: { ...other.metadata, ownerReferences: [] } }
    assert.deepEqual(endOf(complete(), strange).totals, {})
  })

  test('sums the records of all pods of a backup and a restore, because each continues where the last one stopped', () => {
    for (const command of ['backup', 'restore']) {
      const shard = (index: number, records: number, createdSecond: number, exit = 0) =>
        samplePod({
          index,
          createdSecond,
          status: ended(exit, { command, totals: { records, bytes: 1 }, gaps: index }),
        })
      const pods = [shard(1, 7, 20), shard(0, 100, 1, 1), shard(0, 3, 15), shard(2, 5, 1)]
      assert.deepEqual(endOf(complete(), ...pods).totals, { records: 115, bytes: 4, gaps: 3 })
    }
  })

  test('counts the last pod of a verification and of a dry run, because each starts again', () => {
    const pods = (result: { command: string; totals?: object }) =>
      [100, 250].map((records, at) =>
        samplePod({
          createdSecond: 1 + at * 10,
          status: ended(at === 0 ? 1 : 0, { ...result, totals: { ...result.totals, records, bytes: records } }),
        }),
      )
    assert.equal(endOf(complete(), ...pods({ command: 'verify' })).totals.records, 250)
    assert.equal(endOf(complete(), ...pods({ command: 'restore', totals: { dry_run: true } })).totals.bytes, 250)
  })

  test('keeps the snapshot of the first pod, and the gaps that only it found', () => {
    const reset = (snapshot_id: string, groups_set: number) => ({
      command: 'offsets reset',
      totals: { snapshot_id, groups_set },
    })
    const first = samplePod({ status: ended(1, reset('before', 2)) })
    const second = samplePod({ createdSecond: 20, status: ended(0, reset('between', 1)) })
    assert.deepEqual(endOf(complete(), second, first).totals, { groups: 3, gaps: 0, snapshotId: 'before' })
    const taken = (snapshot_id: string) => ({ command: 'offsets snapshot', totals: { snapshot_id } })
    const torn = samplePod({ status: ended(4, taken('torn')) })
    const whole = samplePod({ createdSecond: 20, status: ended(0, taken('whole')) })
    assert.equal(endOf(complete(), torn, whole).totals.snapshotId, 'whole')
  })

  test('counts each group once where a retry counts all of them again', () => {
    const groupsOf = (command: string, first: object, second: object) => {
      const failed = samplePod({ status: ended(1, { command, totals: first }) })
      const again = samplePod({ createdSecond: 20, status: ended(0, { command, totals: second }) })
      return endOf(complete(), failed, again).totals.groups
    }
    assert.equal(groupsOf('restore', { groups: 5, groups_failed: 1 }, { groups: 5, groups_failed: 0 }), 5)
    assert.equal(groupsOf('offsets snapshot', { groups: 5, groups_failed: 2 }, { groups: 5, groups_failed: 0 }), 5)
    assert.equal(groupsOf('offsets verify', { groups: 4 }, { groups: 4 }), 4)
    assert.equal(groupsOf('offsets rollback', { groups: 5, groups_set: 3 }, { groups: 5, groups_set: 2 }), 5)
  })

  test('fails because of a gap with on_gap fail, although a later pod found the gap recorded', () => {
    const gap = { code: 'BACKUP_PARTIAL', message: 'a gap in orders/0', retryable: false, gaps: 1 }
    const first = samplePod({ status: ended(4, gap) })
    const second = samplePod({ createdSecond: 20, status: ended(0, { ok: true }) })
    const { isSuccess, isStillTrying, reason, message, totals } = endOf(complete(), first, second)
    assert.deepEqual([isSuccess, isStillTrying, reason, totals.gaps], [false, false, 'Partial', 1])
    assert.match(message ?? '', /a gap in orders\/0/)
  })

  test('fails with the reason of the command', () => {
    const result = {
      code: 'CONFIG_INVALID',
      message: 'job.yaml: 3 errors\n  a: x',
      help: 'Correct it.',
      retryable: false,
    }
    const job = sampleJob({ conditions: conditions.policy, failed: 1 })
    const { completedMs, ...end } = endOf(job, samplePod({ status: ended(2, result) }))
    assert.equal(completedMs, Date.parse('2026-11-16T02:05:00Z'))
    assert.deepEqual(end, {
      isSuccess: false,
      isStillTrying: false,
      reason: 'CONFIG_INVALID',
      message: 'job.yaml: 3 errors a: x. Correct it.',
      totals: { gaps: 0 },
    })
    const damaged = endOf(job, samplePod({ status: ended(3, { message: 'the target differs', retryable: false }) }))
    assert.deepEqual([damaged.reason, damaged.message], ['DamageFound', 'the target differs'])
    const moved = { command: 'offsets verify', message: '1 group is elsewhere', retryable: false }
    assert.equal(endOf(job, samplePod({ status: ended(3, moved) })).reason, 'DifferenceFound')
  })

  test('reports the number of attempts', () => {
    const result = { code: 'KAFKA_UNREACHABLE', message: 'no broker answers' }
    const pods = [1, 2, 3].map(at => samplePod({ name: `p${at}`, createdSecond: at, status: ended(1, result) }))
    const { reason, message } = endOf(sampleJob({ conditions: conditions.backoff }), ...pods)
    assert.deepEqual([reason, message], ['KAFKA_UNREACHABLE', 'no broker answers. Stopped after 3 attempts.'])
  })

  test('fails because of the failed shard, not of those that were stopped with it', () => {
    const stopped = samplePod({ index: 0, status: ended(143, { code: 'TERMINATED', message: 'stopped' }) })
    const broken = samplePod({ index: 1, status: ended(1, { code: 'STORAGE_FULL', message: 'full' }) })
    const job = sampleJob({ conditions: conditions.indexes })
    assert.equal(endOf(job, broken, stopped).reason, 'STORAGE_FULL')
    assert.equal(endOf(job, stopped, broken).reason, 'STORAGE_FULL')
  })

  test('names what stopped its pod, also if the process could report the signal', () => {
    const stopped = ended(143, { code: 'TERMINATED', message: 'interrupted by SIGTERM', help: 'Run it again.' })
    const job = sampleJob({ conditions: conditions.backoff })
    const evicted = { ...stopped, reason: 'Evicted', message: 'Its local storage exceeds 1Ki. ' }
    const eviction = endOf(job, samplePod({ status: evicted }))
    assert.equal(eviction.reason, 'Evicted')
    assert.match(eviction.message ?? '', /was evicted\. Its local storage exceeds 1Ki\. Run it again\.$/)
    const drained = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'drained' }
    const disruption = endOf(job, samplePod({ status: { ...stopped, conditions: [drained] } }))
    assert.equal(disruption.reason, 'Disrupted')
    assert.match(disruption.message ?? '', /was disrupted\. drained\. Run it again\.$/)
    assert.equal(endOf(job, samplePod({ status: stopped })).reason, 'TERMINATED')
    const broken = ended(1, { code: 'STORAGE_FULL', message: 'full' })
    assert.equal(endOf(job, samplePod({ status: { ...broken, reason: 'Evicted' } })).reason, 'STORAGE_FULL')
  })

  test('fails because of its deadline, regardless of its pods', () => {
    const job = sampleJob({ conditions: conditions.deadline }, { activeDeadlineSeconds: 60 })
    const stopped = samplePod({ status: ended(143, { code: 'TERMINATED', totals: { records: 5, bytes: 6 } }) })
    const end = endOf(job, stopped)
    assert.deepEqual([end.reason, end.totals], ['DeadlineExceeded', { records: 5, bytes: 6, gaps: 0 }])
    assert.match(end.message ?? '', /60 seconds of spec\.job\.activeDeadlineSeconds.*Raise it/)
    assert.equal(endOf(job).reason, 'DeadlineExceeded')
    const labels = {
      drill: { purpose: 'drill', controller: 'backup' },
      storage: { purpose: 'main', controller: 'storage' },
    }
    for (const own of Object.values(labels)) {
      const named = Object.fromEntries(Object.entries(own).map(([name, value]) => [`kafka-backup.dev/${name}`, value]))
      const other = { ...job, metadata: { ...job.metadata, labels: named } }
      assert.match(endOf(other).message ?? '', /Raise it, or find out what made its pod wait\.$/)
    }
  })

  test('has the reason of the Job if its pods are gone', () => {
    const { reason, message, totals } = endOf(sampleJob({ conditions: conditions.backoff }))
    assert.deepEqual(
      [reason, message, totals],
      ['BackoffLimitExceeded', 'Job has reached the specified backoff limit', {}],
    )
  })
})

describe('a finished Job whose pod is not visible yet', () => {
  const overAt = (second: number, job: Job, ...pods: Pod[]) =>
    readJobState(job, pods, Date.parse(completionTime) + second * 1000)
  const result = { ok: true, totals: { records: 10 } }
  const running = samplePod({ status: { phase: 'Running', podIP: '10.0.0.7' } })

  test('is not reported as one without a result', () => {
    const early = overAt(1, complete(), running)
    assert.deepEqual([early.end, early.running, early.waiting], [undefined, [], undefined])
    assert.equal(overAt(1, complete(), samplePod({ status: ended(0, result) })).end?.totals.records, 10)
    const unseen = sampleJob({ conditions: conditions.complete, completionTime, succeeded: 1 })
    assert.equal(overAt(1, unseen).end, undefined)
    const failed = sampleJob({ conditions: conditions.policy, failed: 1 })
    assert.equal(overAt(1, failed, running).end, undefined)
    assert.equal(overAt(1, failed, running).failedPods, undefined)
  })

  test('is complete at once although a failed pod was removed before', () => {
    const drained = sampleJob({ conditions: conditions.complete, completionTime, succeeded: 1, failed: 1 })
    assert.equal(overAt(1, drained).end, undefined)
    assert.equal(overAt(1, drained, samplePod({ status: ended(0, result) })).end?.totals.records, 10)
  })

  test('is finished after a while without the pod', () => {
    const unseen = sampleJob({ conditions: conditions.complete, completionTime, succeeded: 1 })
    assert.equal(overAt(31, unseen).end?.isSuccess, true)
    assert.equal(overAt(31, complete(), running).end?.isSuccess, true)
    assert.equal(overAt(31, sampleJob({ conditions: conditions.backoff }), running).end?.isSuccess, false)
  })
})

describe('the result of a failed pod', () => {
  const said: [message: string, help: string, reported: string][] = [
    [
      'topic orders: target already contains records; set restore.existing_topics: append',
      'Or map it to another name (restore.topic_mapping).',
      'topic orders: target already contains records; set spec.restore.existingTopics: append. Or map it to another name (spec.restore.topicMapping).',
    ],
    [
      '/etc/kafka-backup/job.yaml: 1 error\n  source.security.sasl.password: the value is empty [line 12]',
      'Correct the job file.',
      'the resource: 1 error spec.kafkaCluster.security.sasl.passwordSecret: the value is empty. Correct the resource.',
    ],
    [
      'cannot read /etc/kafka-backup-files/target.security.tls.ca_cert: it is not PEM',
      'Check `bootstrap_servers`, or set `backup.missing_topics: warn` for `source.topics.include`.',
      'cannot read spec.kafkaCluster.security.tls.caCertSecret: it is not PEM. Check `bootstrapServers`, or set `spec.backup.missingTopics: warn` for `spec.topics.include`.',
    ],
    [
      'subject a: another schema has ID 7; set restore.strategy to overwrite',
      'Key encryption.recipients.0.key_file does not open /backups/orders/keys.',
      'subject a: another schema has ID 7; set spec.enterprise.schemaRegistry.restore.strategy to overwrite. Key spec.encryption.recipients.0.keySecret does not open pvc nightly/orders/keys.',
    ],
    [
      'topic `backup_id`, group restore.topic_mapping and broker source.topics.example:9092 at s3://b/backups stay',
      '',
      'topic `backup_id`, group restore.topic_mapping and broker source.topics.example:9092 at s3://b/backups stay',
    ],
  ]
  for (const [message, help, reported] of said) {
    test(`names fields of the resource: ${reported.slice(0, 60)}`, () => {
      const volumes = [{ name: 'kafka-backup-storage', persistentVolumeClaim: { claimName: 'nightly' } }]
      const pod = { ...samplePod({ status: ended(1, { message, help }) }), spec: { volumes } }
      assert.equal(endOf(sampleJob({ conditions: conditions.backoff }), pod).message, reported)
    })
  }
})

describe('a pod without a result', () => {
  const reasonOf = (status: PodStatus) => {
    const { reason, message } = endOf(sampleJob({ conditions: conditions.backoff }), samplePod({ status }))
    return `${reason}: ${message}`
  }

  test('was out of memory, and the message names what to raise and lower', () => {
    assert.match(
      reasonOf(ended(137, '', 'OOMKilled')),
      /^OutOfMemory: .*spec\.resources\.limits\.memory.*spec\.backup\.memoryBudget/,
    )
    const log = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n'
    assert.match(reasonOf(ended(134, log)), /^OutOfMemory: /)
  })

  test('was killed, evicted or deleted', () => {
    assert.match(reasonOf(ended(137)), /^Killed: Pod orders-3eba439a89-4jb8t was killed before/)
    const message = `The node was low on resource: memory.${'x'.repeat(5000)}`
    const evicted = reasonOf({ phase: 'Failed', reason: 'Evicted', message })
    assert.match(evicted, /^Evicted: .*The node was low on resource: memory/)
    assert.ok(evicted.length < 400)
    const disrupted = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: 'preempted',
    }
    assert.match(reasonOf({ ...ended(143), conditions: [disrupted] }), /^Disrupted: .*preempted/)
  })

  test('never started, or ended for an unknown reason', () => {
    const text = 'exec: "kafka-backup": executable file not found in $PATH'
    assert.match(reasonOf(ended(128, text, 'StartError')), /^ContainerCannotRun: .*executable file not found/)
    assert.match(reasonOf({ phase: 'Failed' }), /^PodFailed: .*before its process began/)
    const secret = reasonOf(ended(1, 'Error: the password is hunter2\n'))
    assert.match(secret, /^PodFailed: .*exit code 1 and left no result.*kubectl -n team-a logs/)
    assert.doesNotMatch(secret, /hunter2/, 'what a process printed is not copied into a status')
  })

  test('does not get the result of another pod', () => {
    const line = JSON.stringify({ ok: true, exit: 0, command: 'backup', totals: { records: 5 } })
    const { reason, totals } = endOf(
      sampleJob({ conditions: conditions.backoff }),
      samplePod({ status: ended(137, line) }),
    )
    assert.deepEqual([reason, totals], ['Killed', {}])
  })
})

describe('an active Job', () => {
  test('is finished when a pod reports that no retry can succeed', () => {
    const result = { code: 'KAFKA_AUTH', message: 'wrong password', retryable: false }
    const failed = samplePod({ status: ended(1, result) })
    const next = samplePod({ name: 'next', createdSecond: 35, status: { phase: 'Pending' } })
    const end = endOf(trying(), failed, next)
    assert.deepEqual([end.isSuccess, end.isStillTrying, end.reason], [false, true, 'KAFKA_AUTH'])
    assert.equal(end.completedMs, Date.parse(timeAt(30)))
    const partial = endOf(trying(), samplePod({ status: ended(4, { retryable: false, message: 'a gap', gaps: 1 }) }))
    assert.deepEqual([partial.reason, partial.isStillTrying], ['Partial', true])
  })

  test('is left to Kubernetes if the failure policy decides, and while it retries', () => {
    const job = sampleJob({ startTime: timeAt(1), active: 1 }, buildJob(sampleDraft()).spec)
    const isOpen = (exit: number, result: object | string) =>
      read(job, samplePod({ status: ended(exit, result) })).end === undefined
    for (const exit of [2, 3, 5]) assert.ok(isOpen(exit, { retryable: false }))
    assert.ok(isOpen(1, { code: 'KAFKA_UNREACHABLE' }))
    assert.ok(isOpen(137, ''))
    assert.ok(isOpen(0, { ok: true, retryable: false }))
    const taken = { ...ended(0, { ok: true, retryable: false }), phase: 'Failed' }
    assert.equal(read(trying(), samplePod({ status: taken })).end, undefined, 'the pod failed, its process did not')
    const wrong = { code: 'KAFKA_AUTH', retryable: false }
    const ending = sampleJob({ conditions: conditions.deadline.slice(0, 1), active: 0 })
    assert.equal(read(ending, samplePod({ status: ended(1, wrong) })).end, undefined, 'its pods still end')
    const nearly = sampleJob({ conditions: conditions.complete.slice(0, 1) })
    assert.equal(read(nearly, samplePod({ status: ended(0, { ok: true }) })).end, undefined)
  })

  test('reports the pods that have failed so far', () => {
    const failed = (createdSecond: number, message: string) =>
      samplePod({ createdSecond, status: ended(1, { code: 'KAFKA_UNREACHABLE', message }) })
    const running = samplePod({ createdSecond: 30, status: { phase: 'Running', podIP: '10.0.0.7' } })
    const { failedPods } = read(trying(), failed(9, 'the second'), failed(1, 'the first'), running)
    assert.deepEqual(failedPods, { count: 2, reason: 'KAFKA_UNREACHABLE', message: 'the second' })
    assert.equal(read(trying(), running).failedPods, undefined)
    assert.equal(read(complete(), failed(1, 'x')).failedPods, undefined)
  })

  test('is unreported if a pod ended or disappeared without a result', () => {
    const failed = (count: number) => sampleJob({ startTime: timeAt(1), failed: count, conditions: conditions.backoff })
    const isUnreported = (count: number, ...pods: Pod[]) => read(failed(count), ...pods).end?.isUnreported ?? false
    const reported = samplePod({ name: 'a', status: ended(1, { code: 'KAFKA_UNREACHABLE' }) })
    const killed = samplePod({ name: 'b', status: ended(137) })
    assert.equal(isUnreported(1, reported), false)
    assert.equal(isUnreported(1, killed), true)
    assert.equal(isUnreported(2, reported, killed), true)
    assert.equal(isUnreported(2, reported), true, 'a pod was removed')
    const succeeded = samplePod({ name: 'c', status: ended(0, { snapshot_id: null }) })
    const silent = samplePod({ name: 'c', status: ended(0) })
    const ofComplete = (...pods: Pod[]) => read(complete(), ...pods).end?.isUnreported ?? false
    assert.equal(ofComplete(killed, succeeded), false, 'the second pod looked for what the first has done')
    assert.equal(ofComplete(killed, silent), true)
  })

  test('of a continuous backup is finished only if a restart cannot help', () => {
    const { spec, metadata } = buildJob(sampleDraft({ spec: { backup: { continuous: true } } }))
    const sample = sampleJob({ startTime: timeAt(1), active: 1 }, spec)
    const annotations = { ...sample.metadata.annotations, ...metadata.annotations }
    const job = { ...sample, metadata: { ...sample.metadata, annotations } }
    const after = (exit: number, code: string) =>
      read(job, samplePod({ status: ended(exit, { code, message: 'why', retryable: false }) }))
    for (const code of ['KAFKA_AUTH', 'STORAGE_DENIED', 'KAFKA_TLS', 'INTERNAL', 'A_CODE_OF_A_LATER_VERSION']) {
      const { end, failedPods } = after(1, code)
      assert.deepEqual([end, failedPods?.reason], [undefined, code])
    }
    const gap = after(4, 'BACKUP_PARTIAL')
    assert.deepEqual([gap.end, gap.failedPods?.reason], [undefined, 'Partial'])
    assert.equal(after(5, 'BACKUP_IN_USE').end, undefined)
    for (const code of ['SOURCE_TRUNCATED', 'ENCRYPTION_KEY']) {
      const { end } = after(1, code)
      assert.deepEqual([end?.reason, end?.isStillTrying, end?.isSuccess], [code, true, false])
    }
    const { end } = after(5, 'WRITER_CONFLICT')
    assert.deepEqual([end?.reason, end?.isStillTrying], ['WRITER_CONFLICT', true])
    for (const exit of [2, 3]) assert.equal(after(exit, 'CONFIG_INVALID').end, undefined, 'the Job ends by itself')
  })

  test('is ending when the Job controller has decided it, before its last pods or condition', () => {
    const failed = samplePod({ status: ended(1, { code: 'KAFKA_AUTH', retryable: false }) })
    const target = sampleJob({ conditions: conditions.backoff.slice(0, 1), failed: 1 }, { backoffLimit: 0 })
    assert.deepEqual([read(target, failed).end, read(target, failed).isEnding], [undefined, true])
    const unseen = sampleJob({ conditions: conditions.backoff, failed: 1 })
    const state = readJobState(unseen, [], Date.parse('2026-11-16T02:05:01Z'))
    assert.deepEqual([state.end, state.isEnding], [undefined, true])
    assert.equal(read(trying()).isEnding, undefined)
  })

  test('has no retries left after it was stopped', () => {
    assert.equal(read(sampleJob({}, { backoffLimit: 0 })).isWithoutRetries, true)
    assert.equal(read(trying()).isWithoutRetries, undefined)
  })

  test('does not announce a retry after its last attempt', () => {
    const { spec } = buildJob(sampleDraft({ spec: { job: { backoffLimit: 1 } } }))
    const job = (status: Job['status'] = { active: 0 }) => sampleJob(status, spec)
    const failed = (createdSecond: number, exit: number, index = 0) =>
      samplePod({ createdSecond, index, status: ended(exit, { code: 'STORAGE_FULL', message: 'full' }) })
    assert.equal(read(job(), failed(1, 1)).failedPods?.count, 1)
    assert.equal(read(job(), failed(1, 1), failed(2, 1)).failedPods, undefined, 'no try is left')
    for (const exit of [2, 3, 5]) assert.equal(read(job(), failed(1, exit)).failedPods, undefined)
    const ending = job({ conditions: conditions.deadline.slice(0, 1) })
    assert.equal(read(ending, failed(1, 1)).failedPods, undefined, 'the Job ends')
    const taken = failed(2, 143)
    taken.status = { ...taken.status, conditions: [{ type: 'DisruptionTarget', status: 'True' }] }
    assert.equal(read(job(), failed(1, 1), taken).failedPods?.count, 2, 'an eviction does not count as a try')
    const removal = sampleJob({}, buildJob(sampleDraft({ step: { purpose: 'delete' } })).spec)
    assert.equal(read(removal, failed(1, 5)).failedPods?.count, 1)
    const step = { stage: 'shards', shards: 2 } as const
    const shards = sampleJob({}, buildJob(sampleDraft({ spec: { job: { backoffLimit: 1 } }, step })).spec)
    assert.equal(read(shards, failed(1, 1, 0), failed(2, 1, 1)).failedPods?.count, 2, 'each shard has its own tries')
    assert.equal(read(shards, failed(1, 1, 1), failed(2, 1, 1)).failedPods, undefined)
  })

  test('lists running pods with their addresses', () => {
    const status = { phase: 'Running', podIP: '10.0.0.7' }
    const deleting = samplePod({ name: 'b', status })
    deleting.metadata.deletionTimestamp = timeAt(39)
    const { running, waiting } = read(trying(), samplePod({ name: 'a', status }), deleting)
    assert.deepEqual([running, waiting], [[{ pod: 'a', ip: '10.0.0.7' }], undefined])
    const job = trying()
    job.metadata.deletionTimestamp = timeAt(39)
    assert.equal(read(job).isBeingDeleted, true)
  })
})

describe('a waiting Job', () => {
  const waitingAt = (second: number, job: Job, ...pods: Pod[]) =>
    readJobState(job, pods, Date.parse(timeAt(second))).waiting
  const pending = (reason: string, message?: string): PodStatus => ({
    phase: 'Pending',
    containerStatuses: [
      { name: 'kafka-backup', state: { waiting: { reason, ...(message !== undefined && { message }) } } },
    ],
  })

  test('waits for an image, a secret or a key of it', () => {
    for (const [reason, message] of [
      ['ImagePullBackOff', 'Back-off pulling image "kafka-backup:none"'],
      ['CreateContainerConfigError', `couldn't find key password in Secret team-a/login`],
    ] as const) {
      const waiting = waitingAt(5, trying(), samplePod({ status: pending(reason, message) }))
      assert.equal(waiting?.reason, reason)
      assert.ok(waiting?.message.includes(message))
    }
    const hostile = waitingAt(5, trying(), samplePod({ status: pending('ErrImagePull', 'x'.repeat(9999)) }))
    assert.equal(hostile?.message.length, 500)
  })

  test('waits for a node', () => {
    const message = '0/3 nodes are available: 3 Insufficient memory.'
    const unscheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
    const waiting = waitingAt(5, trying(), samplePod({ status: { phase: 'Pending', conditions: [unscheduled] } }))
    assert.equal(waiting?.reason, 'Unschedulable')
    assert.match(waiting?.message ?? '', /Insufficient memory/)
  })

  test('waits for a volume or for its first pod, which is reported after a while', () => {
    const creating = samplePod({ status: pending('ContainerCreating') })
    assert.equal(waitingAt(30, trying(), creating), undefined)
    assert.equal(waitingAt(70, trying(), creating)?.reason, 'ContainerCreating')
    assert.equal(waitingAt(30, trying()), undefined)
    assert.equal(waitingAt(70, trying())?.reason, 'NoPod')
    const failed = samplePod({ status: ended(1, { code: 'KAFKA_UNREACHABLE' }) })
    assert.equal(waitingAt(70, trying(), failed), undefined, 'between two tries')
  })

  test('waits since its pod was created, its process ended, or it was suspended or resumed', () => {
    const sinceOf = (second: number, job: Job, ...pods: Pod[]) => waitingAt(second, job, ...pods)?.sinceMs
    const failed = samplePod({ status: ended(1, { code: 'KAFKA_UNREACHABLE' }) })
    const retry = samplePod({ createdSecond: 35, status: pending('ImagePullBackOff') })
    assert.equal(sinceOf(40, trying(), failed, retry), Date.parse(timeAt(35)))
    const kept: PodStatus = { ...ended(0, {}), phase: 'Running' }
    kept.containerStatuses?.push({ name: 'istio-proxy', state: { running: {} } })
    assert.equal(sinceOf(100, trying(), samplePod({ status: kept })), Date.parse(timeAt(30)))
    const [suspended] = conditions.suspended
    assert.equal(
      sinceOf(400, sampleJob({ conditions: conditions.suspended })),
      Date.parse(suspended?.lastTransitionTime ?? ''),
    )
    assert.equal(sinceOf(100, sampleJob()), Date.parse(timeAt(1)))
    const resumed = sampleJob({ startTime: timeAt(300), active: 0 })
    assert.equal(sinceOf(330, resumed), undefined, 'its pod is being created')
    assert.equal(sinceOf(400, resumed), Date.parse(timeAt(300)))
  })

  test('waits while it is suspended, unless one of its pods runs', () => {
    assert.equal(waitingAt(5, sampleJob({ conditions: conditions.suspended }))?.reason, 'JobSuspended')
    const stuck = samplePod({ index: 0, status: pending('ImagePullBackOff', 'x') })
    const works = samplePod({ index: 1, status: { phase: 'Running', podIP: '10.0.0.7' } })
    assert.equal(waitingAt(5, trying(), stuck, works), undefined)
  })

  const ofRestore = (status: Job['status'] = { startTime: timeAt(1), active: 1 }): Job => {
    const job = sampleJob(status)
    const labels = { ...job.metadata.labels, 'kafka-backup.dev/controller': 'restore' }
    return { ...job, metadata: { ...job.metadata, labels } }
  }
  const works = samplePod({ index: 1, status: { phase: 'Running', podIP: '10.0.0.7' } })

  test('waits for the first shard of a restore, for which its other pods wait without end', () => {
    const stuck = samplePod({ index: 0, status: pending('ImagePullBackOff', 'no such image') })
    const waiting = waitingAt(5, ofRestore(), stuck, works)
    assert.equal(waiting?.reason, 'ImagePullBackOff')
    assert.match(waiting?.message ?? '', /no such image\. The other pods of the restore wait for it\.$/)
    const done = samplePod({ index: 0, status: ended(0, {}) })
    const second = samplePod({ index: 2, status: pending('ImagePullBackOff', 'no such image') })
    assert.equal(waitingAt(5, ofRestore(), done, works, second), undefined)
  })

  test('does not claim that other pods wait for a retry of the first shard, whose topics may exist', () => {
    const failed = samplePod({ index: 0, status: ended(1, { code: 'KAFKA_UNREACHABLE' }) })
    const stuck = samplePod({ index: 0, createdSecond: 31, status: pending('ImagePullBackOff', 'no such image') })
    const { message = '' } = waitingAt(40, ofRestore(), failed, stuck, works) ?? {}
    assert.match(
      message,
      /no such image\. The other pods of the restore wait for it unless an earlier one created the topics\.$/,
    )
  })

  test('waits for a shard that does not start while others run, which is reported after a while', () => {
    const message = '0/3 nodes are available: 3 Insufficient memory.'
    const unscheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
    const stuck = samplePod({ name: 'b', index: 2, status: { phase: 'Pending', conditions: [unscheduled] } })
    for (const job of [trying(), ofRestore()]) {
      const first = samplePod({ name: 'a', index: 0, status: { phase: 'Running', podIP: '10.0.0.6' } })
      assert.equal(waitingAt(30, job, first, works, stuck), undefined, 'a node may be added')
      const waiting = waitingAt(70, job, first, works, stuck)
      assert.equal(waiting?.reason, 'Unschedulable')
      assert.equal(waiting?.message, `Shard 2 does not run. Pod b has no node: ${message}`)
      const done = samplePod({ name: 'b', index: 2, status: ended(0, {}) })
      assert.equal(waitingAt(70, job, first, works, done), undefined)
    }
  })

  test('waits for a first shard of a restore that has no pod, as with a quota', () => {
    assert.equal(waitingAt(30, ofRestore(), works), undefined)
    const waiting = waitingAt(70, ofRestore(), works)
    assert.equal(waiting?.reason, 'NoPod')
    assert.match(waiting?.message ?? '', /^Job orders-3eba439a89 has no pod for shard 0: a quota.* wait for it\.$/)
    for (const completedIndexes of ['0', '0,2', '0-1']) {
      assert.equal(waitingAt(70, ofRestore({ active: 1, completedIndexes }), works), undefined, 'its pod is gone')
    }
    assert.equal(waitingAt(70, ofRestore({ active: 1, completedIndexes: '10' }), works)?.reason, 'NoPod')
    const failed = samplePod({ index: 0, status: ended(1, { code: 'KAFKA_UNREACHABLE' }) })
    assert.equal(waitingAt(70, ofRestore(), failed, works), undefined, 'between two tries')
    assert.equal(waitingAt(70, trying(), works), undefined, 'shards of a backup do not wait for each other')
  })
})
