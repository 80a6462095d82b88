import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { apicurioJar, defaultApicurioVersion } from './apicurio-dist.ts'
import { classArchiveFlags } from './class-archive.ts'
import { type GuardedProcess, makeGuardedFolder, spawnGuarded } from './guard.ts'
import { quickStartFlags } from './kafka-dist.ts'
import { findFreePorts } from './ports.ts'

export interface Apicurio {
  /** The Confluent API. */
  url: string
  origin: string
  version: string
  pid: number
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const startTimeoutMs = 120_000

/** Starts a registry that is empty and forgets everything at its end, on a free port of 127.0.0.1. */
export async function startApicurio(version = defaultApicurioVersion): Promise<Apicurio> {
  return startServer(version, await apicurioArchiveFlags(version))
}

/** The flags of the archive of its classes, which halves the time of its start. */
export function apicurioArchiveFlags(version: string): Promise<string[]> {
  return classArchiveFlags(`apicurio-${version}`, async flags => {
    const server = await startServer(version, flags)
    await exercise(server)
    await server.end('SIGTERM')
    await server.stop()
  })
}

/** Registers, reads and removes a schema of each type, for the classes that this takes. */
async function exercise({ url }: Apicurio): Promise<void> {
  const schemas = {
    AVRO: '{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}',
    JSON: '{"type":"object","properties":{"id":{"type":"integer"}}}',
    PROTOBUF: 'syntax = "proto3"; message R { int32 id = 1; }',
  }
  const call = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`Apicurio answers ${method} ${path} with ${answer.status}: ${text}`)
  }
  for (const [schemaType, schema] of Object.entries(schemas)) {
    const subject = `/subjects/${schemaType}`
    await call('POST', `${subject}/versions`, { schema, schemaType })
    await call('POST', `/compatibility${subject}/versions/latest`, { schema, schemaType })
    await call('GET', `${subject}/versions/latest`)
    await call('PUT', `/config/${schemaType}`, { compatibility: 'NONE' })
    await call('DELETE', subject)
    await call('DELETE', `${subject}?permanent=true`)
  }
}

async function startServer(
  version: string,
  jvmFlags: readonly string[],
): Promise<Apicurio & { end(signal: NodeJS.Signals): Promise<void> }> {
  const jar = await apicurioJar(version)
  const folder = await makeGuardedFolder('apicurio')
  const [port = 0] = await findFreePorts(1)
  const logFile = join(folder.path, 'apicurio.log')
  const settings = {
    'java.io.tmpdir': folder.path,
    'quarkus.http.host': '127.0.0.1',
    'quarkus.http.port': String(port),
    'quarkus.log.level': 'WARN',
    'apicurio.rest.deletion.artifact.enabled': 'true',
    'apicurio.rest.deletion.artifact-version.enabled': 'true',
  }
  const flags = Object.entries(settings).map(([name, value]) => `-D${name}=${value}`)
  const server = spawnGuarded('java', [...quickStartFlags, ...jvmFlags, '-Xmx512m', ...flags, '-jar', jar], {
    cwd: folder.path,
    logFile,
  })
  const stop = async () => {
    await server.end('SIGKILL')
    await folder.remove()
  }
  const origin = `http://127.0.0.1:${port}`
  const url = `${origin}/apis/ccompat/v7`
  try {
    await waitForAnswer(`${url}/subjects`, server, logFile)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, origin, version, pid: server.pid, end: server.end, stop, [Symbol.asyncDispose]: stop }
}

async function waitForAnswer(url: string, server: GuardedProcess, logFile: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  while (!(await answers(url))) {
    if (server.hasExited() || Date.now() > deadline) {
      throw new Error(`Apicurio does not answer at ${url}: ${await readFile(logFile, 'utf8')}`)
    }
    await sleep(100)
  }
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined)
  await answer?.body?.cancel()
  return answer?.status === 200
}
