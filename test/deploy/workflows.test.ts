import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parseDocument } from 'yaml'

const root = resolve(import.meta.dirname, '../..')
const folder = join(root, '.github/workflows')
const makefile = readFileSync(join(root, 'Makefile'), 'utf8')

interface Step {
  uses?: string
  run?: string
  with?: Record<string, unknown>
}

interface Workflow {
  on: unknown
  permissions: Record<string, string>
  jobs: Record<string, { 'runs-on': string; 'timeout-minutes': number; steps: Step[] }>
}

const workflows = readdirSync(folder).map(file => {
  const text = readFileSync(join(folder, file), 'utf8')
  const document = parseDocument(text)
  assert.deepEqual([...document.errors, ...document.warnings], [], file)
  return { file, text, workflow: document.toJS() as Workflow }
})
const steps = workflows.flatMap(({ file, workflow }) =>
  Object.values(workflow.jobs).flatMap(({ steps }) => steps.map(step => ({ file, ...step }))),
)

test('every workflow starts with few permissions, and its jobs have a runner and an end', () => {
  assert.deepEqual(workflows.map(({ file }) => file).sort(), ['nightly.yml', 'release.yml', 'test.yml'])
  for (const { file, workflow } of workflows) {
    assert.ok(workflow.on, file)
    assert.deepEqual(workflow.permissions, { contents: 'read' }, file)
    for (const job of Object.values(workflow.jobs)) {
      assert.match(job['runs-on'], /^ubuntu-\d+\.\d+$/, file)
      assert.ok(job['timeout-minutes'] > 0, file)
      assert.ok(job.steps.length > 0, file)
    }
  }
})

test('every action is pinned by its commit, with its version as a comment, and the same everywhere', () => {
  const used = workflows.flatMap(({ file, text }) =>
    [...text.matchAll(/\buses:\s*(.+)$/gm)].map(([, line = '']) => ({ file, line })),
  )
  assert.equal(used.length, steps.filter(({ uses }) => uses !== undefined).length)
  for (const { file, line } of used) assert.match(line, /^[\w.-]+\/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, file)
  const lines = new Set(used.map(({ line }) => line))
  const names = new Set(used.map(({ line }) => line.split('@')[0]))
  assert.equal(lines.size, names.size, 'one version of each action')
})

test('every step does one thing, and what it runs exists', () => {
  const targets = new Set([...makefile.matchAll(/^([a-z][a-z0-9-]*):/gm)].map(([, name]) => name))
  const made: string[] = []
  for (const { file, uses, run } of steps) {
    assert.ok((uses === undefined) !== (run === undefined), `${file}: ${uses ?? run}`)
    if (run === undefined) continue
    for (const [, target = ''] of run.matchAll(/\bmake ([a-z-]+)/g)) {
      assert.ok(targets.has(target), `${file}: make ${target}`)
      made.push(target)
    }
    for (const [, path = ''] of run.matchAll(/(?:^|[\s"'(])(\.\/[\w./-]+|(?:deploy|test|docs)\/[\w./-]+)/g)) {
      assert.ok(existsSync(join(root, path)), `${file}: ${path}`)
    }
  }
  assert.deepEqual(made.sort(), ['release', 'soak', 'test', 'test-node'])
})

test('values of a caller reach a shell only through the environment', () => {
  for (const { file, run = '' } of steps) assert.doesNotMatch(run, /\$\{\{/, file)
})

test('the files that workflows cache and attest exist or are made by make', () => {
  const patterns = steps.flatMap(({ with: options = {} }) => Object.values(options).map(String))
  const hashed = patterns.flatMap(text => [...text.matchAll(/hashFiles\('([^'*]+)/g)].map(([, path = '']) => path))
  assert.deepEqual(
    hashed.filter(path => !existsSync(join(root, path))),
    [],
  )
  assert.ok(patterns.includes('release/*'))
})
