import type { TestContext } from 'node:test'
import type { RegistryHold } from '../../../src/archive/registry-lease.ts'
import type { RegistrySnapshot } from '../../../src/archive/registry-model.ts'
import type { ProgressEvent } from '../../../src/observe/progress.ts'
import { openRegistryClient } from '../../../src/registry/client/client.ts'
import { readSnapshot } from '../../../src/registry/client/read-snapshot.ts'
import { JournalBook } from '../../../src/registry/restore/journal.ts'
import {
  type RestoredSchemas,
  restoreSchemas,
  surveyRestored,
  surveySchemas,
} from '../../../src/registry/restore/restore-schemas.ts'
import type { SchemaOptions, Survey } from '../../../src/registry/restore/survey-target.ts'
import { openRegistryServer } from '../../../src/registry/serve/open-registry-server.ts'
import type { StoreOptions } from '../../../src/registry/serve/registry-state.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { FixedModeStore } from '../../fakes/fixed-mode-store.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { type MemoryStorage, openMemoryStorage } from '../../fakes/memory-storage.ts'
import { isWrite, type ProxiedCall, startRegistryProxy } from '../../fakes/registry-proxy.ts'
import { startVendor } from '../../fakes/vendors/start-vendor.ts'
import type { VendorName } from '../../fakes/vendors/vendor-script.ts'

export const never = new AbortController().signal

export const usual: SchemaOptions = {
  strategy: 'preserve',
  forceIds: false,
  subjectMapping: new Map(),
  setCompatibility: undefined,
  forceRegister: false,
  schemaTypes: ['AVRO', 'JSON', 'PROTOBUF'],
  acceptLoss: [],
  idOverrides: new Map(),
}

export const forced = { forceIds: true } as const

export interface Stage {
  store: RegistryStore
  /** Where journals are kept. */
  storage: MemoryStorage
  /** What runs have warned of. */
  warnings: string[]
  /** All that runs have asked of the registry. */
  calls: Request[]
  /** Told of every request of a run before it takes effect; what it throws is the registry's answer. */
  onRequest: ((call: Request) => void) | undefined
  /** Stands between runs and the registry. */
  setProxy(treat: Parameters<typeof startRegistryProxy>[1]): Promise<void>
  /** Requests that could change the registry, since the last time they were asked for. */
  takeWrites(): Request[]
  survey(options?: Partial<SchemaOptions>): Promise<Survey>
  /** What a comparison with the target relies on. */
  surveyRestored(options?: Partial<SchemaOptions>): Promise<Survey>
  /** A whole run, as a process of its own would make it. Conflicts are an error. */
  restore(
    options?: Partial<SchemaOptions>,
    parts?: { signal?: AbortSignal; journalIn?: Storage; hold?: Pick<RegistryHold, 'assertHeld'> },
  ): Promise<RestoredSchemas>
  snapshot(): Promise<RegistrySnapshot>
}

