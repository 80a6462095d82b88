import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { buildDashboard, panelRows } from '../../../docs/dashboard/build-dashboard.ts'
import { formatLayout } from '../../../docs/dashboard/layout.ts'
import { dashboardFiles } from '../../../docs/generate-dashboard.ts'
import { marked } from '../../markdown.ts'
import { readPanels, readVariables, unknownMetrics } from './read-monitoring.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../../docs/monitoring.md'), 'utf8')
const panels = readPanels()

/** The panels that are promised, copied by hand: title, unit, colour steps, what its queries have in them. */
const promised: [string, string, [number, string][] | undefined, RegExp[]][] = [
  [
    'Backup success rate',
    'percent',
    [
      [0, 'red'],
      [90, 'yellow'],
      [99, 'green'],
    ],
    [/^100 \* sum\(increase\(kafka_backup_backups_total\{.*outcome="success"\}\[24h\]\)\) \/ /],
  ],
  [
    'Backup duration',
    's',
    undefined,
    [/^histogram_quantile\(0\.99, sum by \(namespace, backup_name, le\)/, /^histogram_quantile\(0\.50, /],
  ],
  ['Backup size', 'bytes', undefined, [/kafka_backup_backup_size_bytes/]],
  [
    'Time since last backup',
    's',
    [
      [0, 'green'],
      [3600, 'yellow'],
      [7200, 'red'],
    ],
    [/^time\(\) - max by \(namespace, backup_name\) \(kafka_backup_last_successful_backup_timestamp/],
  ],
  [
    'Reconciliation errors',
    'cps',
    undefined,
    [/^sum by \(controller\) \(rate\(kafka_backup_operator_reconciliation_errors_total/],
  ],
  [
    'Records backed up per second',
    'suffix: rec/s',
    undefined,
    [/^sum by \(namespace, backup_name\) \(rate\(kafka_backup_backup_records_total/],
  ],
]

describe('the dashboard', () => {
  test('is generated from docs/dashboard, also in the chart', () => {
    for (const file of dashboardFiles) {
      assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), JSON.parse(JSON.stringify(buildDashboard())), file)
    }
  })

  test('has the panels of the specification, with units, color thresholds and queries', () => {
    for (const [title, unit, steps, queries] of promised) {
      const panel = panels.find(each => each.title === title)
      assert.ok(panel, title)
      const { defaults } = panel.fieldConfig ?? assert.fail(title)
      assert.equal(defaults.unit, unit, title)
      if (steps) {
        assert.deepEqual(
          defaults.thresholds.steps,
          steps.map(([value, color]) => ({ color, value })),
          title,
        )
        assert.equal(defaults.color.mode, 'thresholds')
      }
      assert.equal(panel.targets?.length, queries.length)
      for (const [at, query] of queries.entries()) assert.match(panel.targets?.[at]?.expr ?? '', query)
    }
    assert.equal(panels.find(({ title }) => title === 'Backup success rate')?.type, 'gauge')
  })

  test('has rows for restores, offset operations, the queue and resources by phase', () => {
    assert.deepEqual(
      panels.filter(({ type }) => type === 'row').map(({ title }) => title),
      ['Overview', 'Backups', 'Restores', 'Offset operations', 'Operator and queue', 'Resources'],
    )
  })

  test('has a fixed uid, and variables for data source, namespace and backup that every backup query uses', () => {
    assert.equal(buildDashboard().uid, 'kafka-backup-operator')
    assert.deepEqual(
      readVariables().map(({ name, type }) => [name, type]),
      [
        ['datasource', 'datasource'],
        ['namespace', 'query'],
        ['backup', 'query'],
      ],
    )
    for (const { title, queries } of panelRows.flatMap(row => row.panels)) {
      for (const { expr } of queries) {
        for (const [, matchers = ''] of expr.matchAll(/kafka_backup_\w+(?:\{([^}]*)\})?/g)) {
          if (/workqueue|operator_leader/.test(expr)) assert.equal(matchers, '', title)
          else assert.match(matchers, /namespace=~"\$namespace"/, title)
        }
        if (/by \([^)]*backup_name/.test(expr)) assert.match(expr, /backup_name=~"\$backup"/, title)
      }
    }
  })

  test('queries only the selected data source', () => {
    const text = readFileSync(dashboardFiles[0] ?? '', 'utf8')
    const uids = new Set([...text.matchAll(/"datasource": \{[^}]*"uid": "([^"]*)"/g)].map(([, uid]) => uid))
    assert.deepEqual([...uids], ['$datasource'])
  })

  test('uses only metrics of the operator', () => {
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) assert.deepEqual(unknownMetrics(expr), [], title)
    }
    for (const { query } of readVariables()) {
      assert.deepEqual(unknownMetrics(typeof query === 'string' ? '' : query.query), [])
    }
  })

  test('has panels without overlap, each with a description', () => {
    const taken = new Set<string>()
    for (const { title, gridPos, type, description } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.ok(x < 24 && !taken.has(`${x},${y}`), title)
          taken.add(`${x},${y}`)
        }
      }
      if (type !== 'row') assert.ok((description ?? '') !== '', title)
    }
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  })

  test('is drawn in docs/monitoring.md', () => {
    assert.equal(marked(page, 'dashboard'), formatLayout())
  })
})
