import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildCommit } from '../../../src/operator/job/build-commit.ts'
import { buildJob } from '../../../src/operator/job/build-job.ts'
import type { Job } from '../../../src/operator/job/kube-job.ts'
import { sampleDraft } from './samples.ts'

/** The Job of three shards with what the API server adds to it. */
function storedShards(): Job {
  const step = { stage: 'shards', shards: 3, generation: 1, specHash: 'old' } as const
  const job = buildJob(sampleDraft({ step, spec: { job: { backoffLimit: 2, activeDeadlineSeconds: 600 } } }))
  const spec = structuredClone(job.spec) as { template: { metadata: { labels: Record<string, string> } } }
  const own = {
    'batch.kubernetes.io/controller-uid': 'u-1',
    'batch.kubernetes.io/job-name': 'n',
    'controller-uid': 'u-1',
  }
  Object.assign(spec.template.metadata.labels, own, { 'job-name': 'n' })
  const selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u-1' } }
  return { ...job, spec: { ...spec, selector, manualSelector: false, suspend: false } }
}

test('the commit of shards with an older spec differs from their Job in its name, stage and arguments only', () => {
  const shards = storedShards()
  const step = { stage: 'commit', shards: 3, generation: 1, specHash: 'old' } as const
  const draft = sampleDraft({ step, spec: { backup: { continuous: true }, job: { backoffLimit: 9 } } })
  const commit = buildCommit(draft, shards)
  const args = ['backup', '--config', '/etc/kafka-backup/job.yaml', '--format', 'json', '--log-format', 'json']
  const asBefore = sampleDraft({
    step,
    spec: { job: { backoffLimit: 2, activeDeadlineSeconds: 600 } },
    pod: { args: [...args, '--commit', '--report'] },
  })
  assert.deepEqual(commit, buildJob(asBefore))
})
