import type { Description } from '../../archive/describe.ts'
import { formatAgo, formatBytes, formatCount } from '../../lib/units.ts'
import type { OpenedBackup } from '../archive-reader.ts'
import { type Html, html, nothing } from '../html.ts'
import { groupsLink, restoreLink, schemasLink } from '../links.ts'
import { showDrilled, showVerified } from './verified.ts'
import { badge, facts, plural, showTime } from './words.ts'

/** Pure. What a generation is and holds, in numbers. */
export function showBackupFacts(backup: OpenedBackup, description: Description, nowMs: number): Html {
  const { totals, schema_registry: registry, consumer_groups: groups, encryption, cluster, access } = description
  const { place, location } = backup
  const accessCounts = (['acls', 'quotas', 'users'] as const)
    .filter(kind => access[kind].state === 'taken')
    .map(kind => `${formatCount(access[kind].count)} ${kind}`)
  return facts([
    ['State', badge(description.complete ? 'good' : 'warn', description.complete ? 'complete' : 'incomplete')],
    [
      'Last commit',
      html`${formatAgo(description.created_at, nowMs)} <small>${showTime(description.created_at)}</small>`,
    ],
    ['Verified', showVerified(description, nowMs)],
    ['Drilled', showDrilled(description, nowMs)],
    ['Generation', `${description.generation} of ${plural(description.generations.length, 'kept generation')}`],
    ['Location', location.name],
    ['Cluster', `${cluster.id ?? 'unnamed'}, ${plural(cluster.brokers, 'broker')}`],
    ['Topics', `${formatCount(totals.topics)} with ${plural(totals.partitions, 'partition')}`],
    ['Records', formatCount(totals.records)],
    ['Size', `${formatBytes(totals.bytes)}, ${formatBytes(totals.stored_bytes)} stored`],
    ['Gaps', totals.gaps === 0 ? 'none' : badge('warn', formatCount(totals.gaps))],
    [
      'Schemas',
      registry.enabled
        ? html`<a href="${schemasLink(place)}">${plural(registry.subjects_count, 'subject')}, ${plural(registry.schemas_count, 'version')}</a>`
        : 'not in this backup',
    ],
    [
      'Groups',
      groups.state === 'taken'
        ? html`<a href="${groupsLink(place)}">${plural(groups.groups, 'group')}, ${plural(groups.positions, 'committed offset')}</a>`
        : groups.state === 'failed'
          ? html`${badge('bad', 'failed')} ${groups.error}`
          : 'not in this backup',
    ],
    ['Access', accessCounts.length > 0 ? accessCounts.join(', ') : undefined],
    ['Encrypted', encryption ? `${encryption.cipher}${encryption.hide_names ? ', names hidden' : ''}` : 'no'],
    ['Written by', `kafka-backup ${description.tool_version}, format ${description.format_version}`],
    ['Restore', html`<a href="${restoreLink(place)}">Prepare a job file</a>`],
  ])
}

const MAX_WARNINGS = 20

export function showWarnings(warnings: readonly string[]): Html {
  if (warnings.length === 0) return nothing
  const more = warnings.length - MAX_WARNINGS
  return html`<div class="notice warn"><ul>${warnings.slice(0, MAX_WARNINGS).map(text => html`<li>${text}</li>`)}${more > 0 && html`<li>and ${plural(more, 'more warning')}; kafka-backup describe shows all.</li>`}</ul></div>`
}
