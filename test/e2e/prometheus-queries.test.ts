import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/lib/clock.ts'
import type { Listener } from '../../src/lib/listen.ts'
import { openHttpListener } from '../../src/observe/http-server.ts'
import { OperatorMetrics } from '../../src/operator/metrics/operator-metrics.ts'
import { alertsFile, readPanels, readRules, readVariables, selectorsOf } from '../operator/metrics/read-monitoring.ts'
import { type Prometheus, startPrometheus } from '../servers/prometheus.ts'
import { OperatorHistory } from './operator-history.ts'
import { fillVariables, isNumber, openSecuredOperator, type SecuredOperator, scrapeConfig } from './scraped-operator.ts'

/** Alerts that a history in which everything goes wrong leaves quiet: the operator is there. */
const quiet = ['KafkaBackupOperatorDown']

describe('a real Prometheus that scrapes the metrics of an operator', () => {
  let listener: Listener
  let secured: SecuredOperator
  let prometheus: Prometheus
  /** As in pairs that stand in for each other; this one reads the metrics over TLS with a token. */
  let second: Prometheus

  before(async () => {
    const metrics = new OperatorMetrics({ version: '1.2.3', clock: systemClock, holdMs: 6000 })
    const page = async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.format() })
    listener = await openHttpListener({ host: '127.0.0.1', port: 0, field: 'metrics' }, { '/metrics': page })
    secured = await openSecuredOperator(metrics)
    const ruleFiles = [alertsFile]
    prometheus = await startPrometheus({ scrapeConfigs: [scrapeConfig(listener.address)], ruleFiles })
    second = await startPrometheus({ scrapeConfigs: secured.scrapeConfigs, ruleFiles })
    await play(new OperatorHistory(metrics), prometheus)
  })

  after(async () => {
    await prometheus?.stop()
    await second?.stop()
    await secured?.close()
    await listener?.close()
  })

  test('reads them over TLS with a token, and not without the authority or with another token', async () => {
    await eventually(async () => {
      const targets = (await second.targets()).map(({ scrapePool, health, lastError }) => [
        scrapePool,
        health,
        lastError,
      ])
      const errors = Object.fromEntries(targets.map(([pool, ...state]) => [pool, state.join(': ')]))
      assert.equal(errors['kafka-backup-operator'], 'up: ')
      assert.match(errors['without-authority'] ?? '', /^down: .*certificate signed by unknown authority/)
      assert.match(errors['another-token'] ?? '', /^down: .*401 Unauthorized/)
      assert.match(errors['another-name'] ?? '', /^down: .*certificate is valid for kafka-backup-operator\.ops\.svc/)
    })
    assert.deepEqual(secured.refused, ['the API server does not accept a token'])
  })

  test('accepts the exposition', async () => {
    await eventually(async () => {
      const targets = await prometheus.targets()
      assert.deepEqual(
        targets.map(({ health, lastError }) => [health, lastError]),
        [['up', '']],
      )
    })
    const types = await (await fetch(`${prometheus.url}/api/v1/metadata?metric=kafka_backup_backups_total`)).json()
    assert.equal(
      (types as { data: Record<string, { type: string }[]> }).data.kafka_backup_backups_total?.[0]?.type,
      'counter',
    )
  })

  for (const { title, targets = [] } of readPanels()) {
    for (const { expr } of targets) {
      test(`has data for “${title}”: ${expr}`, async () => {
        await eventually(async () => {
          const samples = await prometheus.query(fillVariables(expr))
          assert.ok(samples.some(isNumber), 'nothing came back')
        })
      })
    }
  }

  for (const { name, query } of readVariables()) {
    if (typeof query === 'string') continue
    test(`has values for the variable ${name}`, async () => {
      const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query.query) ?? []
      await eventually(async () => {
        const samples = await prometheus.query(fillVariables(selector))
        assert.ok(samples.some(({ metric }) => (metric[label] ?? '') !== ''))
      })
    })
  }

  for (const { alert, expr } of readRules()) {
    for (const selector of selectorsOf(expr)) {
      test(`has series for the selector of ${alert}: ${selector}`, async () => {
        await eventually(async () => assert.notEqual((await prometheus.query(selector)).length, 0))
      })
    }
    if (quiet.includes(alert)) continue
    for (const part of expr.split(/^or$/m)) {
      test(`has data for ${alert}: ${part.replaceAll(/\s+/g, ' ').trim()}`, async () => {
        await eventually(async () => assert.notEqual((await prometheus.query(part)).length, 0))
      })
    }
    test(`finds ${alert} in a history in which everything goes wrong`, async () => {
      const found = await eventually(async () => {
        const alerts = await prometheus.alerts()
        return (
          alerts.find(({ labels }) => labels.alertname === alert) ?? assert.fail('it is neither pending nor firing')
        )
      })
      for (const text of Object.values(found.annotations)) assert.doesNotMatch(text, /<no value>|<error|%!/, alert)
      assert.match(found.annotations.description ?? '', /shop/)
    })
  }

  test('sees the first failure of a resource as an increase, also in a second server, and if it was found at the start', async () => {
    const isSeenBy = async (server: Prometheus) => {
      const counts = await server.query('kafka_backup_backups_total{backup_name="found",outcome="failure"}')
      assert.deepEqual(
        counts.map(({ value }) => value[1]),
        ['1'],
      )
      const found = (await server.alerts()).find(
        ({ labels }) => labels.alertname === 'KafkaBackupFailed' && labels.backup_name === 'found',
      )
      assert.equal(found?.state, 'firing')
    }
    for (const server of [prometheus, second]) await eventually(() => isSeenBy(server))
  })

  test('fires alerts without a hold time, including the first failure, and no others', async () => {
    await eventually(async () => {
      const alerts = await prometheus.alerts()
      const named = (alert: string) => alerts.filter(({ labels }) => labels.alertname === alert)
      for (const alert of ['KafkaBackupFailed', 'KafkaRestoreFailed', 'KafkaBackupSlow', 'KafkaBackupGaps']) {
        assert.ok(
          named(alert).some(({ state }) => state === 'firing'),
          alert,
        )
      }
      for (const alert of quiet) assert.deepEqual(named(alert), [])
    })
  })
})

