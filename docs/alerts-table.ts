import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export const alertsFile = fileURLToPath(
  new URL('../deploy/helm/kafka-backup-operator/files/alerts.yaml', import.meta.url),
)

interface Rule {
  alert: string
  for: string
  labels: { severity: string }
}

/** The alerts of a rule file, each with a link to its runbook. */
export function alertsTable(rules: string): string {
  const { groups } = parse(rules) as { groups: { name: string; rules: Rule[] }[] }
  const rows = groups.flatMap(({ name, rules }) =>
    rules.map(
      rule => `| [${rule.alert}](#${rule.alert.toLowerCase()}) | \`${name}\` | ${rule.for} | ${rule.labels.severity} |`,
    ),
  )
  return ['| Alert | Group | Held for | Severity |', '|---|---|---|---|', ...rows].join('\n')
}
