import { createHash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import type { ApplyOptions, KubeApi } from './kube-api.ts'
import type { KubeObject, ResourceKind } from './object.ts'
import { formatMicroTime } from './object.ts'

/** What happened to an object, as `kubectl describe` shows it. */
export interface KubeEvent {
  type: 'Normal' | 'Warning'
  /** One word for machines: `BackupFailed`. */
  reason: string
  /** What was being done: `Backup`. */
  action: string
  /** A sentence for people. */
  note: string
}

export interface RecorderParts {
  api: KubeApi
  clock: Clock
  fieldManager: string
  /** Of the process: the name of its pod. */
  instance: string
}

/** The API server keeps events for an hour, so one that is counted up this long is still there. */
const SERIES_MS = 6 * 60_000
const MAX_SERIES = 1000
const MAX_NOTE_BYTES = 1024
const eventKind: ResourceKind<EventObject> = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' }

/** Writes events. The same one again within some minutes is counted up instead of written anew. */
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

  /** In the order of their last time, which the map keeps. */
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
      // Where the name is cut it may not end with a mark.
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

/** Whole characters of the text that fit, with a mark where some do not. */
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
