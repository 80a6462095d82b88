import { KafkaBackupError } from '../../errors.ts'
import { pathOf } from '../client/address.ts'
import type { RegistryCall, RegistryClient } from '../client/client.ts'
import type { Identity } from '../client/flavour.ts'
import { asList, asRecord } from '../client/parse-answers.ts'
import { RegistryError } from '../client/registry-error.ts'

/** How long a probe tries to remove what it wrote. */
const CLEAR_MS = 60_000

/** What a probe has written under a subject: whether it has set a level, and the mode that it has set last. */
interface Written {
  subject: string
  hasLevel: boolean
  mode: string | undefined
}

/** What a probe could not remove, or may not have removed because the registry has stopped answering. */
export interface LeftBehind {
  subject: string
  parts: LeftPart[]
  /** How the registry refused to remove the first of these parts; null where it answered with success. */
  reason: string | null
}

type LeftPart = 'versions' | 'level' | 'mode'
type Refusals = { [part in LeftPart]?: string | undefined }

interface ScopeParts {
  client: RegistryClient
  identity: Identity
}

/**
 * Removes subjects in their order. A refusal does not keep the rest from being tried. It has its own time limit, because it
 * also runs after an interruption.
 */
export async function clearScope(written: readonly Written[], parts: ScopeParts): Promise<LeftBehind[]> {
  const stop = new AbortController()
  const late = new Error(`not finished within ${CLEAR_MS / 1000} s`)
  const cancel = parts.client.clock.after(CLEAR_MS, () => stop.abort(late))
  const clearing = new Clearing(parts, stop.signal)
  try {
    const tried: [Written, Refusals][] = []
    for (const one of written) tried.push([one, await clearing.remove(one.subject)])
    const left: LeftBehind[] = []
    for (const [one, refusals] of tried) {
      const remaining = await clearing.remaining(one)
      const reason = remaining.map(part => refusals[part]).find(refusal => refusal !== undefined) ?? null
      if (remaining.length > 0) left.push({ subject: one.subject, parts: remaining, reason })
    }
    return left
  } finally {
    cancel()
  }
}

class Clearing {
  readonly #parts: ScopeParts
  readonly #signal: AbortSignal

  constructor(parts: ScopeParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
  }

  /** Tries every part of a subject. */
  async remove(subject: string): Promise<Refusals> {
    const path = (resource: Resource) => pathOf(this.#parts.identity, resource, subject)
    const unset = await this.#ask({ method: 'DELETE', path: path('mode'), subject })
    // Without a way to unset a mode, the usual one is set.
    const usual = { method: 'PUT', path: path('mode'), subject, body: { mode: 'READWRITE' } } as const
    const mode = unset.refusal === undefined ? unset : await this.#ask(usual)
    const level = await this.#ask({ method: 'DELETE', path: path('config'), subject })
    const marked = await this.#ask({ method: 'DELETE', path: path('subjects'), subject })
    const removed = await this.#ask({ method: 'DELETE', path: path('subjects'), subject, query: { permanent: true } })
    return { versions: marked.refusal ?? removed.refusal, level: level.refusal, mode: mode.refusal }
  }

  /** The parts that the registry shows, and those that it does not answer for. */
  async remaining({ subject, hasLevel, mode }: Written): Promise<LeftPart[]> {
    const { identity } = this.#parts
    const path = pathOf(identity, 'subjects', subject, '/versions')
    const versions = await this.#ask({ path, subject, query: { deleted: true } })
    const isThere = versions.refusal !== undefined || (asList(versions.body ?? null)?.length ?? 0) > 0
    const left: LeftPart[] = isThere ? ['versions'] : []
    if (hasLevel) {
      const { refusal, body } = await this.#ask({ path: pathOf(identity, 'config', subject), subject })
      if (refusal !== undefined || body !== undefined) left.push('level')
    }
    if (mode !== undefined && mode !== 'READWRITE') {
      // Apicurio shows a mode for every name, and not the one that was set.
      const { refusal, body } = await this.#ask({ path: pathOf(identity, 'mode', subject), subject })
      if (refusal !== undefined || asRecord(body)?.mode === mode) left.push('mode')
    }
    return left
  }

  /** Nothing of it is there: neither a body nor a refusal. */
  async #ask(call: RegistryCall): Promise<{ body?: unknown; refusal?: string }> {
    try {
      this.#signal.throwIfAborted()
      return { body: await this.#parts.client.call(call, this.#signal) }
    } catch (error) {
      if (error instanceof RegistryError && error.status === 404) return {}
      if (error instanceof KafkaBackupError || this.#signal.aborted)
        return { refusal: error instanceof Error ? error.message : String(error) }
      throw error
    }
  }
}

type Resource = 'subjects' | 'config' | 'mode'
