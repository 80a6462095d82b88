import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { type ConsoleOptions, type ConsoleServer, openConsoleServer } from '../../src/console/open-console-server.ts'
import { openExistingStorage } from '../../src/jobs/parts.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { parseLocation } from '../../src/storage/location.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { makeSampleBackups, type SampleBackups } from './sample-backups.ts'

export interface UsedConsole {
  url: string
  samples: SampleBackups
  storage: Storage
  get(path: string, headers?: Record<string, string>): Promise<{ status: number; text: string; headers: Headers }>
}

/** A console over the sample backups, and over what `addMore` stores, for the tests of a file. */
export function useConsole(
  changes: Partial<ConsoleOptions> = {},
  addMore: (storage: Storage) => Promise<void> = async () => {},
): () => UsedConsole {
  let used: UsedConsole | undefined
  let server: ConsoleServer | undefined
  const folder = mkdtempSync(join(tmpdir(), 'console-'))
  before(async () => {
    const samples = await makeSampleBackups(folder)
    const place = { storage: parseLocation(samples.path), keyFiles: [samples.keyFile] }
    const storage = await openExistingStorage(place, new AbortController().signal)
    await addMore(storage)
    const locations = [{ name: storage.location, storage }]
    const options = { host: '127.0.0.1', port: 0, allowedHosts: [], clock: systemClock, ...changes }
    const opened = await openConsoleServer({ locations, ...options })
    server = opened
    used = { url: opened.url, samples, storage, get: (path, headers) => get(opened.url, path, headers) }
  })
  after(async () => {
    await server?.close()
    await used?.storage.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return () => {
    if (!used) throw new Error('the console is not open yet')
    return used
  }
}

export async function get(url: string, path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}${path}`, { headers })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}
