import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { stringify } from 'yaml'
import { alertsFile, readRules } from '../operator/metrics/read-monitoring.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { prometheusBinaries } from '../servers/prometheus-binary.ts'
import { mustRun } from '../servers/run-command.ts'
import { type AlertCase, type AlertState, alertCases } from './alert-cases.ts'

const rules = readRules()

describe('the alerts', () => {
  let promtool = ''
  let folder: Awaited<ReturnType<typeof makeGuardedFolder>>

  before(async () => {
    promtool = (await prometheusBinaries()).promtool
    folder = await makeGuardedFolder('alerts')
  })

  after(() => folder.remove())

  test('are rules that promtool accepts', async () => {
    const output = await mustRun(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', alertsFile])
    assert.match(output, new RegExp(`SUCCESS: ${rules.length} rules found`))
  })

  for (const [at, each] of alertCases.entries()) {
    test(`${each.alert} ${each.name}`, async () => {
      const rule = rules.find(({ alert }) => alert === each.alert)
      const ruleFile = join(folder.path, `rule-${at}.yaml`)
      const file = join(folder.path, `case-${at}.yaml`)
      // Without the other rules, which promtool would evaluate as well, all the time of a case.
      await writeFile(ruleFile, stringify({ groups: [{ name: 'one', rules: [rule] }] }))
      await writeFile(file, formatCase(each, ruleFile))
      await mustRun(promtool, ['test', 'rules', file])
    })
  }

  for (const rule of rules) {
    test(`${rule.alert} has cases for firing, holding, resolving and the healthy state`, () => {
      const cases = alertCases.filter(({ alert }) => alert === rule.alert)
      const paths = cases.map(({ states }) => states.map(([, state]) => state))
      assert.ok(paths.some(isWhole(rule.for !== '0m')))
      assert.ok(paths.some(path => path.every(state => state === 'quiet')))
    })
  }
})

/** Quiet, then pending where the alert is held, then firing, then quiet. */
function isWhole(isHeld: boolean): (path: AlertState[]) => boolean {
  const wanted: AlertState[] = ['quiet', ...(isHeld ? (['pending'] as const) : []), 'firing', 'quiet']
  return path => path.filter((state, at) => state !== path[at - 1]).join() === wanted.join()
}

/** A file of tests for promtool. What it knows of alerts' states is in the series `ALERTS`. */
function formatCase({ alert, name, series, labels, states }: AlertCase, ruleFile: string): string {
  const severity = rules.find(rule => rule.alert === alert)?.labels.severity
  const promqlExprTest = states.map(([at, state]) => ({
    expr: `ALERTS{alertname="${alert}"}`,
    eval_time: at,
    exp_samples:
      state === 'quiet'
        ? []
        : [{ labels: formatSeries({ alertname: alert, alertstate: state, severity, ...labels }), value: 1 }],
  }))
  return stringify({
    rule_files: [ruleFile],
    evaluation_interval: '30s',
    tests: [
      {
        name,
        interval: '30s',
        input_series: Object.entries(series).map(([each, values]) => ({ series: each, values })),
        promql_expr_test: promqlExprTest,
      },
    ],
  })
}

function formatSeries(labels: Record<string, string | undefined>): string {
  return `ALERTS{${Object.entries(labels)
    .map(([label, value]) => `${label}="${value}"`)
    .join(',')}}`
}
