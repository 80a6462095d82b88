import { createHash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import type { ApplyOptions, KubeApi } from './kube-api.ts'
import type { KubeObject, ResourceKind } from './object.ts'
import { formatMicroTime } from './object.ts'

/** A Kubernetes Event about an object, as `kubectl describe` shows it. */
export interface KubeEvent {
  type: 'Normal' | 'Warning'
  /** One word for machines: `BackupFailed`. */
  reason: string
  /** What was being done: `Backup`. */
  action: string
  /** A sentence for people. */
  note: string
}

interface RecorderParts {
  api: KubeApi
  clock: Clock
  fieldManager: string
  /** The name of this process's pod. */
  instance: string
}

/** Shorter than the hour for which the API server keeps events. */
const SERIES_MS = 6 * 60_000
const MAX_SERIES = 1000
const MAX_NOTE_BYTES = 1024
const eventKind: ResourceKind<EventObject> = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' }

/** Writes events. The same event within a few minutes increases the count of the first one. */
export class EventRecorder {
  readonly #parts: RecorderParts
  readonly #series = new Map<string, { event: EventObject; count: number; lastMs: number }>()

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  async record(about: KubeObject, kubeEvent: KubeEvent, signal: AbortSignal): Promise<void> {
    const { api, clock, fieldManager } = this.#parts
    const nowMs = clock.now()
    const key = JSON.stringify([about.metadata.uid, kubeEvent.type, kubeEvent.reason, kubeEvent.action, kubeEvent.note])
    this.#forgetOld(nowMs)
    const known = this.#series.get(key)
    const { event, count } = known ?? { event: this.#newEvent(about, kubeEvent, key, nowMs), count: 0 }
    this.#series.delete(key)
    this.#series.set(key, { event, count: count + 1, lastMs: nowMs })
    const series = count === 0 ? {} : { series: { count: count + 1, lastObservedTime: formatMicroTime(nowMs) } }
    const how: ApplyOptions = { fieldManager, force: true }
    await api.apply(eventKind, { ...event, ...series }, how, signal)
  }

  /** The map is ordered by last use. */
  #forgetOld(nowMs: number): void {
    for (const [key, { lastMs }] of this.#series) {
      if (nowMs - lastMs < SERIES_MS && this.#series.size < MAX_SERIES) return
      this.#series.delete(key)
    }
  }

  #newEvent(about: KubeObject, kubeEvent: KubeEvent, key: string, nowMs: number): EventObject {
    const { name, namespace = 'default', uid = '', resourceVersion = '' } = about.metadata
    const { type, reason, action, note } = kubeEvent
    const unique = createHash('sha256').update(`${key} ${nowMs} ${this.#parts.instance}`).digest('hex').slice(0, 16)
    return {
      apiVersion: eventKind.apiVersion,
      kind: eventKind.kind,
      // A shortened name must not end with a dot or dash.
      metadata: { name: `${name.slice(0, 230).replace(/[-.]+$/, '')}.${unique}`, namespace },
      eventTime: formatMicroTime(nowMs),
      reportingController: this.#parts.fieldManager,
      reportingInstance: this.#parts.instance,
      regarding: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid, resourceVersion },
      type,
      reason,
      action,
      note: cutBytes(note, MAX_NOTE_BYTES),
    }
  }
}

/** Cuts the text at a character boundary and marks the cut. */
function cutBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  const mark = '…'
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes - Buffer.byteLength(mark)))
  return text.slice(0, read) + mark
}

interface EventObject extends KubeObject, KubeEvent {
  eventTime: string
  series?: { count: number; lastObservedTime: string }
  reportingController: string
  reportingInstance: string
  regarding: Record<string, string>
}
