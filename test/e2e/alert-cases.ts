export type AlertState = 'quiet' | 'pending' | 'firing'

/** What an alert does while series take these values, one each half minute, in the notation of promtool. */
export interface AlertCase {
  alert: string
  /** A sentence. */
  name: string
  series: Record<string, string>
  /** Of the alert, beside its name and severity. */
  labels: Record<string, string>
  states: [at: string, state: AlertState][]
}

const orders = 'backup_name="orders",namespace="shop"'
const ofOrders = { backup_name: 'orders', namespace: 'shop' }
const failures = `kafka_backup_backups_total{${orders},outcome="failure",pod="a"}`
const successes = `kafka_backup_backups_total{${orders},outcome="success",pod="a"}`
const lastSuccess = `kafka_backup_last_successful_backup_timestamp{${orders},pod="a"}`
const started = `kafka_backup_backup_started_timestamp{${orders},pod="a"}`
const created = `kafka_backup_backup_created_timestamp{${orders},pod="a"}`
const gaps = `kafka_backup_gaps_total{${orders},pod="a"}`
const verifyFailures = `kafka_backup_verify_failures_total{${orders},pod="a"}`
const verifyStatus = `kafka_backup_last_verify_status{${orders},pod="a"}`
const drillFailures = `kafka_backup_drill_failures_total{${orders},pod="a"}`
const drillStatus = `kafka_backup_last_drill_status{${orders},pod="a"}`
const lastDrill = `kafka_backup_last_successful_drill_timestamp{${orders},pod="a"}`
const lastVerify = `kafka_backup_last_verify_timestamp{${orders},pod="a"}`
const expected = (purpose: string) => `kafka_backup_expected_interval_seconds{${orders},purpose="${purpose}",pod="a"}`
const since = (purpose: string) => `kafka_backup_schedule_since_timestamp{${orders},purpose="${purpose}",pod="a"}`
const restores = (outcome: string) =>
  `kafka_backup_restores_total{restore_name="drill",namespace="shop",outcome="${outcome}",pod="a"}`
const errors = (name: string) =>
  `kafka_backup_operator_reconciliation_errors_total{controller="backup",namespace="shop",name="${name}",pod="a"}`
const leader = (pod: string, namespace = 'backup') =>
  `kafka_backup_operator_leader{pod="${pod}",lease="${namespace}/operator"}`

/** Buckets as Prometheus 3 stores them, and as Prometheus 2 does. */
const durations = (count: string, within: string, le: string, outcome = 'success') => ({
  [`kafka_backup_backup_duration_seconds_count{${orders},outcome="${outcome}",pod="a"}`]: count,
  [`kafka_backup_backup_duration_seconds_bucket{${orders},outcome="${outcome}",pod="a",le="${le}"}`]: within,
  [`kafka_backup_backup_duration_seconds_bucket{${orders},outcome="${outcome}",pod="a",le="+Inf"}`]: count,
})