async function play(history: OperatorHistory, prometheus: Prometheus): Promise<void> {
  const { expr = '' } = readRules().find(({ alert }) => alert === 'KafkaBackupSlow') ?? {}
  // It looks at every 15th second: one of these has to have the zeros of the counters, though scrapes may fail.
  const [, counters = assert.fail(expr)] = /increase\(\s*(\([\s\S]*?\)\[1h:15s\])/.exec(expr) ?? []
  history.begin()
  await stepUntil(history, prometheus, [`count_over_time(${counters})`])
  history.end()
  await stepUntil(history, prometheus, expr.split(/^or$/m))
  // The rules are evaluated once more with all that there is.
  await stepAndWait(history)
  await stepAndWait(history)
}

/** Until each of the queries has an answer. */
async function stepUntil(history: OperatorHistory, prometheus: Prometheus, queries: readonly string[]): Promise<void> {
  for (let step = 0; step < 120; step++) {
    const samples = await Promise.all(queries.map(query => prometheus.query(query)))
    if (samples.every(({ length }) => length > 0)) return
    await stepAndWait(history)
  }
  assert.fail(`no data in two minutes: ${queries}`)
}

async function stepAndWait(history: OperatorHistory): Promise<void> {
  history.step()
  await sleep(1000)
}

/**
 * The first result of `check` that is not an error, within half a minute. A scrape that takes longer than a second on a
 * busy machine fails, and all series of the target are gone until the next one.
 */
async function eventually<Result>(check: () => Promise<Result>): Promise<Result> {
  for (const deadline = performance.now() + 30_000; ; ) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    await sleep(200)
  }
}
