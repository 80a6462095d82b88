import { KafkaBackupError } from '../../errors.ts'
import { shellQuote } from '../../lib/shell.ts'
import { formatCount } from '../../lib/units.ts'
import type { Check, CheckReport } from '../../observe/finding.ts'
import type { OutputStyle } from '../output-style.ts'
import { checkFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { formatTable, formatText } from '../table.ts'
import { plural, printable } from '../text.ts'
import { formatWarnings } from './gap-table.ts'

const CHECK_FAILED = 1
const MOST_TOPICS = 10

export async function run(session: Session): Promise<number> {
  if (session.options.acls !== undefined && session.options.storage) {
    throw new KafkaBackupError('USAGE', '--storage and --acls cannot be used together: --acls checks nothing')
  }
  if (session.options.acls !== undefined) return (await import('./required-acls.ts')).printRequiredAcls(session)
  const report = await check(session, session.options.config ?? '')
  session.outcome.note(checkFacts(report))
  session.print(
    () => formatReport(report, session.options.verbose > 0, session.style),
    () => documentOf(report),
  )
  return report.ok ? 0 : CHECK_FAILED
}

async function check(session: Session, config: string): Promise<CheckReport> {
  const { options, actions, signal } = session
  if (options.storage) return actions.checkJobStorage(await session.loadClusterlessJob(config), signal)
  return actions.checkJob(await session.loadJob(config), signal)
}

function documentOf({ ok, clusterId, brokers, checks, warnings }: CheckReport) {
  return { ok, cluster_id: clusterId, brokers, checks, warnings }
}

/** For people. */
export function formatReport(report: CheckReport, isVerbose: boolean, style: OutputStyle): string[] {
  const { clusterId, brokers, checks, warnings } = report
  return [
    // A check of the storage alone contacts no broker.
    ...(brokers === 0 ? [] : [`Cluster ${printable(clusterId ?? 'unnamed')}, ${plural(brokers, 'broker')}`, '']),
    ...formatChecks(isVerbose ? checks : foldTopics(mergeActions(checks)), style),
    ...formatWarnings(warnings, style),
    '',
    ...formatVerdict(report, style),
  ]
}

/** Joins the granted permissions of a resource into one row. */
function mergeActions(checks: readonly Check[]): Check[] {
  const rows: Check[] = []
  for (const check of checks) {
    const last = rows.at(-1)
    if (last?.allowed && check.allowed && last.subject === check.subject && last.detail === check.detail) {
      rows[rows.length - 1] = { ...last, action: `${last.action}, ${check.action}` }
    } else rows.push(check)
  }
  return rows
}

/** Joins topics with all permissions into one row, to make missing ones visible. */
function foldTopics(checks: readonly Check[]): Check[] {
  const isFine = (check: Check) => check.allowed && check.subject.startsWith('topic ')
  const groups = Map.groupBy(checks, check => (isFine(check) ? `${check.action}\n${check.detail}` : check))
  return [...groups.values()].flatMap(group => {
    const [first] = group
    if (first === undefined || group.length <= MOST_TOPICS) return group
    return [{ ...first, subject: `${formatCount(group.length)} topics` }]
  })
}

function formatChecks(checks: readonly Check[], style: OutputStyle): string[] {
  return formatTable<Check>(
    [
      { title: 'SUBJECT', cell: check => check.subject, shrinks: true },
      { title: 'ACTION', wraps: 18, cell: check => check.action },
      {
        title: 'RESULT',
        cell: check => (check.allowed ? 'ok' : 'FAILED'),
        paint: (text, check) => (check.allowed ? style.good(text) : style.bad(text)),
      },
      { title: 'DETAIL', wraps: true, dropAs: 1, cell: check => check.detail },
    ],
    checks,
    style,
  )
}

function formatVerdict({ ok, brokers, checks }: CheckReport, style: OutputStyle): string[] {
  if (ok && brokers === 0) return [style.good('The storage can be used. The cluster was not checked.')]
  if (ok) return [style.good('Ready: the job has everything it needs.')]
  const missing = checks.filter(check => !check.allowed)
  const grants = planGrants(missing)
  const others = missing.filter(check => aclResource(check) === undefined)
  return [
    style.bad(`Not ready: ${plural(missing.length, 'check')} failed.`),
    ...(grants.length === 0 ? [] : ['Grant to the user of this job, as options of kafka-acls --add:']),
    ...grants.map(grant => `  ${printable(grant)}`),
    ...(others.length === 0 ? [] : ['To fix:']),
    ...others.flatMap(({ subject, action, detail }) =>
      formatText(printable(`${subject}, ${action}: ${detail}`), style, '  '),
    ),
  ]
}

/** One line per resource: `--operation Read --operation Describe --topic orders`. */
function planGrants(missing: readonly Check[]): string[] {
  const operations = new Map<string, string[]>()
  for (const check of missing) {
    const resource = aclResource(check)
    if (resource !== undefined) operations.set(resource, [...(operations.get(resource) ?? []), check.action])
  }
  return [...operations].map(
    ([resource, actions]) => `${actions.map(action => `--operation ${action}`).join(' ')} ${resource}`,
  )
}

const aclOperations = new Set([
  'Describe',
  'DescribeConfigs',
  'Read',
  'Write',
  'Create',
  'Alter',
  'AlterConfigs',
  'ClusterAction',
  'IdempotentWrite',
  'Delete',
])

/** The resource as an option of kafka-acls; undefined if the check is not about a permission. */
function aclResource({ subject, action }: Check): string | undefined {
  if (!aclOperations.has(action)) return undefined
  if (subject === 'cluster') return '--cluster'
  const [, kind, name] = /^(topic|group) (.+)$/.exec(subject) ?? []
  return kind === undefined || name === undefined ? undefined : `--${kind} ${shellQuote(name)}`
}
