import type { Controller } from '../../src/operator/crd/resource.ts'
import { controllers } from '../../src/operator/crd/resource.ts'
import type { ActiveRun, EndedRun, ResourceStatus } from '../../src/operator/crd/status.ts'
import type { OperatorMetrics } from '../../src/operator/metrics/operator-metrics.ts'
import { endedRun, type Sample, sampleResource } from '../operator/metrics/sample-resources.ts'

const HOUR_MS = 3_600_000
const notReady = { type: 'Ready', status: 'False', reason: 'x', message: '', lastTransitionTime: '' } as const
const outdated = { ...notReady, type: 'RecoveryPoint', reason: 'LastRunFailed' } as const

/** A backup that runs for two hours already, had a good run three hours ago, and was never verified in the last days. */
const orders: Sample = {
  createdAt: ago(90 * 24),
  spec: { schedule: '@hourly', verify: { schedule: '@daily' }, drill: { schedule: '@daily' } },
  status: {
    phase: 'Running',
    conditions: [notReady, outdated],
    lastSuccessfulTime: ago(4),
    lastVerifyTime: ago(80),
    schedules: [
      { purpose: 'verify', schedule: '@daily', since: ago(90) },
      { purpose: 'drill', schedule: '@daily', since: ago(90) },
    ],
    drill: { lastTime: ago(30), result: 'Failed', lastProvenTime: ago(80), recoverySeconds: 42.5 },
    active: [{ run: 'scheduled-3', purpose: 'main', job: 'j3', startTime: ago(2) }],
    history: [
      endedRun({ run: 'verify-1', purpose: 'verify', phase: 'Failed', startTime: ago(81), completionTime: ago(80) }),
      endedRun({ run: 'scheduled-1', startTime: ago(5), completionTime: ago(4), storedBytes: 123_456 }),
    ],
  },
}

/** What an operator tells in its life, step by step; a step is some seconds long. */
export class OperatorHistory {
  readonly #metrics: OperatorMetrics
  readonly #queues
  #step = 0

  constructor(metrics: OperatorMetrics) {
    this.#metrics = metrics
    this.#queues = controllers.map(controller => metrics.queue(controller))
  }

  /** Resources of each kind are seen. Of the backups one has never succeeded, and one failed while no operator ran. */
  begin(): void {
    this.#metrics.leads(true)
    this.#metrics.namespaceReadable('shop', false)
    this.#see('backup', orders)
    this.#see('backup', { name: 'new', createdAt: ago(24) })
    const failed = endedRun({ phase: 'Failed', startTime: ago(0.1), completionTime: ago(0.05) })
    this.#see('backup', { name: 'found', status: { phase: 'Failed', history: [failed] } })
    this.#see('restore', { status: { phase: 'Completed', lastSuccessfulTime: ago(1) } })
    this.#see('offset_reset', { spec: { strategy: 'timestamp' } })
    this.#see('offset_rollback', { spec: { operation: 'rollback' } })
  }

  /** A little of everything that goes on: work at all resources, some of it in vain, and records that are copied. */
  step(): void {
    this.#step++
    for (const queue of this.#queues) {
      queue.added()
      queue.depth(this.#step % 2)
      queue.retried(new Error('x'), 'shop/orders', 1000)
    }
    for (const controller of controllers) {
      this.#metrics.reconciled(controller, sampleResource({ controller }).metadata, 40, this.#step % 2 === 0)
    }
    this.#progress('backup', orders, 'scheduled-3')
    this.#progress('restore', {}, 'once')
  }

  /** Runs end: slow, failed, with gaps and damage, and some well. */
  end(): void {
    const slow = { startTime: ago(2), completionTime: ago(0), records: 500_000, groups: 3, gaps: 2 }
    this.#end('backup', orders, { ...slow, run: 'scheduled-3' })
    this.#end('backup', orders, { ...slow, run: 'scheduled-4', phase: 'Failed' })
    this.#end('backup', orders, { run: 'verify-2', purpose: 'verify', phase: 'Failed' })
    this.#end('backup', orders, { run: 'drill-1', purpose: 'drill', phase: 'Failed' })
    this.#end('restore', {}, { ...slow, phase: 'Failed' })
    this.#end('offset_reset', { spec: { strategy: 'timestamp' } }, slow)
    this.#end('offset_rollback', { spec: { operation: 'rollback' } }, slow)
  }

  #see(controller: Controller, sample: Sample): void {
    this.#metrics.seen(controller, sampleResource({ ...sample, controller }))
  }

  #progress(controller: Controller, sample: Sample, run: string): void {
    const active: ActiveRun[] = [{ run, purpose: 'main', job: 'j', startTime: ago(0) }]
    const status: ResourceStatus = { ...sample.status, active }
    this.#metrics.progressed(controller, sampleResource({ ...sample, status, controller }), run, {
      records: this.#step * 1000,
    })
  }

  #end(controller: Controller, sample: Sample, run: Partial<EndedRun>): void {
    this.#metrics.ended(controller, sampleResource({ ...sample, controller }), endedRun(run))
  }
}

function ago(hours: number): string {
  return new Date(Date.now() - hours * HOUR_MS).toISOString()
}
