import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { alertsTable } from '../../../docs/alerts-table.ts'
import { operatorMetricsTable } from '../../../docs/metrics-table.ts'
import { bucketsOf } from '../../../src/operator/metrics/catalogue.ts'
import { marked } from '../../markdown.ts'
import { alertsFile, readRuleGroups, readRules, unknownMetrics } from './read-monitoring.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../../docs/monitoring.md'), 'utf8')

/** The alerts that are promised, copied by hand: name, hold time, severity, what the condition has in it. */
const promised: [string, string, string, RegExp][] = [
  [
    'KafkaBackupFailed',
    '0m',
    'critical',
    /increase\(kafka_backup_backups_total\{outcome="failure"\}\[1h\]\)\s*\) > 0$/,
  ],
  [
    'KafkaBackupMissing',
    '5m',
    'warning',
    /^time\(\) - \(\s*max by \(namespace, backup_name\) \(kafka_backup_last_successful_backup_timestamp\)\s*or\s[^)]*\) \(kafka_backup_backup_created_timestamp\)\s*\) > 7200$/,
  ],
  ['KafkaBackupSlow', '0m', 'warning', /kafka_backup_backup_duration_seconds_bucket\{le=~"3600\(\\\\.0\)\?"\}/],
  [
    'KafkaBackupOperatorErrors',
    '5m',
    'warning',
    /rate\(kafka_backup_operator_reconciliation_errors_total\[5m\]\)\s*\) > 0$/,
  ],
  [
    'KafkaRestoreFailed',
    '0m',
    'critical',
    /increase\(kafka_backup_restores_total\{outcome="failure"\}\[1h\]\)\s*\) > 0$/,
  ],
]

describe('the alerts', () => {
  test('of the specification form the group kafka-backup, with their conditions, hold times and severities', () => {
    const [group] = readRuleGroups()
    assert.equal(group?.name, 'kafka-backup')
    assert.deepEqual(
      group.rules.map(({ alert, labels, ...rule }) => [alert, rule.for, labels.severity]),
      promised.map(([alert, hold, severity]) => [alert, hold, severity]),
    )
    for (const [at, [, , , condition]] of promised.entries()) assert.match(group.rules[at]?.expr ?? '', condition)
  })

  test('beyond the specification form a separate group', () => {
    assert.deepEqual(
      readRuleGroups().map(({ name }) => name),
      ['kafka-backup', 'kafka-backup-extra'],
    )
  })

  test('use only metrics of the operator', () => {
    for (const { alert, expr } of readRules()) assert.deepEqual(unknownMetrics(expr), [], alert)
  })

  test('name their resource in summary and description, and have a runbook', () => {
    const labels: Record<string, string[]> = {
      KafkaBackupOperatorErrors: ['controller', 'namespace'],
      KafkaRestoreFailed: ['restore_name', 'namespace'],
      KafkaBackupOperatorDown: ['lease'],
      KafkaBackupNotReady: ['kind', 'namespace', 'name'],
      KafkaBackupNamespaceUnreadable: ['namespace'],
    }
    for (const { alert, expr, annotations } of readRules()) {
      const names = labels[alert] ?? ['backup_name', 'namespace']
      assert.ok(annotations.summary.length > 0)
      for (const name of names) {
        assert.ok(annotations.description.includes(`{{ $labels.${name} }}`), `${alert} does not name ${name}`)
        assert.match(expr, new RegExp(`by \\([^)]*\\b${name}\\b`), alert)
      }
      assert.equal(annotations.runbook, `docs/monitoring.md#${alert.toLowerCase()}`)
      const runbook = page.split(`\n### ${alert}\n`)[1]?.split(/\n##/)[0] ?? ''
      assert.match(runbook, /\*\*Meaning:\*\*/, alert)
      assert.match(runbook, /\*\*Check(:|, fix:)\*\*/, alert)
      assert.match(runbook, /\*\*(Check, fix|Fix):\*\*/, alert)
    }
  })

  test('have runbooks that search for log lines of the operator', () => {
    const operator = resolve(import.meta.dirname, '../../../src/operator/run')
    const source = readdirSync(operator).map(name => readFileSync(resolve(operator, name), 'utf8'))
    const looked = [...page.matchAll(/grep '([^']+)'/g)].map(([, text = '']) => text)
    assert.equal(looked.length, 1)
    for (const text of looked) assert.ok(source.join('').includes(text), text)
  })

  test('have a threshold for slow runs that is a histogram bucket', () => {
    const buckets = bucketsOf('kafka_backup_backup_duration_seconds')
    assert.ok(buckets.includes(3600))
    const list = `${buckets.slice(0, -1).join(', ')} and ${buckets.at(-1)} seconds`
    assert.ok(page.replaceAll(/\s+/g, ' ').includes(list))
  })
})

describe('docs/monitoring.md', () => {
  test('has the metrics of the operator', () => {
    assert.equal(marked(page, 'operator-metrics'), operatorMetricsTable())
  })

  test('has the alerts of the rule file', () => {
    assert.equal(marked(page, 'alerts'), alertsTable(readFileSync(alertsFile, 'utf8')))
  })
})