/** A registry as the target of restores, the embedded one or that of a vendor, reached over HTTP; requests are written down. */
export async function openStage(
  t: Pick<TestContext, 'after'>,
  backup: RegistrySnapshot,
  {
    start,
    vendor,
    areModesMutable = true,
    ...options
  }: StoreOptions & {
    start?: RegistrySnapshot
    vendor?: VendorName
    areModesMutable?: boolean
  } = {},
): Promise<Stage> {
  const storage = openMemoryStorage()
  const calls: Request[] = []
  const warnings: string[] = []
  const onProgress = (event: ProgressEvent) => {
    if (event.type === 'warning') warnings.push(event.message)
  }
  let isRunning = false
  let runs = 0
  let taken = 0
  let journals = 0
  const onRequest = (call: Request) => {
    if (!isRunning) return
    calls.push(call)
    stage.onRequest?.(call)
  }
  const { firstId } = options
  const server = vendor
    ? await startVendor(vendor, { onRequest, ...(start && { start }), ...(firstId !== undefined && { firstId }) })
    : await openEmbedded(new (areModesMutable ? RegistryStore : FixedModeStore)(options, start), onRequest)
  const { store } = server
  t.after(() => server.close())
  let url = server.url

  const withParts = async <T>(journalIn: Storage, work: (parts: Parts) => Promise<T>): Promise<T> => {
    const clock = new JumpingClock()
    clock.pass(++runs * 1000)
    const client = await openRegistryClient({ urls: [url] }, { clock })
    const parts = { storage: journalIn, clock, newRun: () => `run${runs}.${++journals}` }
    const journal = new JournalBook(parts, { backupId: 'b', registry: 'target' })
    isRunning = true
    try {
      return await work({ client, journal, clock, onProgress })
    } finally {
      isRunning = false
      client.close()
    }
  }
  const stage: Stage = {
    ...{ store, storage, warnings, calls, onRequest: undefined },
    setProxy: async treat => {
      const proxy = await startRegistryProxy(server.url, treat)
      t.after(() => proxy.close())
      url = proxy.url
    },
    takeWrites: () => {
      const since = calls.slice(taken)
      taken = calls.length
      return since.filter(isWrite)
    },
    surveyRestored: wish => withParts(storage, parts => surveyRestored(backup, { ...usual, ...wish }, parts, never)),
    survey: wish => withParts(storage, parts => surveySchemas(backup, { ...usual, ...wish }, parts, never)),
    restore: (wish, { signal = never, journalIn = storage, hold } = {}) =>
      withParts(journalIn, async parts => {
        const survey = await surveySchemas(backup, { ...usual, ...wish }, parts, signal)
        const [conflict] = survey.plan.conflicts
        if (conflict) throw new Error(`${survey.plan.conflicts.length} conflicts: ${conflict.message}`)
        return restoreSchemas(backup, survey, { ...parts, ...(hold && { hold }) }, signal)
      }),
    snapshot: () => readServer(server.url),
  }
  return stage
}

async function openEmbedded(store: RegistryStore, onRequest: (call: Request) => void) {
  return { store, ...(await openRegistryServer({ store, host: '127.0.0.1', port: 0, onRequest })) }
}

type Request = Pick<ProxiedCall, 'method' | 'target'>
type Parts = Parameters<typeof restoreSchemas>[2]

/** What the registry at an address holds. */
export async function readServer(url: string): Promise<RegistrySnapshot> {
  const client = await openRegistryClient({ urls: [url] })
  try {
    return await readSnapshot(client, {}, never)
  } finally {
    client.close()
  }
}

/** A backup as it would be read from a registry that holds this. */
export async function backUp(held: RegistrySnapshot): Promise<RegistrySnapshot> {
  const server = await openRegistryServer({ store: new RegistryStore({}, held), host: '127.0.0.1', port: 0 })
  try {
    return await readServer(server.url)
  } finally {
    await server.close()
  }
}

/** Journals that no run has ended. */
export function openJournals({ storage }: Pick<Stage, 'storage'>): string[] {
  const keys = [...storage.objects.keys()]
  return keys.filter(key => !key.endsWith('.done') && !keys.includes(`${key}.done`))
}

/** `subject@version #id`, with a minus before what is marked as deleted. */
export function brief({ versions }: RegistrySnapshot): string[] {
  return versions.map(one => `${one.isDeleted ? '-' : ''}${one.subject}@${one.version} #${one.id}`)
}

/** All that a restore is to reproduce where IDs and numbers can be kept. */
export function essence({ versions, subjects, contextSettings, global, maxIds }: RegistrySnapshot): object {
  const ours = ({ subject }: { subject: string }) => !subject.includes('kafka-backup.')
  return {
    versions: versions.filter(ours).map(({ isPulledIn: _, ...rest }) => rest),
    subjects: Object.fromEntries([...subjects].filter(([subject]) => ours({ subject }))),
    contextSettings: Object.fromEntries(contextSettings),
    global,
    maxIds: Object.fromEntries(maxIds),
  }
}
