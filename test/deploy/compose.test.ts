import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { commandTable } from '../../src/cli/command-table.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { defaultApicurioVersion } from '../servers/apicurio-dist.ts'
import { defaultKafkaVersion } from '../servers/kafka-dist.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = join(root, 'deploy/compose')
const page = readFileSync(join(root, 'docs/quick-start.md'), 'utf8')

interface Service {
  image: string
  build?: { context: string; dockerfile: string }
  ports?: string[]
  environment?: Record<string, string>
  healthcheck?: { test: string[] }
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  profiles?: string[]
}

const compose = parse(readFileSync(join(folder, 'docker-compose.yaml'), 'utf8')) as {
  services: Record<string, Service>
  volumes: Record<string, unknown>
}
const services = Object.entries(compose.services)

test('the quick start has Kafka and a registry in the versions that the tests run', () => {
  assert.deepEqual(
    services.map(([name, { image }]) => [name, image]),
    [
      ['kafka', `apache/kafka:${defaultKafkaVersion}`],
      ['registry', `apicurio/apicurio-registry:${defaultApicurioVersion}`],
      ['kafka-backup', 'kafka-backup:quick-start'],
    ],
  )
})

test('servers of the quick start have health checks, which the program waits for, and are not open to the network', () => {
  for (const [name, { ports = [], healthcheck, profiles }] of services) {
    if (profiles === undefined) assert.match(healthcheck?.test[0] ?? '', /^CMD(-SHELL)?$/, name)
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, name)
  }
  const waited = Object.entries(compose.services['kafka-backup']?.depends_on ?? {})
  assert.deepEqual(
    waited.map(([name, { condition }]) => [compose.services[name] !== undefined, condition]),
    [
      [true, 'service_healthy'],
      [true, 'service_healthy'],
    ],
  )
})

test('files and volumes that the quick start mounts exist, and its jobs are valid', () => {
  const { build, volumes = [] } = compose.services['kafka-backup'] ?? {}
  assert.ok(existsSync(join(folder, build?.context ?? '', build?.dockerfile ?? '')))
  for (const [source = ''] of volumes.map(volume => volume.split(':'))) {
    assert.ok(source.startsWith('.') ? existsSync(join(folder, source)) : source in compose.volumes, source)
  }
  const listeners = compose.services.kafka?.environment?.KAFKA_ADVERTISED_LISTENERS ?? ''
  const files = readdirSync(join(folder, 'jobs')).sort()
  assert.deepEqual(files, ['backup.yaml', 'restore.yaml'])
  for (const file of files) {
    const text = readFileSync(join(folder, 'jobs', file), 'utf8')
    const job = parseJob(text, { source: file, env: {} })
    const { bootstrapServers } = job.mode === 'restore' ? job.target : job.source
    for (const server of bootstrapServers) assert.ok(listeners.includes(`//${server}`), `${file}: ${server}`)
  }
})

test('the commands of the quick start name services, commands and files that exist', () => {
  const lines = [...page.matchAll(/^.*?docker compose (.+)$/gm)].map(([, line]) => line ?? '')
  const runs = lines.filter(line => line.startsWith('run '))
  assert.ok(lines.length > 10 && runs.length > 6, `${lines.length} commands`)
  for (const line of lines) {
    const [, name] = /^(?:run --rm|exec(?: --no-TTY)?|build) (\S+)/.exec(line) ?? []
    if (name === undefined) assert.match(line, /^(up --detach --wait|--profile tool down --volumes)$/)
    else assert.ok(name in compose.services, line)
  }
  for (const line of runs) {
    const [command, ...args] = line.split(' ').slice(3)
    const spec = commandTable.find(one => one.name === command)
    assert.ok(spec, line)
    for (const option of args.filter(arg => arg.startsWith('--'))) {
      assert.ok(
        spec.options.some(({ name }) => `--${name}` === option),
        `${line}: ${option}`,
      )
    }
    for (const file of args.filter(arg => arg.startsWith('/jobs/'))) assert.ok(existsSync(join(folder, file)), line)
  }
})
