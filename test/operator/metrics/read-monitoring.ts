import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import type { MetricSpec } from '../../../src/observe/job-metrics-catalogue.ts'
import { operatorMetrics } from '../../../src/operator/metrics/catalogue.ts'

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

/** Those that the operator does not have. */
export function unknownMetrics(expr: string): string[] {
  const known = new Set(
    Object.entries<MetricSpec>(operatorMetrics).flatMap(([name, { type }]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map(part => name + part) : [name],
    ),
  )
  return metricsOf(expr).filter(name => !known.has(name))
}

export interface Panel {
  id: number
  type: string
  title: string
  description?: string
  gridPos: { x: number; y: number; w: number; h: number }
  fieldConfig?: {
    defaults: {
      unit: string
      color: { mode: string }
      thresholds: { steps: { color: string; value: number }[] }
    }
  }
  targets?: { expr: string; instant: boolean }[]
}

export function readPanels(): Panel[] {
  return readDashboard().panels
}

export function readVariables(): { name: string; type: string; query: string | { query: string } }[] {
  return readDashboard().templating.list
}

function readDashboard(): { panels: Panel[]; templating: { list: ReturnType<typeof readVariables> } } {
  return JSON.parse(readFileSync(dashboardFile, 'utf8'))
}
