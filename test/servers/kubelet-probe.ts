import { setTimeout as sleep } from 'node:timers/promises'
import type { ContainerRecord } from './kubelet-status.ts'

/** More often than any pod asks for, so that tests need not wait. */
const periodMs = 500

/** Asks for the readiness of a container until it is stopped, where it has a probe; one over HTTP is all it knows. */
export function startReadinessProbe(record: ContainerRecord, podIp: string, onChange: () => void): { stop(): void } {
  const { readinessProbe, ports = [] } = record.container
  if (readinessProbe === undefined) return { stop: () => {} }
  const { path, port } = readinessProbe.httpGet
  const number = typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.containerPort
  const stopping = new AbortController()
  const { signal } = stopping
  record.isProbedReady = false
  const ask = async () => {
    const isReady = await fetch(`http://${podIp}:${number}${path}`, { signal }).then(
      answer => answer.ok,
      () => false,
    )
    if (signal.aborted || isReady === record.isProbedReady) return
    record.isProbedReady = isReady
    onChange()
  }
  const run = async () => {
    while (!signal.aborted) {
      await ask()
      await sleep(periodMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  void run()
  return { stop: () => stopping.abort() }
}