const failed: AlertCase[] = [
  {
    alert: 'KafkaBackupFailed',
    name: 'fires at the first failure of a resource that was just created, and for an hour',
    series: { [failures]: '_x20 0 0 1x300', [successes]: '_x20 0x302' },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['11m30s', 'firing'],
      ['70m', 'firing'],
      ['72m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupFailed',
    name: 'fires once, not for each replica, when another pod of the operator finds the failure as it starts',
    series: {
      [failures]: '0x40 _x300',
      [failures.replace('pod="a"', 'pod="b"')]: '_x42 0 0 1x300',
    },
    labels: ofOrders,
    states: [
      ['21m30s', 'quiet'],
      ['22m', 'firing'],
      ['90m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupFailed',
    name: 'stays quiet while runs succeed, and when an operator with old failures is started again',
    series: { [failures]: '4x60 0x300', [successes]: '0+1x360' },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['31m', 'quiet'],
      ['2h', 'quiet'],
    ],
  },
]

const missing: AlertCase[] = [
  {
    alert: 'KafkaBackupMissing',
    name: 'is held for five minutes, fires, and resolves with the next good backup',
    series: { [lastSuccess]: '0x259 7800x100' },
    labels: ofOrders,
    states: [
      ['120m', 'quiet'],
      ['121m', 'pending'],
      ['125m', 'pending'],
      ['125m30s', 'firing'],
      ['129m30s', 'firing'],
      ['130m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupMissing',
    name: 'stays quiet while backups succeed every hour, and where an old replica tells an older time',
    series: {
      [lastSuccess]: '0x120 3600x120 7200x120 10800x120',
      [lastSuccess.replace('pod="a"', 'pod="b"')]: '0x480',
    },
    labels: ofOrders,
    states: [
      ['61m', 'quiet'],
      ['179m', 'quiet'],
      ['239m', 'quiet'],
    ],
  },
]

const neverSucceeded: AlertCase[] = [
  {
    alert: 'KafkaBackupMissing',
    name: 'fires for a backup that never succeeded, counted from its creation, and resolves with the first success',
    series: { [created]: '0x400', [lastSuccess]: '_x259 7800x100' },
    labels: ofOrders,
    states: [
      ['120m', 'quiet'],
      ['121m', 'pending'],
      ['125m30s', 'firing'],
      ['130m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupNeverSucceeded',
    name: 'fires for a continuous backup, whose interval is that of its rounds',
    series: { [created]: '0x500', [expected('backup')]: '300x500' },
    labels: ofOrders,
    states: [
      ['125m', 'quiet'],
      ['126m', 'pending'],
      ['131m', 'firing'],
    ],
  },
  {
    alert: 'KafkaBackupOverdue',
    name: 'fires for a continuous backup whose rounds fail since two hours',
    series: { [lastSuccess]: '0x500', [expected('backup')]: '300x500' },
    labels: ofOrders,
    states: [
      ['125m', 'quiet'],
      ['131m', 'firing'],
    ],
  },
]

const resourceOrders = 'kind="KafkaBackup",name="orders",namespace="shop"'
const resourceStatus = (phase: string) => `kafka_backup_resource_status{${resourceOrders},phase="${phase}",pod="a"}`
const suspended = `kafka_backup_resource_suspended{${resourceOrders},pod="a"}`

const notReady: AlertCase[] = [
  {
    alert: 'KafkaBackupNotReady',
    name: 'is held for a quarter of an hour over a change of the phase, fires, and resolves',
    series: {
      [resourceStatus('Running')]: '1x20 0x20 _x200',
      [resourceStatus('Failed')]: '_x41 0x60 1x100',
      [suspended]: '0x240',
    },
    labels: { kind: 'KafkaBackup', name: 'orders', namespace: 'shop' },
    states: [
      ['10m', 'quiet'],
      ['11m', 'pending'],
      ['25m', 'pending'],
      ['26m', 'firing'],
      ['50m', 'firing'],
      ['52m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupNotReady',
    name: 'stays quiet for a resource that is suspended',
    series: { [resourceStatus('Pending')]: '0x100', [suspended]: '1x100' },
    labels: { kind: 'KafkaBackup', name: 'orders', namespace: 'shop' },
    states: [['40m', 'quiet']],
  },
]

const pointStatus = `kafka_backup_recovery_point_status{${orders},pod="a"}`
const running = `kafka_backup_resource_running{${resourceOrders},pod="a"}`

const recoveryPoint: AlertCase[] = [
  {
    alert: 'KafkaBackupRecoveryPointOutdated',
    name: 'is held for a quarter of an hour after a failed run, fires, and resolves with the next success',
    series: { [pointStatus]: '1x20 0x60 1x20' },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['11m', 'pending'],
      ['26m', 'firing'],
      ['41m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupRecoveryPointOutdated',
    name: 'stays quiet while runs succeed, and before the first run has ended',
    series: { [pointStatus]: '_x20 1x60' },
    labels: ofOrders,
    states: [
      ['5m', 'quiet'],
      ['30m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupNotReady',
    name: 'stays quiet while the only run of a resource makes progress, and fires when it has failed',
    series: {
      [resourceStatus('Running')]: '0x80 _x60',
      [resourceStatus('Failed')]: '_x80 0x60',
      [running]: '1x80 0x60',
      [suspended]: '0x140',
    },
    labels: { kind: 'KafkaBackup', name: 'orders', namespace: 'shop' },
    states: [
      ['39m', 'quiet'],
      ['41m', 'pending'],
      ['57m', 'firing'],
    ],
  },
]

const unreadable: AlertCase[] = [
  {
    alert: 'KafkaBackupNamespaceUnreadable',
    name: 'is held, fires for the namespace that cannot be read, and resolves',
    series: {
      'kafka_backup_operator_namespace_readable{namespace="shop",pod="a"}': '1x20 0x40 1x100',
      'kafka_backup_operator_namespace_readable{namespace="other",pod="a"}': '1x160',
    },
    labels: { namespace: 'shop' },
    states: [
      ['10m', 'quiet'],
      ['12m', 'pending'],
      ['16m', 'firing'],
      ['31m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupNamespaceUnreadable',
    name: 'stays quiet where a replica needs a moment to list a namespace as it starts',
    series: {
      'kafka_backup_operator_namespace_readable{namespace="shop",pod="a"}': '1x60',
      'kafka_backup_operator_namespace_readable{namespace="shop",pod="b"}': '_x20 0x1 1x40',
    },
    labels: { namespace: 'shop' },
    states: [
      ['9m', 'quiet'],
      ['20m', 'quiet'],
    ],
  },
]

const slow: AlertCase[] = [
  {
    alert: 'KafkaBackupSlow',
    name: 'fires for the first run that took longer than an hour, and for an hour',
    series: durations('0x20 1x300', '0x320', '3600.0'),
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['10m30s', 'firing'],
      ['69m', 'firing'],
      ['71m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupSlow',
    name: 'fires with buckets as Prometheus 2 names them, and for a run that failed after more than an hour',
    series: durations('0x20 1x300', '0x320', '3600', 'failure'),
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['11m', 'firing'],
      ['71m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupSlow',
    name: 'fires for a run under way that is late already, and resolves when it ends',
    series: { [started]: '0x200 stale' },
    labels: ofOrders,
    states: [
      ['60m', 'quiet'],
      ['60m30s', 'firing'],
      ['100m', 'firing'],
      ['101m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupSlow',
    name: 'stays quiet for quick runs after slow ones of long ago, in a series that is young, and over a restart',
    series: { ...durations('_x7 5 5+1x60 0 0+1x60', '_x7 3 3+1x60 0 0+1x60', '3600.0'), [started]: '0+30x140' },
    labels: ofOrders,
    states: [
      ['4m', 'quiet'],
      ['9m', 'quiet'],
      ['20m', 'quiet'],
      ['36m', 'quiet'],
      ['60m', 'quiet'],
    ],
  },
]

const operator: AlertCase[] = [
  {
    alert: 'KafkaBackupOperatorErrors',
    name: 'is held for five minutes, fires, and resolves when nothing failed for five minutes',
    series: { [errors('orders')]: '0x20 1+1x40 41x100' },
    labels: { controller: 'backup', namespace: 'shop' },
    states: [
      ['10m', 'quiet'],
      ['10m30s', 'pending'],
      ['15m', 'pending'],
      ['15m30s', 'firing'],
      ['34m', 'firing'],
      ['36m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupOperatorErrors',
    name: 'fires for a resource that is retried every two minutes, the longest pause between two retries',
    series: { [errors('orders')]: '0x20 1x3 2x3 3x3 4x3 5x3 6x3 7x3 8x3' },
    labels: { controller: 'backup', namespace: 'shop' },
    states: [
      ['10m', 'quiet'],
      ['15m30s', 'firing'],
      ['24m', 'firing'],
    ],
  },
  {
    alert: 'KafkaBackupOperatorErrors',
    name: 'stays quiet without errors, and after one that did not come again',
    series: { [errors('orders')]: '0x20 1x100', [errors('other')]: '0x120' },
    labels: { controller: 'backup', namespace: 'shop' },
    states: [
      ['5m', 'quiet'],
      ['12m', 'pending'],
      ['15m30s', 'quiet'],
      ['30m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupOperatorErrors',
    name: 'stays quiet while all goes well',
    series: { [errors('orders')]: '3x120', [errors('other')]: '0x120' },
    labels: { controller: 'backup', namespace: 'shop' },
    states: [
      ['5m', 'quiet'],
      ['30m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupOperatorDown',
    name: 'is held for five minutes after the last operator is gone, fires, and resolves when one leads',
    series: { [leader('a')]: '1x20 stale _x60 1x50' },
    labels: {},
    states: [
      ['10m', 'quiet'],
      ['10m30s', 'pending'],
      ['15m', 'pending'],
      ['15m30s', 'firing'],
      ['41m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupOperatorDown',
    name: 'fires for an installation in which no replica becomes leader, although another installation has one',
    series: { [leader('a')]: '1x20 0x60', [leader('b')]: '0x80', [leader('c', 'other')]: '1x80' },
    labels: { lease: 'backup/operator' },
    states: [
      ['10m', 'quiet'],
      ['11m', 'pending'],
      ['16m', 'firing'],
    ],
  },
  {
    alert: 'KafkaBackupOperatorDown',
    name: 'stays quiet while one of two replicas leads, and when they change places',
    series: { [leader('a')]: '1x40 0x40', [leader('b')]: '0x40 1x40' },
    labels: {},
    states: [
      ['10m', 'quiet'],
      ['20m', 'quiet'],
      ['21m', 'quiet'],
      ['40m', 'quiet'],
    ],
  },
]

const restore: AlertCase[] = [
  {
    alert: 'KafkaRestoreFailed',
    name: 'fires at the first failure of a restore, and for an hour',
    series: { [restores('failure')]: '_x20 0 0 1x300', [restores('success')]: '_x20 0x302' },
    labels: { restore_name: 'drill', namespace: 'shop' },
    states: [
      ['10m', 'quiet'],
      ['11m30s', 'firing'],
      ['70m', 'firing'],
      ['72m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaRestoreFailed',
    name: 'stays quiet for a restore that succeeds',
    series: { [restores('failure')]: '0x300', [restores('success')]: '0x20 1x280' },
    labels: { restore_name: 'drill', namespace: 'shop' },
    states: [
      ['11m', 'quiet'],
      ['2h', 'quiet'],
    ],
  },
]

const schedule: AlertCase[] = [
  {
    alert: 'KafkaBackupNeverSucceeded',
    name: 'waits for the first run of the schedule and two hours, is held, fires, and resolves with the first success',
    series: { [created]: '0x500', [expected('backup')]: '3600x500', [lastSuccess]: '_x380 11400x120' },
    labels: ofOrders,
    states: [
      ['180m', 'quiet'],
      ['181m', 'pending'],
      ['185m30s', 'firing'],
      ['189m', 'firing'],
      ['190m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupNeverSucceeded',
    name: 'stays quiet for a backup that has succeeded',
    series: { [created]: '0x800', [expected('backup')]: '0x800', [lastSuccess]: '600x800' },
    labels: ofOrders,
    states: [
      ['3h', 'quiet'],
      ['6h', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupNeverSucceeded',
    name: 'stays quiet while the backup is suspended, which has no interval',
    series: { [created]: '0x800' },
    labels: ofOrders,
    states: [['6h', 'quiet']],
  },
  {
    alert: 'KafkaBackupOverdue',
    name: 'knows the schedule: is held, fires two hours after a run was due, and resolves',
    series: { [lastSuccess]: '0x399 12000x100', [expected('backup')]: '3600x500' },
    labels: ofOrders,
    states: [
      ['180m', 'quiet'],
      ['181m', 'pending'],
      ['185m30s', 'firing'],
      ['199m', 'firing'],
      ['200m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupOverdue',
    name: 'stays quiet for a daily backup between its runs',
    series: { [lastSuccess]: '-82800x400', [expected('backup')]: '86400x400' },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['2h50m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupOverdue',
    name: 'stays quiet for a backup that runs once, and for one that is suspended',
    series: {
      [lastSuccess]: '-86400x100',
      [expected('backup')]: '0x100',
      [lastSuccess.replace('orders', 'suspended')]: '-86400x100',
    },
    labels: ofOrders,
    states: [['20m', 'quiet']],
  },
]

const content: AlertCase[] = [
  {
    alert: 'KafkaBackupGaps',
    name: 'fires when a run recorded gaps, and for an hour',
    series: { [gaps]: '0x20 3x300' },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['11m', 'firing'],
      ['69m', 'firing'],
      ['72m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupGaps',
    name: 'stays quiet where no gap is new',
    series: { [gaps]: '3x300' },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['2h', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupVerifyFailed',
    name: 'fires until a verification finds the backup whole, also after the hour and a restart',
    series: { [verifyFailures]: '0x20 1x300', [verifyStatus]: '1x20 0x200 1x100' },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['10m30s', 'firing'],
      ['90m', 'firing'],
      ['111m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupVerifyFailed',
    name: 'stays quiet while verifications find the backup whole, and before the first',
    series: { [verifyFailures]: '0x300', [verifyStatus]: '_x100 1x200' },
    labels: ofOrders,
    states: [
      ['30m', 'quiet'],
      ['2h', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupVerifyOld',
    name: 'is held, fires a day after a verification was due, and resolves with the next',
    series: { [lastVerify]: '-86400x159 4800x60', [since('verify')]: '-90000x220', [expected('verify')]: '3600x220' },
    labels: ofOrders,
    states: [
      ['60m', 'quiet'],
      ['61m', 'pending'],
      ['65m30s', 'firing'],
      ['79m', 'firing'],
      ['80m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupVerifyOld',
    name: 'fires for a backup that asks for it and was never verified',
    series: { [since('verify')]: '-86400x200', [expected('verify')]: '3600x200' },
    labels: ofOrders,
    states: [
      ['60m', 'quiet'],
      ['66m', 'firing'],
    ],
  },
  {
    alert: 'KafkaBackupVerifyOld',
    name: 'counts from the creation if no status has a time',
    series: { [created]: '-86400x200', [expected('verify')]: '3600x200' },
    labels: ofOrders,
    states: [
      ['60m', 'quiet'],
      ['66m', 'firing'],
    ],
  },
  {
    alert: 'KafkaBackupVerifyOld',
    name: 'counts from the change of a schedule, also if the last verification is older',
    series: { [lastVerify]: '-1000000x200', [since('verify')]: '-86400x200', [expected('verify')]: '3600x200' },
    labels: ofOrders,
    states: [
      ['60m', 'quiet'],
      ['66m', 'firing'],
    ],
  },
  {
    alert: 'KafkaBackupVerifyOld',
    name: 'stays quiet for a backup that nobody asked to verify, and for one that is verified as it should be',
    series: {
      [created]: '-1000000x200',
      [lastVerify.replace('orders', 'daily')]: '-86400x200',
      [expected('verify').replace('orders', 'daily')]: '86400x200',
    },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['90m', 'quiet'],
    ],
  },
]

const drilled: AlertCase[] = [
  {
    alert: 'KafkaBackupDrillFailed',
    name: 'fires until a drill proves the backup, also after the hour and a restart',
    series: { [drillFailures]: '0x20 1x300', [drillStatus]: '1x20 0x200 1x100' },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['10m30s', 'firing'],
      ['90m', 'firing'],
      ['111m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupDrillFailed',
    name: 'stays quiet while drills prove the backup, and before the first',
    series: { [drillFailures]: '0x300', [drillStatus]: '_x100 1x200' },
    labels: ofOrders,
    states: [
      ['30m', 'quiet'],
      ['2h', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupDrillOverdue',
    name: 'is held, fires a day after a drill was due, and resolves with the next',
    series: { [lastDrill]: '-86400x159 4800x60', [since('drill')]: '-90000x220', [expected('drill')]: '3600x220' },
    labels: ofOrders,
    states: [
      ['60m', 'quiet'],
      ['61m', 'pending'],
      ['65m30s', 'firing'],
      ['79m', 'firing'],
      ['80m', 'quiet'],
    ],
  },
  {
    alert: 'KafkaBackupDrillOverdue',
    name: 'counts from the time when drills were added to an old backup, and fires if none succeeded since',
    series: { [created]: '-1000000x200', [since('drill')]: '-86400x200', [expected('drill')]: '3600x200' },
    labels: ofOrders,
    states: [
      ['60m', 'quiet'],
      ['66m', 'firing'],
    ],
  },
  {
    alert: 'KafkaBackupDrillOverdue',
    name: 'counts from the creation if no status has a time',
    series: { [created]: '-86400x200', [expected('drill')]: '3600x200' },
    labels: ofOrders,
    states: [
      ['60m', 'quiet'],
      ['66m', 'firing'],
    ],
  },
  {
    alert: 'KafkaBackupDrillOverdue',
    name: 'stays quiet for a backup without drills, and for one that is drilled as it should be',
    series: {
      [created]: '-1000000x200',
      [lastDrill.replace('orders', 'daily')]: '-86400x200',
      [expected('drill').replace('orders', 'daily')]: '86400x200',
    },
    labels: ofOrders,
    states: [
      ['10m', 'quiet'],
      ['90m', 'quiet'],
    ],
  },
]

export const alertCases: AlertCase[] = [
  ...failed,
  ...missing,
  ...neverSucceeded,
  ...notReady,
  ...recoveryPoint,
  ...unreadable,
  ...slow,
  ...operator,
  ...restore,
  ...schedule,
  ...content,
  ...drilled,
]
