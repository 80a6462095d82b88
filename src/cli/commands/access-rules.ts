import type {
  AccessOutcome,
  AccessPlan,
  AccessReport,
  Decision,
  KindPlan,
  KindReport,
} from '../../access/access-plan.ts'
import {
  type Acl,
  describeAcl,
  describeQuota,
  describeUser,
  kindWords,
  type Quota,
  type ScramUser,
  storeAcl,
  storeQuota,
} from '../../access/model.ts'
import { formatCount } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable } from '../table.ts'
import { printable } from '../text.ts'

type Shown = Decision | AccessOutcome
type Kinds = Partial<Record<'acls', KindPlan<Acl> | KindReport<Acl>>> &
  Partial<Record<'quotas', KindPlan<Quota> | KindReport<Quota>>> &
  Partial<Record<'users', KindPlan<ScramUser> | KindReport<ScramUser>>>

const outcomes: Record<Shown, string> = {
  create: 'would be created',
  created: 'created',
  kept: 'exists',
  differs: 'DIFFERS, kept',
  cannot: 'not restored',
  failed: 'FAILED',
}

/** The results for access rules in one line; undefined if the job restores none. */
export function formatAccessTotals(report: AccessReport | undefined): string | undefined {
  if (!report) return undefined
  if (report.reason !== undefined) return `none: ${printable(report.reason)}`
  const { created, kept, differs, cannot, failed } = report.totals
  const parts = [
    `${formatCount(created)} created`,
    `${formatCount(kept)} already exist`,
    ...(differs === 0 ? [] : [`${formatCount(differs)} differ and are kept`]),
    ...(cannot === 0 ? [] : [`${formatCount(cannot)} cannot be restored`]),
    ...(failed === 0 ? [] : [`${formatCount(failed)} FAILED`]),
  ]
  return parts.join(', ')
}

interface Row {
  kind: keyof typeof kindWords
  what: string
  decision: Shown
  notes: string[]
}

/** Lists only rules that changed or failed; existing rules are counted in the totals. */
export function formatAccess(kinds: Kinds, style: OutputStyle): string[] {
  const rows = rowsOf(kinds).filter(({ decision }) => decision !== 'kept')
  if (rows.length === 0) return []
  const lines = formatTable<Row>(
    [
      { title: 'ACCESS', cell: row => kindWords[row.kind] },
      { title: 'RULE', wraps: true, cell: row => row.what, paint: text => style.bold(text) },
      {
        title: '',
        cell: row => outcomes[row.decision],
        paint: (text, row) => (row.decision === 'failed' ? style.bad(text) : text),
      },
      { title: '', cell: row => row.notes.join('; '), wraps: true },
    ],
    rows,
    style,
  )
  return ['', ...lines]
}

function rowsOf({ acls, quotas, users }: Kinds): Row[] {
  return [
    ...list('acls', acls, describeAcl),
    ...list('quotas', quotas, describeQuota),
    ...list('users', users, describeUser),
  ]
}

function list<T>(
  kind: Row['kind'],
  part: { items: readonly { item: T; decision: Shown; notes: string[] }[]; reason?: string } | undefined,
  describe: (item: T) => string,
): Row[] {
  const reason = part?.reason === undefined ? [] : [part.reason]
  return (part?.items ?? []).map(({ item, decision, notes }) => ({
    kind,
    what: describe(item),
    decision,
    notes: [...reason, ...notes],
  }))
}

export function accessReportDocument({ totals, reason, ...kinds }: AccessReport) {
  return { totals, reason: reason ?? null, ...kindsDocument(kinds) }
}

export function accessPlanDocument({ findings: _, ...kinds }: AccessPlan) {
  return kindsDocument(kinds)
}

/** The fields as in the archive. */
function kindsDocument({ acls, quotas, users }: Kinds) {
  return {
    acls: acls ? kindDocument<Acl>(acls, storeAcl) : null,
    quotas: quotas ? kindDocument<Quota>(quotas, storeQuota) : null,
    users: users ? kindDocument<ScramUser>(users, user => user) : null,
  }
}

function kindDocument<T>(
  { items, reason }: { items: readonly { item: T; decision: Shown; notes: string[] }[]; reason?: string },
  fieldsOf: (item: T) => object,
) {
  return {
    reason: reason ?? null,
    rules: items.map(({ item, decision, notes }) => ({ ...fieldsOf(item), outcome: decision, notes })),
  }
}
