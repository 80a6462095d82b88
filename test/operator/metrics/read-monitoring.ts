import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'

const root = resolve(import.meta.dirname, '../../..')

export const alertsFile = join(root, 'deploy/helm/kafka-backup-operator/files/alerts.yaml')
export const dashboardFile = join(root, 'deploy/grafana/kafka-backup-operator.json')

export interface AlertRule {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
  annotations: { summary: string; description: string; runbook: string }
}

export interface RuleGroup {
  name: string
  rules: AlertRule[]
}

export function readRuleGroups(): RuleGroup[] {
  return (parse(readFileSync(alertsFile, 'utf8')) as { groups: RuleGroup[] }).groups
}

export function readRules(): AlertRule[] {
  return readRuleGroups().flatMap(({ rules }) => rules)
}

/** Names of metrics of this project that a query has, those of the parts of histograms as they are. */
export function metricsOf(expr: string): string[] {
  return [...new Set(expr.match(/\bkafka_backup_\w+/g) ?? [])]
}

/** The selectors of a query: each metric with its matchers, without ranges. */
export function selectorsOf(expr: string): string[] {
  return [...new Set(expr.match(/\bkafka_backup_\w+(?:\{[^}]*\})?/g) ?? [])]
}
