import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { checkJob } from '../../src/jobs/check.ts'
import { withFolder } from '../e2e/backup-job.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { kafka21 } from '../fakes/kafka-releases.ts'

const never = new AbortController().signal

test('brokers without the requests for quotas and users pass, because a backup of them warns and continues', () =>
  withFolder(async path => {
    const fake = await startFakeCluster([fakeTopic('a', [[]])])
    fake.state.versions = () => kafka21
    try {
      const document = {
        mode: 'backup',
        backup_id: 'b1',
        source: { bootstrap_servers: fake.brokers.map(({ address }) => address), topics: { include: ['a'] } },
        storage: { backend: 'filesystem', path },
        backup: { quotas: true, users: true, consumer_groups: { include: [] } },
      }
      const job = parseJob(JSON.stringify(document), { source: 'job', env: {}, mode: 'backup' })
      const { ok, checks } = await checkJob(job, never)
      const details = checks.filter(({ subject }) => /^backup\.(quotas|users)$/.test(subject))
      assert.equal(ok, true)
      assert.deepEqual(
        details.map(({ subject, allowed }) => [subject, allowed]),
        [
          ['backup.quotas', true],
          ['backup.users', true],
        ],
      )
      assert.match(details[0]?.detail ?? '', /^none: .*DescribeClientQuotas.*The backup will hold none, and warn$/)
      assert.match(details[1]?.detail ?? '', /^none: .*DescribeUserScramCredentials.*will hold none, and warn$/)
    } finally {
      await fake.close()
    }
  }))
