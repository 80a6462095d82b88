import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { alertsFile, readPanels, readRules, selectorsOf } from '../operator/metrics/read-monitoring.ts'
import { type Prometheus, startPrometheus } from '../servers/prometheus.ts'
import { trigger, useOperatorWorld } from './operator-world.ts'
import { fillVariables, isNumber, scrapeConfig } from './scraped-operator.ts'
import { useKafka } from './use-kafka.ts'

describe('the dashboard and the alerts', () => {
  const kafka = useKafka()
  const world = useOperatorWorld(undefined, { flags: ['--metrics-hold=5s'] })
  let prometheus: Prometheus

  before(async () => {
    const scrapeConfigs = [scrapeConfig(world.operator.metricsAddress)]
    prometheus = await startPrometheus({ scrapeConfigs, ruleFiles: [alertsFile] })
    await kafka.driver.createTopic('events', { partitions: 2 })
    await kafka.driver.seedBulk('events', { count: 2000, partitions: 2, valueBytes: 100 })
    await kafka.driver.readGroup({ group: 'billing', topics: ['events'], reset: 'earliest', take: 100 })
  })
  after(() => prometheus?.stop())

  test('find data for every query after real backups, restores and offset operations', async () => {
    const { stage, run } = world
    const { storage } = await stage.volume('backups')
    const shared = { kafkaCluster: { bootstrapServers: kafka.server.bootstrapServers }, storage }

    const topics = { include: ['events'] }
    const backup = await stage.apply('backup', 'nightly', {
      ...shared,
      topics,
      schedule: '@daily',
      verify: { deep: true },
      drill: { schedule: '* * * * *', kafkaCluster: shared.kafkaCluster },
    })
    await trigger(world, backup, 'first')
    await stage.until(backup, 'verified', ({ lastVerifyTime }) => lastVerifyTime !== undefined)
    const topicMapping = { events: 'events-copy' }
    await run('restore', 'copy', { ...shared, backupId: 'nightly', restore: { topicMapping } })
    await run('offset_reset', 'again', { ...shared, groups: ['billing'], strategy: 'earliest' })
    await run('offset_rollback', 'back', { ...shared, resetRef: { name: 'again' } })
    await stage.until(backup, 'drilled', ({ drill }) => drill?.result !== undefined)
    const slow = await stage.apply('backup', 'slow', { ...shared, topics, backup: { rateLimit: 1024 } })
    await stage.apply('backup', 'held', { ...shared, topics, suspend: true })
    await stage.untilPhase(slow, 'Running')
    // One that is not ready, because its key is missing.
    const encryption = { recipients: [{ name: 'ops', keySecret: { name: 'none', key: 'none' } }] }
    await stage.apply('backup', 'keyless', { ...shared, topics, encryption, schedule: '@daily' })

    const queries = [
      ...readPanels().flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
      ...readRules().flatMap(({ alert, expr }) => selectorsOf(expr).map(selector => [alert, selector] as const)),
    ]
    assert.ok(queries.length > 30, `${queries.length} queries`)
    assert.deepEqual(await unanswered(queries), [])
    const copied = await prometheus.query('sum(kafka_backup_backup_records_total{backup_name="nightly"})')
    assert.equal(copied[0]?.value[1], '2000')
    const firing = (await prometheus.alerts()).filter(({ state }) => state === 'firing')
    assert.deepEqual(
      firing.map(({ labels }) => labels.alertname),
      [],
    )
  })

  /** Those that give no number, also after the next scrapes. */
  async function unanswered(queries: readonly (readonly [title: string, expr: string])[]): Promise<string[]> {
    let left = queries
    for (let round = 0; round < 30 && left.length > 0; round++) {
      const answers = await Promise.all(left.map(async ([, expr]) => prometheus.query(fillVariables(expr))))
      left = left.filter((_, index) => !answers[index]?.some(isNumber))
      if (left.length > 0) await sleep(1000)
    }
    return left.map(([title, expr]) => `${title}: ${expr}`)
  }
})
