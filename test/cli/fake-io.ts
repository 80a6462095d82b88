import type { Io, Output, StopSignal } from '../../src/cli/io.ts'
import { ManualClock } from './manual-clock.ts'

/** A process that is none: keeps what is written, and takes signals from the test. */
export class FakeIo implements Io {
  readonly clock = new ManualClock()
  readonly stdout: Output & { text: string }
  readonly stderr: Output & { text: string }
  readonly env: Record<string, string | undefined>
  readonly exits: number[] = []
  readonly files = new Map<string, string>()
  readonly listeners = new Set<(name: StopSignal) => void>()

  constructor(options: { columns?: number; env?: Record<string, string> } = {}) {
    this.env = { LANG: 'C.UTF-8', ...options.env }
    this.stdout = collect(options.columns, assertSnakeKeys)
    this.stderr = collect(options.columns, text => text.split('\n').forEach(assertSnakeKeys))
  }

  async writeBytes(bytes: Uint8Array): Promise<boolean> {
    this.stdout.write(Buffer.from(bytes).toString('utf8'))
    return true
  }

  onSignal(listener: (name: StopSignal) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  signal(name: StopSignal): void {
    for (const listener of this.listeners) listener(name)
  }

  writeFile(path: string, text: string): void {
    this.files.set(path, text)
  }

  exit(code: number): void {
    this.exits.push(code)
  }
}

/** Fields with names of somebody else: a registry, Kubernetes. */
const foreignFields = new Set(['config', 'metadata', 'rule_set', 'spec'])

/** Every field of a document or log line that a command prints is in snake_case; each test that prints one checks this. */
export function assertSnakeKeys(text: string): void {
  if (!/^[[{]/.test(text)) return
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return
  }
  const found = camelKeys(document)
  if (found.length > 0) throw new Error(`fields that are not in snake_case: ${found.join(', ')}`)
}

function camelKeys(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(camelKeys)
  if (typeof value !== 'object' || value === null || 'apiVersion' in value) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(/^[a-z]+[a-z0-9]*[A-Z]/.test(key) ? [key] : []),
    ...(foreignFields.has(key) ? [] : camelKeys(inner)),
  ])
}

function collect(columns: number | undefined, check = (_: string) => {}): Output & { text: string } {
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  return {
    ...terminal,
    text: '',
    write(text: string) {
      check(text)
      this.text += text
    },
  }
}
