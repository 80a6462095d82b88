import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { commandTable } from '../../src/cli/command-table.ts'
import { type Place, type ReadingCommand, readers } from './commands.ts'
import { corpus, type HostileItem } from './corpus.ts'
import { Forgery } from './forgery.ts'
import { type HonestArchive, makeHonestArchive, type Objects, PLAIN, SEALED } from './honest-archive.ts'
import { addedTo, judgeRun, lostFrom } from './judge.ts'
import { runCommand } from './run-command.ts'
import { openStage, type Stage } from './stage.ts'
import { patchCalls } from './watched-calls.ts'

const only = process.env.HOSTILE_ITEM
const nowhere = { location: '', target: '', backupId: '', keyFile: '', backupJob: '', restoreJob: '' }
const blank: Place = { ...nowhere, mapping: '', bootstrap: '', registryUrl: '' }

const names = commandTable.flatMap(({ name, argument }) =>
  argument?.name === 'action' ? (argument.choices ?? []).map(action => `${name} ${action}`) : [name],
)
const commands = Object.values(readers).flatMap(reader => ('readsNothing' in reader ? [] : reader))

/** Every so many-th command meets an item; 1 is all. The next item meets the next ones. */
const share = Number(process.env.HOSTILE_SHARE ?? commands.length)

test('every command of the program is run over hostile archives, or reads none', () => {
  assert.deepEqual(Object.keys(readers).sort(), names.toSorted())
})

describe('every reading command takes or refuses a hostile archive, and harms nothing', () => {
  let honest: HonestArchive
  let stage: Stage
  let unpatch: () => void
  before(async () => {
    honest = await makeHonestArchive()
    stage = await openStage(honest)
    mkdirSync(join(stage.root, 'outside'))
    writeFileSync(join(stage.root, 'outside/secret'), 'secret')
    unpatch = await patchCalls()
  })
  after(async () => {
    unpatch()
    await stage[Symbol.asyncDispose]()
  })
  for (const command of commands) {
    const words = command.argv({ ...blank }).filter(word => /^[a-z-]+$/.test(word))
    test(`${words.join(' ')} takes the honest archive`, async () => {
      const place = stage.place(PLAIN, stage.lay(partOf(honest.objects)))
      const { path } = stage.layTarget()
      const { exitCode, output } = await runCommand(command.argv({ ...place, target: path }), command.serves === true)
      assert.equal(exitCode, command.exits ?? 0, output)
      stage.takeWrites()
    })
  }
  for (const [at, item] of corpus.entries()) {
    if (only !== undefined && !item.name.includes(only)) continue
    test(item.name, async () => assert.deepEqual(await runAll(stage, honest, item, at), []))
  }
})

/** Copies of the newest generation, which every commit replaces. */
const replaced = /^plain\/(manifest\.json|schema-registry\/(?!generations).*)$/

async function runAll(stage: Stage, honest: HonestArchive, item: HostileItem, at: number): Promise<string[]> {
  const folder = createHash('sha256').update(stage.registryUrl).digest('hex').slice(0, 12)
  const archive = new Forgery(honest.objects, [`registry-${folder}`])
  item.change(archive)
  archive.renewCopies(honest.objects)
  const objects = partOf(archive.objects, item.backupId)
  const location = stage.lay(objects)
  const faults: string[] = []
  for (const [nth, command] of commands.entries()) {
    if ((at + nth) % share !== 0 && !command.provesDamage) continue
    const format = (at + Math.floor(nth / share)) % 2 === 0 ? 'json' : 'text'
    await runOne(stage, location, item, command, format, faults)
  }
  faults.push(...lostFrom(location, objects, /^$/), ...addedTo(location, objects))
  rmSync(location, { recursive: true })
  return faults
}

/** Without the other of the two large backups: fewer files make many runs faster. */
function partOf(objects: Objects, backupId = PLAIN): Objects {
  const other = backupId === PLAIN ? SEALED : PLAIN
  return new Map([...objects].filter(([key]) => !key.startsWith(`${other}/`)))
}

async function runOne(
  stage: Stage,
  location: string,
  { backupId = PLAIN, isAccepted }: HostileItem,
  command: ReadingCommand,
  format: string,
  faults: string[],
): Promise<void> {
  const own = command.changes ? stage.copyOf(location) : location
  const target = command.usesTarget ? stage.layTarget() : undefined
  const argv = [...command.argv({ ...stage.place(backupId, own), target: target?.path ?? '' }), '--format', format]
  const run = await runCommand(argv, command.serves === true)
  const found = judgeRun(run, stage.root)
  if (target) found.push(...lostFrom(target.path, target.objects, replaced))
  if (!command.changes) found.push(...stage.takeWrites())
  stage.takeWrites()
  if (command.provesDamage && isAccepted !== 'or refused' && (run.exitCode === 0) !== (isAccepted === true)) {
    found.push(`verify --deep ended with ${run.exitCode}`)
  }
  const words = argv.filter(word => /^[a-z-]+$/.test(word)).join(' ')
  faults.push(...found.map(fault => `${words}: ${fault}\n${run.output.slice(0, 600)}`))
  if (target) rmSync(target.path, { recursive: true })
  if (own !== location) rmSync(own, { recursive: true })
}
