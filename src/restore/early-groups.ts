import type { Cluster } from '../kafka/cluster.ts'
import type { OnProgress } from '../observe/progress.ts'
import { carryGroups } from '../offsets/carry-groups.ts'
import type { CarriedGroup, CarryPlan } from '../offsets/carry-plan.ts'
import { type CarriedGroupReport, type CarryReport, sumCarried } from '../offsets/carry-report.ts'
import type { IsGiven, NoteGiven } from '../offsets/given-offsets.ts'
import type { OpenMaps } from '../offsets/place-groups.ts'

interface EarlyParts {
  cluster: Cluster
  onProgress: OnProgress
  /** The offset maps of the topics that are ready. */
  openMaps: (signal: AbortSignal) => Promise<OpenMaps>
  isGiven: IsGiven
}

/**
 * Consumer groups that get their committed offsets before the end of a restore: each when all topics on which it gets some are
 * restored, and compared where the job asks for it. What fails here is tried again at the end.
 */
export class EarlyGroups {
  readonly #plan: CarryPlan
  readonly #parts: EarlyParts
  readonly #ready = new Set<string>()
  readonly #released = new Map<string, CarriedGroupReport>()

  constructor(plan: CarryPlan, parts: EarlyParts) {
    this.#plan = plan
    this.#parts = parts
  }

  /** All records of the topic are on the target, as they are in the backup, and noted there. */
  async release(topic: string, noteGiven: NoteGiven, signal: AbortSignal): Promise<void> {
    this.#ready.add(topic)
    const groups = this.#plan.groups.filter(
      one => !this.#released.has(one.group) && isAbout(one, topic) && isReady(one, this.#ready),
    )
    if (groups.length === 0) return
    const openMaps = await this.#parts.openMaps(signal)
    const parts = { ...this.#quietParts(), noteGiven }
    const carried = await carryGroups({ groups, findings: [] }, openMaps, parts, signal)
    for (const one of carried.groups) {
      if (one.outcome !== 'failed') this.#add(one)
      else this.#parts.onProgress({ type: 'warning', message: describeFailed(one) })
    }
  }

  /** The groups that have no offsets yet. */
  get left(): CarryPlan {
    return { ...this.#plan, groups: this.#plan.groups.filter(({ group }) => !this.#released.has(group)) }
  }

  /** The report of the groups that were left, with those that were released before, in the order of the plan. */
  join({ groups, reason }: CarryReport): CarryReport {
    const late = new Map(groups.map(one => [one.group, one]))
    const all = this.#plan.groups.flatMap(({ group }) => this.#released.get(group) ?? late.get(group) ?? [])
    return { groups: all, totals: sumCarried(all), ...(reason !== undefined && { reason }) }
  }

  /** Progress of the groups that are left, counted with those that were released before. */
  get onProgressOfLeft(): OnProgress {
    const { size } = this.#released
    return event => {
      const { onProgress } = this.#parts
      onProgress(event.type === 'groups' ? { ...event, done: event.done + size, total: event.total + size } : event)
    }
  }

  #add(report: CarriedGroupReport): void {
    this.#released.set(report.group, { ...report, isEarly: true })
    const done = this.#released.size
    this.#parts.onProgress({ type: 'released', group: report.target, done, total: this.#plan.groups.length })
  }

  /** Records are still written: the phase of the groups begins at the end. */
  #quietParts(): Omit<EarlyParts, 'openMaps'> {
    const { cluster, isGiven, onProgress } = this.#parts
    return { cluster, isGiven, onProgress: event => (event.type === 'groups' ? undefined : onProgress(event)) }
  }
}

function isAbout({ streams }: CarriedGroup, topic: string): boolean {
  return streams.some(({ targetTopic }) => targetTopic === topic)
}

function isReady({ streams }: CarriedGroup, ready: ReadonlySet<string>): boolean {
  return streams.every(({ targetTopic }) => ready.has(targetTopic))
}

function describeFailed({ target, error }: CarriedGroupReport): string {
  return `group ${target}: its offsets could not be committed yet, which is tried again at the end: ${error}`
}
